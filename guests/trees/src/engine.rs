//! One step of a session: an answer in, the next envelope out. Conditions in between are passed at once.

use wfhost_guest::model::{Entry, Event, Failure, Input, Refusal, Reply, Session, Source, Turn};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Int, Map, Value};
use wfhost_guest::{At, json, python, reply as replies, template};

use crate::args;
use crate::code::{Code, NodeNumber, Options, Step, StepKind};
use crate::predicate;
use crate::reply;
use crate::state::{ABORTED, State};

/// LIMIT: bytes of an answer, measured as Python writes JSON.
const ANSWER_BYTES_MAX: usize = 65_536;

/// Begins a session at the entry node. The arguments of another workflow become its first facts.
pub(crate) fn start(code: &[u8], session: &Session, event: &Event) -> Result<Turn, Refusal> {
    let facts = match &event.input {
        Input::Open(args) => match json::read(args) {
            Ok(Value::Map(facts)) => facts,
            Ok(_) | Err(_) => return Err(replies::refusal("bad_arguments", "a tree is begun with an object of facts")),
        },
        Input::Call(_) | Input::Recalled(_) | Input::Reply(_) => Map::default(),
    };
    begin(code, session, facts).map_err(|Broken| broken())
}

fn begin(code: &[u8], session: &Session, facts: Map) -> Result<Turn, Broken> {
    let code = Code::read(code)?;
    let state = State { node: code.node(code.entry)?, step: 1, entries: 0, outcome: None, facts };
    advance(code, session, state, Vec::new())
}

/// Moves a session by an answer.
pub(crate) fn answer(at: At<'_>, event: &Event) -> Result<Turn, Refusal> {
    let code = Code::read(at.code).map_err(|Broken| broken())?;
    let state = State::read(code, at.state).map_err(|Broken| broken())?;
    let answer = match &event.input {
        Input::Call(call) => args::answer(call).map_err(|message| replies::refusal("bad_arguments", &message))?,
        Input::Reply(reply) => match reported(&state, reply) {
            Ok(answer) => answer,
            Err(failure) => return Err(undelivered(code, at.session, &state, failure)),
        },
        Input::Open(_) | Input::Recalled(_) => {
            return Err(replies::refusal("bad_input", "a session is moved by an answer"));
        }
    };
    match judged(at.session, &state, &answer, event.source) {
        Ok(accepted) => follow(code, at.session, state, accepted).map_err(|Broken| broken()),
        Err(No::Broken) => Err(broken()),
        Err(No::Refused(word, text)) => Err(refused(code, at.session, &state, (word, text))),
    }
}

/// An answer to the current step.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The step it is meant for.
    pub(crate) step: Int,
    /// What was answered.
    pub(crate) value: Value,
    /// Why, if that was said.
    pub(crate) rationale: Option<String>,
    /// Whether the tool failed.
    pub(crate) is_error: bool,
}

