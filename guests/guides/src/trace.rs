//! The reply to `guide_trace`: a record for every call, made of the lines that the call left in the journal. The first line
//! of a call says what was said; the others say what was passed because of it.

use wfhost_guest::model::{Journal, Kept, Output, Source};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};
use wfhost_guest::{At, json, reply, time};

use crate::code::Code;
use crate::reply::broken;
use crate::state::State;

/// The trail of a run, or a page of it.
pub(crate) fn trace(at: At<'_>, journal: &Journal) -> Output {
    let read = Code::read(at.code).and_then(|code| Ok((code, State::read(code, at.state)?)));
    let Ok((code, state)): Result<_, Broken> = read else { return broken() };
    let mut records: Vec<Record> = Vec::new();
    for kept in &journal.entries {
        let detail = kept.entry.detail.as_deref().and_then(|text| json::read(text).ok()).unwrap_or_default();
        if detail.get("call").is_some() || records.is_empty() {
            records.push(Record::new(kept, &detail));
        }
        if let Some(record) = records.last_mut() {
            record.take(kept, &detail);
        }
    }
    let mut members = vec![
        ("run_id", Value::from(at.session.id.as_str())),
        ("flow_id", code.flow_id.into()),
        ("version", code.version.into()),
        ("state", state.mode.word().into()),
        ("trace", Value::List(records.into_iter().map(Record::value).collect())),
    ];
    if usize::try_from(journal.total).is_ok_and(|total| total != journal.entries.len()) {
        let last = journal.entries.last().map_or(0, |kept| kept.seq);
        members.push(("total", journal.total.into()));
        members.push(("next_after", (last < journal.total).then_some(last).into()));
    }
    reply::output(&Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
}

/// What one call did.
struct Record {
    members: Map,
    passed: Vec<Value>,
}

impl Record {
    fn new(kept: &Kept, detail: &Value) -> Self {
        let of = |key: &str| detail.get(key).cloned().unwrap_or_default();
        let mut members: Map =
            [("seq".to_owned(), kept.seq.into()), ("at".to_owned(), time::iso(kept.at).into())].into_iter().collect();
        members.set("source", source(kept.source, detail).into());
        members.set("call", of("call"));
        members.set("from", kept.entry.node.as_str().into());
        for key in ["choice", "values", "status", "to", "rejected", "reason"] {
            if let Some(value) = detail.get(key) {
                members.set(key, value.clone());
            }
        }
        Self { members, passed: Vec::new() }
    }

    /// A node that was left. A line without a target left none.
    fn take(&mut self, kept: &Kept, detail: &Value) {
        let entry = &kept.entry;
        if let Some(target) = &entry.branch {
            let label = entry.input.as_deref().and_then(|text| json::read(text).ok()).unwrap_or_default();
            let by = detail.get("by").cloned().unwrap_or_default();
            let node = Value::from([
                ("node", entry.node.as_str().into()),
                ("label", label),
                ("by", by),
                ("to", target.as_str().into()),
            ]);
            self.passed.push(node);
        } else if let Some(outcome) = detail.get("outcome") {
            self.members.set("outcome", outcome.clone());
        }
    }

    fn value(mut self) -> Value {
        self.members.set("passed", self.passed.into());
        self.members.into()
    }
}

/// Through which channel the call came.
fn source(source: Source, detail: &Value) -> &'static str {
    match source {
        Source::Agent if detail.get("call").and_then(Value::as_str) == Some("start") => "guide_start",
        Source::Agent => "guide_answer",
        Source::Human => "elicitation",
        Source::Operator => "operator",
        Source::Host => "host",
        Source::Upstream => "upstream",
        Source::Model => "model",
        Source::Clock => "clock",
    }
}
