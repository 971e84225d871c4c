//! One turn of a run: an answer in, the next thing to ask or to say out.

use wfhost_guest::model::{Event, Failure, Input, Mishap, Refusal, Reply, Session, Turn};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};
use wfhost_guest::{At, json, reply as replies};

use crate::args::{self, Answer};
use crate::code::{Ask, Code, Collect, NodeNumber, StepKind};
use crate::document::model::UNKNOWN;
use crate::facts::{self, Rejected, Taken, Why};
use crate::fold::{Reason, fold};
use crate::reply;
use crate::state::{Last, Mode, State, Status};
use crate::walk::{By, Walk, entry, way};

/// Begins a run. Another workflow that calls this one hands its values as they are.
pub(crate) fn start(code: &[u8], session: &Session, event: &Event) -> Result<Turn, Refusal> {
    let values = match &event.input {
        Input::Call(call) => args::start(call).map(|(_, values)| values),
        Input::Open(args) => match json::read(args) {
            Ok(Value::Map(values)) => Ok(values),
            Ok(_) | Err(_) => Err("a flow is begun with an object of values".to_owned()),
        },
        Input::Recalled(_) | Input::Reply(_) => Err("a flow is begun by a call".to_owned()),
    };
    let values = values.map_err(|message| reply::refusal("bad_arguments", &message, []))?;
    begin(code, session, values).map_err(|Broken| broken())
}

fn begin(code: &[u8], session: &Session, values: Map) -> Result<Turn, Broken> {
    let code = Code::read(code)?;
    let mut walk = Walk::new(code, State::new(code)?);
    let call = Said { choice: None, values: values.clone(), first: true };
    let taken = facts::keep(code, &mut walk.state, values, false)?;
    walk.settle()?;
    let mut last = settled(&walk);
    last.first = true;
    finish(walk, session, Done { last, rejected: taken.rejected, call })
}

/// Moves a run by an answer.
pub(crate) fn answer(at: At<'_>, event: &Event) -> Result<Turn, Refusal> {
    let code = Code::read(at.code).map_err(|Broken| broken())?;
    let state = State::read(code, at.state).map_err(|Broken| broken())?;
    let (answer, replied) = match &event.input {
        Input::Call(call) => (args::answer(call).map(|(_, answer)| answer), false),
        Input::Reply(reply) => {
            (replied(&state, reply).map_err(|failure| undelivered(code, at.session, (&state, failure)))?, true)
        }
        Input::Open(_) | Input::Recalled(_) => (Err("a run is moved by an answer".to_owned()), false),
    };
    let answer = answer.map_err(|message| reply::refusal("bad_arguments", &message, []))?;
    if state.mode != Mode::Open {
        return Err(closed(state.mode));
    }
    let mut walk = Walk::new(code, state);
    if replied {
        // The request that was answered is closed; what is asked again is another one.
        walk.state.visit = walk.state.visit.saturating_add(1);
    }
    match turn(walk, at.session, answer) {
        Ok(turn) => Ok(turn),
        Err(No::Broken) => Err(broken()),
        Err(No::Refused(refusal)) => Err(*refusal),
    }
}

enum No {
    Broken,
    Refused(Box<Refusal>),
}

impl From<Broken> for No {
    fn from(_: Broken) -> Self {
        Self::Broken
    }
}

fn refuse<const N: usize>(code: &str, message: &str, more: [(&str, Value); N]) -> No {
    No::Refused(Box::new(reply::refusal(code, message, more)))
}

fn broken() -> Refusal {
    reply::refusal("broken_run", "this run cannot be read: its definition or its state is damaged", [])
}

fn closed(mode: Mode) -> Refusal {
    let state = mode.word();
    let message = match mode {
        Mode::Stalled => "this run was handed over to a person; to go on, start a new one with `values` = `collected`",
        Mode::Open | Mode::Completed => "this run is complete; to go through the flow again, start a new one",
    };
    reply::refusal("run_closed", message, [("state", state.into())])
}

/// A question that was not answered stays open.
fn undelivered(code: Code<'_>, session: &Session, (state, failure): (&State<'_>, &Failure)) -> Refusal {
    let word = match failure.kind {
        Mishap::Declined => "declined",
        Mishap::Cancelled => "cancelled",
        Mishap::TimedOut => "timed_out",
        Mishap::Denied => "denied",
        Mishap::Unavailable => "unavailable",
        Mishap::Failed => "failed",
        Mishap::Lost => "lost",
    };
    let reply =
        reply::reply(code, session, state).map_or_else(|Broken| reply::broken(), |value| replies::output(&value));
    Refusal { code: word.to_owned(), message: failure.message.clone(), entries: Vec::new(), reply }
}

