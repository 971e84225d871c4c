//! `wfhost sessions list`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::standing;
use crate::cli::{Data, code, print, time};
use crate::clock::{Clock, System};
use crate::session::model::{Head, Millis, Standing};
use crate::store::{Listed, Query};

/// What `sessions list` is told.
#[derive(Debug, Args)]
pub(super) struct List {
    /// Show finished sessions too.
    #[arg(long)]
    all: bool,
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
        "human_only": head.human_only,
        "owner": head.owner,
        "definition": head.definition.to_string(),
        "plugin": head.plugin.to_string(),
        "chain": head.chain.to_string(),
    })
}
