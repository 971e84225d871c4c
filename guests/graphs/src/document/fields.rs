//! Fields of a mapping, each read by its type; what is wrong is told with its place, its path and its node.

use wfhost_guest::diagnostic::{self, Finding};
use wfhost_guest::model::{Diagnostic, Span};
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::python;
use wfhost_guest::value::Int;
use wfhost_guest::yaml::{Data, Node};

use super::model::Name;

/// Where findings go, and whom they are about.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) told: Vec<Diagnostic>,
    /// The tool and the node in hand.
    pub(super) subject: Option<String>,
}

impl Findings {
    pub(super) fn tell(&mut self, finding: Finding, span: Span) {
        let finding = finding.at(span);
        let finding = if let Some(subject) = &self.subject { finding.about(subject) } else { finding };
        self.told.push(finding.done());
    }
}

/// A mapping whose fields are being read.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) map: &'a Node,
    /// Its path in the document: `tools[0].nodes[2]`; empty for the top.
    pub(super) path: &'a str,
}

impl<'a> Fields<'a> {
    /// The fields of a node, if it is a mapping.
    pub(super) fn of(map: &'a Node, path: &'a str, findings: &mut Findings) -> Option<Self> {
        if map.as_map().is_some() {
            return Some(Self { map, path });
        }
        let place = if path.is_empty() { "the document".to_owned() } else { format!("`{path}`") };
        let message = format!("{place} must be a mapping, and is {}", map.kind());
        findings.tell(diagnostic::error("graph-type", message), map.span);
        None
    }

    /// The path of a member.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    pub(super) fn missing(&self, name: &str, help: &str, findings: &mut Findings) {
        let span = Span { start: self.map.span.start, end: self.map.span.start };
        let message = format!("the field `{}` is missing", self.at(name));
        findings.tell(diagnostic::error("graph-missing", message).help(help), span);
    }

    pub(super) fn wrong(&self, name: &str, wanted: &str, got: &Node, findings: &mut Findings) {
        let message = format!("`{}` must be {wanted}, and is {}", self.at(name), got.kind());
        let finding = diagnostic::error("graph-type", message);
        let quote =
            wanted == "a text" && matches!(got.data, Data::Int(_) | Data::Float(_) | Data::Bool(_) | Data::Date(_));
        findings.tell(if quote { finding.help("put it in quotes") } else { finding }, got.span);
    }

    /// A text that must be there. An empty one is fine.
    pub(super) fn text(&self, name: &str, help: &str, findings: &mut Findings) -> Option<Name> {
        match self.map.get(name) {
            Some(_) => self.optional_text(name, findings),
            None => {
                self.missing(name, help, findings);
                None
            }
        }
    }

    /// A text that may be there.
    pub(super) fn optional_text(&self, name: &str, findings: &mut Findings) -> Option<Name> {
        let node = self.map.get(name)?;
        match node.as_str() {
            Some(text) => Some(Name { text: text.to_owned(), span: node.span }),
            None => {
                self.wrong(name, "a text", node, findings);
                None
            }
        }
    }

    /// A mapping that must be there.
    pub(super) fn mapping(&self, name: &str, help: &str, findings: &mut Findings) -> Option<&'a Node> {
        match self.map.get(name) {
            Some(node) if node.as_map().is_some() => Some(node),
            Some(node) => {
                self.wrong(name, "a mapping", node, findings);
                None
            }
            None => {
                self.missing(name, help, findings);
                None
            }
        }
    }

    /// A list that must be there.
    pub(super) fn list(&self, name: &str, help: &str, findings: &mut Findings) -> Option<&'a [Node]> {
        match self.map.get(name) {
            Some(node) if node.as_list().is_some() => node.as_list(),
            Some(node) => {
                self.wrong(name, "a list", node, findings);
                None
            }
            None => {
                self.missing(name, help, findings);
                None
            }
        }
    }

    /// A whole number of at least `least` that may be there.
    pub(super) fn count(&self, name: &str, least: u32, findings: &mut Findings) -> Option<u32> {
        let node = self.map.get(name)?;
        if let Data::Int(Int::Small(number)) = node.data
            && number >= i64::from(least)
        {
            return Some(u32::try_from(number).unwrap_or(u32::MAX));
        }
        let number = matches!(node.data, Data::Int(_) | Data::Float(_));
        let got = if number { python::repr(&node.value()) } else { node.kind().to_owned() };
        let message = format!("`{}` must be a whole number of at least {least}, and is {got}", self.at(name));
        findings.tell(diagnostic::error("graph-number", message), node.span);
        None
    }

    /// A flag that may be there.
    pub(super) fn flag(&self, name: &str, findings: &mut Findings) -> Option<bool> {
        let node = self.map.get(name)?;
        if let Data::Bool(flag) = node.data {
            return Some(flag);
        }
        self.wrong(name, "true or false", node, findings);
        None
    }

    /// Tells of fields that nobody reads. A name that begins with `x-` is the author's own.
    pub(super) fn unknown(&self, known: &[&str], findings: &mut Findings) {
        for pair in self.map.as_map().unwrap_or_default() {
            let Some(name) = pair.key.as_str() else { continue };
            if known.contains(&name) || name.starts_with("x-") {
                continue;
            }
            let cure = did_you_mean(name, known.iter().copied())
                .unwrap_or_else(|| format!("fields here: {}; a name that begins with `x-` is yours", known.join(", ")));
            let message = format!("there is no field `{}`, and it is passed over", self.at(name));
            findings.tell(diagnostic::warning("graph-unknown-key", message).help(cure), pair.key.span);
        }
    }
}
