//! Any JSON value, for people: a field a line, lists of like objects as a table.

use serde_json::{Map, Value};

use super::print::{cut, plain, table};

/// Characters of a table's cell that are shown at most.
const CELL_MAX: usize = 40;

/// The value's lines.
pub(crate) fn outline(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => fields.iter().flat_map(|(name, value)| field(name, value)).collect(),
        Value::Array(items) => list(items),
        Value::String(text) => text.lines().map(plain).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => vec![value.to_string()],
    }
}

/// A value on one line.
pub(crate) fn inline(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && text.trim() == text => plain(text),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            plain(&value.to_string())
        }
    }
}

fn field(name: &str, value: &Value) -> Vec<String> {
    let name = plain(name);
    let below = match value {
        Value::Object(fields) if !fields.is_empty() => true,
        Value::Array(items) => items.iter().any(Value::is_object),
        Value::String(text) => text.contains('\n'),
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => false,
    };
    if !below {
        return vec![format!("{name}: {}", inline(value))];
    }
    let inner = outline(value).into_iter().map(|line| format!("  {line}"));
    std::iter::once(format!("{name}:")).chain(inner).collect()
}

fn list(items: &[Value]) -> Vec<String> {
    if let Some(rows) = rows(items) {
        return table(&rows);
    }
    items
        .iter()
        .flat_map(|item| {
            let lines = outline(item).into_iter().enumerate();
            lines.map(|(n, line)| format!("{} {line}", if n == 0 { "-" } else { " " })).collect::<Vec<_>>()
        })
        .collect()
}

/// Objects as rows under their field names. Fields that are null everywhere are left out.
fn rows(items: &[Value]) -> Option<Vec<Vec<String>>> {
    let objects: Vec<&Map<String, Value>> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
    let mut names: Vec<&String> = Vec::new();
    for object in &objects {
        names.extend(
            object
                .iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(name, _)| name)
                .filter(|n| !names.contains(n))
                .collect::<Vec<_>>(),
        );
    }
    let cell = |object: &Map<String, Value>, name: &String| match object.get(name) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(value) => cut(&inline(value), CELL_MAX),
    };
    let head = names.iter().map(|name| plain(name)).collect();
    let body = objects.iter().map(|object| names.iter().map(|name| cell(object, name)).collect());
    Some(std::iter::once(head).chain(body).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_laid_out() {
        let value = serde_json::json!({
            "a": 1, "b": {"c": "x", "d": null}, "e": [], "f": ["p", 2], "g": "two\nlines",
            "h": [{"k": 1, "l": null, "m": "z"}, {"k": 22, "l": null}],
        });
        let expected = [
            "a: 1",
            "b:",
            "  c: x",
            "  d: null",
            "e: []",
            "f: [\"p\",2]",
            "g:",
            "  two",
            "  lines",
            "h:",
            "  k   m",
            "  1   z",
            "  22  -",
        ];
        assert_eq!(outline(&value), expected);
    }
}
