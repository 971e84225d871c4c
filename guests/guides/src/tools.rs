//! The tools that an agent sees, and the verb of the contract that each call means.

use wfhost_guest::model::{Action, Call, Output, Page, Refusal, Run, RunQuery, Target, Tool, Workflow};
use wfhost_guest::value::Value;
use wfhost_guest::{json, reply as replies, time};

use crate::args::{self, Args};
use crate::reply;

const LIST: &str = "guide_list";
const START: &str = "guide_start";
const ANSWER: &str = "guide_answer";
const STATUS: &str = "guide_status";
const TRACE: &str = "guide_trace";
const SESSIONS: &str = "guide_sessions";

/// LIMIT: runs of one listing.
const RUNS_MAX: u32 = 100;
const RUNS_DEFAULT: u32 = 20;

/// What a model should know before it starts.
pub(crate) const INSTRUCTIONS: &str = "Conversations are guided by support flows. Begin with guide_start and hand over in `values` \
all that the caller has said already. Then do what `next` says, in the caller's language and your own words, and report with \
guide_answer: a label as `choice`, slots and anything learnt by the way as `values`. You turn speech into labels; the flow decides \
what follows. Do not guess an answer: `__unknown__` is one, and it leads somewhere.";

/// The tools of the dialect. They are the same for every set of flows.
pub(crate) fn all() -> Vec<Tool> {
    vec![
        tool(LIST, "List support flows", LIST_TEXT, [LIST_IN, LIST_OUT], READS),
        tool(START, "Start a support flow", START_TEXT, [START_IN, REPLY], CHANGES),
        tool(ANSWER, "Answer and go on", ANSWER_TEXT, [ANSWER_IN, REPLY], CHANGES),
        tool(STATUS, "Show where a run stands", STATUS_TEXT, [RUN_IN, STATUS_OUT], READS),
        tool(TRACE, "Show what happened", TRACE_TEXT, [TRACE_IN, TRACE_OUT], READS),
        tool(SESSIONS, "List runs", SESSIONS_TEXT, [SESSIONS_IN, SESSIONS_OUT], READS),
    ]
}

/// Whether a tool only reads.
type Reads = bool;
const READS: Reads = true;
const CHANGES: Reads = false;

fn tool(name: &str, title: &str, description: &str, schemas: [&str; 2], reads: Reads) -> Tool {
    let [input, output] = schemas;
    Tool {
        name: name.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        input_schema: input.to_owned(),
        output_schema: Some(output.to_owned()),
        read_only: reads,
        destructive: false,
        idempotent: reads,
        open_world: false,
    }
}

const LIST_TEXT: &str = "Lists the support flows that can be started: id, title, version of the procedure.";
const START_TEXT: &str = "Starts a run of a support flow and returns what to ask or tell first. Send in `values` whatever the caller \
has told already, by the ids of nodes and slots: what is known is not asked. The reply's `index` lists once all that the flow may ask, \
so that you can recognise later answers when they fall early. Do what `next` says, then call guide_answer with the run_id.";
const ANSWER_TEXT: &str = "Reports what the caller said and returns what to ask or tell next. On an ask: `choice` is the label of \
`node.accepts` whose condition holds, or `__unknown__` if the caller does not know. On a tell: call without choice once it is said. On \
a collect: `values` by slot, some or all, in any order. Anything else you learn goes into `values` too, under the id of the node or slot \
that will ask for it. status: advanced: go on with `next`. completed: the guidance is complete. unmatched: no such label, ask again. \
branched: it stays open which case it is, so tell what to do in each of `branches`, then go on with `next`. stalled: stop and hand over \
to a person. Values under `rejected` were not taken, and why.";
const STATUS_TEXT: &str = "Shows where a run stands without changing anything: the node in hand, what is collected, the path, and under \
`last` what the last reply told. Use it to resume after an interruption.";
const TRACE_TEXT: &str = "Shows the audit trail of a run: each call with what was said, which nodes it passed and why, when, and through \
which channel. A long trail comes in pages: go on with `after` = next_after.";
const SESSIONS_TEXT: &str = "Lists runs, newest first, open ones unless asked otherwise. Use it to find the run to resume when its id is \
no longer known; then call guide_status.";

