//! One turn of a session: a call or a reply in, a step done, refused or waiting out.
//!
//! - `perform`, `inputs`, `effects`, `submachine`, `classify`, `literal`: one action
//! - `ways`: which actions may come next; `state`: what a turn needs of the one before

mod classify;
mod effects;
mod inputs;
mod literal;
pub(crate) mod perform;
pub(crate) mod refusals;
pub(crate) mod state;
mod submachine;
pub(crate) mod ways;

pub(crate) use effects::seconds;

use wfhost_guest::model::{Entry, Event, Input, Recalled, Refusal, Request, Session, Turn};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};
use wfhost_guest::{At, json, reply as replies};

use crate::args::{self, Fork, Step};
use crate::code::{Action, Code, Machine};
use crate::reply::{self, Refused};
use perform::{Done, Frame, No, Place, Run, Stop, perform};
use state::{Came, Pending, State};
use ways::Way;

/// A session at one event.
pub(crate) struct Now<'c, 'e> {
    pub(crate) code: Code<'c>,
    pub(crate) machine: Machine<'c>,
    pub(crate) session: &'e Session,
    /// The number in the history that an entry of this event gets.
    pub(crate) seq: u32,
    pub(crate) state: State<'c>,
}

/// A definition or a state that is not what was written.
pub(crate) fn broken() -> Refusal {
    replies::refusal("broken_session", "this session cannot be read: its definition or its state is damaged")
}

/// Begins a session. Whoever runs this machine from elsewhere hands values that go over its first state.
pub(crate) fn start(code: &[u8], session: &Session, event: &Event) -> Result<Turn, Refusal> {
    let with = match &event.input {
        Input::Open(args) => match json::read(args) {
            Ok(Value::Map(with)) => with,
            Ok(_) | Err(_) => {
                return Err(replies::refusal("bad_arguments", "a machine is begun with an object of values"));
            }
        },
        Input::Call(_) | Input::Recalled(_) | Input::Reply(_) => {
            return Err(replies::refusal("bad_arguments", "a machine is begun without a call"));
        }
    };
    begin(code, session, with).map_err(|Broken| broken())
}

fn begin(code: &[u8], session: &Session, with: Map) -> Result<Turn, Broken> {
    let code = Code::read(code)?;
    let machine = code.served()?;
    let mut state = State::new(machine)?;
    for (key, value) in with.into_iter().filter(|(key, _)| !key.starts_with("__")) {
        state.data.set(&key, value);
    }
    let now = Now { code, machine, session, seq: 0, state };
    let ways = now.ways()?;
    let reply = reply::status(&now, &ways)?;
    now.turn(Vec::new(), ways, reply, Vec::new())
}

/// Moves a session.
pub(crate) fn answer(at: At<'_>, event: &Event) -> Result<Turn, Refusal> {
    match moved(at, event) {
        Ok(moved) => moved,
        Err(Broken) => Err(broken()),
    }
}

type Moved = Result<Turn, Refusal>;

fn moved(at: At<'_>, event: &Event) -> Result<Moved, Broken> {
    let code = Code::read(at.code)?;
    let machine = code.served()?;
    let state = State::read(machine, at.state)?;
    let now = Now { code, machine, session: at.session, seq: event.seq.saturating_sub(1), state };
    match &event.input {
        Input::Call(call) => match call.tool.as_str() {
            args::STEP => match args::step(call) {
                Ok(step) => now.step(step, event),
                Err(why) => Ok(Err(replies::refusal("bad_arguments", &why))),
            },
            args::RESET => now.reset(),
            _ => now.fork(call, None),
        },
        Input::Recalled(Recalled { call, past }) => now.fork(call, past.as_ref()),
        Input::Reply(reply) => {
            let came = Came::new(event.at, &reply.value);
            now.replied(&reply.request, came, event)
        }
        Input::Open(_) => Ok(Err(replies::refusal("bad_arguments", "this session has begun already"))),
    }
}

