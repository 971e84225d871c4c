//! A recorded walk: a session's events with what came of them, apart from any store, to be run again through whatever a
//! document's author has now. It is plain JSON here; the command line keeps it as YAML beside the documents.

use serde_json::{Map, Value, json};

use super::caller::Caller;
use super::fault::Fault;
use super::host::Host;
use super::line::{ForkRow, LineRow};
use super::replay::Instead;
use super::rerun::{Ran, Rerun};
use super::wire::{self, EventRow, InputRow};
use crate::catalogue::Definition;
use crate::limits::PAGE_BYTES_MAX;
use crate::plugin::{Plugin, contract};
use crate::session::model::{Digest, Head, Millis, SessionId};
use crate::store::Limit;

/// A walk: whose it is, and its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Walk {
    /// The interpreter's name.
    pub interpreter: String,
    /// The workflow's id.
    pub workflow: String,
    /// The session as it was: replies may name it.
    pub session: SessionId,
    /// When it began.
    pub started: Millis,
    /// Whether its questions were for people only.
    pub human_only: bool,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// A step of a walk.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// When.
    pub at: Millis,
    /// What came, and from whom.
    pub event: Came,
    /// What is to come of it, by field. A field that is not there is not compared.
    pub expect: Map<String, Value>,
}

/// What came.
#[derive(Debug, Clone, PartialEq)]
pub enum Came {
    /// An event: its source, its seed in hex, its input as the journal writes it.
    Event {
        /// `agent`, `human`, ...
        source: String,
        /// Sixteen hex digits.
        seed: String,
        /// `{"call": {"tool": .., "args": ..}}` and the like.
        input: Value,
    },
    /// From here on another session goes on, which began then.
    Fork {
        /// Its id.
        session: String,
    },
}

/// A field in which a step came out otherwise.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Mismatch {
    /// Which step, from 1.
    pub step: usize,
    /// Which field of it.
    pub field: String,
    /// What the walk says.
    pub expected: Value,
    /// What came.
    pub got: Value,
}

impl Host {
    /// A session as a walk. Its replay must give what its journal says.
    pub fn walk_of(&self, caller: &Caller, session: SessionId) -> Result<Walk, Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        if let Some(difference) = self.replay(caller, session, &Instead::default())?.difference {
            let damage = format!("run again, line {} gives another {}", difference.line, difference.field);
            return Err(Fault::NotWhole { session, damage });
        }
        let pinned = self.pinned(&head)?;
        let mut rerun = Rerun::new(&head, &pinned.plugin, &pinned.definition);
        let root = head.fork.map_or((head.session, head.started), |fork| (fork.root, fork.root_started));
        let mut walk = Walk {
            interpreter: head.interpreter.clone(),
            workflow: head.workflow.clone(),
            session: root.0,
            started: root.1,
            human_only: head.human_only,
            steps: Vec::new(),
        };
        let mut next = 1;
        while next <= head.lines {
            let lines = self.lines(session, next, Limit { lines: 256, bytes: 4 * PAGE_BYTES_MAX })?;
            if lines.is_empty() {
                break;
            }
            for line in lines {
                next += 1;
                walk.steps.extend(step_of(&mut rerun, &line));
            }
        }
        Ok(walk)
    }
}

/// What a journal line is as a step; none for what no document decides.
fn step_of(rerun: &mut Rerun<'_>, line: &LineRow) -> Option<Step> {
    if let Some(fork) = &line.fork {
        rerun.fork(&line.session, fork);
        let event = Came::Fork { session: line.session.clone() };
        return Some(Step { at: fork.started, event, expect: Map::new() });
    }
    let row = line.event.as_ref().filter(|_| line.fault.is_none())?;
    let event = wire::event_of(row, line.at)?;
    let expect = outcome(&rerun.run(&event));
    let input = serde_json::to_value(&row.input).ok()?;
    Some(Step { at: line.at, event: Came::Event { source: row.source.clone(), seed: row.seed.clone(), input }, expect })
}

