//! The tools that an agent sees, and the verb of the contract that each call means.

use wfhost_guest::model::{Action, Call, Output, Page, Refusal, Run, RunQuery, Session, Target, Tool, Workflow};
use wfhost_guest::value::Value;
use wfhost_guest::{json, python, reply, time};

use crate::args::{self, Args};

const LIST: &str = "tree_list";
const START: &str = "tree_start";
const ANSWER: &str = "tree_answer";
const STATUS: &str = "tree_status";
const TRACE: &str = "tree_trace";
const SESSIONS: &str = "tree_sessions";

/// LIMIT: sessions of one listing.
const SESSIONS_MAX: u32 = 100;
const SESSIONS_DEFAULT: u32 = 20;

/// What a model should know before it starts.
pub(crate) const INSTRUCTIONS: &str = "Procedures are served as decision trees. Begin with tree_start and do what each envelope \
asks: its `state` says whether a person's answer, your own judgment or a tool call is wanted. Report back with tree_answer and the \
envelope's `step`. The tree decides what comes next; do not skip, guess ahead or answer for a person. After an interruption, \
tree_sessions finds the open session and tree_status shows its envelope again.";

/// The tools of the dialect. They are the same for every set of trees.
pub(crate) fn all() -> Vec<Tool> {
    vec![
        tool(LIST, "List decision trees", LIST_TEXT, [LIST_IN, LIST_OUT], READS),
        tool(START, "Start a decision tree", START_TEXT, [START_IN, ENVELOPE], CHANGES),
        tool(ANSWER, "Answer the current step", ANSWER_TEXT, [ANSWER_IN, ENVELOPE], CHANGES),
        tool(STATUS, "Show the current step", STATUS_TEXT, [SESSION_IN, ENVELOPE], READS),
        tool(TRACE, "Show what happened", TRACE_TEXT, [TRACE_IN, TRACE_OUT], READS),
        tool(SESSIONS, "List sessions", SESSIONS_TEXT, [SESSIONS_IN, SESSIONS_OUT], READS),
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

const LIST_TEXT: &str = "Lists the decision trees that can be started: id, title, and what each is for.";
const START_TEXT: &str = "Starts a session of a decision tree and returns its first envelope. Do what `state` and `instruction` \
say, then call tree_answer with the envelope's session_id and step. The tree decides the order; steps cannot be skipped. To go on with \
a session that was begun before, use tree_sessions and tree_status instead of starting again.";
const ANSWER_TEXT: &str = "Submits what the current envelope asked for and returns the next one. awaiting_answer: pass on what the \
user said, do not make it up. awaiting_judgment: weigh `evidence` and choose one of `expects.options`; give your reasons in rationale. \
awaiting_tool_result: call the named tool with exactly `expects.args`, then report its result, or the failure with is_error true. `step` \
is the number in the envelope that you answer. If `error` comes back set, nothing has changed: read it, correct the answer, send it \
again with the same step. step_mismatch means that the session has moved on: call tree_status.";
const STATUS_TEXT: &str = "Shows the current envelope of a session again without changing anything. Use it to resume after an \
interruption, or after a step_mismatch.";
const TRACE_TEXT: &str = "Shows the audit trail of a session: each node passed, what was answered, which branch it took, when, and \
through which channel. A long trail comes in pages: go on with `after` = next_after.";
const SESSIONS_TEXT: &str = "Lists sessions, newest first, unfinished ones unless asked otherwise. Use it to find the session to \
resume when its id is no longer known; then call tree_status.";

const LIST_IN: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
const LIST_OUT: &str = r#"{"type":"object","properties":{"result":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"}},"required":["id","title","description"]}}},"required":["result"]}"#;
const START_IN: &str = r#"{"type":"object","properties":{"tree_id":{"type":"string","description":"An id from tree_list."}},"required":["tree_id"],"additionalProperties":false}"#;
const SESSION_IN: &str = r#"{"type":"object","properties":{"session_id":{"type":"string","description":"The session_id of an envelope."}},"required":["session_id"],"additionalProperties":false}"#;
const ANSWER_IN: &str = r#"{"type":"object","properties":{"session_id":{"type":"string","description":"The session_id of the envelope."},"step":{"type":"integer","description":"The step of the envelope that this answers."},"value":{"description":"The answer: one of expects.options where there are any, the user's words, or the tool's result as it came."},"rationale":{"type":"string","description":"Why, for a judgment. Kept in the trace."},"is_error":{"type":"boolean","default":false,"description":"True if the tool failed; value then says how."}},"required":["session_id","step","value"],"additionalProperties":false}"#;
const TRACE_IN: &str = r#"{"type":"object","properties":{"session_id":{"type":"string","description":"The session_id of an envelope."},"after":{"type":"integer","minimum":0,"description":"Show entries after this seq. Default: from the beginning."},"limit":{"type":"integer","minimum":1,"description":"At most so many entries. Default: as many as the server hands out at once."}},"required":["session_id"],"additionalProperties":false}"#;
const SESSIONS_IN: &str = r#"{"type":"object","properties":{"tree_id":{"type":"string","description":"Only sessions of this tree."},"unfinished":{"type":"boolean","default":true,"description":"False shows finished sessions too."},"limit":{"type":"integer","minimum":1,"maximum":100,"default":20,"description":"At most so many sessions."}},"additionalProperties":false}"#;
const ENVELOPE: &str = r#"{"type":"object","properties":{"session_id":{"type":"string"},"tree_id":{"type":"string"},"node":{"type":"string"},"step":{"type":"integer"},"error":{"description":"Why the answer was refused, or null."},"outcome":{"description":"How the session ended, or null."},"evidence":{"type":"object","properties":{},"description":"Facts to weigh in a judgment."},"state":{"type":"string","enum":["awaiting_answer","awaiting_judgment","awaiting_tool_result","done"]},"instruction":{"description":"What is asked, most often a text."},"expects":{"description":"What the answer must look like; null when done."}},"required":["session_id","tree_id","node","step","error","outcome","evidence","state","instruction","expects"]}"#;
const TRACE_OUT: &str = r#"{"type":"object","properties":{"session_id":{"type":"string"},"tree_id":{"type":"string"},"tree_hash":{"type":"string"},"outcome":{"description":"How the session ended, or null."},"trace":{"type":"array","items":{"type":"object","properties":{"seq":{"type":"integer"},"node":{"type":"string"},"input":{"description":"What was answered."},"resolved_branch":{"description":"The node it led to, or null."},"rationale":{"description":"The reasons given, or null."},"timestamp":{"type":"string"},"source":{"description":"tree_answer, elicitation, operator; null for what the tree did itself."}},"required":["seq","node","input","resolved_branch","rationale","timestamp","source"]}},"total":{"type":"integer","description":"All entries, when this is a part of them."},"next_after":{"description":"Where the next page begins, or null."}},"required":["session_id","tree_id","tree_hash","outcome","trace"]}"#;
const SESSIONS_OUT: &str = r#"{"type":"object","properties":{"sessions":{"type":"array","items":{"type":"object","properties":{"session_id":{"type":"string"},"tree_id":{"type":"string"},"node":{"description":"Where it stands, or null."},"state":{"type":"string","enum":["open","done","unreadable"]},"outcome":{"description":"How it ended, or null."},"entries":{"type":"integer"},"started":{"type":"string"},"changed":{"type":"string"},"problem":{"type":"string"}},"required":["session_id","tree_id","node","state","outcome","entries","started","changed"]}}},"required":["sessions"]}"#;

/// Reads a call. `trees` are the ids that the caller may see.
pub(crate) fn route(call: &Call, trees: &[String]) -> Result<Action, Refusal> {
    meaning(call, trees).map_err(|(code, message)| reply::refusal(code, &message))
}

type Wrong = (&'static str, String);

fn meaning(call: &Call, trees: &[String]) -> Result<Action, Wrong> {
    let bad = |message| ("bad_arguments", message);
    match call.tool.as_str() {
        LIST => Args::of(call, &[]).and_then(|args| args.done(Some(Action::Catalogue(None)))).map_err(bad),
        START => {
            let id = tree_id(call).map_err(bad)?;
            if trees.contains(&id) { Ok(Action::Start(id)) } else { Err(unknown_tree(&id, trees)) }
        }
        ANSWER => args::answered(call).map(|(session, _)| Action::Answer(target(session))).map_err(bad),
        STATUS => session(call).map(|session| Action::Status(target(session))).map_err(bad),
        TRACE => page(call).map(Action::Trace).map_err(bad),
        SESSIONS => {
            let query = query(call).map_err(bad)?;
            match &query.workflow {
                Some(id) if !trees.contains(id) => Err(unknown_tree(id, trees)),
                Some(_) | None => Ok(Action::Catalogue(Some(query))),
            }
        }
        other => Err(("unknown_tool", format!("unknown tool '{other}'"))),
    }
}

fn unknown_tree(id: &str, trees: &[String]) -> Wrong {
    let mut known: Vec<&str> = trees.iter().map(String::as_str).collect();
    known.sort_unstable();
    ("unknown_tree", format!("unknown tree '{id}'; known trees: {}", python::repr_list(known)))
}

fn tree_id(call: &Call) -> Result<String, String> {
    let mut args = Args::of(call, &["tree_id"])?;
    let id = args.text("tree_id", "send an id from tree_list");
    args.done(id)
}

fn session(call: &Call) -> Result<String, String> {
    let mut args = Args::of(call, &["session_id"])?;
    let session = args.text("session_id", "send the session_id of an envelope");
    args.done(session)
}

fn page(call: &Call) -> Result<Page, String> {
    let mut args = Args::of(call, &["session_id", "after", "limit"])?;
    let session = args.text("session_id", "send the session_id of an envelope");
    let after = args.optional_count("after", 0..=u32::MAX).unwrap_or(0);
    let limit = args.optional_count("limit", 1..=u32::MAX).unwrap_or(u32::MAX);
    args.done(session.map(|session| Page { target: target(session), after: Some(after), limit }))
}

fn query(call: &Call) -> Result<RunQuery, String> {
    let mut args = Args::of(call, &["tree_id", "unfinished", "limit"])?;
    let workflow = args.optional_text("tree_id", "send an id from tree_list, or leave it out");
    let unfinished = args.optional_flag("unfinished").unwrap_or(true);
    let limit = args.optional_count("limit", 1..=SESSIONS_MAX).unwrap_or(SESSIONS_DEFAULT);
    args.done(Some(RunQuery { workflow, unfinished, limit }))
}

/// The session of that id, and the words for it if there is none.
fn target(session: String) -> Target {
    let absent = reply::failed(&format!("unknown session '{session}'"));
    Target { session: Some(session), workflow: None, absent: Some(absent) }
}

/// The reply to `tree_list` and `tree_sessions`.
pub(crate) fn catalogue(call: &Call, workflows: &[Workflow], runs: &[Run]) -> Output {
    if call.tool == SESSIONS {
        let sessions = Value::List(runs.iter().map(run).collect());
        return reply::output(&[("sessions", sessions)].into());
    }
    let trees = Value::List(workflows.iter().map(tree).collect());
    reply::output(&[("result", trees)].into())
}

fn tree(workflow: &Workflow) -> Value {
    Value::from([
        ("id", workflow.id.as_str().into()),
        ("title", workflow.title.as_str().into()),
        ("description", workflow.description.as_str().into()),
    ])
}

fn run(run: &Run) -> Value {
    let Session { id, .. } = &run.session;
    let state = match (&run.unreadable, &run.outcome) {
        (Some(_), _) => "unreadable",
        (None, Some(_)) => "done",
        (None, None) => "open",
    };
    let outcome: Value = match &run.outcome {
        Some(Ok(text)) => json::read(text).unwrap_or_default().get("outcome").cloned().unwrap_or_default(),
        Some(Err(failure)) => failure.message.split(": ").next().unwrap_or_default().into(),
        None => Value::Null,
    };
    let mut members = vec![
        ("session_id", Value::from(id.as_str())),
        ("tree_id", run.workflow.as_str().into()),
        ("node", run.current.first().map(String::as_str).into()),
        ("state", state.into()),
        ("outcome", outcome),
        ("entries", run.entries.into()),
        ("started", time::started(&run.session).into()),
        ("changed", time::iso(run.changed).into()),
    ];
    members.extend(run.unreadable.as_ref().map(|problem| ("problem", Value::from(problem.as_str()))));
    Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
