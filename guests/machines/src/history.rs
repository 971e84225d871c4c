//! The journal of a session as its readers know it: the history, the runs of sub-machines, and its own lines.

use wfhost_guest::json;
use wfhost_guest::model::{Journal, Kept, Source};
use wfhost_guest::packed::Broken;
use wfhost_guest::time;
use wfhost_guest::value::{Map, Value};

use crate::args::{FORK_AT, RESET};
use crate::engine::Now;

fn map<const N: usize>(members: [(&str, Value); N]) -> Map {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn parsed(text: Option<&str>) -> Value {
    text.and_then(|text| json::read(text).ok()).unwrap_or_default()
}

fn number(kept: &Kept) -> u32 {
    kept.seq.saturating_sub(1)
}

/// Every attempt, with the state after it.
pub(crate) fn history(journal: &Journal) -> Value {
    Value::List(journal.entries.iter().map(attempt).collect())
}

fn attempt(kept: &Kept) -> Value {
    let detail = parsed(kept.entry.detail.as_deref());
    let of = |key: &str| detail.get(key).cloned().unwrap_or_default();
    let refused = detail.get("refusal_reason").is_some();
    let mut entry = map([
        ("seq", number(kept).into()),
        ("ts", time::iso(kept.at).into()),
        ("action", of("action")),
        ("inputs", parsed(kept.entry.input.as_deref())),
        ("state_after", of("state_after")),
        ("valid_next_actions", of("valid_next_actions")),
        ("refused", refused.into()),
        ("refusal_reason", of("refusal_reason")),
    ]);
    for key in ["error_message", "error_type"] {
        if let Some(value) = detail.get(key) {
            entry.set(key, value.clone());
        }
    }
    let runs = detail.get("subruns").and_then(Value::as_list).unwrap_or_default();
    if !runs.is_empty() {
        let ids: Vec<String> = runs.iter().filter_map(|run| run.get("id")?.as_str().map(str::to_owned)).collect();
        let uris: Vec<String> = ids.iter().map(|id| uri(id)).collect();
        entry.set("subruns", ids.into());
        entry.set("subrun_uris", uris.into());
    }
    Value::Map(entry)
}

fn uri(id: &str) -> String {
    format!("subruns/{id}")
}

/// Runs of sub-machines that count: a reset ends all of them, a fork those after the entry that it goes back to.
fn runs(journal: &Journal) -> Vec<Value> {
    let mut runs: Vec<(u32, Value)> = Vec::new();
    for kept in &journal.entries {
        let detail = parsed(kept.entry.detail.as_deref());
        match detail.get("action").and_then(Value::as_str) {
            Some(RESET) => runs.clear(),
            Some(FORK_AT) if kept.entry.kind == "marker" => {
                let to = parsed(kept.entry.input.as_deref()).get("sequence_id").and_then(Value::as_i64).unwrap_or(0);
                runs.retain(|(seq, _)| i64::from(*seq) <= to);
            }
            _ => {
                let list = detail.get("subruns").and_then(Value::as_list).unwrap_or_default();
                runs.extend(list.iter().map(|run| (number(kept), run.clone())));
            }
        }
    }
    runs.into_iter().map(|(_, run)| run).collect()
}

/// All of them, in short.
pub(crate) fn subruns(journal: &Journal) -> Value {
    let short = |run: &Value| {
        let of = |key: &str| run.get(key).cloned().unwrap_or_default();
        let id = of("id");
        let place = uri(id.as_str().unwrap_or_default());
        Value::Map(map([
            ("id", id),
            ("uri", place.into()),
            ("label", of("label")),
            ("started_ts", of("started_ts")),
            ("ended_ts", of("ended_ts")),
            ("parent_action", of("parent_action")),
            ("error", of("error")),
        ]))
    };
    Value::List(runs(journal).iter().map(short).collect())
}

/// One of them, with its steps.
pub(crate) fn subrun(journal: &Journal, id: &str) -> Value {
    let runs = runs(journal);
    let has = |run: &&Value| run.get("id").and_then(Value::as_str) == Some(id);
    match runs.iter().find(has) {
        Some(run) => run.clone(),
        None => {
            let known: Vec<Value> = runs.iter().filter_map(|run| run.get("id").cloned()).collect();
            Value::from([
                ("error", "unknown_subrun".into()),
                ("subrun_id", id.into()),
                ("known_subruns", Value::List(known)),
            ])
        }
    }
}

/// The journal's own lines.
pub(crate) fn trace(journal: &Journal) -> Value {
    let line = |kept: &Kept| {
        Value::Map(map([
            ("seq", number(kept).into()),
            ("at", time::iso(kept.at).into()),
            ("source", source(kept.source).into()),
            ("node", kept.entry.node.as_str().into()),
            ("kind", kept.entry.kind.as_str().into()),
            ("inputs", parsed(kept.entry.input.as_deref())),
            ("detail", parsed(kept.entry.detail.as_deref())),
        ]))
    };
    Value::from([("total", journal.total.into()), ("lines", Value::List(journal.entries.iter().map(line).collect()))])
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Agent => "agent",
        Source::Human => "human",
        Source::Host => "host",
        Source::Upstream => "upstream",
        Source::Model => "model",
        Source::Clock => "clock",
        Source::Operator => "operator",
    }
}

/// Which session it is. Members that name a tracker or a folder are the peer's, and have nothing to say here.
pub(crate) fn session(now: &Now<'_, '_>) -> Result<Value, Broken> {
    let next = crate::engine::ways::first(now.machine, now.state.last, &now.state.data)?;
    let id = now.session.id.as_str();
    let mut about = map([
        ("project", Value::Null),
        ("app_id", id.into()),
        ("app_dir", Value::Null),
        ("partition_key", Value::Null),
        ("fastmcp_session_id", id.into()),
        ("tracker_project", Value::Null),
        ("persisted", true.into()),
        ("sequence_id", now.state.steps.checked_sub(1).into()),
        ("current_action", next.map(|action| action.name).into()),
        ("parent", Value::Null),
        ("spawning_parent", Value::Null),
        ("machine", now.machine.name.into()),
        ("started", time::started(now.session).into()),
        ("definition_hash", now.session.definition_hash.as_str().into()),
    ]);
    if let Some(pending) = &now.state.pending {
        about.set("in_progress", pending.action.as_str().into());
    }
    Ok(about.into())
}

/// The trail of a session: the machine and the history.
pub(crate) fn trace_of(at: wfhost_guest::At<'_>, journal: &Journal) -> Value {
    Value::from([
        ("session", at.session.id.as_str().into()),
        ("total", journal.total.into()),
        ("history", history(journal)),
    ])
}