impl Walk {
    /// Runs the walk through a plugin and a definition. Returns the walk with what came now.
    pub fn run(&self, plugin: &Plugin, definition: &Definition) -> Self {
        let head = self.head(plugin, definition);
        let mut rerun = Rerun::new(&head, plugin, definition);
        let mut seq = 1;
        let mut now = self.clone();
        for step in &mut now.steps {
            match &step.event {
                Came::Fork { session } => {
                    let row = ForkRow { from: String::new(), seq: 0, started: step.at, sends: false };
                    rerun.fork(session, &row);
                }
                Came::Event { source, seed, input } => {
                    step.expect = match event(step.at, (source, seed, input), seq) {
                        None => broken("the step's input, source or seed cannot be read"),
                        Some(event) => outcome(&rerun.run(&event)),
                    };
                    let entries = step.expect.get("entries").and_then(Value::as_array).map_or(0, Vec::len);
                    seq += u32::try_from(entries).unwrap_or(u32::MAX);
                }
            }
        }
        now
    }

    /// Where another run of this walk came out otherwise. What the walk leaves out is not compared.
    #[must_use]
    pub fn compare(&self, now: &Self) -> Vec<Mismatch> {
        let mut found = Vec::new();
        for (number, (then, now)) in self.steps.iter().zip(&now.steps).enumerate() {
            let mut differ = |field: &str, expected: &Value, got: &Value| {
                let (expected, got) = (expected.clone(), got.clone());
                found.push(Mismatch { step: number + 1, field: field.to_owned(), expected, got });
            };
            // That a step was refused, or broke, or ended is never to be overlooked.
            for field in ["refused", "broken", "outcome"] {
                if let (None, Some(got)) = (then.expect.get(field), now.expect.get(field)) {
                    differ(field, &Value::Null, got);
                }
            }
            for (field, expected) in &then.expect {
                let got = now.expect.get(field).unwrap_or(&Value::Null);
                if got != expected {
                    differ(field, expected, got);
                }
            }
            if !found.is_empty() {
                // What comes after a step that went another way says nothing more.
                break;
            }
        }
        found
    }

    fn head(&self, plugin: &Plugin, definition: &Definition) -> Head {
        Head {
            session: self.session,
            owner: String::new(),
            interpreter: self.interpreter.clone(),
            plugin: plugin.digest,
            definition: definition.digest,
            workflow: self.workflow.clone(),
            started: self.started,
            changed: self.started,
            human_only: self.human_only,
            lines: 0,
            chain: Digest::default(),
            entries: 0,
            memories: 0,
            window: 0,
            state: "null".into(),
            requests: Vec::new(),
            current: Vec::new(),
            outcome: None,
            parent: None,
            fork: None,
            seal: None,
        }
    }
}

fn event(at: Millis, (source, seed, input): (&str, &str, &Value), seq: u32) -> Option<contract::Event> {
    let input: InputRow = serde_json::from_value(input.clone()).ok()?;
    wire::event_of(&EventRow { source: source.to_owned(), seed: seed.to_owned(), seq, input }, at)
}

fn broken(why: &str) -> Map<String, Value> {
    Map::from_iter([("broken".to_owned(), why.into())])
}

/// What came of an event, by field.
fn outcome(ran: &Ran) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), settled(value)));
    let reply = match ran {
        Ran::Broken(why) => return broken(why),
        Ran::Turn(turn, reply) => {
            put("entries", json!(turn.entries));
            put("current", json!(turn.current));
            put("requests", json!(turn.requests));
            if let Some(outcome) = &turn.outcome {
                put("outcome", json!(outcome));
            }
            reply
        }
        Ran::Refusal(refusal, reply) => {
            put("refused", json!({"code": refusal.code, "message": refusal.message}));
            put("entries", json!(refusal.entries));
            reply
        }
    };
    let parsed = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    put("reply", parsed(&reply.value));
    if let Some(content) = &reply.content {
        put("content", parsed(content));
    }
    if let Some(headline) = &reply.headline {
        put("headline", headline.as_str().into());
    }
    if reply.is_error {
        put("is_error", true.into());
    }
    fields
}

/// A value in which no digest stands: those of documents change with every edit, and say nothing of the way.
fn settled(value: Value) -> Value {
    match value {
        Value::String(text) if text.parse::<Digest>().is_ok() => "(SHA-256)".into(),
        Value::Array(items) => items.into_iter().map(settled).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, settled(value))).collect(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}
