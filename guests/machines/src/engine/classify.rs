//! What a tool of another server answered: as a value, and sorted into usable, malformed and wrong.

use wfhost_guest::json;
use wfhost_guest::python;
use wfhost_guest::value::{Map, Value};

use super::literal;

/// LIMIT: characters of a detail.
const DETAIL_MAX: usize = 300;
/// LIMIT: bytes of a text that is read as rows.
const ROWS_MAX: usize = 8 << 20;
/// How deep an answer is searched for an `error`.
const LEVELS: u32 = 3;

/// An answer.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// What the tool gave.
    Value(Value),
    /// What it said of its failure.
    Failed(String),
    /// Why it was not reached.
    Unavailable(String),
}

/// The value in a CallToolResult: its structured content, a lone `result` taken out; else its text, as JSON if it is some.
pub(super) fn answer(result: &Value) -> Answer {
    let texts = result.get("content").and_then(Value::as_list).unwrap_or_default();
    let texts: Vec<&str> = texts.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    let text = texts.join("\n");
    if matches!(result.get("isError"), Some(Value::Bool(true))) {
        return Answer::Failed(if text.is_empty() { "the tool failed and did not say why".to_owned() } else { text });
    }
    match result.get("structuredContent") {
        Some(Value::Map(map)) if map.len() == 1 && map.get("result").is_some() => {
            Answer::Value(map.get("result").cloned().unwrap_or_default())
        }
        Some(Value::Null) | None if texts.is_empty() => Answer::Value(Value::Null),
        Some(Value::Null) | None => Answer::Value(json::read(&text).unwrap_or(Value::Str(text))),
        Some(value) => Answer::Value(value.clone()),
    }
}

/// An answer that never fails the action: `{name, status, data, detail, meta, usable}`.
pub(super) fn classified(name: &str, answer: Answer, expect: &str) -> Value {
    let (status, data, detail) = match answer {
        Answer::Failed(message) => ("error", Value::Null, message),
        Answer::Unavailable(message) => ("error", Value::Null, format!("upstream unavailable: {message}")),
        Answer::Value(value) => sorted(value, expect),
    };
    let detail: String = detail.chars().take(DETAIL_MAX).collect();
    Value::from([
        ("name", name.into()),
        ("status", status.into()),
        ("data", data),
        ("detail", detail.into()),
        ("meta", Map::default().into()),
        ("usable", (status == "ok").into()),
    ])
}

type Sorted = (&'static str, Value, String);

fn ok(value: Value) -> Sorted {
    ("ok", value, String::new())
}

fn malformed(value: Value, detail: &str) -> Sorted {
    ("malformed", value, detail.to_owned())
}

fn wrong(detail: impl Into<String>) -> Sorted {
    ("error", Value::Null, detail.into())
}

fn sorted(value: Value, expect: &str) -> Sorted {
    match (value, expect) {
        (Value::Null, _) => wrong("empty response"),
        (value, "rows") => rows(value),
        (Value::Str(text), "text") if text.trim().is_empty() => wrong("empty response"),
        (Value::Str(text), "text") => ok(text.into()),
        (Value::Str(text), _) => {
            let lower = text.to_lowercase();
            if ["error", "exception", "traceback", "failed"].iter().any(|word| lower.contains(word)) {
                wrong(text)
            } else {
                malformed(text.into(), "unstructured text")
            }
        }
        (value, expect) => {
            if let Some(fault) = fault(&value, LEVELS) {
                return wrong(python::str(fault));
            }
            match (&value, expect) {
                (Value::List(_) | Value::Map(_), "list") | (Value::Map(_), "dict") => ok(value),
                (_, "list") => malformed(value, "expected list/dict"),
                (_, "dict") => malformed(value, "expected dict"),
                (_, _) => ok(value),
            }
        }
    }
}

fn rows(value: Value) -> Sorted {
    let read = |text: &str| json::read(text).ok().or_else(|| literal::read(text));
    match value {
        Value::List(_) => ok(value),
        Value::Map(_) => ok(Value::List(vec![value])),
        Value::Str(text) => match Some(&text).filter(|text| text.len() <= ROWS_MAX).and_then(|text| read(text)) {
            Some(list @ Value::List(_)) => ok(list),
            Some(map @ Value::Map(_)) => ok(Value::List(vec![map])),
            _ => malformed(text.into(), "not row-shaped"),
        },
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => malformed(value, "not row-shaped"),
    }
}

/// An `error` in an answer that says something.
fn fault(value: &Value, levels: u32) -> Option<&Value> {
    let map = value.as_map().filter(|_| levels > 0)?;
    let empty = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Str(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Int(int) => int.to_string() == "0",
        Value::Float(float) => *float == 0.0,
        Value::Bool(true) => false,
    };
    map.get("error")
        .filter(|fault| !empty(fault))
        .or_else(|| map.iter().find_map(|(_, inner)| fault(inner, levels - 1)))
}
