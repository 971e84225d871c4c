//! The dialect's JSON: the reply that a caller gets, the status, the request and the outcome that the host gets, and errors.
//! All of it follows from definition and state, so what was told once can be told again.

use wfhost_guest::model::{Audience, Failure, Mishap, Need, Output, Question, Refusal, Request, Session};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};
use wfhost_guest::{At, json, reply};

use crate::code::{Code, Step, StepKind};
use crate::document::model::{OTHER, UNKNOWN};
use crate::facts::Rejected;
use crate::fold::{Branch, Way, fold};
use crate::state::{Mode, State, Status};
use crate::walk::kind;
use crate::words;

/// Members of an object under construction.
type Members = Vec<(&'static str, Value)>;

fn object(members: Members) -> Value {
    Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// An error: a code for programs, words for the model, and what helps to do better.
pub(crate) fn error<const N: usize>(code: &str, message: &str, more: [(&str, Value); N]) -> Output {
    let members = [("error", code.into()), ("message", message.into())].into_iter().chain(more);
    let value: Map = members.map(|(key, value): (&str, Value)| (key.to_owned(), value)).collect();
    Output { is_error: true, ..reply::output(&value.into()) }
}

/// A refusal that the caller sees as an error.
pub(crate) fn refusal<const N: usize>(code: &str, message: &str, more: [(&str, Value); N]) -> Refusal {
    Refusal {
        code: code.to_owned(),
        message: message.to_owned(),
        entries: Vec::new(),
        reply: error(code, message, more),
    }
}

/// The reply to the call that left this state.
pub(crate) fn reply(code: Code<'_>, session: &Session, state: &State<'_>) -> Result<Value, Broken> {
    let mut members = vec![("run_id", session.id.as_str().into()), ("flow_id", code.flow_id.into())];
    members.extend(told(code, state)?);
    Ok(object(members))
}

fn told(code: Code<'_>, state: &State<'_>) -> Result<Members, Broken> {
    let last = &state.last;
    let (branches, common) = branched(code, state)?;
    let mut members = vec![
        ("status", last.status.word().into()),
        ("node", node(state)?),
        ("next", words::next(code, state)?.into()),
        ("skipped", last.skipped.clone().into()),
        ("collected", state.collected.clone().into()),
        ("done", (state.mode == Mode::Completed).into()),
    ];
    if let StepKind::End { outcome } = state.at.kind {
        members.push(("outcome", outcome.into()));
    }
    members.extend(last.kept.then_some(("moved", false.into())));
    if !last.rejected.is_empty() {
        members.push(("rejected", Value::List(last.rejected.iter().map(Rejected::value).collect())));
    }
    if last.status == Status::Unmatched {
        let counted = [("count", state.misses.into()), ("max", code.limits.max_unmatched.into())];
        members.push(("unmatched", counted.into()));
    }
    members.extend(branches.map(|branches| ("branches", branches)));
    members.extend(common.map(|common| ("common", common.into())));
    if let Some(reason) = last.reason {
        members.push(("reason", reason.word().into()));
        members.extend((!code.on_stuck.is_empty()).then(|| ("on_stuck", code.on_stuck.into())));
    }
    if last.first {
        members.push(("version", code.version.into()));
        members.push(("index", index(code)?));
    }
    Ok(members)
}

/// The node in hand: what it wants, or how it ends.
fn node(state: &State<'_>) -> Result<Value, Broken> {
    let Step { id, say, kind: what, .. } = state.at;
    let mut members = vec![("id", Value::from(id)), ("kind", kind(state.at).into()), ("say", say.into())];
    match what {
        StepKind::Ask(ask) => {
            let labels: Result<Map, Broken> =
                ask.labels().map(|label| label.map(|one| (one.label.to_owned(), one.when.into()))).collect();
            members.push(("accepts", labels?.into()));
        }
        StepKind::Collect(collect) => {
            let mut missing = Vec::new();
            for slot in collect.slots() {
                let slot = slot?;
                if state.answer(slot.name).is_none() {
                    let required = slot.required.into();
                    missing.push(Value::from([
                        ("slot", slot.name.into()),
                        ("ask", slot.ask.into()),
                        ("required", required),
                    ]));
                }
            }
            members.push(("missing", missing.into()));
        }
        StepKind::End { outcome } => members.push(("outcome", outcome.into())),
        StepKind::Tell { .. } => {}
    }
    Ok(object(members))
}

/// What the last call folded: its branches, and the node at which they meet.
fn branched<'a>(code: Code<'a>, state: &State<'_>) -> Result<(Option<Value>, Option<&'a str>), Broken> {
    let Some(folded) = &state.last.fold else { return Ok((None, None)) };
    let at = code.find(folded)?.ok_or(Broken)?;
    let fold = fold(code, at)?.map_err(|_| Broken)?;
    Ok((Some(branches(&fold.branches)), fold.common.map(|step| step.id)))
}

fn branches(all: &[Branch<'_>]) -> Value {
    Value::List(all.iter().map(branch).collect())
}

fn branch(one: &Branch<'_>) -> Value {
    let mut members = vec![("label", Value::from(one.label)), ("when", one.when.into())];
    match &one.way {
        Way::Steps(steps) => {
            let told = |step: &Step<'_>| Value::from([("node", step.id.into()), ("say", step.say.into())]);
            members.push(("steps", Value::List(steps.iter().map(told).collect())));
            if let Some(Step { kind: StepKind::End { outcome }, .. }) = steps.last() {
                members.push(("outcome", (*outcome).into()));
            }
        }
        Way::Question(at, inner) => {
            members.push(("node", at.id.into()));
            members.push(("branches", branches(inner)));
        }
    }
    object(members)
}

/// What the flow may ask, a line for each node: so that much can be answered at once.
fn index(code: Code<'_>) -> Result<Value, Broken> {
    let mut lines = Vec::new();
    for step in code.nodes() {
        let step = step?;
        let mut line = vec![("id", Value::from(step.id)), ("kind", kind(step).into()), ("say", step.say.into())];
        match step.kind {
            StepKind::Ask(_) => {}
            StepKind::Collect(collect) => {
                let slots: Result<Map, Broken> =
                    collect.slots().map(|slot| slot.map(|one| (one.name.to_owned(), one.ask.into()))).collect();
                line.push(("slots", slots?.into()));
            }
            StepKind::Tell { .. } | StepKind::End { .. } => continue,
        }
        lines.push(object(line));
    }
    Ok(Value::List(lines))
}

/// The reply to `guide_status`: where the run stands, and what the last reply told.
pub(crate) fn status(at: At<'_>) -> Output {
    let read = Code::read(at.code).and_then(|code| {
        let state = State::read(code, at.state)?;
        let mut members = vec![
            ("run_id", Value::from(at.session.id.as_str())),
            ("flow_id", code.flow_id.into()),
            ("version", code.version.into()),
            ("state", state.mode.word().into()),
            ("node", node(&state)?),
            ("collected", state.collected.clone().into()),
            ("path", state.path.clone().into()),
            ("skipped", state.skipped.clone().into()),
            ("folded", state.folded.clone().into()),
        ];
        let own = ["node", "collected"];
        members.push(("last", object(told(code, &state)?.into_iter().filter(|(key, _)| !own.contains(key)).collect())));
        Ok(object(members))
    });
    read.map_or_else(|Broken| broken(), |value| reply::output(&value))
}

/// The reply where bytes or state are not what was written.
pub(crate) fn broken() -> Output {
    error("broken_run", "this run cannot be read: its definition or its state is damaged", [])
}

/// What an open run waits for. It is for the agent to answer: it turns what a caller says into labels and values, and a
/// form with the labels of a flow would say nothing to that caller. An operator can answer it all the same.
pub(crate) fn request(state: &State<'_>) -> Result<Option<Request>, Broken> {
    let schema = match state.at.kind {
        StepKind::Ask(ask) => {
            let mut labels: Vec<&str> =
                ask.labels().map(|label| label.map(|one| one.label)).collect::<Result<_, _>>()?;
            labels.extend(ask.other.map(|_| OTHER));
            labels.push(UNKNOWN);
            Value::from([("type", "string".into()), ("enum", labels.into())])
        }
        StepKind::Tell { .. } => Value::from([("type", "string".into()), ("enum", vec!["said"].into())]),
        StepKind::Collect(collect) => {
            let (mut slots, mut required) = (Vec::new(), Vec::new());
            for slot in collect.slots() {
                let slot = slot?;
                let wanted = [("type", "string".into()), ("description", slot.ask.into())];
                slots.push((slot.name.to_owned(), Value::from(wanted)));
                required.extend(slot.required.then_some(slot.name));
            }
            let slots: Map = slots.into_iter().collect();
            Value::from([("type", "object".into()), ("properties", slots.into()), ("required", required.into())])
        }
        StepKind::End { .. } => return Ok(None),
    };
    if state.mode != Mode::Open {
        return Ok(None);
    }
    let question = Question { audience: Audience::Agent, prompt: state.at.say.to_owned(), schema: json::text(&schema) };
    Ok(Some(Request { id: format!("visit-{}", state.visit), need: Need::Answer(question), deadline: None }))
}

/// What the host and other workflows learn of the end. A run that was handed over has come to nothing here.
pub(crate) fn outcome(code: Code<'_>, state: &State<'_>) -> Option<Result<String, Failure>> {
    match (state.mode, state.at.kind) {
        (Mode::Completed, StepKind::End { outcome }) => {
            let value = [
                ("outcome", outcome.into()),
                ("say", state.at.say.into()),
                ("collected", state.collected.clone().into()),
            ];
            Some(Ok(json::text(&value.into())))
        }
        (Mode::Stalled, _) => {
            let reason = state.last.reason.map_or("escalate", crate::fold::Reason::word);
            let detail = [
                ("state", "stalled".into()),
                ("node", state.at.id.into()),
                ("reason", reason.into()),
                ("on_stuck", code.on_stuck.into()),
                ("collected", state.collected.clone().into()),
            ];
            let message = format!("stalled at {}: {reason}", state.at.id);
            Some(Err(Failure { kind: Mishap::Failed, message, detail: Some(json::text(&detail.into())) }))
        }
        (Mode::Open | Mode::Completed, _) => None,
    }
}
