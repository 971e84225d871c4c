//! What `var`, `missing` and `missing_some` see: the data of the rule, asked for piece by piece, or an item of a list.

use std::rc::Rc;

use wfhost_guest::value::Value;

use crate::fault::{Budget, Fault};
use crate::js::Js;

/// The data of a rule. A closure from a path to a value is one.
pub trait Lookup {
    /// The value at this path, as the rule's `var` names it; the empty path is all of the data. None: nothing is there. An
    /// error ends the evaluation with these words.
    fn value(&mut self, path: &str) -> Result<Option<Value>, String>;

    /// What `missing` and `missing_some` look at. The same, unless the paths of `var` are in a language of their own.
    fn plain(&mut self, path: &str) -> Result<Option<Value>, String> {
        self.value(path)
    }

    /// What a `var` without a default gives where nothing is.
    fn absent(&self) -> Absent {
        Absent::Null
    }
}

impl<F: FnMut(&str) -> Option<Value>> Lookup for F {
    fn value(&mut self, path: &str) -> Result<Option<Value>, String> {
        Ok(self(path))
    }
}

/// What nothing is: they differ in `===` and in `<`, `>` and their kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// As in json-logic-js.
    Null,
    /// As in mcpGraph, where an expression of another language takes the place of `var` (case e06).
    Undefined,
}

/// Where evaluation stands.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// In the rule itself.
    Outer,
    /// Within an array operation, or over data given whole.
    Item(&'a Js),
}

/// One step of a path: a member, an item by its index, a letter, or a length. None: undefined.
pub(crate) fn member(data: &Js, key: &str, budget: &mut Budget) -> Result<Option<Js>, Fault> {
    Ok(match data {
        Js::Undefined | Js::Null | Js::Bool(_) | Js::Number(_) => None,
        Js::Text(text) => {
            budget.spend_text(text.len())?;
            of_text(text, key).map(|part| match part {
                Part::Length(length) => Js::Number(length),
                Part::Letter(letter) => Js::text(&letter),
            })
        }
        Js::List(list) if key == "length" => Some(Js::Number(length(list.items.len()))),
        Js::List(list) => index(key).and_then(|index| list.items.get(index)).cloned(),
        Js::Map(map) => {
            budget.spend(u64::try_from(map.members.len() / 16).unwrap_or(u64::MAX))?;
            map.members.iter().find(|(name, _)| **name == *key).map(|(_, value)| value.clone())
        }
    })
}

/// The value at a path of names with dots between them, as json-logic-js finds it; the empty path is the data itself.
#[must_use]
pub fn dotted(data: &Value, path: &str) -> Option<Value> {
    if path.is_empty() {
        return Some(data.clone());
    }
    let mut at = data;
    let mut steps = path.split('.');
    while let Some(key) = steps.next() {
        at = match at {
            Value::Map(map) => map.get(key)?,
            Value::List(items) => match index(key) {
                Some(index) => items.get(index)?,
                // Whatever follows, a number has no members.
                None if key == "length" && steps.next().is_none() => return Some(whole(items.len())),
                None => return None,
            },
            Value::Str(text) => {
                let rest: Vec<&str> = steps.collect();
                return letters(text, key, &rest);
            }
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => return None,
        };
    }
    Some(at.clone())
}

/// A way within a text: a letter of a letter is the letter.
fn letters(text: &str, key: &str, rest: &[&str]) -> Option<Value> {
    match (of_text(text, key)?, rest) {
        (Part::Length(_), []) => Some(whole(text.encode_utf16().count())),
        (Part::Length(_), [_, ..]) => None,
        (Part::Letter(letter), []) => Some(Value::Str(letter)),
        (Part::Letter(letter), [key, rest @ ..]) => letters(&letter, key, rest),
    }
}

enum Part {
    Length(f64),
    Letter(String),
}

fn of_text(text: &str, key: &str) -> Option<Part> {
    if key == "length" {
        return Some(Part::Length(length(text.encode_utf16().count())));
    }
    let unit = text.encode_utf16().nth(index(key)?)?;
    // LIMIT: half of a surrogate pair is no text here and becomes the replacement character.
    Some(Part::Letter(String::from_utf16_lossy(&[unit])))
}

/// An index in the only form that names an item: `0`, `17`, but not `01` or `1e1`.
fn index(key: &str) -> Option<usize> {
    let canonical = key == "0" || !key.starts_with('0') && key.bytes().all(|byte| byte.is_ascii_digit());
    if canonical { key.parse().ok() } else { None }
}

#[allow(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
fn length(count: usize) -> f64 {
    count as f64
}

fn whole(count: usize) -> Value {
    Value::from(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The keys that `missing` was given: its first value if that is a list, else all of them.
pub(crate) fn keys(values: Vec<Js>) -> Rc<[Js]> {
    match values.first() {
        Some(Js::List(list)) => list.items.clone().into(),
        Some(_) | None => values.into(),
    }
}
