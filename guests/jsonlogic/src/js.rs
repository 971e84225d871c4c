//! Values as JavaScript has them: one kind of number, `undefined`, and lists and mappings with an identity.

use std::rc::Rc;

use wfhost_guest::value::{Int, Map, Value};

use crate::fault::{Budget, Fault, Kind, VALUE_DEPTH_MAX};

/// A value. A copy of a list or mapping is the same one, as in JavaScript.
#[derive(Clone, Debug)]
pub(crate) enum Js {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Rc<str>),
    List(Rc<List>),
    Map(Rc<Members>),
}

#[derive(Debug)]
pub(crate) struct List {
    pub(crate) items: Vec<Js>,
    extent: Extent,
}

#[derive(Debug)]
pub(crate) struct Members {
    pub(crate) members: Vec<(Rc<str>, Js)>,
    extent: Extent,
}

/// How deep a value is nested, and in how many steps it can be walked. Known of each list and mapping since it was made, so
/// that one with shared parts, which is small in memory and huge on paper, is paid for before anybody walks it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    depth: u32,
    pub(crate) steps: u64,
}

impl Extent {
    fn around<'a>(values: impl Iterator<Item = &'a Js>) -> Result<Self, Fault> {
        let mut extent = Self { depth: 0, steps: 1 };
        for value in values {
            let inner = value.extent();
            extent.depth = extent.depth.max(inner.depth);
            extent.steps = extent.steps.saturating_add(inner.steps);
        }
        extent.depth += 1;
        if extent.depth > VALUE_DEPTH_MAX { Err(Kind::TooDeep.into()) } else { Ok(extent) }
    }
}

impl Js {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn list(items: Vec<Self>) -> Result<Self, Fault> {
        let extent = Extent::around(items.iter())?;
        Ok(Self::List(Rc::new(List { items, extent })))
    }

    pub(crate) fn map(members: Vec<(Rc<str>, Self)>) -> Result<Self, Fault> {
        let extent = Extent::around(members.iter().map(|(_, value)| value))?;
        Ok(Self::Map(Rc::new(Members { members, extent })))
    }

    pub(crate) fn extent(&self) -> Extent {
        match self {
            Self::Undefined | Self::Null | Self::Bool(_) | Self::Number(_) => Extent { depth: 0, steps: 1 },
            Self::Text(text) => Extent { depth: 0, steps: 1 + u64::try_from(text.len() / 16).unwrap_or(u64::MAX) },
            Self::List(list) => list.extent,
            Self::Map(map) => map.extent,
        }
    }

    /// The value of `JSON.parse`: integers beyond 2^53 become the nearest double.
    pub(crate) fn from_value(value: &Value) -> Result<Self, Fault> {
        Self::read(value, 0)
    }

    fn read(value: &Value, depth: u32) -> Result<Self, Fault> {
        // The depth of a finished value is known too late for a value that is deeper than the stack.
        if depth > VALUE_DEPTH_MAX {
            return Err(Kind::TooDeep.into());
        }
        match value {
            Value::Null => Ok(Self::Null),
            Value::Bool(flag) => Ok(Self::Bool(*flag)),
            Value::Int(int) => Ok(Self::Number(double(int))),
            Value::Float(float) => Ok(Self::Number(*float)),
            Value::Str(text) => Ok(Self::text(text)),
            Value::List(items) => {
                Self::list(items.iter().map(|item| Self::read(item, depth + 1)).collect::<Result<_, _>>()?)
            }
            Value::Map(map) => {
                let member = |(key, item): (&str, &Value)| Ok((key.into(), Self::read(item, depth + 1)?));
                Self::map(map.iter().map(member).collect::<Result<_, Fault>>()?)
            }
        }
    }

    /// The value for the world outside: `undefined` is null there, and a whole number is an integer.
    pub(crate) fn into_value(self, budget: &mut Budget) -> Result<Value, Fault> {
        budget.spend(self.extent().steps)?;
        Ok(self.write())
    }

    fn write(&self) -> Value {
        match self {
            Self::Undefined | Self::Null => Value::Null,
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Number(number) => whole(*number).map_or(Value::Float(*number), Value::from),
            Self::Text(text) => Value::from(&**text),
            Self::List(list) => Value::List(list.items.iter().map(Self::write).collect()),
            Self::Map(map) => {
                let members = map.members.iter().map(|(key, value)| (key.to_string(), value.write()));
                Value::Map(members.collect::<Map>())
            }
        }
    }
}

fn double(int: &Int) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "JavaScript's numbers are doubles")]
    match int {
        Int::Small(small) => *small as f64,
        Int::Big(_) => int.as_f64(),
    }
}

/// The integer that a double is, where every integer is one.
pub(crate) fn whole(number: f64) -> Option<i64> {
    const SAFE: f64 = 9_007_199_254_740_992.0;
    #[allow(clippy::cast_possible_truncation, reason = "it is whole and within 53 bits")]
    (number.fract() == 0.0 && number.abs() <= SAFE).then_some(number as i64)
}
