//! JSON Schema: whether a value fits, with every place where it does not, and whether a schema says only what is checked here.
//!
//! Checked (draft 2020-12, and the words of draft 7 that mean the same): `type`, `enum`, `const`; `minimum`, `maximum`,
//! `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`; `minLength`, `maxLength`, `pattern`; `properties`, `required`,
//! `additionalProperties`, `patternProperties`, `propertyNames`, `minProperties`, `maxProperties`, `dependentRequired`,
//! `dependentSchemas`; `items`, `prefixItems`, `contains`, `minContains`, `maxContains`, `minItems`, `maxItems`,
//! `uniqueItems`; `allOf`, `anyOf`, `oneOf`, `not`, `if`, `then`, `else`; `$ref` to a place of the same schema.
//! Annotations (`title`, `default`, `format` and the like) say nothing of validity. Anything else is told by `faults`.
//!
//! Equality is that of JSON: 1 is 1.0, and true is not 1. A `pattern` is a regular expression of `regex-lite`: without
//! look-around and back references.

mod check;
mod faults;
#[cfg(test)]
mod tests;

pub use check::{Problem, problems};
pub use faults::{Fault, faults};

use crate::value::{Map, Value};

/// LIMIT: how deep schemas may refer to and hold one another while one value is checked.
pub const DEPTH_MAX: usize = 100;

/// The value with the defaults of `properties` put in where members are missing, at every level that `properties` and
/// `items` describe.
#[must_use]
pub fn with_defaults(value: Value, schema: &Value) -> Value {
    filled(value, schema, 0)
}

fn filled(value: Value, schema: &Value, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return value;
    }
    match value {
        Value::Map(map) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_map) else { return Value::Map(map) };
            let mut full: Map = map
                .into_iter()
                .map(|(key, item)| match properties.get(&key) {
                    Some(schema) => {
                        let item = filled(item, schema, depth + 1);
                        (key, item)
                    }
                    None => (key, item),
                })
                .collect();
            for (key, schema) in properties.iter() {
                if full.get(key).is_none()
                    && let Some(default) = schema.get("default")
                {
                    full.set(key, default.clone());
                }
            }
            Value::Map(full)
        }
        Value::List(items) => match schema.get("items") {
            Some(schema) => Value::List(items.into_iter().map(|item| filled(item, schema, depth + 1)).collect()),
            None => Value::List(items),
        },
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => value,
    }
}

/// Whether two values are the same JSON.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Bool(_), _) | (_, Value::Bool(_)) => false,
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().all(|(key, item)| b.get(key).is_some_and(|other| equal(item, other)))
        }
        (a, b) => crate::python::equal(a, b),
    }
}

/// The type of a value, by JSON Schema's name; a number without a fraction is an integer.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Int(_) => "integer",
        Value::Float(float) if float.fract() == 0.0 => "integer",
        Value::Float(_) => "number",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    }
}

fn is_type(value: &Value, name: &str) -> bool {
    let own = type_name(value);
    own == name || (own == "integer" && name == "number")
}
