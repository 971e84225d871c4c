//! `wfhost status`: what the data folder holds, in figures, and what waits for somebody.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::sessions::each_page;
use super::{Data, code, plugin, print, time};
use crate::clock::{Clock, System};
use crate::session::model::Head;
use crate::session::wire::{NeedKind, need_kind};
use crate::store::{Listed, Query, Store};

/// What `status` is told.
#[derive(Debug, Args)]
pub(super) struct Status {
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

/// Unfinished sessions, by what they wait for.
#[derive(Debug, Default, serde::Serialize)]
struct Waiting {
    people: u64,
    agents: u64,
    timers: u64,
    others: u64,
    unreadable: u64,
    /// Unfinished sessions of each workflow.
    workflows: BTreeMap<String, u64>,
    /// When the one that has not moved for the longest time last moved.
    oldest: Option<u64>,
}

impl Status {
    pub(super) fn run(self) -> Result<ExitCode> {
        let folder = self.data.folder()?;
        let Some(store) = self.data.store_if_there()? else {
            if self.json {
                print::json(&json!({"folder": folder.display().to_string(), "there": false}));
            } else {
                print::line(format_args!("{} is not there yet; the first server makes it", folder.display()));
            }
            return Ok(code(true));
        };
        let report = store.report()?;
        let waiting = Waiting::of(store.as_ref())?;
        if self.json {
            print::json(
                &json!({"folder": folder.display().to_string(), "there": true, "store": report, "unfinished": waiting}),
            );
            return Ok(code(true));
        }
        let finished = report.sessions - report.unfinished;
        let role = if report.role == "follower" {
            "shared with another wfhost that works on it"
        } else {
            "nobody else works on it"
        };
        let bytes_a_line = report.bytes.checked_div(report.lines).unwrap_or_default();
        let mut rows = vec![
            ("store", format!("{} ({role})", report.place)),
            ("size", format!("{} on disk, {bytes_a_line} bytes a journal line", plugin::size(report.bytes))),
            (
                "sessions",
                format!(
                    "{}: {} unfinished, {finished} finished, {} pruned",
                    report.sessions, report.unfinished, report.pruned
                ),
            ),
            ("journal", format!("{} lines", report.lines)),
            ("contents", format!("{} documents and plugins that sessions run on", report.contents)),
        ];
        rows.extend(waiting.rows());
        rows.into_iter().for_each(|(name, value)| print::line(format_args!("{name:<11} {value}")));
        Ok(code(true))
    }
}

impl Waiting {
    fn of(store: &dyn Store) -> Result<Self> {
        let mut waiting = Self::default();
        each_page(store, &Query { unfinished: true, ..Query::default() }, &mut |page| {
            for listed in page {
                match listed {
                    Listed::Head(head) => waiting.count(head),
                    Listed::Unreadable(..) => waiting.unreadable += 1,
                }
            }
            Ok(true)
        })?;
        Ok(waiting)
    }

    fn count(&mut self, head: &Head) {
        let needs: Vec<NeedKind> = head.requests.iter().filter_map(|r| need_kind(&r.need)).collect();
        let person = |need: &NeedKind| matches!(need, NeedKind::Answer { audience, .. } if audience != "agent");
        let agent = |need: &NeedKind| {
            matches!(need, NeedKind::AgentTool { .. })
                || matches!(need, NeedKind::Answer { audience, .. } if audience == "agent")
        };
        if needs.iter().any(person) {
            self.people += 1;
        } else if needs.is_empty() || needs.iter().any(agent) {
            self.agents += 1;
        } else if needs.iter().any(|need| matches!(need, NeedKind::Timer(_))) {
            self.timers += 1;
        } else {
            self.others += 1;
        }
        *self.workflows.entry(head.workflow.clone()).or_default() += 1;
        self.oldest = Some(self.oldest.map_or(head.changed, |oldest| oldest.min(head.changed)));
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        let counted = [
            (self.people, "for a person"),
            (self.agents, "for the agent"),
            (self.timers, "for a time"),
            (self.others, "for something that the host gets"),
            (self.unreadable, "cannot be read"),
        ];
        let told: Vec<String> = counted.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if !told.is_empty() {
            rows.push(("waiting", told.join(", ")));
        }
        let mut workflows: Vec<(&String, &u64)> = self.workflows.iter().collect();
        workflows.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        let told: Vec<String> = workflows
            .iter()
            .take(8)
            .map(|(workflow, n)| format!("{} {n}", print::cut(&print::plain(workflow), 32)))
            .collect();
        if !told.is_empty() {
            rows.push(("of", told.join(", ")));
        }
        if let Some(oldest) = self.oldest {
            rows.push(("oldest", format!("has not moved for {}", time::span(System.now().saturating_sub(oldest)))));
        }
        rows
    }
}
