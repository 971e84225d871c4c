//! One action from its inputs to the new data: everything, or a reason why not. It changes nothing; who calls it takes the
//! result over.
//!
//! Order: `require`, `normalise`, inputs against their schemas, `fail`, `let`, what others are asked (`effects`), `progress`,
//! `set` and `unset`, `result`, `writes`, the schema of the state.

use std::sync::Arc;

use wfhost_guest::json;
use wfhost_guest::model::Request;
use wfhost_guest::packed::Broken;
use wfhost_guest::schema;
use wfhost_guest::value::{Map, Value};

use super::inputs;
use super::state::Replies;
use crate::code::{Action, Code, Machine};
use crate::expr::{Clock, Engine, Failed, Inputs, Scope};

/// A step on its way, with all sub-machines that it runs.
pub(crate) struct Run<'c, 'r> {
    pub(crate) code: Code<'c>,
    /// What others have answered so far.
    pub(crate) replies: &'r Replies,
    /// In front of the ids of this step's requests.
    pub(crate) prefix: String,
    /// The chance of this step.
    pub(crate) seed: u64,
    /// What is asked now and was not answered yet.
    pub(crate) requests: Vec<Request>,
    /// Runs of sub-machines that have ended, as they are told.
    pub(crate) subruns: Vec<Value>,
    /// LIMIT: actions of sub-machines that one step may still run.
    pub(crate) budget: u32,
}

/// Where in a step something happens.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The way from the step to here.
    pub(crate) path: String,
    /// What time it is here: the step's beginning, or the last reply that was needed to come here.
    pub(crate) now: u64,
    /// When what happens here must have ended.
    pub(crate) deadline: Option<Deadline>,
    /// How many machines this one is inside of.
    pub(crate) depth: u32,
}

/// The end of an action's time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) at: u64,
    /// The time that it had, in milliseconds.
    pub(crate) millis: u32,
    /// How deep the action stands whose time it is.
    pub(crate) depth: u32,
}

/// What an action did.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) data: Map,
    pub(crate) result: Value,
    pub(crate) progress: Vec<Value>,
    pub(crate) now: u64,
}

/// Why an action did nothing.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// It waits for replies.
    Waits,
    /// It was refused.
    Refused(No),
    /// The definition cannot be read.
    Broken,
}

impl From<Broken> for Stop {
    fn from(Broken: Broken) -> Self {
        Self::Broken
    }
}

/// A refusal by an action.
#[derive(Clone, Debug)]
pub(crate) enum No {
    /// Its inputs will not do.
    Inputs { reason: String, details: Value },
    /// It failed.
    Error { kind: String, message: String },
    /// It took too long.
    Timeout(Deadline),
}

/// An error of an expression inside an action.
impl From<Failed> for Stop {
    fn from(Failed(message): Failed) -> Self {
        error("ExpressionError", message)
    }
}

pub(crate) fn error(kind: &str, message: impl Into<String>) -> Stop {
    Stop::Refused(No::Error { kind: kind.to_owned(), message: message.into() })
}

/// A machine with its data, before an action.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'c, 'd> {
    pub(crate) machine: Machine<'c>,
    pub(crate) data: &'d Map,
}

/// An action under way: its body, and what its texts can name.
pub(super) struct Body<'b> {
    pub(super) body: &'b Value,
    pub(super) engine: Engine,
    pub(super) scope: Scope,
    pub(super) place: Place,
    /// Counts the times that the clock was set, for identifiers.
    pub(super) waves: u32,
}

/// Runs an action.
pub(crate) fn perform<'c>(
    run: &mut Run<'c, '_>,
    frame: Frame<'c, '_>,
    (action, sent): (Action<'c>, &Map),
    mut place: Place,
) -> Result<Done, Stop> {
    if let Some(millis) = action.timeout()? {
        let at = place.now.saturating_add(u64::from(millis));
        if place.deadline.is_none_or(|deadline| at < deadline.at) {
            place.deadline = Some(Deadline { at, millis, depth: place.depth });
        }
    }
    let text = action.body()?;
    let body = json::read(text).map_err(|_| Broken)?;
    let (schemas, about) = (action.inputs()?, action.about()?);
    let state_schema = frame.machine.schema()?;
    let data = visible(frame.data, state_schema.is_some(), &about);
    let tables = frame.machine.tables(text)?;
    let scope = Scope {
        locals: Map::default(),
        inputs: Some(Inputs::default()),
        state: Arc::new(data),
        tables: Arc::new(tables),
    };
    let mut body = Body { engine: engine(run, &place, 0), body: &body, scope, place, waves: 0 };
    inputs::check(&mut body, sent, &schemas)?;
    body.locals()?;
    super::effects::effects(run, &mut body)?;
    let done = body.finish(frame.data)?;
    promised(&done.data, &about, state_schema.as_ref())?;
    Ok(done)
}