enum No {
    Broken,
    Refused(&'static str, String),
}

impl From<Broken> for No {
    fn from(_: Broken) -> Self {
        Self::Broken
    }
}

fn broken() -> Refusal {
    Refusal {
        code: "broken_session".to_owned(),
        message: "definition or state is damaged".to_owned(),
        entries: Vec::new(),
        reply: reply::broken(),
    }
}

/// A refusal that the caller sees in the envelope's `error`.
fn refused(code: Code<'_>, session: &Session, state: &State<'_>, (word, text): (&str, String)) -> Refusal {
    let message = format!("{word}: {text}");
    match reply::envelope(code, session, state, Some(&message)) {
        Ok(envelope) => {
            Refusal { code: word.to_owned(), message, entries: Vec::new(), reply: replies::output(&envelope) }
        }
        Err(Broken) => broken(),
    }
}

/// A question that was not answered stays open, and its envelope stands as it was.
fn undelivered(code: Code<'_>, session: &Session, state: &State<'_>, failure: &Failure) -> Refusal {
    let word = match failure.kind {
        wfhost_guest::model::Mishap::Declined => "declined",
        wfhost_guest::model::Mishap::Cancelled => "cancelled",
        wfhost_guest::model::Mishap::TimedOut => "timed_out",
        wfhost_guest::model::Mishap::Denied => "denied",
        wfhost_guest::model::Mishap::Unavailable => "unavailable",
        wfhost_guest::model::Mishap::Failed => "failed",
        wfhost_guest::model::Mishap::Lost => "lost",
    };
    match reply::envelope(code, session, state, None) {
        Ok(envelope) => Refusal {
            code: word.to_owned(),
            message: failure.message.clone(),
            entries: Vec::new(),
            reply: replies::output(&envelope),
        },
        Err(Broken) => broken(),
    }
}

/// The answer that a reply to the open request holds. A tool's failure is an answer too; a question's is none.
fn reported<'r>(state: &State<'_>, reply: &'r Reply) -> Result<Answer, &'r Failure> {
    let step = reply.request.strip_prefix("step-").and_then(Int::decimal).unwrap_or(Int::Small(0));
    let action = matches!(state.node.kind, StepKind::Action { .. });
    let (value, is_error) = match &reply.value {
        Ok(text) if action => tool_result(&json::read(text).unwrap_or_default()),
        Ok(text) => (json::read(text).unwrap_or_default(), false),
        Err(failure) if action => (failure.message.as_str().into(), true),
        Err(failure) => return Err(failure),
    };
    Ok(Answer { step, value, rationale: None, is_error })
}

/// What a CallToolResult says: its structured content, else the text of its first block.
fn tool_result(result: &Value) -> (Value, bool) {
    let is_error = matches!(result.get("isError"), Some(Value::Bool(true)));
    let text = || result.get("content")?.as_list()?.first()?.get("text").cloned();
    let structured = result.get("structuredContent").filter(|value| !matches!(value, Value::Null)).cloned();
    (structured.or_else(text).unwrap_or_default(), is_error)
}

/// What an accepted answer leads to.
struct Accepted {
    target: NodeNumber,
    input: Value,
    capture: Option<(String, Value)>,
    rationale: Option<String>,
}

/// Whether an answer is accepted, by the state as it is.
fn judged(session: &Session, state: &State<'_>, answer: &Answer, source: Source) -> Result<Accepted, No> {
    if state.outcome.is_some() {
        return Err(No::Refused("finished_session", "this session has ended".to_owned()));
    }
    if answer.step != Int::Small(state.step) {
        return Err(No::Refused("step_mismatch", format!("expected step {}, got {}", state.step, answer.step)));
    }
    match state.node.kind {
        StepKind::Ask { options, next, capture, human_only, .. } => {
            if (human_only || session.human_only) && !matches!(source, Source::Human | Source::Operator) {
                let text = "this question is for a person; ask them to answer it in the client or through the operator, and wait";
                return Err(No::Refused("human_only", text.to_owned()));
            }
            match next.filter(|_| options.is_empty()) {
                Some(next) => free(next, capture, answer),
                None => chosen(options, capture, answer),
            }
        }
        StepKind::Judgment { options, capture, require_rationale, .. } => {
            let accepted = chosen(options, capture, answer)?;
            if require_rationale && answer.rationale.as_deref().unwrap_or_default().is_empty() {
                return Err(No::Refused("rationale_required", "include a rationale for this judgment".to_owned()));
            }
            Ok(accepted)
        }
        StepKind::Action { .. } => acted(state.node, answer),
        StepKind::Condition { .. } | StepKind::Terminal { .. } => Err(No::Broken),
    }
}

/// Goes where an accepted answer leads.
fn follow<'a>(code: Code<'a>, session: &Session, mut state: State<'a>, accepted: Accepted) -> Result<Turn, Broken> {
    let target = code.node(accepted.target)?;
    let entry = entry(state.node, &accepted.input, Some(target.id), accepted.rationale);
    if let Some((name, value)) = accepted.capture {
        state.facts.set(&name, value);
    }
    state.node = target;
    state.step = state.step.saturating_add(1);
    state.entries = state.entries.saturating_add(1);
    advance(code, session, state, vec![entry])
}

fn named(capture: &str, value: &Value) -> Option<(String, Value)> {
    (!capture.is_empty()).then(|| (capture.to_owned(), value.clone()))
}

fn chosen(options: Options<'_>, capture: &str, answer: &Answer) -> Result<Accepted, No> {
    for option in options.iter() {
        let (id, target) = option?;
        if answer.value.as_str() == Some(id) {
            let capture = named(capture, &answer.value);
            return Ok(Accepted { target, input: answer.value.clone(), capture, rationale: answer.rationale.clone() });
        }
    }
    Err(No::Refused("invalid_option", format!("expected one of {}", reply::listed(&options.ids()?))))
}

fn free(target: NodeNumber, capture: &str, answer: &Answer) -> Result<Accepted, No> {
    if python::dumps_len(&answer.value) > ANSWER_BYTES_MAX {
        let text = format!("answer exceeds {ANSWER_BYTES_MAX} bytes; trim or summarize before answering");
        return Err(No::Refused("fact_too_large", text));
    }
    Ok(Accepted {
        target,
        input: answer.value.clone(),
        capture: named(capture, &answer.value),
        rationale: answer.rationale.clone(),
    })
}