const LIST_IN: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
const LIST_OUT: &str = r#"{"type":"object","properties":{"flows":{"type":"array","items":{"type":"object","properties":{"flow_id":{"type":"string"},"title":{"type":"string"},"version":{"description":"The procedure's version, or null."}},"required":["flow_id","title","version"]}},"error":{"type":"string","description":"A code, if the call failed."},"message":{"type":"string","description":"What to do instead."}},"anyOf":[{"required":["flows"]},{"required":["error","message"]}]}"#;
const START_IN: &str = r#"{"type":"object","properties":{"flow_id":{"type":"string","description":"An id from guide_list."},"values":{"type":"object","additionalProperties":true,"description":"What is known already: answers by node id (a label) or slot name (a text)."}},"required":["flow_id"],"additionalProperties":false}"#;
const ANSWER_IN: &str = r#"{"type":"object","properties":{"run_id":{"type":"string","description":"The run_id that guide_start gave."},"choice":{"type":"string","description":"On an ask: one of node.accepts, exactly as written, or __unknown__. Left out on a tell. On a collect only __unknown__."},"values":{"type":"object","additionalProperties":true,"description":"What was learnt: slots of a collect, and answers for later nodes by their ids."}},"required":["run_id"],"additionalProperties":false}"#;
const RUN_IN: &str = r#"{"type":"object","properties":{"run_id":{"type":"string","description":"The run_id that guide_start gave."}},"required":["run_id"],"additionalProperties":false}"#;
const TRACE_IN: &str = r#"{"type":"object","properties":{"run_id":{"type":"string","description":"The run_id that guide_start gave."},"after":{"type":"integer","minimum":0,"description":"Show entries after this seq. Default: from the beginning."},"limit":{"type":"integer","minimum":1,"description":"At most so many entries. Default: as many as the server hands out at once."}},"required":["run_id"],"additionalProperties":false}"#;
const SESSIONS_IN: &str = r#"{"type":"object","properties":{"flow_id":{"type":"string","description":"Only runs of this flow."},"unfinished":{"type":"boolean","default":true,"description":"False shows completed and stalled runs too."},"limit":{"type":"integer","minimum":1,"maximum":100,"default":20,"description":"At most so many runs."}},"additionalProperties":false}"#;
const REPLY: &str = r#"{"type":"object","properties":{"run_id":{"type":"string"},"flow_id":{"type":"string"},"status":{"type":"string","enum":["advanced","completed","unmatched","branched","stalled"]},"node":{"type":"object","properties":{"id":{"type":"string"},"kind":{"type":"string","enum":["ask","tell","collect","end"]},"say":{"type":"string","description":"What to find out or convey; put it into your own words."},"accepts":{"type":"object","description":"Labels of an ask, each with when to choose it."},"missing":{"type":"array","description":"Slots of a collect that are still open."},"outcome":{"type":"string"}},"required":["id","kind","say"]},"next":{"type":"string","description":"What to do now."},"skipped":{"type":"array","items":{"type":"string"},"description":"Nodes passed in this call because their answers were known."},"collected":{"type":"object","description":"All answers so far."},"done":{"type":"boolean"},"outcome":{"type":"string","description":"How the run ended."},"moved":{"type":"boolean","description":"False: noted, and the same node is still open."},"rejected":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"reason":{"type":"string","enum":["empty","not_a_scalar","too_long","unknown_key","already_passed","not_accepted","already_given"]}},"required":["key","reason"]}},"unmatched":{"type":"object","properties":{"count":{"type":"integer"},"max":{"type":"integer"}}},"branches":{"type":"array","description":"What to do in each case: steps to tell, or branches again."},"common":{"type":"string","description":"The node at which all branches meet."},"reason":{"type":"string","enum":["fanout","depth","collect","escalate","cycle"],"description":"Why the run stalled."},"on_stuck":{"type":"string"},"version":{"description":"The procedure's version, or null. At the start."},"index":{"type":"array","description":"All that the flow may ask. At the start."},"error":{"type":"string","description":"A code, if the call failed."},"message":{"type":"string","description":"What to do instead."}},"anyOf":[{"required":["run_id","flow_id","status","node","next","skipped","collected","done"]},{"required":["error","message"]}]}"#;
const STATUS_OUT: &str = r#"{"type":"object","properties":{"run_id":{"type":"string"},"flow_id":{"type":"string"},"version":{"description":"The procedure's version, or null."},"state":{"type":"string","enum":["open","completed","stalled"]},"node":{"type":"object"},"collected":{"type":"object"},"path":{"type":"array","items":{"type":"string"},"description":"Nodes that were left, oldest first."},"skipped":{"type":"array","items":{"type":"string"},"description":"Those of them that were not asked."},"folded":{"type":"array","items":{"type":"string"},"description":"Questions whose branches were all told."},"last":{"type":"object","description":"What the last reply told beside this."},"error":{"type":"string","description":"A code, if the call failed."},"message":{"type":"string","description":"What to do instead."}},"anyOf":[{"required":["run_id","flow_id","version","state","node","collected","path","skipped","folded","last"]},{"required":["error","message"]}]}"#;
const TRACE_OUT: &str = r#"{"type":"object","properties":{"run_id":{"type":"string"},"flow_id":{"type":"string"},"version":{"description":"The procedure's version, or null."},"state":{"type":"string","enum":["open","completed","stalled"]},"trace":{"type":"array","items":{"type":"object","properties":{"seq":{"type":"integer"},"at":{"type":"string"},"source":{"type":"string"},"call":{"description":"start or answer; null where a page begins within a call."},"from":{"type":"string"},"choice":{"type":"string"},"values":{"type":"object"},"status":{"type":"string"},"to":{"type":"string"},"rejected":{"type":"array"},"reason":{"type":"string"},"outcome":{"type":"string"},"passed":{"type":"array","items":{"type":"object","properties":{"node":{"type":"string"},"label":{"description":"The answer, the slots of a collect, or null."},"by":{"type":"string","enum":["answer","value","escape","fold"]},"to":{"type":"string"}},"required":["node","label","by","to"]}}},"required":["seq","at","source","call","from","passed"]}},"total":{"type":"integer","description":"All entries, when this is a part of them."},"next_after":{"description":"Where the next page begins, or null."},"error":{"type":"string","description":"A code, if the call failed."},"message":{"type":"string","description":"What to do instead."}},"anyOf":[{"required":["run_id","flow_id","version","state","trace"]},{"required":["error","message"]}]}"#;
const SESSIONS_OUT: &str = r#"{"type":"object","properties":{"sessions":{"type":"array","items":{"type":"object","properties":{"run_id":{"type":"string"},"flow_id":{"type":"string"},"node":{"description":"Where it stands, or null."},"state":{"type":"string","enum":["open","completed","stalled","failed","unreadable"]},"outcome":{"description":"How it ended, or null."},"entries":{"type":"integer"},"started":{"type":"string"},"changed":{"type":"string"},"problem":{"type":"string"}},"required":["run_id","flow_id","node","state","outcome","entries","started","changed"]}},"error":{"type":"string","description":"A code, if the call failed."},"message":{"type":"string","description":"What to do instead."}},"anyOf":[{"required":["sessions"]},{"required":["error","message"]}]}"#;

