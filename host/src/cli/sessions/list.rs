//! `wfhost sessions list`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::standing;
use crate::cli::{Data, code, print, time};
use crate::clock::{Clock, System};
use crate::seal::PublicKey;
use crate::session::model::{Head, Millis, OpenRequest, Pruned, Standing};
use crate::store::{Listed, Query};

/// What `sessions list` is told.
#[derive(Debug, Args)]
pub(super) struct List {
    /// Show finished sessions too.
    #[arg(long)]
    all: bool,
    /// Show what is kept of sessions that were pruned instead.
    #[arg(long, conflicts_with = "all")]
    pruned: bool,
    /// Only sessions of this workflow.
    #[arg(long, value_name = "ID")]
    workflow: Option<String>,
    /// At most so many, the newest.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

impl List {
    pub(super) fn run(self) -> Result<ExitCode> {
        if self.pruned {
            return self.list_pruned();
        }
        let query = Query {
            workflow: self.workflow.clone(),
            unfinished: !self.all,
            // One more tells whether there are more.
            limit: self.limit.saturating_add(1),
            ..Query::default()
        };
        let mut found = match self.data.store_if_there()? {
            Some(store) => store.list(&query)?,
            None => Vec::new(),
        };
        let more = found.len() > self.limit;
        found.truncate(self.limit);
        if self.json {
            let sessions: Vec<Value> = found.iter().map(row_json).collect();
            print::json(&json!({"sessions": sessions, "more": more}));
            return Ok(code(true));
        }
        if found.is_empty() {
            let kind = if self.all { "no sessions" } else { "no unfinished sessions" };
            let hint = if self.all { "" } else { "; `--all` shows finished ones too" };
            print::note(format_args!("{kind} in {}{hint}", self.data.folder()?.display()));
            return Ok(code(true));
        }
        let now = System.now();
        let head = ["SESSION", "WORKFLOW", "PLUGIN", "AT", "AGE", "ENTRIES", "STATE"].map(str::to_owned).to_vec();
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(found.iter().map(|listed| row(listed, now))).collect();
        print::table(&rows).into_iter().for_each(print::line);
        if more {
            print::note(format_args!("these are the newest {}; `--limit` shows more", self.limit));
        }
        Ok(code(true))
    }

    fn list_pruned(&self) -> Result<ExitCode> {
        let mut found = Vec::new();
        if let Some(store) = self.data.store_if_there()? {
            let mut after = None;
            loop {
                let page = store.pruned_after(after, 500)?;
                let fits = |record: &&Pruned| self.workflow.as_ref().is_none_or(|wanted| *wanted == record.workflow);
                found.extend(page.iter().filter(fits).cloned());
                after = page.last().map(|record| record.session);
                if page.len() < 500 {
                    break;
                }
            }
        }
        found.sort_by_key(|record| std::cmp::Reverse((record.at, record.started)));
        let more = found.len() > self.limit;
        found.truncate(self.limit);
        if self.json {
            let rows: Vec<Value> = found.iter().map(pruned_json).collect();
            print::json(&json!({"pruned": rows, "more": more}));
            return Ok(code(true));
        }
        let head = ["SESSION", "WORKFLOW", "PLUGIN", "STARTED", "LINES", "STATE", "PRUNED"].map(str::to_owned).to_vec();
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(found.iter().map(pruned_row)).collect();
        if found.is_empty() {
            print::note(format_args!("no sessions were pruned in {}", self.data.folder()?.display()));
            return Ok(code(true));
        }
        print::table(&rows).into_iter().for_each(print::line);
        if more {
            print::note(format_args!("these are the newest {}; `--limit` shows more", self.limit));
        }
        Ok(code(true))
    }
}

fn pruned_row(record: &Pruned) -> Vec<String> {
    vec![
        record.session.to_string(),
        print::cut(&print::plain(&record.workflow), 32),
        record.interpreter.clone(),
        time::utc(record.started),
        record.lines.to_string(),
        record.standing.clone(),
        time::utc(record.at),
    ]
}

fn pruned_json(record: &Pruned) -> Value {
    json!({
        "session": record.session.to_string(),
        "workflow": record.workflow,
        "interpreter": record.interpreter,
        "owner": record.owner,
        "started": time::stamp(record.started),
        "changed": time::stamp(record.changed),
        "standing": record.standing,
        "lines": record.lines,
        "chain": record.chain.to_string(),
        "pruned": time::stamp(record.at),
        "sealed_with": record.seal.as_ref().map(|seal| PublicKey(seal.key).to_string()),
    })
}

fn row(listed: &Listed, now: Millis) -> Vec<String> {
    match listed {
        Listed::Head(head) => vec![
            head.session.to_string(),
            print::cut(&print::plain(&head.workflow), 32),
            head.interpreter.clone(),
            print::cut(&print::plain(&head.current.join(", ")), 32),
            time::span(now.saturating_sub(head.started)),
            head.entries.to_string(),
            standing(head),
        ],
        Listed::Unreadable(session, why) => {
            let unknown = || "?".to_owned();
            let state = format!("unreadable: {}", print::plain(why));
            vec![session.to_string(), unknown(), unknown(), unknown(), unknown(), unknown(), state]
        }
    }
}

fn row_json(listed: &Listed) -> Value {
    match listed {
        Listed::Head(head) => head_json(head),
        Listed::Unreadable(session, why) => json!({"session": session.to_string(), "unreadable": why}),
    }
}

/// How far a request is, for machines.
fn standing_json(standing: Standing) -> Value {
    let (kind, at) = match standing {
        Standing::Waiting => ("waiting", None),
        Standing::Sent(sent) => ("sent", Some(sent.at)),
        Standing::Begun(sent) => ("begun", Some(sent.at)),
        Standing::Doubtful(sent) => ("in-doubt", Some(sent.at)),
        OpenRequest::WITHHELD => ("withheld", None),
        Standing::Refused(at) => ("refused", Some(at)),
    };
    json!({"kind": kind, "at": at.map(time::stamp)})
}

/// A session's head for machines, without its state.
pub(super) fn head_json(head: &Head) -> Value {
    let outcome = head.outcome.as_ref().map(|outcome| match outcome {
        Ok(value) => json!({"value": super::parsed(value)}),
        Err(f) => {
            json!({"failure": {"kind": f.kind, "message": f.message, "detail": f.detail.as_deref().map(super::parsed)}})
        }
    });
    let requests = head.requests.iter().map(|r| {
        json!({"id": r.id, "need": super::parsed(&r.need), "deadline": r.deadline.map(time::stamp), "standing": standing_json(r.standing)})
    });
    json!({
        "session": head.session.to_string(),
        "workflow": head.workflow,
        "interpreter": head.interpreter,
        "current": head.current,
        "started": time::stamp(head.started),
        "changed": time::stamp(head.changed),
        "entries": head.entries,
        "lines": head.lines,
        "outcome": outcome,
        "waits_for": requests.collect::<Vec<_>>(),
        "forked_from": head.fork.map(|fork| json!({"session": fork.from.to_string(), "entry": fork.seq, "lines": fork.lines})),
        "sealed_with": head.seal.as_ref().map(|seal| PublicKey(seal.key).to_string()),
        "human_only": head.human_only,
        "owner": head.owner,
        "definition": head.definition.to_string(),
        "plugin": head.plugin.to_string(),
        "chain": head.chain.to_string(),
    })
}