fn acted(node: Step<'_>, answer: &Answer) -> Result<Accepted, No> {
    let StepKind::Action { next, on_error, capture, schema, .. } = node.kind else { return Err(No::Broken) };
    if answer.is_error {
        let Some(target) = on_error else {
            return Err(No::Refused(
                "tool_error_unhandled",
                "tool failed and no on_error branch; retry or abort".to_owned(),
            ));
        };
        return Ok(Accepted {
            target,
            input: [("error", answer.value.clone())].into(),
            capture: None,
            rationale: None,
        });
    }
    if python::dumps_len(&answer.value) > ANSWER_BYTES_MAX {
        let text = format!("result exceeds {ANSWER_BYTES_MAX} bytes; trim or summarize before reporting");
        return Err(No::Refused("fact_too_large", text));
    }
    if !schema.is_empty() {
        let schema = json::read(schema).map_err(|_| No::Broken)?;
        mismatch(&schema, &answer.value).map_or(Ok(()), |reason| Err(No::Refused("schema_mismatch", reason)))?;
    }
    Ok(Accepted { target: next, input: answer.value.clone(), capture: named(capture, &answer.value), rationale: None })
}

/// Types that a result's schema can ask for; any other is not checked.
pub(crate) const SCHEMA_TYPES: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];

/// Why a result does not fit the part of JSON Schema that the dialect knows.
fn mismatch(schema: &Value, value: &Value) -> Option<String> {
    let wanted = schema.get("type").and_then(Value::as_str)?;
    let numeric = matches!(wanted, "integer" | "number");
    let fits = match (wanted, value) {
        ("object", Value::Map(_))
        | ("array", Value::List(_))
        | ("string", Value::Str(_))
        | ("integer" | "number", Value::Int(_))
        | ("number", Value::Float(_))
        | ("boolean", Value::Bool(_)) => true,
        (known, _) => !SCHEMA_TYPES.contains(&known),
    };
    if !fits {
        let got = if numeric && matches!(value, Value::Bool(_)) { "boolean" } else { python::type_name(value) };
        return Some(format!("expected {wanted}, got {got}"));
    }
    let required = schema.get("required").and_then(Value::as_list).filter(|_| wanted == "object")?;
    // DEVIATES: action_schema_required_unhashable; a list or a mapping can be no key, and is passed over.
    let missing = required.iter().find(|key| match key {
        Value::Str(name) => value.get(name).is_none(),
        Value::List(_) | Value::Map(_) => false,
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => true,
    });
    missing.map(|key| format!("missing required key '{}'", python::str(key)))
}

fn entry(node: Step<'_>, input: &Value, branch: Option<&str>, rationale: Option<String>) -> Entry {
    let detail = rationale.map(|rationale| json::text(&[("rationale", rationale.into())].into()));
    Entry {
        node: node.id.to_owned(),
        kind: kind(node).to_owned(),
        input: Some(json::exact(input)),
        branch: branch.map(str::to_owned),
        detail,
    }
}

fn passed(node: Step<'_>, branch: Option<&str>) -> Entry {
    Entry {
        node: node.id.to_owned(),
        kind: kind(node).to_owned(),
        input: None,
        branch: branch.map(str::to_owned),
        detail: None,
    }
}

/// The node's type, by the word that documents use.
pub(crate) fn kind(node: Step<'_>) -> &'static str {
    match node.kind {
        StepKind::Condition { .. } => "condition",
        StepKind::Ask { .. } => "ask",
        StepKind::Judgment { .. } => "judgment",
        StepKind::Action { .. } => "action",
        StepKind::Terminal { .. } => "terminal",
    }
}

/// Passes conditions until something is to be waited for, or the session ends.
fn advance<'a>(
    code: Code<'a>,
    session: &Session,
    mut state: State<'a>,
    mut entries: Vec<Entry>,
) -> Result<Turn, Broken> {
    loop {
        if state.entries > code.max_steps {
            state.outcome = Some(ABORTED.to_owned());
            break;
        }
        match state.node.kind {
            StepKind::Terminal { outcome, .. } => {
                entries.push(passed(state.node, None));
                state.outcome = Some(outcome.to_owned());
            }
            StepKind::Condition { .. } => {
                let target = code.node(branch(state.node, &state.facts)?)?;
                entries.push(passed(state.node, Some(target.id)));
                state.node = target;
                state.entries = state.entries.saturating_add(1);
                continue;
            }
            StepKind::Ask { .. } | StepKind::Judgment { .. } | StepKind::Action { .. } => break,
        }
        state.entries = state.entries.saturating_add(1);
        break;
    }
    let envelope = reply::envelope(code, session, &state, None)?;
    Ok(Turn {
        requests: reply::request(code, session, &state)?.into_iter().collect(),
        current: vec![state.node.id.to_owned()],
        outcome: reply::outcome(code, &state)?,
        reply: replies::output(&envelope),
        state: state.write(),
        entries,
        remember: Vec::new(),
        window: 0,
        progress: Vec::new(),
    })
}

/// Where a condition leads: to the first branch that holds.
fn branch(node: Step<'_>, facts: &Map) -> Result<NodeNumber, Broken> {
    let StepKind::Condition { on, default, branches } = node.kind else { return Err(Broken) };
    let fact = template::lookup(facts, on);
    for branch in branches.iter() {
        let (when, target) = branch?;
        if predicate::holds(&json::read(when).map_err(|_| Broken)?, fact) {
            return Ok(target);
        }
    }
    Ok(default)
}