/// Reads a call. `flows` are the ids that the caller may see.
pub(crate) fn route(call: &Call, flows: &[String]) -> Result<Action, Refusal> {
    let bad = |message: String| reply::refusal("bad_arguments", &message, []);
    match call.tool.as_str() {
        LIST => Args::of(call, &[]).and_then(|args| args.done(Some(Action::Catalogue(None)))).map_err(bad),
        START => {
            let (id, _) = args::start(call).map_err(bad)?;
            if flows.contains(&id) { Ok(Action::Start(id)) } else { Err(unknown_flow(&id, flows)) }
        }
        ANSWER => args::answer(call).map(|(run, _)| Action::Answer(target(run))).map_err(bad),
        STATUS => run_id(call).map(|run| Action::Status(target(run))).map_err(bad),
        TRACE => page(call).map(Action::Trace).map_err(bad),
        SESSIONS => {
            let query = query(call).map_err(bad)?;
            match &query.workflow {
                Some(id) if !flows.contains(id) => Err(unknown_flow(id, flows)),
                Some(_) | None => Ok(Action::Catalogue(Some(query))),
            }
        }
        other => Err(reply::refusal("unknown_tool", &format!("there is no tool `{other}`"), [])),
    }
}

fn unknown_flow(id: &str, flows: &[String]) -> Refusal {
    let mut known: Vec<String> = flows.to_vec();
    known.sort_unstable();
    let message = format!("there is no flow `{id}`; send one of `flows`");
    reply::refusal("unknown_flow", &message, [("flows", known.into())])
}

