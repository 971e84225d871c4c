//! One turn of a run: a call or a reply in, a result or requests out.

use wfhost_guest::At;
use wfhost_guest::json;
use wfhost_guest::model::{Event, Input, Memory, Refusal, Session, Turn};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};
use wfhost_jsonata::Data;

use crate::calls;
use crate::code::Code;
use crate::reply;
use crate::state::State;
use crate::walk::Walk;

/// Begins a run, of the agent or of another workflow.
pub(crate) fn start(code: &[u8], session: &Session, event: &Event) -> Result<Turn, Refusal> {
    let text = match &event.input {
        Input::Call(call) => &call.args,
        Input::Open(args) => args,
        Input::Recalled(_) | Input::Reply(_) => {
            return Err(reply::refusal("arguments", "a tool is begun by a call", None));
        }
    };
    let code = Code::read(code).map_err(|Broken| reply::broken())?;
    let args = arguments(text, code)?;
    begin(code, session, event, args).map_err(|Broken| reply::broken())
}

/// The arguments, held against the input schema.
fn arguments(text: &str, code: Code<'_>) -> Result<Value, Refusal> {
    let args = match json::read(text) {
        Ok(Value::Null) => Value::Map(Map::default()),
        Ok(args @ Value::Map(_)) => args,
        Ok(_) | Err(_) => return Err(reply::refusal("arguments", "the arguments are not an object", None)),
    };
    let schema = json::read(code.input).unwrap_or_default();
    let problems = crate::args::problems(&args, &schema);
    if problems.is_empty() {
        return Ok(args);
    }
    let message =
        format!("the arguments do not fit the input schema of `{}`: {}", code.name, crate::args::words(&problems));
    Err(reply::refusal("arguments", &message, Some(("problems", crate::args::listed(&problems)))))
}

fn begin(code: Code<'_>, session: &Session, event: &Event, args: Value) -> Result<Turn, Broken> {
    let mut walk = Walk::new(code, State::new(code.entry, event.at), event, &[])?;
    walk.go(Some(Data::from(&args)))?;
    finish(walk, session)
}

/// Moves a run by the reply to one of its requests.
pub(crate) fn answer(at: At<'_>, memory: &Memory, event: &Event) -> Result<Turn, Refusal> {
    let broken = |Broken| reply::broken();
    let code = Code::read(at.code).map_err(broken)?;
    let state = State::read(at.state).map_err(broken)?;
    let Input::Reply(answered) = &event.input else {
        return Err(reply::refusal("not_asked", "a run goes on by itself; graph_status shows where it stands", None));
    };
    if state.end.is_some() {
        return Err(reply::refusal("ended", "the run has ended; call the tool again for another one", None));
    }
    let mut walk = Walk::new(code, state, event, &memory.items).map_err(broken)?;
    if !calls::replied(&mut walk, answered).map_err(broken)? {
        let message = format!("the run does not wait for `{}`", answered.request);
        return Err(reply::refusal("not_asked", &message, None));
    }
    walk.go(None).and_then(|()| finish(walk, at.session)).map_err(broken)
}

/// Writes the turn down.
fn finish(walk: Walk<'_>, session: &Session) -> Result<Turn, Broken> {
    let requests = calls::requests(&walk)?;
    let current = vec![walk.code.node(walk.state.at)?.id.to_owned()];
    let progress = reply::progress(&walk)?;
    Ok(Turn {
        reply: reply::output(walk.code, session, &walk.state)?,
        outcome: reply::outcome(&walk.state),
        state: walk.state.write(),
        window: if walk.code.past && walk.state.end.is_none() { u32::MAX } else { 0 },
        entries: walk.entries,
        remember: walk.remember,
        progress,
        requests,
        current,
    })
}
