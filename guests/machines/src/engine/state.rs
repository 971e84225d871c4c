//! What a turn needs of the one before: the machine's data, the action that ran last, and a step that waits for others.
//!
//! A waiting step keeps what it was begun with and the replies so far. Each reply runs the step again from its beginning, on
//! the same data, time and chance, as far as the replies carry it. So nothing of a step is in the data before all of it is.

use std::collections::BTreeMap;

use wfhost_guest::json;
use wfhost_guest::model::{Failure, Mishap};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};

use crate::code::{Action, Machine};

/// The state of a session.
#[derive(Clone, Debug)]
pub(crate) struct State<'c> {
    /// The action that ran last; none at first and after a reset.
    pub(crate) last: Option<Action<'c>>,
    /// The machine's data.
    pub(crate) data: Map,
    /// How many steps led to it; a fork goes on from those of the entry that it went to.
    pub(crate) steps: u32,
    /// A step that has begun and waits.
    pub(crate) pending: Option<Pending>,
    /// What the last step gave, so that whoever did not get its reply can ask for it.
    pub(crate) told: Value,
}

/// A step that waits for replies.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// The action.
    pub(crate) action: String,
    /// Its inputs as they were sent.
    pub(crate) inputs: Map,
    /// When it began.
    pub(crate) at: u64,
    /// The chance that it has.
    pub(crate) seed: u64,
    /// Makes the ids of its requests unlike those of any other step.
    pub(crate) seq: u32,
    /// What came so far, by request.
    pub(crate) replies: Replies,
}

/// Replies by the id of their request.
pub(crate) type Replies = BTreeMap<String, Came>;

/// A reply and when it came.
#[derive(Clone, Debug)]
pub(crate) struct Came {
    pub(crate) at: u64,
    pub(crate) value: Result<Value, Failed>,
}

/// How a request came to nothing.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) kind: Mishap,
    pub(crate) message: String,
}

impl Came {
    /// A reply as the host hands it over.
    pub(crate) fn new(at: u64, value: &Result<String, Failure>) -> Self {
        let value = match value {
            Ok(text) => Ok(json::read(text).unwrap_or_default()),
            Err(failure) => Err(Failed { kind: failure.kind, message: failure.message.clone() }),
        };
        Self { at, value }
    }
}

impl<'c> State<'c> {
    /// The state before anything has run.
    pub(crate) fn new(machine: Machine<'c>) -> Result<Self, Broken> {
        Ok(Self { last: None, data: machine.state()?, steps: 0, pending: None, told: Value::Null })
    }

    /// The state that a text holds.
    pub(crate) fn read(machine: Machine<'c>, text: &str) -> Result<Self, Broken> {
        let Ok(Value::Map(map)) = json::read(text) else { return Err(Broken) };
        let (mut last, mut data, mut steps, mut pending, mut told) = (None, None, 0, None, Value::Null);
        for (key, value) in map {
            match (key.as_str(), value) {
                ("last", Value::Str(name)) => last = Some(machine.find(&name)?.ok_or(Broken)?),
                ("data", Value::Map(map)) => data = Some(map),
                ("steps", value) => steps = value.as_i64().and_then(|n| u32::try_from(n).ok()).ok_or(Broken)?,
                ("pending", value @ Value::Map(_)) => pending = Some(read_pending(&value).ok_or(Broken)?),
                ("told", value) => told = value,
                _ => {}
            }
        }
        Ok(Self { last, data: data.ok_or(Broken)?, steps, pending, told })
    }

    /// The text of a state.
    pub(crate) fn write(&self) -> String {
        let mut out = String::from("{\"last\":");
        out.push_str(&self.last.map_or_else(|| "null".to_owned(), |last| json::quoted(last.name)));
        out.push_str(",\"data\":");
        out.push_str(&json::exact(&Value::Map(self.data.clone())));
        if self.steps > 0 {
            out.push_str(&format!(",\"steps\":{}", self.steps));
        }
        if let Some(pending) = &self.pending {
            out.push_str(",\"pending\":");
            out.push_str(&json::exact(&write_pending(pending)));
        }
        if !matches!(self.told, Value::Null) {
            out.push_str(",\"told\":");
            out.push_str(&json::exact(&self.told));
        }
        out.push('}');
        out
    }
}

const KINDS: [(Mishap, &str); 7] = [
    (Mishap::Declined, "declined"),
    (Mishap::Cancelled, "cancelled"),
    (Mishap::TimedOut, "timed_out"),
    (Mishap::Denied, "denied"),
    (Mishap::Unavailable, "unavailable"),
    (Mishap::Failed, "failed"),
    (Mishap::Lost, "lost"),
];

/// A mishap in one word.
pub(crate) fn word(kind: Mishap) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).map_or("failed", |(_, word)| word)
}

fn write_pending(pending: &Pending) -> Value {
    let came = |came: &Came| match &came.value {
        Ok(value) => Value::from([("at", number(came.at)), ("ok", value.clone())]),
        Err(failed) => Value::from([
            ("at", number(came.at)),
            ("failed", word(failed.kind).into()),
            ("message", failed.message.as_str().into()),
        ]),
    };
    let replies: Map = pending.replies.iter().map(|(id, reply)| (id.clone(), came(reply))).collect();
    Value::from([
        ("action", pending.action.as_str().into()),
        ("inputs", pending.inputs.clone().into()),
        ("at", number(pending.at)),
        ("seed", pending.seed.to_string().into()),
        ("seq", pending.seq.into()),
        ("replies", replies.into()),
    ])
}

fn number(at: u64) -> Value {
    i64::try_from(at).unwrap_or(i64::MAX).into()
}

fn read_pending(value: &Value) -> Option<Pending> {
    let word = |key: &str| value.get(key).and_then(Value::as_str);
    let moment = |value: &Value| value.get("at").and_then(Value::as_i64).and_then(|at| u64::try_from(at).ok());
    let came = |value: &Value| {
        let failed =
            value.get("failed").and_then(Value::as_str).and_then(|word| KINDS.iter().find(|(_, name)| *name == word));
        let message = value.get("message").and_then(Value::as_str).unwrap_or_default();
        let outcome = match failed {
            Some((kind, _)) => Err(Failed { kind: *kind, message: message.to_owned() }),
            None => Ok(value.get("ok")?.clone()),
        };
        Some(Came { at: moment(value)?, value: outcome })
    };
    let replies = value.get("replies").and_then(Value::as_map)?;
    Some(Pending {
        action: word("action")?.to_owned(),
        inputs: value.get("inputs").and_then(Value::as_map)?.clone(),
        at: moment(value)?,
        seed: word("seed")?.parse().ok()?,
        seq: value.get("seq").and_then(Value::as_i64).and_then(|seq| u32::try_from(seq).ok())?,
        replies: replies.iter().map(|(id, reply)| Some((id.to_owned(), came(reply)?))).collect::<Option<_>>()?,
    })
}
