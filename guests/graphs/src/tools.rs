//! The tools that an agent sees: one for each tool of the graphs, and three that look at runs.

use std::collections::BTreeMap;

use wfhost_guest::model::{Action, Call, Output, Page, Refusal, Run, RunQuery, Target, Tool, Workflow};
use wfhost_guest::value::{Map, Value};
use wfhost_guest::{json, reply as replies, time};

use crate::reply;
use crate::state::object;

const STATUS: &str = "graph_status";
const TRACE: &str = "graph_trace";
const RUNS: &str = "graph_runs";

/// Names that no tool of a graph may have.
pub(crate) const RESERVED: [&str; 3] = [STATUS, TRACE, RUNS];

/// LIMIT: runs of one listing.
const RUNS_MAX: u32 = 100;
const RUNS_DEFAULT: u32 = 20;

const STATUS_TEXT: &str = "Shows where a run of a graph's tool stands, without changing anything: working, done or failed, the node in \
hand, what it waits for, and its result. Use it when a tool is still at work, or after an interruption.";
const TRACE_TEXT: &str = "Shows what a run of a graph's tool did, node by node: outputs, ways taken, times, failures. A long trail comes in \
pages: go on with `after` = next_after.";
const RUNS_TEXT: &str =
    "Lists runs of graph tools, newest first, unfinished ones unless asked otherwise. Use it to find a run_id.";

const RUN_IN: &str = r#"{"type":"object","properties":{"run_id":{"type":"string","description":"As a reply of the tool, or graph_runs, gives it."}},"required":["run_id"],"additionalProperties":false}"#;
const TRACE_IN: &str = r#"{"type":"object","properties":{"run_id":{"type":"string","description":"As a reply of the tool, or graph_runs, gives it."},"after":{"type":"integer","minimum":0,"description":"Show entries after this seq. Default: from the beginning."},"limit":{"type":"integer","minimum":1,"description":"At most so many entries."}},"required":["run_id"],"additionalProperties":false}"#;
const RUNS_IN: &str = r#"{"type":"object","properties":{"tool":{"type":"string","description":"Only runs of this tool."},"unfinished":{"type":"boolean","default":true,"description":"False shows ended runs too."},"limit":{"type":"integer","minimum":1,"maximum":100,"default":20,"description":"At most so many runs."}},"additionalProperties":false}"#;
const STATUS_OUT: &str = r#"{"type":"object","properties":{"run_id":{"type":"string"},"tool":{"type":"string"},"state":{"type":"string","enum":["working","done","failed"]},"node":{"type":"string"},"kind":{"type":"string"},"node_runs":{"type":"integer"},"started":{"type":"string"},"waiting":{"type":"object","description":"Whom the run waits for, and each open call."},"items":{"type":"object","description":"Of a foreach: how many items are done."},"result":{"type":"object"},"failure":{"type":"object"}},"required":["run_id","tool","state","node","node_runs","started"]}"#;
const TRACE_OUT: &str = r#"{"type":"object","properties":{"run_id":{"type":"string"},"tool":{"type":"string"},"trace":{"type":"array","items":{"type":"object","properties":{"seq":{"type":"integer"},"at":{"type":"string"},"node":{"type":"string"},"kind":{"type":"string"},"next":{"type":"string"},"index":{"type":"integer","description":"Which node run of the session, from 0."},"ms":{"type":"integer","description":"How long it waited for others."},"output":{},"error":{"type":"object"}},"required":["seq","at","node","kind"]}},"total":{"type":"integer"},"next_after":{"description":"Where the next page begins, or null."}},"required":["run_id","tool","trace"]}"#;
const RUNS_OUT: &str = r#"{"type":"object","properties":{"runs":{"type":"array","items":{"type":"object","properties":{"run_id":{"type":"string"},"tool":{"type":"string"},"node":{"description":"Where it stands, or null."},"state":{"type":"string","enum":["working","done","failed","unreadable"]},"message":{"type":"string"},"started":{"type":"string"},"changed":{"type":"string"}},"required":["run_id","tool","node","state","started","changed"]}}},"required":["runs"]}"#;

/// The tools for a set of workflows.
pub(crate) fn all(workflows: &[Workflow]) -> Vec<Tool> {
    let mut tools: Vec<Tool> = workflows.iter().map(of_graph).collect();
    tools.push(looks(STATUS, "Show where a run stands", STATUS_TEXT, [RUN_IN, STATUS_OUT]));
    tools.push(looks(TRACE, "Show what a run did", TRACE_TEXT, [TRACE_IN, TRACE_OUT]));
    tools.push(looks(RUNS, "List runs", RUNS_TEXT, [RUNS_IN, RUNS_OUT]));
    tools
}

fn looks(name: &str, title: &str, description: &str, [input, output]: [&str; 2]) -> Tool {
    Tool {
        name: name.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        input_schema: input.to_owned(),
        output_schema: Some(output.to_owned()),
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
    }
}

