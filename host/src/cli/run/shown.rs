//! A line of a history on the terminal.

use serde_json::Value;

use crate::cli::{outline, print};

/// Something to show, and whether a run that is stepped through stops there.
pub(super) struct Part {
    pub(super) text: String,
    pub(super) stops: bool,
}

/// Characters of a value that are shown at most.
const VALUE_MAX: usize = 160;

/// The parts of one line: what came in, each entry, each request, the end.
pub(super) fn parts(line: &Value) -> Vec<Part> {
    let mut parts = vec![Part { text: headline(line), stops: false }];
    let list = |name: &str| line.get(name).and_then(Value::as_array).into_iter().flatten();
    parts.extend(list("entries").map(|entry| Part { text: format!("      {}", self::entry(entry)), stops: true }));
    parts.extend(list("asks").map(|request| Part { text: format!("      asks {}", asked(request)), stops: true }));
    if let Some(outcome) = line.get("outcome") {
        parts.push(Part { text: format!("      ended: {}", value(outcome)), stops: false });
    }
    parts
}

fn headline(line: &Value) -> String {
    let word = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or("host");
    let number = |name: &str| line.get(name).and_then(Value::as_u64).unwrap_or_default();
    let event = line.get("event").map(event).unwrap_or_default();
    let what =
        ["refusal", "note", "fault"].into_iter().find_map(|kind| Some(format!("{kind} {}", value(line.get(kind)?))));
    let source = print::plain(word("source"));
    let told = [event, what.unwrap_or_default()].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
    format!("#{:<3} +{} ms  {source}  {}", number("line"), number("after_ms"), told.join(" -> "))
}

fn event(event: &Value) -> String {
    let word = |name: &str| event.get(name).and_then(Value::as_str).map(print::plain);
    if let Some(tool) = word("call") {
        return format!("{tool} {}", value(event.get("args").unwrap_or(&Value::Null)));
    }
    if let Some(request) = word("reply") {
        let took = event.get("took_ms").map(|took| format!(" after {took} ms")).unwrap_or_default();
        let came = event.get("value").or_else(|| event.get("failure")).unwrap_or(&Value::Null);
        return format!("reply [{request}]{took} {}", value(came));
    }
    format!("open {}", value(event.get("open").unwrap_or(&Value::Null)))
}

fn entry(entry: &Value) -> String {
    let word = |name: &str| entry.get(name).and_then(Value::as_str).map(print::plain);
    let mut text = entry.get("seq").map(|seq| format!("{seq}. ")).unwrap_or_default();
    text.push_str(&[word("node"), word("kind")].into_iter().flatten().collect::<Vec<_>>().join(" "));
    if let Some(input) = entry.get("input") {
        text.push_str(&format!(" {}", value(input)));
    }
    if let Some(branch) = word("branch") {
        text.push_str(&format!(" => {branch}"));
    }
    if let Some(detail) = entry.get("detail") {
        text.push_str(&format!("  {}", value(detail)));
    }
    text
}

fn asked(request: &Value) -> String {
    let id = request.get("id").and_then(Value::as_str).unwrap_or_default();
    format!("[{}] {}", print::plain(id), value(request.get("need").unwrap_or(&Value::Null)))
}

fn value(value: &Value) -> String {
    print::cut(&outline::inline(value), VALUE_MAX)
}