/// The answer in a reply to the open request, as an operator gives it: a label, or the values of a collect.
fn replied<'r>(state: &State<'_>, reply: &'r Reply) -> Result<Result<Answer, String>, &'r Failure> {
    let value = json::read(reply.value.as_ref()?).unwrap_or_default();
    Ok(match (state.at.kind, value) {
        (StepKind::Collect(_), Value::Map(values)) => Ok(Answer { choice: None, values }),
        (StepKind::Ask(_) | StepKind::Collect(_), value) => match facts::scalar(&value) {
            Ok(text) => Ok(Answer { choice: Some(text), values: Map::default() }),
            Err(_) => {
                Err("the reply to a question is one of its labels; to a collect, an object of its slots".to_owned())
            }
        },
        (StepKind::Tell { .. } | StepKind::End { .. }, _) => Ok(Answer { choice: None, values: Map::default() }),
    })
}

/// What was said in a call, for the trail.
struct Said {
    choice: Option<String>,
    values: Map,
    first: bool,
}

/// What a call came to.
struct Done {
    last: Last,
    rejected: Vec<Rejected>,
    call: Said,
}

fn turn(mut walk: Walk<'_>, session: &Session, answer: Answer) -> Result<Turn, No> {
    let Answer { choice, values } = answer;
    let call = Said { choice: choice.clone(), values: values.clone(), first: false };
    let silent = choice.is_none() && values.is_empty();
    if let StepKind::Collect(collect) = walk.state.at.kind {
        choice_fits(collect, choice.as_deref())?;
    }
    let code = walk.code;
    let mut taken = facts::keep(code, &mut walk.state, values, true)?;
    // Of two answers in one call the choice counts, and the question is passed with it.
    if taken.answer.as_ref().is_some_and(|given| choice.as_ref().is_some_and(|choice| choice != given)) {
        taken.rejected.push(Rejected { key: walk.state.at.id.to_owned(), why: Why::AlreadyPassed });
    }
    let last = match walk.state.at.kind {
        StepKind::Tell { next } => {
            walk.leave(next, By::Answer, None)?;
            walk.settle()?;
            settled(&walk)
        }
        StepKind::Ask(ask) => match choice.or_else(|| taken.answer.take()) {
            Some(choice) => asked(&mut walk, ask, &choice)?,
            None if silent => return Err(missing_answer(ask)?),
            None => Last { kept: true, ..Last::new(Status::Advanced) },
        },
        StepKind::Collect(collect) => gathered(&mut walk, collect, Given { choice, silent, unknown: taken.unknown })?,
        StepKind::End { .. } => return Err(No::Broken),
    };
    let Taken { rejected, .. } = taken;
    Ok(finish(walk, session, Done { last, rejected, call })?)
}

/// The reply after a move: advanced, or completed if it led to an end.
fn settled(walk: &Walk<'_>) -> Last {
    Last::new(if walk.state.mode == Mode::Completed { Status::Completed } else { Status::Advanced })
}

fn missing_answer(ask: Ask<'_>) -> Result<No, Broken> {
    let labels: Vec<&str> = ask.labels().map(|label| label.map(|label| label.label)).collect::<Result<_, _>>()?;
    let message = "send the label that fits as `choice`, or `__unknown__` if the answer is not known";
    Ok(refuse("missing_answer", message, [("labels", labels.into())]))
}

/// An answer to the question in hand.
fn asked(walk: &mut Walk<'_>, ask: Ask<'_>, choice: &str) -> Result<Last, Broken> {
    if let Some((target, by)) = way(ask, choice)? {
        return moved(walk, (target, by), choice);
    }
    if choice == UNKNOWN {
        return unknown(walk, ask);
    }
    walk.state.misses = walk.state.misses.saturating_add(1);
    if walk.state.misses < walk.code.limits.max_unmatched {
        return Ok(Last::new(Status::Unmatched));
    }
    match ask.unknown {
        Some(target) => moved(walk, (target, By::Escape), UNKNOWN),
        None => unknown(walk, ask),
    }
}

fn moved(walk: &mut Walk<'_>, (target, by): (NodeNumber, By), choice: &str) -> Result<Last, Broken> {
    walk.state.collected.set(walk.state.at.id, choice.into());
    walk.leave(target, by, Some(choice))?;
    walk.settle()?;
    Ok(settled(walk))
}

