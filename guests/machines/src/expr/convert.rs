//! Values of documents as the template engine holds them, and back.

use minijinja::value::{Value as Jinja, ValueKind};
use wfhost_guest::value::{Int, Map, Value};

/// LIMIT: how deep a result may be nested.
const DEPTH_MAX: usize = 100;

/// A value for the engine. Integers beyond 128 bits become floats: whoever only passes them on never comes here.
pub(super) fn into(value: &Value) -> Jinja {
    match value {
        Value::Null => Jinja::from(()),
        Value::Bool(flag) => Jinja::from(*flag),
        Value::Int(Int::Small(number)) => Jinja::from(*number),
        Value::Int(int) => match int.to_string().parse::<i128>() {
            Ok(number) => Jinja::from(number),
            Err(_) => Jinja::from(int.as_f64()),
        },
        Value::Float(float) => Jinja::from(*float),
        Value::Str(text) => Jinja::from(text.as_str()),
        Value::List(items) => Jinja::from(items.iter().map(into).collect::<Vec<_>>()),
        Value::Map(map) => map_into(map),
    }
}

/// A map for the engine, with its keys in order.
pub(super) fn map_into(map: &Map) -> Jinja {
    Jinja::from_pairs(map.iter().map(|(key, item)| (Jinja::from(key), into(item))))
}

/// A result of the engine, or why it is no JSON.
pub(super) fn out(value: &Jinja) -> Result<Value, String> {
    deep(value, 0)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the engine's kinds may grow; what is not named here is no JSON")]
fn deep(value: &Jinja, depth: usize) -> Result<Value, String> {
    if depth > DEPTH_MAX {
        return Err("gives a value that is nested too deeply".to_owned());
    }
    match value.kind() {
        ValueKind::Undefined => Err("has no value".to_owned()),
        ValueKind::None => Ok(Value::Null),
        ValueKind::Bool => Ok(Value::Bool(value.is_true())),
        ValueKind::Number => number(value),
        ValueKind::String => Ok(Value::Str(value.as_str().unwrap_or_default().to_owned())),
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter().map_err(|_| "gives no list".to_owned())?;
            items.map(|item| deep(&item, depth + 1)).collect::<Result<_, _>>().map(Value::List)
        }
        ValueKind::Map => {
            let keys = value.try_iter().map_err(|_| "gives no map".to_owned())?;
            let member = |key: Jinja| {
                let item = value.get_item(&key).map_err(|_| "gives no map".to_owned())?;
                let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                Ok((key, deep(&item, depth + 1)?))
            };
            keys.map(member).collect::<Result<Map, String>>().map(Value::Map)
        }
        kind => Err(format!("gives {kind}, which is no JSON")),
    }
}

fn number(value: &Jinja) -> Result<Value, String> {
    if value.is_integer() {
        let digits = value.to_string();
        return Int::decimal(&digits).map(Value::Int).ok_or_else(|| format!("gives {digits}, which is no number"));
    }
    match f64::try_from(value.clone()) {
        Ok(float) if float.is_finite() => Ok(Value::Float(float)),
        Ok(float) => Err(format!("gives {float}, which is no finite number")),
        Err(_) => Err("gives a number that cannot be read".to_owned()),
    }
}