fn run_id(call: &Call) -> Result<String, String> {
    let mut args = Args::of(call, &["run_id"])?;
    let run = args.text("run_id", "send the run_id that guide_start gave");
    args.done(run)
}

fn page(call: &Call) -> Result<Page, String> {
    let mut args = Args::of(call, &["run_id", "after", "limit"])?;
    let run = args.text("run_id", "send the run_id that guide_start gave");
    let after = args.optional_count("after", 0..=u32::MAX).unwrap_or(0);
    let limit = args.optional_count("limit", 1..=u32::MAX).unwrap_or(u32::MAX);
    args.done(run.map(|run| Page { target: target(run), after: Some(after), limit }))
}

fn query(call: &Call) -> Result<RunQuery, String> {
    let mut args = Args::of(call, &["flow_id", "unfinished", "limit"])?;
    let workflow = args.optional_text("flow_id");
    let unfinished = args.optional_flag("unfinished").unwrap_or(true);
    let limit = args.optional_count("limit", 1..=RUNS_MAX).unwrap_or(RUNS_DEFAULT);
    args.done(Some(RunQuery { workflow, unfinished, limit }))
}

/// The run of that id, and the words for it if there is none.
fn target(run: String) -> Target {
    let message = format!("there is no run `{run}`; guide_sessions lists those that are open");
    let absent = reply::error("unknown_run", &message, []);
    Target { session: Some(run), workflow: None, absent: Some(absent) }
}

/// The reply to `guide_list` and `guide_sessions`.
pub(crate) fn catalogue(call: &Call, workflows: &[Workflow], runs: &[Run]) -> Output {
    if call.tool == SESSIONS {
        return replies::output(&[("sessions", Value::List(runs.iter().map(run).collect()))].into());
    }
    replies::output(&[("flows", Value::List(workflows.iter().map(flow).collect()))].into())
}

fn flow(workflow: &Workflow) -> Value {
    Value::from([
        ("flow_id", workflow.id.as_str().into()),
        ("title", workflow.title.as_str().into()),
        ("version", workflow.version.clone().into()),
    ])
}

fn run(run: &Run) -> Value {
    let read = |text: &str| json::read(text).unwrap_or_default();
    let (state, outcome) = match &run.outcome {
        Some(Ok(text)) => ("completed", read(text).get("outcome").cloned().unwrap_or_default()),
        Some(Err(failure)) => {
            let stalled = failure.detail.as_deref().is_some_and(|text| read(text).get("state").is_some());
            (if stalled { "stalled" } else { "failed" }, failure.message.as_str().into())
        }
        None => ("open", Value::Null),
    };
    let mut members = vec![
        ("run_id", Value::from(run.session.id.as_str())),
        ("flow_id", run.workflow.as_str().into()),
        ("node", run.current.first().map(String::as_str).into()),
        ("state", if run.unreadable.is_some() { "unreadable" } else { state }.into()),
        ("outcome", outcome),
        ("entries", run.entries.into()),
        ("started", time::started(&run.session).into()),
        ("changed", time::iso(run.changed).into()),
    ];
    members.extend(run.unreadable.as_ref().map(|problem| ("problem", Value::from(problem.as_str()))));
    Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