impl<'c> Now<'c, '_> {
    pub(crate) fn ways(&self) -> Result<Vec<Way<'c>>, Broken> {
        ways::ways(self.machine, self.state.last, &self.state.data)
    }

    /// A step: known, reachable, and done, refused or waiting.
    fn step(mut self, step: Step, event: &Event) -> Result<Moved, Broken> {
        let ways = self.ways()?;
        if let Some(pending) = &self.state.pending {
            let refused = Refused::Busy(pending.action.clone());
            return self.refuse(&step, &refused, &ways);
        }
        let Some(action) = self.meant(&step.action, &ways)? else {
            return self.refuse(&step, &Refused::Unknown, &ways);
        };
        if !ways.iter().any(|way| way.action.number == action.number) {
            return self.refuse(&step, &Refused::Unreachable, &ways);
        }
        self.state.pending = Some(Pending {
            action: action.name.to_owned(),
            inputs: step.inputs.clone(),
            at: event.at,
            seed: event.seed,
            seq: event.seq,
            replies: state::Replies::new(),
        });
        self.carry_on(action, ways, true)
    }

    /// The action of that name; in a diagram also the one to which a transition of that label leads.
    fn meant(&self, name: &str, ways: &[Way<'c>]) -> Result<Option<Action<'c>>, Broken> {
        if let Some(action) = self.machine.find(name)? {
            return Ok(Some(action));
        }
        let mut labelled = ways.iter().filter(|way| self.machine.labels_choose && way.labels.contains(&name));
        Ok(match (labelled.next(), labelled.next()) {
            (Some(way), None) => Some(way.action),
            _ => None,
        })
    }

    /// Something that a waiting step asked for has come, or an operator names the next step.
    fn replied(mut self, request: &str, came: Came, event: &Event) -> Result<Moved, Broken> {
        let ways = self.ways()?;
        let Some(pending) = &mut self.state.pending else {
            return match came.value {
                Ok(value) => match args::step_of(&value) {
                    Ok(step) => self.step(step, event),
                    Err(why) => Ok(Err(replies::refusal("bad_arguments", &why))),
                },
                Err(failed) => Ok(Err(replies::refusal(state::word(failed.kind), &failed.message))),
            };
        };
        pending.replies.insert(request.to_owned(), came);
        let action = self.machine.find(&pending.action)?.ok_or(Broken)?;
        self.carry_on(action, ways, false)
    }

    /// Runs the step as far as its replies carry it. `fresh`: it has asked for nothing yet, so a refusal leaves no trace of
    /// it in the state.
    fn carry_on(mut self, action: Action<'c>, before: Vec<Way<'c>>, fresh: bool) -> Result<Moved, Broken> {
        let Some(pending) = self.state.pending.take() else { return Err(Broken) };
        let mut run = Run {
            code: self.code,
            replies: &pending.replies,
            prefix: format!("{}:", pending.seq),
            seed: pending.seed,
            requests: Vec::new(),
            subruns: Vec::new(),
            budget: submachine::ACTIONS_MAX,
        };
        let place = Place { path: String::new(), now: pending.at, deadline: None, depth: 0 };
        let frame = Frame { machine: self.machine, data: &self.state.data };
        let outcome = perform(&mut run, frame, (action, &pending.inputs), place);
        let Run { requests, mut subruns, .. } = run;
        let step = Step { action: action.name.to_owned(), inputs: pending.inputs.clone() };
        match outcome {
            Ok(done) => {
                adopted(&mut subruns, action.name.into());
                self.done(action, step, done, subruns)
            }
            Err(Stop::Waits) => {
                self.state.pending = Some(pending);
                let reply = reply::waiting(&self, action.name, &requests);
                let turn = self.turn(Vec::new(), before, reply, Vec::new())?;
                Ok(Ok(Turn { requests, outcome: None, ..turn }))
            }
            Err(Stop::Refused(no)) => {
                adopted(&mut subruns, Value::Null);
                let refused = Refused::No(no, subruns);
                if fresh {
                    return self.refuse(&step, &refused, &before);
                }
                let (entry, output) =
                    (self.refused_entry(&step, &refused, &before), reply::refused(&self, &step, &refused, &before)?);
                self.turn(vec![entry], before, output, Vec::new()).map(Ok)
            }
            Err(Stop::Broken) => Err(Broken),
        }
    }

    fn done(mut self, action: Action<'c>, step: Step, done: Done, subruns: Vec<Value>) -> Result<Moved, Broken> {
        let Done { data, result, progress, .. } = done;
        self.state.data = public(data);
        self.state.last = Some(action);
        self.state.steps = self.state.steps.saturating_add(1);
        let chunks = u32::try_from(progress.len()).unwrap_or(u32::MAX);
        let mut told = vec![("action", Value::from(action.name)), ("result", result)];
        told.extend((chunks > 0).then_some(("chunks", chunks.into())));
        self.state.told = Value::Map(told.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
        let ways = self.ways()?;
        let reply = reply::success(&self, &ways)?;
        let mut detail = vec![("action", Value::from(action.name)), ("state_after", self.state.data.clone().into())];
        detail.push(("valid_next_actions", reply::names(&ways)));
        detail.extend((!subruns.is_empty()).then_some(("subruns", Value::List(subruns))));
        let entry = entry(action.name, "step", &step.inputs, detail);
        let progress = progress.iter().map(told_part).collect();
        self.turn(vec![entry], ways, reply, progress).map(Ok)
    }

    fn refuse(self, step: &Step, refused: &Refused, ways: &[Way<'c>]) -> Result<Moved, Broken> {
        let reply = reply::refused(&self, step, refused, ways)?;
        let entries = vec![self.refused_entry(step, refused, ways)];
        Ok(Err(Refusal { code: refused.word().to_owned(), message: refused.message(step, ways), entries, reply }))
    }

    fn refused_entry(&self, step: &Step, refused: &Refused, ways: &[Way<'c>]) -> Entry {
        let mut detail = vec![("action", Value::from(step.action.as_str())), ("state_after", Value::Null)];
        detail.push(("valid_next_actions", reply::names(ways)));
        detail.push(("refusal_reason", refused.word().into()));
        if let Refused::No(no, subruns) = refused {
            let (kind, message) = match no {
                No::Inputs { reason, .. } => ("ValidationFailed".to_owned(), reason.clone()),
                No::Error { kind, message } => (kind.clone(), message.clone()),
                No::Timeout(_) => ("TimeoutError".to_owned(), refused.message(step, ways)),
            };
            detail.push(("error_message", message.into()));
            detail.push(("error_type", kind.into()));
            detail.extend((!subruns.is_empty()).then(|| ("subruns", Value::List(subruns.clone()))));
        }
        entry(self.standing(), "refusal", &step.inputs, detail)
    }

    /// The node of the drawing where the session stands: the last action, or the first one before any has run.
    fn standing(&self) -> &'c str {
        self.state.last.or_else(|| self.machine.action(self.machine.entry).ok()).map_or("", |action| action.name)
    }

    /// Back to the beginning; the history stays.
    fn reset(mut self) -> Result<Moved, Broken> {
        let previous = std::mem::replace(&mut self.state, State::new(self.machine)?);
        let result = Value::from([("previous_state", previous.data.into())]);
        self.state.told = Value::from([("action", args::RESET.into()), ("result", result)]);
        self.marked(args::RESET, Map::default())
    }

    /// To the state after an old entry, of this session or of another of the same machine.
    fn fork(
        mut self,
        call: &wfhost_guest::model::Call,
        past: Option<&wfhost_guest::model::Past>,
    ) -> Result<Moved, Broken> {
        let fork = match args::fork(call) {
            Ok(fork) => fork,
            Err(why) => return Ok(Err(replies::refusal("bad_arguments", &why))),
        };
        if let Err(refusal) = reply::forkable(&self, &fork, past) {
            return Ok(Err(*refusal));
        }
        let Some(past) = past else { return Err(Broken) };
        self.state = State::read(self.machine, &past.state)?;
        self.state.pending = None;
        let from = self.state.last.map_or(Value::Null, |last| last.name.into());
        let (tool, result) = match &fork {
            Fork::At { seq, .. } => {
                (args::FORK_AT, Value::from([("sequence_id", (*seq).into()), ("from_action", from)]))
            }
            Fork::Past { app_id, seq, .. } => {
                let loaded = [("loaded_app_id", app_id.as_str().into()), ("loaded_sequence_id", (*seq).into())];
                let members = loaded.into_iter().chain([("from_action", from)]);
                (args::FORK_PAST, Value::Map(members.map(|(key, value)| (key.to_owned(), value)).collect()))
            }
        };
        self.state.told = Value::from([("action", tool.into()), ("result", result)]);
        self.marked(tool, fork.inputs())
    }

    /// A turn that is no step, with its mark in the history.
    fn marked(self, tool: &str, inputs: Map) -> Result<Moved, Broken> {
        let ways = self.ways()?;
        let detail = vec![
            ("action", Value::from(tool)),
            ("state_after", self.state.data.clone().into()),
            ("valid_next_actions", reply::names(&ways)),
        ];
        let entry = entry(self.standing(), "marker", &inputs, detail);
        let reply = reply::marked(&self, &ways);
        self.turn(vec![entry], ways, reply, Vec::new()).map(Ok)
    }

    fn turn(
        &self,
        entries: Vec<Entry>,
        ways: Vec<Way<'c>>,
        reply: wfhost_guest::model::Output,
        progress: Vec<String>,
    ) -> Result<Turn, Broken> {
        let requests: Vec<Request> = reply::request(self, &ways)?.into_iter().collect();
        Ok(Turn {
            state: self.state.write(),
            entries,
            remember: Vec::new(),
            window: 0,
            progress,
            requests,
            current: self.state.last.iter().map(|last| last.name.to_owned()).collect(),
            outcome: reply::outcome(self, &ways),
            reply,
        })
    }
}

/// Keys that begin with two underscores are nobody's to write.
fn public(data: Map) -> Map {
    data.into_iter().filter(|(key, _)| !key.starts_with("__")).collect()
}

fn told_part(part: &Value) -> String {
    part.as_str().map_or_else(|| json::quoted(&json::text(part)), json::quoted)
}

fn adopted(subruns: &mut [Value], parent: Value) {
    for one in subruns {
        if let Value::Map(map) = one {
            map.set("parent_action", parent.clone());
        }
    }
}

fn entry(node: &str, kind: &str, inputs: &Map, detail: Vec<(&str, Value)>) -> Entry {
    let detail: Map = detail.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Entry {
        node: node.to_owned(),
        kind: kind.to_owned(),
        input: Some(json::text(&Value::Map(inputs.clone()))),
        branch: None,
        detail: Some(json::text(&detail.into())),
    }
}

/// Where a session stands.
pub(crate) fn status(at: At<'_>) -> wfhost_guest::model::Output {
    let read = || {
        let code = Code::read(at.code)?;
        let machine = code.served()?;
        let state = State::read(machine, at.state)?;
        let now = Now { code, machine, session: at.session, seq: 0, state };
        let ways = now.ways()?;
        reply::status(&now, &ways)
    };
    read().unwrap_or_else(|Broken| broken().reply)
}
