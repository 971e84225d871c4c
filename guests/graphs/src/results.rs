//! What a call gives: the output of a node, or why it fails.

use wfhost_guest::json;
use wfhost_guest::value::Value;
use wfhost_jsonata::Data;

use crate::state::Maybe;
use crate::trouble::Trouble;

/// The output that a reply stands for. None: the call gave no value.
pub(crate) fn output(text: &str, upstream: bool) -> Result<Maybe, Trouble> {
    let value = json::read(text).map_err(|_| misshapen("it is no JSON"))?;
    let value = if upstream { of_tool(value)? } else { Some(value) };
    // Numbers are doubles from here on, as in all expressions.
    Ok(value.and_then(|value| Data::from(&value).value()))
}

/// The peer's rules, in this order: structured content; the first content item, a text that is JSON as what it says; nothing.
fn of_tool(result: Value) -> Result<Maybe, Trouble> {
    if result.as_map().is_none() {
        return Err(misshapen("it is no object"));
    }
    if matches!(result.get("isError"), Some(Value::Bool(true))) {
        return Err(failed(result));
    }
    let items = match result.get("content") {
        None => &[],
        Some(content) => content.as_list().ok_or_else(|| misshapen("`content` is no list"))?,
    };
    if let Some(structured) = result.get("structuredContent") {
        let object = structured.as_map().map(|_| Some(structured.clone()));
        return object.ok_or_else(|| misshapen("`structuredContent` is no object"));
    }
    let Some(first) = items.first() else { return Ok(None) };
    let text = first.get("text").and_then(Value::as_str).filter(|_| is_text(first)).filter(|text| !text.is_empty());
    Ok(Some(match text {
        Some(text) => parsed(text).unwrap_or_else(|| text.into()),
        None => first.clone(),
    }))
}

fn is_text(item: &Value) -> bool {
    item.get("type").and_then(Value::as_str) == Some("text")
}

/// What a text says as JSON. The kit's reader takes three words more, which JSON does not know.
fn parsed(text: &str) -> Option<Value> {
    let value = json::read(text).ok()?;
    let odd = ["NaN", "Infinity"].iter().any(|word| text.contains(word)) && not_finite(&value);
    (!odd).then_some(value)
}

fn not_finite(value: &Value) -> bool {
    match value {
        Value::Float(float) => !float.is_finite(),
        Value::List(items) => items.iter().any(not_finite),
        Value::Map(map) => map.iter().any(|(_, item)| not_finite(item)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Str(_) => false,
    }
}

fn failed(result: Value) -> Trouble {
    let first = result.get("content").and_then(Value::as_list).and_then(|items| items.first());
    let text = first.and_then(|item| item.get("text")).and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = text.unwrap_or("the tool failed and did not say why").to_owned();
    Trouble::new("tool_failed", message).with("result", result)
}

fn misshapen(why: &str) -> Trouble {
    Trouble::new("call_failed", format!("the reply is no result of a tool: {why}")).with("kind", "failed")
}
