//! An interpreter for tests. Its one tool does what its argument `do` says: good things that the built-in dialects do
//! rarely (timers, deadlines, memories, looking back, sessions of one's own), and bad things that the host must survive
//! (endless loops, memory bombs, traps, floods, nonsense).

mod harm;
mod outside;

use serde_json::{Value, json};
use wfhost_guest::model::{
    Action, Audience, Bundle, Call, Compiled, Definition, Diagnostic, Document, Event, Failure, Graph, Input, Journal,
    Keeping, Memory, Moment, Need, Node, Output, Page, Question, Refusal, Request, Run, Session, Shape, Target, Tool,
    ToolCall, Turn, Workflow,
};
use wfhost_guest::{At, Dialect};

/// The probe.
#[derive(Clone, Copy, Debug)]
pub struct Probe;

impl Dialect for Probe {
    fn recognise(document: &Document) -> Option<Vec<String>> {
        let text = String::from_utf8_lossy(&document.bytes);
        harm::at_load("recognise", &text);
        text.starts_with("probe").then(|| vec!["*.beside".into()])
    }

    fn compile(bundle: &Bundle) -> Compiled {
        let text = String::from_utf8_lossy(&bundle.main.bytes).into_owned();
        harm::at_load("compile", &text);
        let id = text.lines().next().unwrap_or_default().trim_start_matches("probe").trim().to_owned();
        let id = if id.is_empty() { "probe".into() } else { id };
        let beside = bundle.companions.iter().map(|c| c.path.clone()).collect::<Vec<_>>().join(" ");
        let definition = Definition {
            about: Workflow { id, title: "Probe".into(), description: beside, version: None, extra: "{}".into() },
            graph: Graph {
                entry: "here".into(),
                nodes: vec![Node { id: "here".into(), label: "here".into(), shape: Shape::Action }],
                edges: Vec::new(),
            },
            views: Vec::new(),
            servers: outside::servers(&text),
            instructions: None,
            sessions: Keeping { shared: false, idle_seconds: figure(&text, "idle "), limit: figure(&text, "limit ") },
            code: text.clone().into_bytes(),
        };
        Compiled { definitions: vec![definition], diagnostics: strangers(bundle, &text) }
    }

    fn tools(workflows: &[Workflow]) -> Vec<Tool> {
        let schema = json!({"type": "object", "properties": {
            "do": {"type": "string", "description": "what to do"},
            "n": {"type": "integer", "description": "how much of it"},
            "session": {"type": "string", "description": "on which session; none: the caller's own"},
            "workflow": {"type": "string", "description": "of which workflow"}}});
        let tool = |name: &str, read_only: bool| Tool {
            name: name.into(),
            title: name.into(),
            description: format!("A test's tool over {} workflows.", workflows.len()),
            input_schema: schema.to_string(),
            output_schema: None,
            read_only,
            destructive: false,
            idempotent: read_only,
            open_world: false,
        };
        vec![tool("probe_start", false), tool("probe_do", false), tool("probe_look", true), tool("probe_trace", true)]
    }

    fn route(call: &Call, workflows: &[String]) -> Result<Action, Refusal> {
        let args: Value = serde_json::from_str(&call.args).unwrap_or_default();
        let text = |key: &str| args.get(key).and_then(Value::as_str).map(str::to_owned);
        harm::at_load("route", &text("route").unwrap_or_default());
        let workflow = text("workflow").or_else(|| workflows.first().cloned());
        let target = Target { session: text("session"), workflow: workflow.clone(), absent: None };
        Ok(match (call.tool.as_str(), text("do").as_deref()) {
            ("probe_start", _) => Action::Start(workflow.unwrap_or_default()),
            ("probe_look", _) => Action::Status(target),
            ("probe_trace", _) => {
                let number = |key: &str| args.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
                Action::Trace(Page { target, after: number("after"), limit: number("n").unwrap_or(1_000) })
            }
            (_, Some("back")) => {
                let seq = args.get("n").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
                Action::Recall(Moment { target, session: text("from"), seq })
            }
            (_, _) => Action::Answer(target),
        })
    }

