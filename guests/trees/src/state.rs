//! What a step needs of the one before: where the session stands, and the facts it has captured.

use wfhost_guest::json;
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};

use crate::code::{Code, Step};

/// The state of a session.
#[derive(Clone, Debug)]
pub(crate) struct State<'a> {
    /// The node it stands at.
    pub(crate) node: Step<'a>,
    /// Answers accepted, and one.
    pub(crate) step: i64,
    /// Trace entries written.
    pub(crate) entries: u32,
    /// How it ended, if it has.
    pub(crate) outcome: Option<String>,
    /// What was captured.
    pub(crate) facts: Map,
}

/// The outcome of a session that ran into `max_steps`.
pub(crate) const ABORTED: &str = "aborted:max_steps";

impl<'a> State<'a> {
    /// The state that a text holds.
    pub(crate) fn read(code: Code<'a>, text: &str) -> Result<Self, Broken> {
        let Ok(Value::Map(map)) = json::read(text) else { return Err(Broken) };
        let node = map.get("node").and_then(Value::as_str).ok_or(Broken)?;
        let node = code.node(code.find(node)?)?;
        let step = map.get("step").and_then(Value::as_i64).ok_or(Broken)?;
        let entries =
            map.get("entries").and_then(Value::as_i64).and_then(|count| u32::try_from(count).ok()).ok_or(Broken)?;
        let outcome = map.get("outcome").and_then(Value::as_str).map(str::to_owned);
        let facts = map.into_iter().find_map(|(key, value)| match value {
            Value::Map(facts) if key == "facts" => Some(facts),
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Str(_)
            | Value::List(_)
            | Value::Map(_) => None,
        });
        Ok(Self { node, step, entries, outcome, facts: facts.ok_or(Broken)? })
    }

    /// The text of a state.
    pub(crate) fn write(self) -> String {
        json::exact(&Value::from([
            ("node", self.node.id.into()),
            ("step", self.step.into()),
            ("entries", self.entries.into()),
            ("outcome", self.outcome.into()),
            ("facts", self.facts.into()),
        ]))
    }
}
