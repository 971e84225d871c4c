//! `wfhost logs`: what happened in all sessions, in the order in which it happened. Values are left out unless asked for.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::sessions::{each_page, session, show};
use super::{Data, code, print, time};
use crate::clock::{Clock, System};
use crate::session::line::LineRow;
use crate::session::model::{Head, Millis, SessionId};
use crate::store::{Limit, Listed, Query, Store};

/// What `logs` is told.
#[derive(Debug, Args)]
pub(super) struct Logs {
    /// Only this session; none: all of them.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Only what was refused.
    #[arg(long)]
    refusals: bool,
    /// Only what broke.
    #[arg(long)]
    faults: bool,
    /// Only the last so long: `90m`, `12h`, `7d`.
    #[arg(long, value_name = "SPAN", value_parser = time::read_span)]
    since: Option<Millis>,
    /// Only sessions of this workflow.
    #[arg(long, value_name = "ID")]
    workflow: Option<String>,
    /// At most so many lines, the newest.
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Show values too: arguments, answers, messages.
    #[arg(long)]
    values: bool,
    /// Print each line as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

/// A line, and whose it is.
struct Logged {
    session: SessionId,
    workflow: String,
    line: LineRow,
}

impl Logs {
    pub(super) fn run(self) -> Result<ExitCode> {
        let mut found = Vec::new();
        if let Some(store) = self.data.store_if_there()? {
            let store = store.as_ref();
            match &self.id {
                Some(id) => {
                    let head = store.head(session(store, id)?)?;
                    head.iter().try_for_each(|head| self.gather(store, head, &mut found))?;
                }
                None => self.gather_all(store, &mut found)?,
            }
        }
        found.sort_by_key(|logged| (logged.line.at, logged.session, logged.line.n));
        let spare = found.len().saturating_sub(self.limit);
        for logged in found.split_off(spare) {
            self.show(&logged);
        }
        if spare > 0 {
            print::note(format_args!("these are the newest {}; `--limit` shows more", self.limit));
        }
        Ok(code(true))
    }

    fn gather_all(&self, store: &dyn Store, found: &mut Vec<Logged>) -> Result<()> {
        let query = Query { workflow: self.workflow.clone(), ..Query::default() };
        let from = self.from();
        each_page(store, &query, &mut |page| {
            for listed in page {
                match listed {
                    Listed::Head(head) if head.changed >= from => self.gather(store, head, found)?,
                    Listed::Head(_) => {}
                    Listed::Unreadable(session, why) => {
                        print::note(format_args!("session {session} cannot be read: {}", print::plain(why)));
                    }
                }
            }
            // Many sessions have more lines than anybody wants to see: the oldest of them need not be kept.
            if found.len() > self.limit.saturating_mul(8).max(10_000) {
                found.sort_by_key(|logged| (logged.line.at, logged.session, logged.line.n));
                let spare = found.len().saturating_sub(self.limit.saturating_add(1));
                found.drain(..spare);
            }
            Ok(true)
        })
    }

    fn from(&self) -> Millis {
        self.since.map_or(0, |span| System.now().saturating_sub(span))
    }

    fn gather(&self, store: &dyn Store, head: &Head, found: &mut Vec<Logged>) -> Result<()> {
        let mut next = 1;
        while next <= head.lines {
            let lines = store.lines(head.session, next, Limit { lines: 256, bytes: 4 << 20 })?;
            if lines.is_empty() {
                break;
            }
            for bytes in lines {
                next += 1;
                let line = LineRow::decode(&bytes)?;
                if self.wants(&line) {
                    found.push(Logged { session: head.session, workflow: head.workflow.clone(), line });
                }
            }
        }
        Ok(())
    }

    fn wants(&self, line: &LineRow) -> bool {
        let kind = !(self.refusals || self.faults)
            || (self.refusals && line.refusal.is_some())
            || (self.faults && line.fault.is_some());
        kind && line.at >= self.from()
    }

    fn show(&self, logged: &Logged) {
        let Logged { session, workflow, line } = logged;
        if self.json {
            let row = if self.values { json!(line) } else { show::without_values(line) };
            return print::line(json!({"session": session.to_string(), "workflow": workflow, "line": row}));
        }
        let workflow = print::cut(&print::plain(workflow), 32);
        print::line(format_args!("{session}  {workflow}  {}", show::summary(line, self.values)));
    }
}
