//! The tools of a catalogue: each name is one tool's, and whoever else claims it is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::finding::{Clash, Finding};
use super::load::{Catalogue, File, Tool, finding, host_error};
use crate::limits::TOOL_NAME_CHARS_MAX;
use crate::plugin::{Plugin, contract};

/// The finding about a tool whose name another one has.
pub(super) const TAKEN: &str = "duplicate-tool";

/// A tool, and the documents that bring it; none if its plugin has it anyway.
struct Claim {
    tool: Tool,
    by: Vec<usize>,
}

impl Catalogue {
    pub(super) fn publish(&mut self) {
        let mut claims: BTreeMap<String, Vec<Tool>> = BTreeMap::new();
        for owner in 0..self.offered.len() {
            let Some(offered) = self.offered.get(owner) else { continue };
            let plugin = Arc::clone(&offered.plugin);
            let tools = plugin.tools(&offered.workflows).unwrap_or_else(|fault| {
                self.without("tools".into(), &plugin, fault.to_string());
                Vec::new()
            });
            for tool in tools {
                if fits(&tool.name) {
                    claims.entry(tool.name.clone()).or_default().push(Tool { tool, owner });
                } else {
                    let reason = format!("names are 1 to {TOOL_NAME_CHARS_MAX} of A-Z, a-z, 0-9, _ and -");
                    self.without(tool.name, &plugin, reason);
                }
            }
        }
        for (name, mut claimed) in claims {
            let tool = if claimed.len() > 1 { self.first_of(&name, claimed) } else { claimed.pop() };
            self.tools.extend(tool.map(|tool| (name, tool)));
        }
    }

    fn without(&mut self, name: String, plugin: &Plugin, reason: String) {
        let second = plugin.about.name.clone();
        self.clashes.push(Clash { name, first: String::new(), second, reason: Some(reason) });
    }

    /// The one that is served of several tools with one name: no document takes a plugin's own tool away. The others are
    /// findings about the documents that bring them.
    fn first_of(&mut self, name: &str, tools: Vec<Tool>) -> Option<Tool> {
        let claim = |tool: Tool| Claim { by: self.bringing(name, tool.owner), tool };
        let mut claims: Vec<Claim> = tools.into_iter().map(claim).collect();
        claims.sort_by_key(|claim| (!claim.by.is_empty(), claim.tool.owner));
        let mut claims = claims.into_iter();
        let first = claims.next()?;
        let had = self.claimants(&first).into_iter().next().unwrap_or_default();
        for claim in claims {
            for second in self.claimants(&claim) {
                self.clashes.push(Clash { name: name.to_owned(), first: had.clone(), second, reason: None });
            }
            for place in claim.by {
                if let Some(file) = self.files.get_mut(place) {
                    file.findings.push(taken(&file.shown, name, &had));
                }
            }
        }
        Some(first.tool)
    }

    fn bringing(&self, name: &str, owner: usize) -> Vec<usize> {
        let Some(plugin) = self.offered.get(owner).map(|offered| &offered.plugin) else { return Vec::new() };
        let has = |workflows: &[contract::Workflow]| {
            plugin.tools(workflows).is_ok_and(|tools| tools.iter().any(|tool| tool.name == name))
        };
        if has(&[]) {
            return Vec::new();
        }
        let of_plugin = |file: &File| file.plugin.as_ref() == Some(&plugin.about.name);
        let brings = |file: &File| has(&file.definitions.iter().map(|d| d.about.clone()).collect::<Vec<_>>());
        let files = self.files.iter().enumerate();
        files.filter(|(_, file)| of_plugin(file) && brings(file)).map(|(place, _)| place).collect()
    }

    /// Who claims a name: those documents, else the plugin.
    fn claimants(&self, claim: &Claim) -> Vec<String> {
        if claim.by.is_empty() {
            let offered = self.offered.get(claim.tool.owner);
            return offered.map(|offered| offered.plugin.about.name.clone()).into_iter().collect();
        }
        claim.by.iter().filter_map(|place| self.files.get(*place)).map(|file| file.shown.clone()).collect()
    }
}

fn fits(name: &str) -> bool {
    (1..=TOOL_NAME_CHARS_MAX).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

fn taken(file: &str, name: &str, first: &str) -> Finding {
    let message = format!("the tool `{name}` is already one of `{first}`, which is served");
    finding(file, host_error(TAKEN, message, Some("give the tool another name".into())), &[])
}
