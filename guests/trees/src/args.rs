//! The arguments of tool calls, read as leniently as the peer's users are used to, and refused in words that say the cure.

use wfhost_guest::model::Call;
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::value::{Int, Map, Value};
use wfhost_guest::{json, python};

use crate::engine::Answer;

/// LIMIT: characters of a value that an error quotes.
const QUOTED_MAX: usize = 60;

/// The arguments of one call, and what is wrong with them so far.
pub(crate) struct Args {
    tool: String,
    map: Map,
    faults: Vec<String>,
}

impl Args {
    /// The arguments of a call. `known` are the names that the tool has.
    pub(crate) fn of(call: &Call, known: &[&str]) -> Result<Self, String> {
        let tool = call.tool.clone();
        let map = match json::read(if call.args.is_empty() { "null" } else { &call.args }) {
            Ok(Value::Map(map)) => map,
            Ok(Value::Null) => Map::default(),
            Ok(Value::Str(_)) => {
                return Err(format!(
                    "{tool}: the arguments came as a text; send an object, not a string that holds one"
                ));
            }
            Ok(other) => return Err(format!("{tool}: the arguments are {}; send an object", called(&other))),
            Err(fault) => {
                return Err(format!("{tool}: the arguments are no valid JSON: {}; send an object", fault.what));
            }
        };
        let mut args = Self { tool, map, faults: Vec::new() };
        let unknown: Vec<String> = args.map.keys().filter(|key| !known.contains(key)).map(str::to_owned).collect();
        for key in unknown {
            let cure = did_you_mean(&key, known.iter().copied()).unwrap_or_else(|| {
                if known.is_empty() {
                    "this tool takes none".to_owned()
                } else {
                    format!("this tool takes {}", known.join(", "))
                }
            });
            args.faults.push(format!("there is no argument `{key}`; {cure}"));
        }
        Ok(args)
    }

    /// What was asked for, unless something was wrong.
    pub(crate) fn done<T>(self, asked: Option<T>) -> Result<T, String> {
        match asked {
            Some(value) if self.faults.is_empty() => Ok(value),
            Some(_) | None => Err(format!("{}: {}", self.tool, self.faults.join("; "))),
        }
    }

    /// An argument that is there and not null.
    fn given(&self, name: &str) -> Option<Value> {
        self.map.get(name).filter(|value| !matches!(value, Value::Null)).cloned()
    }

    fn fault(&mut self, name: &str, wanted: &str, got: &Value, cure: &str) {
        self.faults.push(format!("`{name}` must be {wanted}, got {}; {cure}", quoted(got)));
    }

    fn missing(&mut self, name: &str, cure: &str) {
        self.faults.push(format!("`{name}` is missing; {cure}"));
    }

    /// A text that must be there.
    pub(crate) fn text(&mut self, name: &str, cure: &str) -> Option<String> {
        match self.map.get(name).cloned() {
            Some(Value::Str(text)) => return Some(text),
            Some(other) => self.fault(name, "a text", &other, cure),
            None => self.missing(name, cure),
        }
        None
    }

    /// A text that may be there.
    pub(crate) fn optional_text(&mut self, name: &str, cure: &str) -> Option<String> {
        let value = self.given(name)?;
        if value.as_str().is_none() {
            self.fault(name, "a text", &value, cure);
        }
        value.as_str().map(str::to_owned)
    }

    /// An integer that must be there.
    fn integer(&mut self, name: &str, cure: &str) -> Option<Int> {
        let Some(value) = self.map.get(name).cloned() else {
            self.missing(name, cure);
            return None;
        };
        let int = integer(&value);
        if int.is_none() {
            self.fault(name, "a whole number", &value, cure);
        }
        int
    }

    /// A count that may be there.
    pub(crate) fn optional_count(&mut self, name: &str, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let value = self.given(name)?;
        let count = match integer(&value) {
            Some(Int::Small(number)) => u32::try_from(number).ok().filter(|number| range.contains(number)),
            Some(Int::Big(_)) | None => None,
        };
        if count.is_none() {
            let wanted = format!("a whole number from {} to {}", range.start(), range.end());
            self.fault(name, &wanted, &value, "leave it out for the default");
        }
        count
    }

    /// A flag that may be there.
    pub(crate) fn optional_flag(&mut self, name: &str) -> Option<bool> {
        let value = self.given(name)?;
        let flag = flag(&value);
        if flag.is_none() {
            self.fault(name, "true or false", &value, "leave it out for the default");
        }
        flag
    }
}

/// The arguments of `tree_answer`.
pub(crate) fn answer(call: &Call) -> Result<Answer, String> {
    answered(call).map(|(_, answer)| answer)
}

/// The arguments of `tree_answer`, and the session they name.
pub(crate) fn answered(call: &Call) -> Result<(String, Answer), String> {
    let mut args = Args::of(call, &["session_id", "step", "value", "rationale", "is_error"])?;
    let session = args.text("session_id", "send the session_id of the envelope");
    let step = args.integer("step", "send the step of the envelope that you answer");
    let value = args.map.get("value").cloned();
    if value.is_none() {
        args.missing("value", "send the answer, one of `expects.options` if there are any");
    }
    let rationale = args.optional_text("rationale", "give your reasons in words, or leave it out");
    let is_error = args.optional_flag("is_error").unwrap_or(false);
    let answer = match (session, step, value) {
        (Some(session), Some(step), Some(value)) => Some((session, Answer { step, value, rationale, is_error })),
        (_, _, _) => None,
    };
    args.done(answer)
}

/// What counts as a whole number: also 1.0, true, and a text that reads as one.
fn integer(value: &Value) -> Option<Int> {
    match value {
        Value::Int(int) => Some(int.clone()),
        Value::Bool(flag) => Some(Int::Small(i64::from(*flag))),
        Value::Float(float) if float.is_finite() && float.fract() == 0.0 => Int::decimal(&format!("{float:.0}")),
        Value::Str(text) => {
            let text = text.trim();
            let whole = text
                .split_once('.')
                .filter(|(_, zeros)| zeros.bytes().all(|byte| byte == b'0'))
                .map_or(text, |(whole, _)| whole);
            Int::decimal(whole)
        }
        Value::Null | Value::Float(_) | Value::List(_) | Value::Map(_) => None,
    }
}

/// What counts as yes or no.
fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Int(Int::Small(0)) => Some(false),
        Value::Int(Int::Small(1)) => Some(true),
        Value::Float(0.0) => Some(false),
        Value::Float(1.0) => Some(true),
        Value::Str(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
            _ => None,
        },
        Value::Null | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => None,
    }
}

fn called(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::Float(_) => "a number",
        Value::Str(_) => "a text",
        Value::List(_) => "a list",
        Value::Map(_) => "an object",
    }
}

fn quoted(value: &Value) -> String {
    let text = python::dumps(value, python::Layout::SPACED);
    if text.chars().count() <= QUOTED_MAX {
        text
    } else {
        format!("{}...", text.chars().take(QUOTED_MAX).collect::<String>())
    }
}
