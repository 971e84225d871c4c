//! What an agent reads: steps, refusals and their way out, marks, and where a session stands.

use wfhost_guest::model::{Audience, Failure, Mishap, Need, Output, Past, Question, Refusal, Request};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};
use wfhost_guest::{json, python};

use crate::args::{self, Fork, Step};
use crate::engine::state::State;
use crate::engine::ways::Way;
use crate::engine::{Now, seconds};
use crate::hints;

pub(crate) use crate::engine::refusals::Refused;

type Members = Vec<(&'static str, Value)>;

fn map(members: Members) -> Value {
    Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// The names of actions that may come next.
pub(crate) fn names(ways: &[Way<'_>]) -> Value {
    ways.iter().map(|way| way.action.name).collect::<Vec<_>>().into()
}

/// The inputs of actions that may come next, by action. In a diagram the labels that lead there are a choice.
fn schemas(ways: &[Way<'_>]) -> Result<Value, Broken> {
    let one = |way: &Way<'_>| Ok((way.action.name.to_owned(), Value::Map(way.action.inputs()?)));
    ways.iter().map(one).collect::<Result<Map, _>>().map(Value::Map)
}

/// Where a machine is at its end, or stuck.
pub(crate) fn ending(now: &Now<'_, '_>, ways: &[Way<'_>]) -> Option<&'static str> {
    if !ways.is_empty() {
        return None;
    }
    Some(if now.state.last.is_some_and(|last| last.is_last()) { "terminal" } else { "stuck" })
}

fn output(headline: Option<String>, members: Members, is_error: bool) -> Output {
    Output { headline, value: json::text(&map(members)), content: None, is_error }
}

/// A step that was done.
pub(crate) fn success(now: &Now<'_, '_>, ways: &[Way<'_>]) -> Result<Output, Broken> {
    let action = now.state.told.get("action").and_then(Value::as_str).unwrap_or_default();
    let headline = format!("Step {}: {action} ⊢ {}", now.seq, headed(now, ways));
    Ok(output(Some(headline), told(now, ways)?, false))
}

/// Where a session stands, with all that its last step gave.
pub(crate) fn status(now: &Now<'_, '_>, ways: &[Way<'_>]) -> Result<Output, Broken> {
    Ok(output(None, told(now, ways)?, false))
}

fn told(now: &Now<'_, '_>, ways: &[Way<'_>]) -> Result<Members, Broken> {
    let of = |key: &str| now.state.told.get(key).cloned().unwrap_or_default();
    let mut members = vec![
        ("action", of("action")),
        ("result", of("result")),
        ("state", now.state.data.clone().into()),
        ("valid_next_actions", names(ways)),
    ];
    members.extend(own(now));
    if now.state.told.get("chunks").is_some() {
        members.extend([("streamed", true.into()), ("chunks", of("chunks"))]);
    }
    if let Some(pending) = &now.state.pending {
        members.push(("in_progress", pending.action.as_str().into()));
    }
    members.push(("next_hint", hints::success(now, ways, &now.code.beside("hints")?).into()));
    members.extend(external(ways)?);
    members.push(("next_action_schemas", schemas(ways)?));
    Ok(members)
}

/// Whose session it is.
fn own(now: &Now<'_, '_>) -> Members {
    let id = now.session.id.as_str();
    vec![("app_id", id.into()), ("session", id.into()), ("tracker_project", Value::Null)]
}

/// Tools of other servers that go with what may come next.
fn external(ways: &[Way<'_>]) -> Result<Option<(&'static str, Value)>, Broken> {
    let mut found = Map::default();
    for way in ways {
        if let Some(tools) = way.action.external_tools()? {
            found.set(way.action.name, tools);
        }
    }
    Ok((!found.is_empty()).then(|| ("next_external_tools", found.into())))
}

fn headed(now: &Now<'_, '_>, ways: &[Way<'_>]) -> String {
    if let Some(ending) = ending(now, ways) {
        return format!("({ending})");
    }
    let names: Vec<&str> = ways.iter().take(3).map(|way| way.action.name).collect();
    let rest = ways.len() - names.len();
    let rest = if rest > 0 { format!("+{rest}") } else { String::new() };
    format!("→ {}{rest}", names.join(","))
}

/// A step that was refused, and what may be done instead.
pub(crate) fn refused(now: &Now<'_, '_>, step: &Step, refused: &Refused, ways: &[Way<'_>]) -> Result<Output, Broken> {
    let ending = ending(now, ways);
    let word = refused.word();
    let mut members: Members = vec![("error", word.into()), ("requested", step.action.as_str().into())];
    if matches!(refused, Refused::Unknown) {
        let known: Vec<&str> = now
            .machine
            .actions()
            .take(KNOWN_MAX)
            .map(|action| action.map(|action| action.name))
            .collect::<Result<_, _>>()?;
        members.push(("known_actions", known.into()));
    }
    members.extend(refused.members(step, ways, ending));
    members.push(("valid_next_actions", names(ways)));
    members.push(("next_action_schemas", schemas(ways)?));
    members.push(("session", now.session.id.as_str().into()));
    let hints = now.code.beside("hints")?;
    members.push(("next_hint", hints::refusal(now, step, refused, ways, &hints).into()));
    let kind = refused.kind().map(|kind| format!(" ({kind})")).unwrap_or_default();
    let headline = format!("Step {}: {} × {word}{kind}", now.seq, step.action);
    Ok(output(Some(headline), members, refused.is_error()))
}

/// LIMIT: action names in the refusal of an unknown one.
const KNOWN_MAX: usize = 1_000;

/// A step that waits for others.
pub(crate) fn waiting(now: &Now<'_, '_>, action: &str, requests: &[Request]) -> Output {
    let one = |request: &Request| match &request.need {
        Need::Answer(question) => format!("a person: {}", question.prompt),
        Need::Tool(call) => format!("{}.{}", call.server.as_deref().unwrap_or("the agent"), call.tool),
        Need::ToolList(servers) => format!("the tools of {}", servers.join(", ")),
        Need::Completion(_) => "a model".to_owned(),
        Need::Timer(at) => wfhost_guest::time::iso(*at),
        Need::Workflow(call) => format!("the workflow {}", call.workflow),
    };
    let waits: Vec<String> = requests.iter().map(one).collect();
    let hint = format!("`{action}` is under way and waits for {}; nothing has changed yet.", waits.join(", "));
    let mut members = vec![
        ("in_progress", action.into()),
        ("waits_for", waits.into()),
        ("state", now.state.data.clone().into()),
        ("valid_next_actions", names(&[])),
    ];
    members.extend(own(now));
    members.push(("next_hint", hint.into()));
    output(Some(format!("Step {}: {action} … waits", now.seq)), members, false)
}

/// After a reset or a fork.
pub(crate) fn marked(now: &Now<'_, '_>, ways: &[Way<'_>]) -> Output {
    let of = |key: &str| now.state.told.get(key).cloned().unwrap_or_default();
    let (action, result) = (of("action"), of("result"));
    let word = |key: &str| result.get(key).map(python::str).unwrap_or_default();
    let headline = match action.as_str().unwrap_or_default() {
        args::RESET => {
            let first = ways.first().map(|way| way.action.name).unwrap_or_default();
            format!("Session reset → {first}")
        }
        args::FORK_AT => format!("Forked to seq={} ({})", word("sequence_id"), word("from_action")),
        _ => format!("Resumed app_id={} seq={}", word("loaded_app_id"), word("loaded_sequence_id")),
    };
    let mut members = vec![
        ("action", action),
        ("result", result),
        ("state", now.state.data.clone().into()),
        ("valid_next_actions", names(ways)),
    ];
    members.extend(own(now));
    output(Some(headline), members, false)
}

/// What the session waits for: the agent's next step, which an operator may name as well.
pub(crate) fn request(now: &Now<'_, '_>, ways: &[Way<'_>]) -> Result<Option<Request>, Broken> {
    if ways.is_empty() || now.state.pending.is_some() {
        return Ok(None);
    }
    let inputs = Value::from([("type", "object".into())]);
    let properties = Value::from([("action", Value::from([("enum", names(ways))])), ("inputs", inputs)]);
    let schema =
        Value::from([("type", "object".into()), ("properties", properties), ("required", vec!["action"].into())]);
    let shown: Vec<&str> = ways.iter().take(6).map(|way| way.action.name).collect();
    let prompt = format!("the next step: {}", shown.join(", "));
    let question = Question { audience: Audience::Agent, prompt, schema: json::text(&schema) };
    Ok(Some(Request { id: "step".to_owned(), need: Need::Answer(question), deadline: None }))
}

/// The end of a session: at an action that nothing leaves, or stuck where no guard holds.
pub(crate) fn outcome(now: &Now<'_, '_>, ways: &[Way<'_>]) -> Option<Result<String, Failure>> {
    if now.state.pending.is_some() {
        return None;
    }
    let last = now.state.last.map(|last| last.name).unwrap_or_default();
    match ending(now, ways)? {
        "terminal" => {
            let value = [("action", last.into()), ("state", now.state.data.clone().into())];
            Some(Ok(json::text(&value.into())))
        }
        _ => Some(Err(Failure {
            kind: Mishap::Failed,
            message: format!("stuck after {last}: no transition holds"),
            detail: Some(json::text(&now.state.data.clone().into())),
        })),
    }
}

/// Whether a fork can be made; else why not.
pub(crate) fn forkable(now: &Now<'_, '_>, fork: &Fork, past: Option<&Past>) -> Result<(), Box<Refusal>> {
    let refuse = |word: &str, said: &str, members: Members, headline: String| {
        let mut all: Members = vec![("error", word.to_owned().into())];
        all.extend(members);
        let reply = output(Some(headline), all, false);
        Err(Box::new(Refusal { code: word.to_owned(), message: said.to_owned(), entries: Vec::new(), reply }))
    };
    let detail = past.and_then(|past| past.entry.entry.detail.as_deref()).and_then(|text| json::read(text).ok());
    let detail = detail.unwrap_or_default();
    let refused_as = detail.get("refusal_reason").cloned();
    match fork {
        Fork::At { given: false, .. } => {
            let message = "sequence_id is missing: the `seq` of an entry of the history";
            let members = vec![("reason", message.into())];
            refuse("missing_sequence_id", message, members, "fork_at × missing_sequence_id".to_owned())
        }
        Fork::At { seq, .. } if past.is_none() => {
            let members = vec![("requested", (*seq).into()), ("history_length", now.seq.into())];
            let headline = format!("fork_at × unknown_sequence_id ({seq})");
            refuse("unknown_sequence_id", "the history has no entry of that number", members, headline)
        }
        Fork::At { seq, .. } => match (refused_as, detail.get("action").and_then(Value::as_str)) {
            (Some(reason), _) => {
                let members = vec![("sequence_id", (*seq).into()), ("refusal_reason", reason)];
                let headline = format!("fork_at × cannot_fork_to_refusal (seq={seq})");
                refuse("cannot_fork_to_refusal", "that entry is a refusal: it changed nothing", members, headline)
            }
            (None, Some(action @ (args::RESET | args::FORK_AT))) => {
                let members = vec![("sequence_id", (*seq).into()), ("action", action.into())];
                let headline = format!("fork_at × cannot_fork_to_meta_entry (seq={seq})");
                refuse("cannot_fork_to_meta_entry", "that entry marks a reset or a fork", members, headline)
            }
            (None, _) => Ok(()),
        },
        Fork::Past { partition, .. } if !partition.is_empty() => {
            let reason = "this session has no partition: sessions of other tenants cannot be loaded";
            let members = vec![("reason", reason.into()), ("requested", partition.as_str().into())];
            refuse("partition_mismatch", reason, members, format!("fork_from_past × partition_mismatch ({partition})"))
        }
        Fork::Past { app_id, seq, .. } => {
            let reason = match past {
                None => "there is no such session of this machine that you may see, or it has no such entry",
                Some(past) if past.session.definition_hash != now.session.definition_hash => {
                    "that session ran another version of this machine"
                }
                Some(_) if refused_as.is_some() && *seq >= 0 => "that entry is a refusal: it changed nothing",
                Some(past) if State::read(now.machine, &past.state).is_err() => "its state cannot be read",
                Some(_) => return Ok(()),
            };
            let members =
                vec![("reason", reason.into()), ("app_id", app_id.as_str().into()), ("sequence_id", (*seq).into())];
            refuse("unknown_past_run", reason, members, format!("fork_from_past × unknown_past_run ({app_id})"))
        }
    }
}

/// The time of an action, as the agent reads it.
pub(crate) fn timeout_seconds(millis: u32) -> Value {
    json::read(&seconds(millis)).unwrap_or_default()
}
