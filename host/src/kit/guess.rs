//! Values that fit a JSON Schema, as far as a guess goes: enough to call tools whose meaning nobody knows.

use serde_json::{Map, Value, json};

/// A value of a schema. `text` is what a string without choices becomes, `number` a number without bounds.
pub(super) fn value(schema: &Value, text: &str, number: u64) -> Value {
    if let Some(fixed) = schema.get("const").or_else(|| schema.get("default")) {
        return fixed.clone();
    }
    if let Some(choice) = schema.get("enum").and_then(Value::as_array).and_then(|all| all.first()) {
        return choice.clone();
    }
    if let Some(one) = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)?.as_array()?.first()) {
        return value(one, text, number);
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str).unwrap_or("string"),
        Some(Value::String(kind)) => kind,
        Some(_) | None if schema.get("properties").is_some() => "object",
        Some(_) | None => "string",
    };
    match kind {
        "boolean" => json!(true),
        "integer" | "number" => json!(schema.get("minimum").and_then(Value::as_u64).unwrap_or(0).max(number)),
        "array" => json!([]),
        "null" => Value::Null,
        "object" => object(schema, text, number),
        _ => json!(text),
    }
}

/// An object with all properties that are required.
pub(super) fn object(schema: &Value, text: &str, number: u64) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let members = required.map(|name| {
        let of = schema.pointer(&format!("/properties/{name}")).cloned().unwrap_or_default();
        (name.to_owned(), value(&of, text, number))
    });
    Value::Object(members.collect::<Map<_, _>>())
}