/// With a schema of the state an action sees only what it declares to read.
fn visible(data: &Map, typed: bool, about: &Value) -> Map {
    if !typed {
        return data.clone();
    }
    let reads = about.get("reads").and_then(Value::as_list).unwrap_or_default();
    let reads: Vec<&str> = reads.iter().filter_map(Value::as_str).collect();
    data.iter().filter(|(key, _)| reads.contains(key)).map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

pub(super) fn engine(run: &Run<'_, '_>, place: &Place, waves: u32) -> Engine {
    Engine::new(&Clock { at: place.now, seed: format!("{}/{}/{}/{waves}", run.seed, run.prefix, place.path) })
}

impl Body<'_> {
    pub(super) fn part(&self, name: &str) -> Option<&Value> {
        self.body.get(name)
    }

    pub(super) fn rules(&self, name: &str) -> &[Value] {
        self.part(name).and_then(Value::as_list).unwrap_or_default()
    }

    /// Whether the expression of a rule holds.
    pub(super) fn holds(&self, rule: &Value, key: &str) -> Result<bool, Failed> {
        match rule.get(key) {
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::Str(source)) => self.engine.holds(source, &self.scope),
            _ => Ok(false),
        }
    }

    /// A member of a rule as a value.
    pub(super) fn value(&self, rule: &Value, key: &str) -> Result<Option<Value>, Failed> {
        rule.get(key).map(|value| self.engine.value(value, &self.scope)).transpose()
    }

    fn locals(&mut self) -> Result<(), Stop> {
        for rule in self.rules("fail") {
            if self.holds(rule, "when")? {
                let kind = self.value(rule, "error")?.map_or_else(|| "ValueError".to_owned(), |kind| text(&kind));
                let message = self.value(rule, "message")?.map(|message| text(&message));
                return Err(error(&kind, message.unwrap_or_else(|| "the action's own condition".to_owned())));
            }
        }
        for (name, value) in self.body.get("let").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
            let value = self.engine.value(value, &self.scope)?;
            self.scope.locals.set(name, value);
        }
        Ok(())
    }

    fn finish(&self, before: &Map) -> Result<Done, Stop> {
        // A list is told part by part.
        let progress = match self.part("progress").map(|parts| self.engine.value(parts, &self.scope)).transpose()? {
            None => Vec::new(),
            Some(Value::List(parts)) => parts,
            Some(one) => vec![one],
        };
        let unset: Vec<&str> = self.rules("unset").iter().filter_map(Value::as_str).collect();
        let kept = before.iter().filter(|(key, _)| !unset.contains(key));
        let mut data: Map = kept.map(|(key, value)| (key.to_owned(), value.clone())).collect();
        if let Some(set) = self.part("set").and_then(Value::as_map) {
            for (key, value) in self.engine.map(set, &self.scope)? {
                data.set(&key, value);
            }
        }
        let result = match self.part("result") {
            Some(result) => self.engine.value(result, &self.scope)?,
            None => Value::Map(Map::default()),
        };
        Ok(Done { data, result, progress, now: self.place.now })
    }
}

/// What an action declares to write must be there, and the data must be what their schema says.
fn promised(data: &Map, about: &Value, schema: Option<&Value>) -> Result<(), Stop> {
    let writes = about.get("writes").and_then(Value::as_list).unwrap_or_default();
    let missing: Vec<&str> = writes.iter().filter_map(Value::as_str).filter(|key| data.get(key).is_none()).collect();
    if !missing.is_empty() {
        return Err(error(
            "ValueError",
            format!("the action declares that it writes {}, and did not", missing.join(", ")),
        ));
    }
    let Some(schema) = schema else { return Ok(()) };
    let problems = schema::problems(&Value::Map(data.clone()), schema);
    match problems.first() {
        None => Ok(()),
        Some(first) => {
            let place = if first.path.is_empty() { "the state".to_owned() } else { first.path.join(".") };
            Err(error("ValidationError", format!("the state would not fit its schema: {place} {}", first.message)))
        }
    }
}

/// A value as text: a text as it is, anything else as JSON.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| json::text(value), str::to_owned)
}