/// The answer is not known, and the question has no way for that.
fn unknown(walk: &mut Walk<'_>, ask: Ask<'_>) -> Result<Last, Broken> {
    walk.state.misses = 0;
    if ask.escalate {
        return Ok(stall(walk, Reason::Escalate));
    }
    let fold = match fold(walk.code, walk.state.at)? {
        Ok(fold) => fold,
        Err(reason) => return Ok(stall(walk, reason)),
    };
    let folded = walk.state.at.id.to_owned();
    if walk.state.folded.last() != Some(&folded) {
        walk.state.folded.push(folded.clone());
    }
    if let Some(common) = fold.common {
        walk.leave(common.number, By::Fold, None)?;
        walk.settle()?;
    }
    Ok(Last { fold: Some(folded), ..Last::new(Status::Branched) })
}

fn stall(walk: &mut Walk<'_>, reason: Reason) -> Last {
    walk.state.mode = Mode::Stalled;
    Last { reason: Some(reason), ..Last::new(Status::Stalled) }
}

/// What a call said to a collect.
struct Given {
    choice: Option<String>,
    silent: bool,
    unknown: bool,
}

fn choice_fits(collect: Collect<'_>, choice: Option<&str>) -> Result<(), No> {
    if choice.is_none_or(|choice| choice == UNKNOWN) {
        return Ok(());
    }
    let slots: Vec<&str> = collect.slots().map(|slot| slot.map(|slot| slot.name)).collect::<Result<_, _>>()?;
    Err(refuse(
        "choice_on_collect",
        "here several things are gathered: send them as `values`, by slot",
        [("slots", slots.into())],
    ))
}

fn gathered(walk: &mut Walk<'_>, collect: Collect<'_>, given: Given) -> Result<Last, No> {
    let mut open = Vec::new();
    for slot in collect.slots() {
        let slot = slot?;
        if slot.required && walk.state.answer(slot.name).is_none() {
            open.push(slot.name);
        }
    }
    if open.is_empty() {
        walk.leave(collect.next, By::Answer, None)?;
        walk.settle()?;
        return Ok(settled(walk));
    }
    if given.unknown || given.choice.is_some() {
        return Ok(stall(walk, if collect.escalate { Reason::Escalate } else { Reason::Collect }));
    }
    if given.silent {
        return Err(refuse("missing_answer", "send what is known as `values`, by slot", [("slots", open.into())]));
    }
    Ok(Last { kept: true, ..Last::new(Status::Advanced) })
}

/// Writes the turn down.
fn finish(mut walk: Walk<'_>, session: &Session, done: Done) -> Result<Turn, Broken> {
    let Done { mut last, rejected, call } = done;
    last.skipped = std::mem::take(&mut walk.skipped);
    last.rejected = rejected;
    if walk.entries.is_empty() {
        let input = call.choice.as_deref().map(json::quoted);
        walk.entries.push(entry(walk.state.at, input, None, None));
    }
    if let Some(first) = walk.entries.first_mut() {
        first.detail = Some(json::text(&noted(first.detail.as_deref(), &last, (&walk.state, call))));
    }
    walk.state.last = last;
    let Walk { code, state, entries, .. } = walk;
    Ok(Turn {
        requests: reply::request(&state)?.into_iter().collect(),
        current: vec![state.at.id.to_owned()],
        outcome: reply::outcome(code, &state),
        reply: replies::output(&reply::reply(code, session, &state)?),
        state: state.write(),
        entries,
        remember: Vec::new(),
        window: 0,
        progress: Vec::new(),
    })
}

/// What the first entry of a call says of the call.
fn noted(detail: Option<&str>, last: &Last, (state, call): (&State<'_>, Said)) -> Value {
    let by = detail.and_then(|text| json::read(text).ok()).unwrap_or_default();
    let mut members = vec![("call", Value::from(if call.first { "start" } else { "answer" }))];
    members.extend(call.choice.map(|choice| ("choice", choice.into())));
    members.extend((!call.values.is_empty()).then_some(("values", call.values.into())));
    members.push(("status", last.status.word().into()));
    members.push(("to", state.at.id.into()));
    let rejected: Vec<Value> = last.rejected.iter().map(Rejected::value).collect();
    members.extend((!rejected.is_empty()).then_some(("rejected", rejected.into())));
    members.extend(last.reason.map(|reason| ("reason", reason.word().into())));
    let members = members.into_iter().map(|(key, value)| (key.to_owned(), value));
    let own = by.as_map().map(|map| map.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect::<Vec<_>>());
    Value::Map(own.unwrap_or_default().into_iter().chain(members).collect())
}