    fn catalogue(_call: &Call, _workflows: &[Workflow], _runs: &[Run]) -> Output {
        output(&json!({}))
    }

    fn start(_code: &[u8], session: &Session, event: Event) -> Result<Turn, Refusal> {
        step(&json!({"count": 0, "seen": []}), session, &Memory { total: 0, items: Vec::new() }, &event)
    }

    fn answer(at: At<'_>, memory: &Memory, event: Event) -> Result<Turn, Refusal> {
        let state: Value = serde_json::from_str(at.state).unwrap_or_default();
        step(&state, at.session, memory, &event)
    }

    fn status(at: At<'_>) -> Output {
        let state: Value = serde_json::from_str(at.state).unwrap_or_default();
        output(&json!({"session": at.session.id, "state": state}))
    }

    fn trace(_at: At<'_>, journal: &Journal) -> Output {
        let entries: Vec<Value> = journal.entries.iter().map(|k| json!([k.seq, k.entry.kind])).collect();
        output(&json!({"total": journal.total, "entries": entries}))
    }

    /// The language `harm` does what an expression says when it is read.
    fn evaluate(language: &str, expression: &str, context: &str) -> Result<String, Diagnostic> {
        if language == "harm" {
            harm::at_load("evaluate", expression);
            return Ok(context.to_owned());
        }
        wfhost_jsonlogic::evaluate(expression, context)
    }
}

/// The figure on the line of a document that begins so.
fn figure(text: &str, word: &str) -> Option<u32> {
    text.lines().find_map(|line| line.strip_prefix(word)?.parse().ok())
}

/// A line `calls SERVER TOOL` of a document names a tool; said of those that are known not to be there.
fn strangers(bundle: &Bundle, text: &str) -> Vec<Diagnostic> {
    let Some(offers) = wfhost_guest::offers::Offers::of(bundle) else { return Vec::new() };
    let fault = |line: &str| {
        let mut words = line.strip_prefix("calls ")?.split(' ');
        let (server, tool) = (words.next()?, words.next()?);
        let help = offers.fault(server, tool)?.help;
        let message = format!("the server `{server}` has no tool `{tool}`");
        Some(wfhost_guest::diagnostic::error("probe-no-such-tool", message).help(help).done())
    };
    text.lines().filter_map(fault).collect()
}

/// One event: what came is counted and noted in the state, then done.
fn step(state: &Value, session: &Session, memory: &Memory, event: &Event) -> Result<Turn, Refusal> {
    let (what, args) = read(event);
    let n = args.get("n").and_then(Value::as_u64).unwrap_or(1);
    let mut state = state.clone();
    if let Input::Recalled(recalled) = &event.input {
        match &recalled.past {
            Some(past) => state = serde_json::from_str(&past.state).unwrap_or_default(),
            None => return Err(refusal("nothing-there")),
        }
    }
    // A reply to the request `refuse` is refused, as is a call that says so.
    if what == "refuse" || what.starts_with("reply refuse") {
        return Err(refusal("told-to"));
    }
    let count = state.get("count").and_then(Value::as_u64).unwrap_or(0) + 1;
    let mut seen = state.get("seen").and_then(Value::as_array).cloned().unwrap_or_default();
    seen.push(json!(what));
    // A state holds what the next step needs, not the past.
    seen.drain(..seen.len().saturating_sub(4));
    let before = state;
    let state = json!({"count": count, "seen": seen});
    let mut turn = Turn {
        state: state.to_string(),
        entries: vec![wfhost_guest::model::Entry {
            node: "here".into(),
            kind: what.clone(),
            input: Some(args.to_string()),
            branch: None,
            detail: None,
        }],
        remember: Vec::new(),
        window: 0,
        progress: Vec::new(),
        requests: Vec::new(),
        current: vec!["here".into()],
        outcome: None,
        reply: output(
            &json!({"session": session.id, "state": state, "memory": memory.items, "remembered": memory.total}),
        ),
    };
    good(&what, n, event, &mut turn);
    outside::step(&before, &args, event, &mut turn);
    harm::in_turn(&what, &mut turn);
    Ok(turn)
}

