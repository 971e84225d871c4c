//! What callers read: results, failures, and where a run stands.
//!
//! A result is structured content. All else that a graph's tool says is JSON in a text and an error: its output schema speaks of
//! results, and clients hold structured content against it.

use wfhost_guest::model::{Failure, Output, Refusal, Session};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::Value;
use wfhost_guest::{At, json, reply as replies, time};

use crate::code::{Callee, Code, Step};
use crate::state::{State, object, whole, whole_of};
use crate::trouble::Trouble;
use crate::walk::{Walk, kind};

/// JSON in a text, as an error.
pub(crate) fn told(value: &Value) -> Output {
    replies::failed(&json::text(value))
}

/// A refusal with a code, a sentence, and what helps.
pub(crate) fn refusal(code: &str, message: &str, more: Option<(&str, Value)>) -> Refusal {
    let mut members = vec![("error", Value::from(code)), ("message", message.into())];
    members.extend(more);
    Refusal { code: code.to_owned(), message: message.to_owned(), entries: Vec::new(), reply: told(&object(members)) }
}

/// The definition or the state is not what was left.
pub(crate) fn broken() -> Refusal {
    refusal("broken_run", "this run cannot be read: its definition or its state is damaged", None)
}

/// The reply of a turn.
pub(crate) fn output(code: Code<'_>, session: &Session, state: &State) -> Result<Output, Broken> {
    Ok(match &state.end {
        Some(Ok(result)) => replies::output(result),
        Some(Err(trouble)) => {
            let mut value = trouble.value();
            if let Value::Map(map) = &mut value {
                map.set("run_id", session.id.as_str().into());
            }
            told(&value)
        }
        None => {
            let at = code.node(state.at)?;
            let message = format!(
                "the tool is still at work, at its node `{}`; ask graph_status with the run_id for its result, and do not call it again",
                at.id
            );
            told(&object(vec![
                ("error", "working".into()),
                ("message", message.into()),
                ("run_id", session.id.as_str().into()),
            ]))
        }
    })
}

/// The end of a session.
pub(crate) fn outcome(state: &State) -> Option<Result<String, Failure>> {
    state.end.as_ref().map(|end| end.as_ref().map(json::text).map_err(Trouble::failure))
}

/// What is told while the call still runs: how many nodes ran, and what it waits for.
pub(crate) fn progress(walk: &Walk<'_>) -> Result<Vec<String>, Broken> {
    let Some(waiting) = &walk.state.waiting else { return Ok(Vec::new()) };
    let node = walk.code.node(walk.state.at)?;
    let message = match node.step {
        Step::Call(call) => {
            let whom = match call.callee {
                Callee::Upstream { server, tool } => format!("{tool} of {server}"),
                Callee::Workflow { workflow, .. } => workflow.to_owned(),
            };
            let done = waiting.done.iter().flatten().count();
            let of = if call.items.is_some() { format!(", {done} of {}", waiting.done.len()) } else { String::new() };
            format!("{}: calls {whom}{of}", node.id)
        }
        Step::Entry { .. } | Step::Exit | Step::Transform { .. } | Step::Switch { .. } => format!("at {}", node.id),
    };
    let done = waiting.done.iter().flatten().count();
    let steps = u64::from(walk.state.runs).saturating_add(u64::try_from(done).unwrap_or(0));
    Ok(vec![json::text(&object(vec![("progress", whole(steps)), ("message", message.into())]))])
}

/// Where a run stands.
pub(crate) fn status(at: At<'_>) -> Output {
    let shown = Code::read(at.code).and_then(|code| Ok((code, State::read(at.state)?)));
    match shown.and_then(|(code, state)| stands(at.session, code, &state)) {
        Ok(value) => replies::output(&value),
        Err(Broken) => broken().reply,
    }
}

fn stands(session: &Session, code: Code<'_>, state: &State) -> Result<Value, Broken> {
    let node = code.node(state.at)?;
    let word = match &state.end {
        Some(Ok(_)) => "done",
        Some(Err(_)) => "failed",
        None => "working",
    };
    let mut members = vec![
        ("run_id", Value::from(session.id.as_str())),
        ("tool", code.name.into()),
        ("state", word.into()),
        ("node", node.id.into()),
        ("kind", kind(node.step).into()),
        ("node_runs", state.runs.into()),
        ("started", time::iso(state.started).into()),
    ];
    if let (Some(waiting), Step::Call(call)) = (&state.waiting, node.step) {
        let (whom, of) = match call.callee {
            Callee::Upstream { server, tool } => (tool, server),
            Callee::Workflow { interpreter, workflow } => (workflow, interpreter.unwrap_or_default()),
        };
        let open = waiting.open.iter().map(|open| {
            let mut members = vec![("attempt", Value::from(open.attempt)), ("arguments", open.args.clone())];
            members.extend(call.items.map(|_| ("item", whole_of(open.item))));
            members.extend(open.due.map(|due| ("again_at", time::iso(due).into())));
            object(members)
        });
        let open = Value::List(open.collect());
        members.push(("waiting", object(vec![("for", whom.into()), ("of", of.into()), ("open", open)])));
        if call.items.is_some() {
            let done = waiting.done.iter().flatten().count();
            members.push(("items", object(vec![("done", whole_of(done)), ("all", whole_of(waiting.done.len()))])));
        }
    }
    members.extend(state.end.as_ref().map(|end| match end {
        Ok(result) => ("result", result.clone()),
        Err(trouble) => ("failure", trouble.value()),
    }));
    Ok(object(members))
}