fn of_graph(workflow: &Workflow) -> Tool {
    let extra = json::read(&workflow.extra).unwrap_or_default();
    let schema = |key: &str| extra.get(key).map(json::text);
    let flag = |key: &str| matches!(extra.get(key), Some(Value::Bool(true)));
    Tool {
        name: workflow.id.clone(),
        title: workflow.title.clone(),
        description: workflow.description.clone(),
        input_schema: schema("input").unwrap_or_else(|| r#"{"type":"object"}"#.to_owned()),
        output_schema: schema("output"),
        read_only: flag("readOnly"),
        destructive: flag("destructive"),
        idempotent: flag("idempotent"),
        open_world: flag("openWorld"),
    }
}

/// Reads a call. `tools` are the ids of the workflows that the caller may see.
pub(crate) fn route(call: &Call, tools: &[String]) -> Result<Action, Refusal> {
    if tools.contains(&call.tool) {
        return Ok(Action::Start(call.tool.clone()));
    }
    let bad = |message: String| reply::refusal("arguments", &message, None);
    match call.tool.as_str() {
        STATUS => run_id(call, &[]).map(|(run, _)| Action::Status(target(&run))).map_err(bad),
        TRACE => page(call).map(Action::Trace).map_err(bad),
        RUNS => query(call).map(|query| Action::Catalogue(Some(query))).map_err(bad),
        other => Err(reply::refusal("unknown_tool", &format!("there is no tool `{other}`"), None)),
    }
}

/// The arguments of a tool that looks at runs: checked against its own schema, nulls left out.
fn read(call: &Call, schema: &str) -> Result<Map, String> {
    let args = match json::read(&call.args) {
        Ok(Value::Map(map)) => map,
        Ok(Value::Null) => Map::default(),
        Ok(_) | Err(_) => return Err("the arguments are not an object".to_owned()),
    };
    let given: Map = args.into_iter().filter(|(_, value)| !matches!(value, Value::Null)).collect();
    let value = Value::Map(given.clone());
    let problems = crate::args::problems(&value, &json::read(schema).unwrap_or_default());
    if problems.is_empty() { Ok(given) } else { Err(crate::args::words(&problems)) }
}

fn run_id(call: &Call, more: &[&str]) -> Result<(String, BTreeMap<String, u32>), String> {
    let args = read(call, if more.is_empty() { RUN_IN } else { TRACE_IN })?;
    let run = args.get("run_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |key: &&str| {
        let number = args.get(key).and_then(Value::as_i64)?;
        Some(((*key).to_owned(), u32::try_from(number).unwrap_or(u32::MAX)))
    };
    Ok((run, more.iter().filter_map(number).collect()))
}

fn page(call: &Call) -> Result<Page, String> {
    let (run, numbers) = run_id(call, &["after", "limit"])?;
    let after = Some(numbers.get("after").copied().unwrap_or(0));
    Ok(Page { target: target(&run), after, limit: numbers.get("limit").copied().unwrap_or(u32::MAX) })
}

fn query(call: &Call) -> Result<RunQuery, String> {
    let args = read(call, RUNS_IN)?;
    let limit = args.get("limit").and_then(Value::as_i64).and_then(|limit| u32::try_from(limit).ok());
    Ok(RunQuery {
        workflow: args.get("tool").and_then(Value::as_str).map(str::to_owned),
        unfinished: !matches!(args.get("unfinished"), Some(Value::Bool(false))),
        limit: limit.unwrap_or(RUNS_DEFAULT).min(RUNS_MAX),
    })
}

/// The run of that id, and the words for it if there is none.
fn target(run: &str) -> Target {
    let message = format!("there is no run `{run}`; graph_runs lists those that there are");
    let absent = reply::refusal("unknown_run", &message, None).reply;
    Target { session: Some(run.to_owned()), workflow: None, absent: Some(absent) }
}

/// The reply to `graph_runs`.
pub(crate) fn catalogue(runs: &[Run]) -> Output {
    replies::output(&object(vec![("runs", Value::List(runs.iter().map(run).collect()))]))
}

fn run(run: &Run) -> Value {
    let (state, message) = match (&run.unreadable, &run.outcome) {
        (Some(problem), _) => ("unreadable", Some(problem.as_str())),
        (None, Some(Ok(_))) => ("done", None),
        (None, Some(Err(failure))) => ("failed", Some(failure.message.as_str())),
        (None, None) => ("working", None),
    };
    let mut members = vec![
        ("run_id", Value::from(run.session.id.as_str())),
        ("tool", run.workflow.as_str().into()),
        ("node", run.current.first().map(String::as_str).into()),
        ("state", state.into()),
        ("started", time::started(&run.session).into()),
        ("changed", time::iso(run.changed).into()),
    ];
    members.extend(message.map(|message| ("message", message.into())));
    object(members)
}
