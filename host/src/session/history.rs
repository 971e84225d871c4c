//! A session's journal for whoever tries a document out: line by line what came in, what was noted, what was asked, and how
//! long each answer took. Times are milliseconds since the first line.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::line::LineRow;
use super::past::Step;
use super::wire::{EntryRow, EventRow, OutcomeRow, RequestRow};

/// The lines of a history, each a JSON object.
#[must_use]
pub fn history(steps: &[Step]) -> Vec<Value> {
    let first = steps.first().map_or(0, |step| step.line.at);
    let mut asked: HashMap<String, u64> = HashMap::new();
    steps
        .iter()
        .map(|step| {
            let told = line(&step.line, first, &asked);
            if let Some(turn) = &step.line.turn {
                asked.retain(|id, _| turn.requests.iter().any(|request| request.id == *id));
                for request in &turn.requests {
                    asked.entry(request.id.clone()).or_insert(step.line.at);
                }
            }
            told
        })
        .collect()
}

fn line(line: &LineRow, first: u64, asked: &HashMap<String, u64>) -> Value {
    let mut told = Map::new();
    let mut tell = |name: &str, value: Value| {
        let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if !empty {
            told.insert(name.to_owned(), value);
        }
    };
    tell("line", line.n.into());
    tell("after_ms", line.at.saturating_sub(first).into());
    if let Some(event) = &line.event {
        tell("source", event.source.clone().into());
        tell("event", self::event(event, line.at, asked));
    }
    let entries = (line.seq..).zip(line.entries()).map(|(seq, row)| entry(seq, row));
    tell("entries", entries.collect());
    if let Some(turn) = &line.turn {
        let news = turn.requests.iter().filter(|request| !asked.contains_key(&request.id));
        tell("asks", news.map(request).collect());
        tell("outcome", turn.outcome.as_ref().map(outcome).unwrap_or_default());
    }
    if let Some(refusal) = &line.refusal {
        tell("refusal", json!({"code": refusal.code, "message": refusal.message}));
    }
    if let Some(note) = &line.note {
        tell("note", json!({"kind": note.kind, "request": note.request, "detail": note.detail}));
    }
    tell("fault", line.fault.clone().into());
    Value::Object(told)
}

fn event(event: &EventRow, at: u64, asked: &HashMap<String, u64>) -> Value {
    let input = &event.input;
    let call = input.call.as_ref().or_else(|| input.recalled.as_ref().map(|recalled| &recalled.call));
    match (call, &input.reply, &input.open) {
        (Some(call), _, _) => json!({"call": call.tool, "args": call.args}),
        (None, Some(reply), _) => {
            let mut told = json!({"reply": reply.request});
            let fields = told.as_object_mut();
            if let Some(fields) = fields {
                if let Some(began) = asked.get(&reply.request) {
                    fields.insert("took_ms".into(), at.saturating_sub(*began).into());
                }
                match (&reply.value, &reply.failure) {
                    (Some(value), _) => fields.insert("value".into(), json!(value)),
                    (None, failure) => fields.insert("failure".into(), json!(failure)),
                };
            }
            told
        }
        (None, None, Some(args)) => json!({"open": args}),
        (None, None, None) => Value::Null,
    }
}

fn entry(seq: u32, entry: &EntryRow) -> Value {
    let mut told = serde_json::to_value(entry).unwrap_or_default();
    if let Some(fields) = told.as_object_mut() {
        fields.insert("seq".into(), seq.into());
    }
    told
}

fn request(request: &RequestRow) -> Value {
    serde_json::to_value(request).unwrap_or_default()
}

fn outcome(outcome: &OutcomeRow) -> Value {
    serde_json::to_value(outcome).unwrap_or_default()
}