/// What came, and with which arguments.
fn read(event: &Event) -> (String, Value) {
    let of_call = |call: &Call| {
        let args: Value = serde_json::from_str(&call.args).unwrap_or_default();
        (args.get("do").and_then(Value::as_str).unwrap_or("nothing").to_owned(), args)
    };
    match &event.input {
        Input::Open(_) => ("open".into(), json!({})),
        Input::Call(call) => of_call(call),
        Input::Recalled(recalled) => of_call(&recalled.call),
        Input::Reply(reply) => match &reply.value {
            Ok(value) => (format!("reply {} {value}", reply.request), json!({})),
            Err(Failure { kind, .. }) => (format!("reply {} {kind:?}", reply.request), json!({})),
        },
    }
}

fn good(what: &str, n: u64, event: &Event, turn: &mut Turn) {
    let request = |need: Need, deadline: Option<u64>| Request { id: "r".into(), need, deadline };
    let question = |audience: Audience| {
        Need::Answer(Question { audience, prompt: "Well?".into(), schema: r#"{"type":"string"}"#.into() })
    };
    match what {
        "timer" => turn.requests.push(request(Need::Timer(event.at + n), None)),
        "timer-and-question" => {
            turn.requests.push(request(Need::Timer(event.at + n), None));
            let need = question(Audience::Agent);
            turn.requests.push(Request { id: "q".into(), need, deadline: None });
        }
        "timed-timer" => turn.requests.push(request(Need::Timer(event.at + n), Some(event.at + n / 2))),
        "two-timers" => {
            turn.requests.push(Request { id: "tick".into(), need: Need::Timer(event.at + n), deadline: None });
        }
        "reply tick null" => turn.requests.push(request(Need::Timer(event.at + n), None)),
        // Its reply makes the probe trap: see `harm::in_turn`.
        "bad-timer" => {
            turn.requests.push(Request { id: "trap".into(), need: Need::Timer(event.at + n), deadline: None });
        }
        "deadline" => turn.requests.push(request(question(Audience::Agent), Some(event.at + n))),
        "ask" => turn.requests.push(request(question(Audience::Either), None)),
        "upstream" | "stubborn" => {
            let call = ToolCall { server: Some("nowhere".into()), tool: "t".into(), args: "{}".into() };
            let id = if what == "stubborn" { "refuse" } else { "r" };
            turn.requests.push(Request { id: id.into(), need: Need::Tool(call), deadline: None });
        }
        "remember" => {
            turn.remember = (0..n).map(|i| json!(i).to_string()).collect();
            turn.window = 3;
        }
        "window" => turn.window = u32::try_from(n).unwrap_or(u32::MAX),
        "progress" => turn.progress = (0..n).map(|i| json!(format!("part {i}")).to_string()).collect(),
        "big" => turn.reply = output(&json!({"big": "x".repeat(usize::try_from(n).unwrap_or(0))})),
        "keep" => good("stubborn", n, event, turn),
        "end" => turn.outcome = Some(Ok("\"done\"".into())),
        _ => {}
    }
}

fn output(value: &Value) -> Output {
    Output { headline: None, value: value.to_string(), content: None, is_error: false }
}

fn refusal(code: &str) -> Refusal {
    Refusal { code: code.into(), message: code.into(), entries: Vec::new(), reply: output(&json!({"refused": code})) }
}

wfhost_guest::export!(Probe, include_str!("../about.json"));
