//! The dialect's JSON: the envelope that a caller gets, the request that the host gets, and the trace.

use wfhost_guest::model::{Audience, Journal, Kept, Need, Output, Question, Request, Session, Source, ToolCall};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};
use wfhost_guest::{At, json, python, reply, template, time};

use crate::code::{Code, Options, StepKind};
use crate::state::{ABORTED, State};

/// The reply to `tree_status`.
pub(crate) fn status(at: At<'_>) -> Output {
    let read = Code::read(at.code).and_then(|code| {
        let state = State::read(code, at.state)?;
        envelope(code, at.session, &state, None)
    });
    read.map_or_else(|Broken| broken(), |value| reply::output(&value))
}

/// The reply where bytes or state are not what was written.
pub(crate) fn broken() -> Output {
    reply::failed("this session cannot be read: its definition or its state is damaged")
}

/// The envelope of a session. `error` is told right after a refused answer only.
pub(crate) fn envelope(
    code: Code<'_>,
    session: &Session,
    state: &State<'_>,
    error: Option<&str>,
) -> Result<Value, Broken> {
    let view = view(code, state)?;
    Ok(Value::from([
        ("session_id", session.id.as_str().into()),
        ("tree_id", code.tree_id.into()),
        ("node", state.node.id.into()),
        ("step", state.step.into()),
        ("error", error.into()),
        ("outcome", state.outcome.clone().into()),
        ("evidence", view.evidence.into()),
        ("state", view.state.into()),
        ("instruction", view.instruction),
        ("expects", view.expects),
    ]))
}

/// What an envelope says of the current node.
struct View {
    state: &'static str,
    instruction: Value,
    expects: Value,
    evidence: Map,
}

fn view(code: Code<'_>, state: &State<'_>) -> Result<View, Broken> {
    let fill = |text: &str| if code.v2 { template::fill(text, &state.facts) } else { text.into() };
    if state.outcome.is_some() {
        let instruction = match state.node.kind {
            StepKind::Terminal { summary, .. } => fill(summary),
            StepKind::Condition { .. } | StepKind::Ask { .. } | StepKind::Judgment { .. } | StepKind::Action { .. } => {
                "".into()
            }
        };
        return Ok(View { state: "done", instruction, expects: Value::Null, evidence: Map::default() });
    }
    Ok(match state.node.kind {
        StepKind::Ask { prompt, options, .. } => {
            let expects = if options.is_empty() { [("kind", "text".into())].into() } else { choice(options, [])? };
            View { state: "awaiting_answer", instruction: fill(prompt), expects, evidence: Map::default() }
        }
        StepKind::Judgment { prompt, options, require_rationale, evidence, .. } => {
            let expects = choice(options, [("require_rationale", require_rationale.into())])?;
            View {
                state: "awaiting_judgment",
                instruction: fill(prompt),
                expects,
                evidence: gathered(evidence, &state.facts)?,
            }
        }
        StepKind::Action { tool, args, schema, .. } => {
            let named = if code.v2 { template::fill_text(tool, &state.facts) } else { tool.to_owned() };
            let instruction = format!(
                "Call tool `{named}` with the args in `expects.args`, then report its result via tree_answer (set is_error=true if the call failed)."
            );
            let expects = Value::from([
                ("kind", "tool_result".into()),
                ("tool", tool.into()),
                ("args", arguments(code, args, state)?),
                ("schema", if schema.is_empty() { Value::Null } else { json::read(schema).map_err(|_| Broken)? }),
            ]);
            View { state: "awaiting_tool_result", instruction: instruction.into(), expects, evidence: Map::default() }
        }
        StepKind::Condition { .. } | StepKind::Terminal { .. } => return Err(Broken),
    })
}

fn choice<const N: usize>(options: Options<'_>, more: [(&str, Value); N]) -> Result<Value, Broken> {
    let ids: Value = options.ids()?.into();
    let members = [("kind", "enum".into()), ("options", ids)].into_iter().chain(more);
    Ok(Value::Map(members.map(|(key, value)| (key.to_owned(), value)).collect()))
}

fn gathered(evidence: &str, facts: &Map) -> Result<Map, Broken> {
    let names = json::read(evidence).map_err(|_| Broken)?;
    let names = names.as_list().unwrap_or_default().iter().filter_map(Value::as_str);
    Ok(names.map(|name| (name.to_owned(), facts.get(name).cloned().unwrap_or_default())).collect())
}

fn arguments(code: Code<'_>, args: &str, state: &State<'_>) -> Result<Value, Broken> {
    let args = json::read(args).map_err(|_| Broken)?;
    Ok(if code.v2 { template::fill_value(&args, &state.facts) } else { args })
}

