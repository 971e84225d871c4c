//! The arguments of tool calls, read leniently where a client's habit is plain, and refused in words that say the cure.

use wfhost_guest::json;
use wfhost_guest::model::Call;
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::value::{Int, Map, Value};

use crate::facts::{self, Why};

/// LIMIT: characters of a value that an error quotes.
const QUOTED_MAX: usize = 60;

/// An answer to the node in hand.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) choice: Option<String>,
    pub(crate) values: Map,
}

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
            Ok(Value::Str(_) | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_)) => {
                return Err(format!("{tool}: the arguments must be an object"));
            }
            Err(fault) => {
                return Err(format!("{tool}: the arguments are no valid JSON: {}; send an object", fault.what));
            }
        };
        let mut args = Self { tool, map, faults: Vec::new() };
        for key in args.map.keys().filter(|key| !known.contains(key)) {
            let cure = did_you_mean(key, known.iter().copied()).unwrap_or_else(|| match known {
                [] => "this tool takes none".to_owned(),
                known => format!("this tool takes {}", known.join(", ")),
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

    fn wrong(&mut self, name: &str, wanted: &str, got: &Value) {
        let text = json::text(got);
        let short: String = text.chars().take(QUOTED_MAX).collect();
        let dots = if short.len() < text.len() { "..." } else { "" };
        self.faults.push(format!("`{name}` must be {wanted}, got {short}{dots}"));
    }

    /// A text that must be there.
    pub(crate) fn text(&mut self, name: &str, cure: &str) -> Option<String> {
        match self.given(name) {
            Some(Value::Str(text)) => return Some(text),
            Some(other) => self.wrong(name, &format!("a text; {cure}"), &other),
            None => self.faults.push(format!("`{name}` is missing; {cure}")),
        }
        None
    }

    /// A text that may be there.
    pub(crate) fn optional_text(&mut self, name: &str) -> Option<String> {
        let value = self.given(name)?;
        if value.as_str().is_none() {
            self.wrong(name, "a text", &value);
        }
        value.as_str().map(str::to_owned)
    }

    /// A count that may be there.
    pub(crate) fn optional_count(&mut self, name: &str, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let value = self.given(name)?;
        let number = match &value {
            Value::Int(Int::Small(number)) => u32::try_from(*number).ok(),
            Value::Str(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => None,
        };
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            self.wrong(name, &format!("a whole number from {} to {}", range.start(), range.end()), &value);
        }
        number
    }

    /// A flag that may be there.
    pub(crate) fn optional_flag(&mut self, name: &str) -> Option<bool> {
        let value = self.given(name)?;
        let flag = match &value {
            Value::Bool(flag) => Some(*flag),
            Value::Str(text) => text.trim().to_ascii_lowercase().parse().ok(),
            Value::Null | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => None,
        };
        if flag.is_none() {
            self.wrong(name, "true or false", &value);
        }
        flag
    }

    /// A label. A blank one is none.
    fn choice(&mut self) -> Option<String> {
        let value = self.given("choice")?;
        match facts::scalar(&value) {
            Ok(text) => Some(text),
            Err(Why::Empty) => None,
            Err(_) => {
                self.wrong("choice", "a label, one of `node.accepts`, or `__unknown__`", &value);
                None
            }
        }
    }

    /// What is known. An object that came as a text is read.
    fn values(&mut self) -> Map {
        let value = match self.given("values") {
            Some(Value::Str(text)) => json::read(&text).unwrap_or(Value::Str(text)),
            Some(value) => value,
            None => return Map::default(),
        };
        if let Value::Map(map) = value {
            return map;
        }
        self.wrong("values", "an object: an answer for each node or slot", &value);
        Map::default()
    }
}

/// The arguments of `guide_start`: the flow, and what is known.
pub(crate) fn start(call: &Call) -> Result<(String, Map), String> {
    let mut args = Args::of(call, &["flow_id", "values"])?;
    let flow = args.text("flow_id", "send an id from guide_list");
    let values = args.values();
    args.done(flow.map(|flow| (flow, values)))
}

/// The arguments of `guide_answer`: the run, and what it is told.
pub(crate) fn answer(call: &Call) -> Result<(String, Answer), String> {
    let mut args = Args::of(call, &["run_id", "choice", "values"])?;
    let run = args.text("run_id", "send the run_id that guide_start gave");
    let (choice, values) = (args.choice(), args.values());
    args.done(run.map(|run| (run, Answer { choice, values })))
}
