//! Values as JSONata has them: every number is a double, as in JavaScript, and "no value" is one of them. A copy costs nothing.

use jsonata_core::value::JValue;
use wfhost_guest::value::{Int, Map, Value};

/// A value, or no value.
#[derive(Clone, Debug)]
pub struct Data(pub(crate) JValue);

/// Members of an object, in order; what a context is made of.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(String, Data)>);

/// Integers up to here are exact in a double.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

impl Data {
    /// No value, which is less than null.
    #[must_use]
    pub fn nothing() -> Self {
        Self(JValue::Undefined)
    }

    /// Null.
    #[must_use]
    pub fn null() -> Self {
        Self(JValue::Null)
    }

    /// A text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self(JValue::from(text))
    }

    /// A whole number.
    #[must_use]
    pub fn count(count: usize) -> Self {
        Self(JValue::from_i64(i64::try_from(count).unwrap_or(i64::MAX)))
    }

    /// A list. Unlike what a path gives, one of one item stays a list.
    #[must_use]
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self(JValue::array(items.into_iter().map(|item| item.0).collect()))
    }

    /// Whether this is no value.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.0.is_undefined()
    }

    /// Whether this is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.is_object()
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        self.0.as_str()
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        self.0.as_f64()
    }

    /// The items, if it is a list.
    #[must_use]
    pub fn items(&self) -> Option<Vec<Self>> {
        self.0.as_array().map(|items| items.iter().cloned().map(Self).collect())
    }

    /// The value of a JSON text, if it is one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        wfhost_guest::json::read(text).ok().map(|value| Self::from(&value))
    }

    /// The value for the wire. None: there is none. A function is the empty text, as `$string` has it.
    #[must_use]
    pub fn value(&self) -> Option<Value> {
        Some(match &self.0 {
            JValue::Undefined => return None,
            JValue::Null => Value::Null,
            JValue::Bool(flag) => Value::Bool(*flag),
            JValue::Number(number) => number_value(*number),
            JValue::String(text) => Value::Str((**text).to_owned()),
            JValue::Array(items) => {
                Value::List(items.iter().map(|item| Self(item.clone()).value().unwrap_or_default()).collect())
            }
            JValue::Object(map) => Value::Map(members(map.iter())),
            JValue::Lambda(_) | JValue::Builtin { .. } | JValue::Regex { .. } => Value::Str(String::new()),
        })
    }
}

fn members<'a>(map: impl Iterator<Item = (&'a String, &'a JValue)>) -> Map {
    map.filter_map(|(key, item)| Some((key.clone(), Data(item.clone()).value()?))).collect()
}

/// A double as JavaScript writes it into JSON: whole numbers without a point, what is no number as null.
fn number_value(number: f64) -> Value {
    if !number.is_finite() {
        return Value::Null;
    }
    #[allow(clippy::cast_possible_truncation, reason = "whole and small enough to be exact")]
    if number.fract() == 0.0 && number.abs() <= EXACT_MAX {
        return Value::Int(Int::Small(number as i64));
    }
    if number.fract() == 0.0 && number.abs() < 1e21 {
        return shortest(number).map_or(Value::Float(number), Value::Int);
    }
    Value::Float(number)
}

/// The digits that tell a large whole double from its neighbours, and zeros for the rest.
fn shortest(number: f64) -> Option<Int> {
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e')?;
    let places = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let zeros = exponent.parse::<usize>().ok()?.checked_sub(places)?;
    Int::decimal(&format!("{}{}", digits.replace('.', ""), "0".repeat(zeros)))
}

impl From<&Value> for Data {
    fn from(value: &Value) -> Self {
        Self(match value {
            Value::Null => JValue::Null,
            Value::Bool(flag) => JValue::Bool(*flag),
            Value::Int(int) => JValue::from_f64(int.as_f64()),
            Value::Float(float) if float.is_finite() => JValue::from_f64(*float),
            Value::Float(_) => JValue::Null,
            Value::Str(text) => JValue::from(text.as_str()),
            Value::List(items) => JValue::array(items.iter().map(|item| Self::from(item).0).collect()),
            Value::Map(map) => {
                let members = map.iter().map(|(key, item)| (key.to_owned(), Self::from(item).0));
                JValue::object(members.collect())
            }
        })
    }
}

impl Fields {
    /// Appends a member. One without a value is a key all the same.
    pub fn push(&mut self, key: &str, data: Data) {
        self.0.push((key.to_owned(), data));
    }
}

impl From<Fields> for Data {
    fn from(fields: Fields) -> Self {
        Self(JValue::object(fields.0.into_iter().map(|(key, data)| (key, data.0)).collect()))
    }
}