/// What a session waits for, as the host needs it. None when it has ended.
pub(crate) fn request(code: Code<'_>, session: &Session, state: &State<'_>) -> Result<Option<Request>, Broken> {
    let view = view(code, state)?;
    let need = match state.node.kind {
        StepKind::Ask { options, human_only, .. } => {
            // DEVIATES: elicit_non_text_prompt names the rule: what is no text cannot be put to a person as a message.
            // A question that only a person may answer is put as JSON all the same.
            let audience = match (human_only || session.human_only, &view.instruction) {
                (true, _) => Audience::Human,
                (false, Value::Str(_)) => Audience::Either,
                (false, _) => Audience::Agent,
            };
            Need::Answer(Question { audience, prompt: spoken(&view.instruction), schema: schema(options)? })
        }
        StepKind::Judgment { options, .. } => Need::Answer(Question {
            audience: Audience::Agent,
            prompt: spoken(&view.instruction),
            schema: schema(options)?,
        }),
        StepKind::Action { tool, args, .. } => Need::Tool(ToolCall {
            server: None,
            tool: tool.to_owned(),
            args: json::text(&arguments(code, args, state)?),
        }),
        StepKind::Condition { .. } | StepKind::Terminal { .. } => return Ok(None),
    };
    Ok(state.outcome.is_none().then(|| Request { id: request_id(state.step), need, deadline: None }))
}

/// The id of the request that a step waits for.
pub(crate) fn request_id(step: i64) -> String {
    format!("step-{step}")
}

fn spoken(instruction: &Value) -> String {
    instruction.as_str().map_or_else(|| json::text(instruction), str::to_owned)
}

/// The JSON Schema of an answer. Options with one id are one.
fn schema(options: Options<'_>) -> Result<String, Broken> {
    let mut ids: Vec<&str> = Vec::new();
    for id in options.ids()? {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let members = if ids.is_empty() {
        Value::from([("type", "string".into())])
    } else {
        Value::from([("type", "string".into()), ("enum", ids.into())])
    };
    Ok(json::text(&members))
}

/// The reply to `tree_trace`.
pub(crate) fn trace(at: At<'_>, journal: &Journal) -> Output {
    let read = Code::read(at.code).and_then(|code| Ok((code, State::read(code, at.state)?)));
    let Ok((code, state)) = read else { return broken() };
    let mut members = vec![
        ("session_id", Value::from(at.session.id.as_str())),
        ("tree_id", code.tree_id.into()),
        ("tree_hash", code.hash.into()),
        ("outcome", state.outcome.into()),
        ("trace", Value::List(journal.entries.iter().map(line).collect())),
    ];
    let last = journal.entries.last().map_or(0, |kept| kept.seq);
    if usize::try_from(journal.total).is_ok_and(|total| total != journal.entries.len()) {
        members.push(("total", journal.total.into()));
        members.push(("next_after", (last < journal.total).then_some(last).into()));
    }
    reply::output(&Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
}

fn line(kept: &Kept) -> Value {
    let read = |text: &Option<String>| text.as_deref().and_then(|text| json::read(text).ok()).unwrap_or_default();
    let rationale = read(&kept.entry.detail).get("rationale").cloned().unwrap_or_default();
    Value::from([
        ("seq", kept.seq.into()),
        ("node", kept.entry.node.as_str().into()),
        ("input", read(&kept.entry.input)),
        ("resolved_branch", kept.entry.branch.clone().into()),
        ("rationale", rationale),
        ("timestamp", time::iso(kept.at).into()),
        ("source", channel(kept).into()),
    ])
}

/// Through which channel an answer came; none for what the tree did by itself.
fn channel(kept: &Kept) -> Option<&'static str> {
    if matches!(kept.entry.kind.as_str(), "condition" | "terminal") {
        return None;
    }
    Some(match kept.source {
        Source::Agent => "tree_answer",
        Source::Human => "elicitation",
        Source::Operator => "operator",
        Source::Host => "host",
        Source::Upstream => "upstream",
        Source::Model => "model",
        Source::Clock => "clock",
    })
}

/// What the host and other workflows learn of the end.
pub(crate) fn outcome(
    code: Code<'_>,
    state: &State<'_>,
) -> Result<Option<Result<String, wfhost_guest::model::Failure>>, Broken> {
    let Some(outcome) = &state.outcome else { return Ok(None) };
    let terminal = matches!(state.node.kind, StepKind::Terminal { .. });
    if outcome == ABORTED && !(terminal && ends_as(state, ABORTED)) {
        let message = format!("{ABORTED}: the tree went through more than {} nodes", code.max_steps);
        return Ok(Some(Err(wfhost_guest::model::Failure {
            kind: wfhost_guest::model::Mishap::Failed,
            message,
            detail: None,
        })));
    }
    let summary = view(code, state)?.instruction;
    Ok(Some(Ok(json::text(&Value::from([("outcome", outcome.as_str().into()), ("summary", summary)])))))
}

fn ends_as(state: &State<'_>, word: &str) -> bool {
    matches!(state.node.kind, StepKind::Terminal { outcome, .. } if outcome == word)
}

/// The texts of ids in an error, as Python lists them.
pub(crate) fn listed(ids: &[&str]) -> String {
    python::repr_list(ids.iter().copied())
}
