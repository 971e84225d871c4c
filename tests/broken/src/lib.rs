//! An interpreter that keeps all promises but one. Which one stands in its bytes, after `BROKEN=`; a test writes another word
//! there, so that one build makes as many bad plugins as there are promises.

use serde_json::{Value, json};
use wfhost_guest::model::{
    Action, Audience, Bundle, Call, Compiled, Definition, Document, Edge, Entry, Event, Graph, Input, Journal, Keeping,
    Memory, Need, Node, Output, Position, Question, Refusal, Request, Run, Session, Shape, Span, Target, Tool, Turn,
    Workflow,
};
use wfhost_guest::{At, Dialect, diagnostic};

/// The promise that is broken.
static BROKEN: [u8; 32] = *b"BROKEN=nothing..................";

fn breaks(promise: &str) -> bool {
    let text = std::str::from_utf8(std::hint::black_box(&BROKEN)).unwrap_or_default();
    text.trim_start_matches("BROKEN=").trim_end_matches('.') == promise
}

#[expect(clippy::panic, reason = "this is the harm")]
fn trap_if(promise: &str) {
    if breaks(promise) {
        panic!("told to");
    }
}

/// The dialect.
#[derive(Clone, Copy, Debug)]
pub struct Broken;

impl Dialect for Broken {
    fn recognise(document: &Document) -> Option<Vec<String>> {
        let ours = document.bytes.starts_with(b"broken") || breaks("claims-foreign");
        (ours && !breaks("claims-none")).then(Vec::new)
    }

    fn compile(bundle: &Bundle) -> Compiled {
        let bytes = &bundle.main.bytes;
        let right = bytes.starts_with(b"broken right");
        if !bytes.starts_with(b"broken") {
            trap_if("bad-document");
        }
        let place = if breaks("diagnostic") { 99 } else { 1 };
        let at = Position { line: place, column: 1 };
        let mut finding = diagnostic::error("wrong", "it is not right");
        if bytes.starts_with(b"broken") {
            finding = finding.at(Span { start: at, end: at });
        }
        let accepted = right || breaks("accepts-nonsense");
        let served = accepted || breaks("serves-bad");
        Compiled {
            definitions: if served && !breaks("silent") { vec![definition()] } else { Vec::new() },
            diagnostics: if accepted { Vec::new() } else { vec![finding.done()] },
        }
    }

    fn tools(_workflows: &[Workflow]) -> Vec<Tool> {
        let long = if breaks("tool-name") { "broken_".repeat(9) } else { "broken_look".to_owned() };
        vec![tool("broken_start", &[], false), tool("broken_do", &["run"], false), tool(&long, &["run"], true)]
    }

    fn route(call: &Call, workflows: &[String]) -> Result<Action, Refusal> {
        let args: Value = serde_json::from_str(&call.args).unwrap_or_default();
        if !args.is_object() {
            trap_if("trap-route");
        }
        let run = args.get("run").and_then(Value::as_str).map(str::to_owned);
        let target = Target { session: run, workflow: None, absent: None };
        Ok(match call.tool.as_str() {
            "broken_start" if breaks("route") => Action::Start("nowhere".into()),
            "broken_start" => Action::Start(workflows.first().cloned().unwrap_or_default()),
            "broken_do" if target.session.is_some() => Action::Answer(target),
            "broken_look" if target.session.is_some() => Action::Status(target),
            _ => return Err(refused()),
        })
    }

    fn catalogue(_call: &Call, _workflows: &[Workflow], _runs: &[Run]) -> Output {
        output(&json!({}))
    }

    fn start(_code: &[u8], _session: &Session, _event: Event) -> Result<Turn, Refusal> {
        Ok(turn(0))
    }

    fn answer(at: At<'_>, _memory: &Memory, event: Event) -> Result<Turn, Refusal> {
        let count = count(at.state);
        if let Input::Reply(reply) = &event.input
            && reply.value.is_err()
        {
            trap_if("trap-failure");
            return Err(refused());
        }
        if count >= 3 {
            return Err(refused());
        }
        let mut turn = turn(count + 1);
        turn.reply.is_error = breaks("error-moves");
        Ok(turn)
    }

    fn status(at: At<'_>) -> Output {
        if breaks("limit") {
            let mut kept: Vec<Vec<u8>> = Vec::new();
            loop {
                kept.push(vec![1; 1 << 20]);
                std::hint::black_box(&kept);
            }
        }
        output(&json!({"count": count(at.state), "spaces": breaks("state") && at.state.contains(' ')}))
    }

    fn trace(_at: At<'_>, journal: &Journal) -> Output {
        output(&json!({"total": journal.total}))
    }
}

fn definition() -> Definition {
    let node = |id: &str| Node { id: id.into(), label: id.into(), shape: Shape::Action };
    let to = if breaks("definition") { "nowhere" } else { "b" };
    Definition {
        about: Workflow {
            id: "only".into(),
            title: "Only".into(),
            description: "The only one.".into(),
            version: None,
            extra: "{}".into(),
        },
        graph: Graph {
            entry: "a".into(),
            nodes: vec![node("a"), node("b")],
            edges: vec![Edge { source: "a".into(), target: to.into(), label: String::new() }],
        },
        views: Vec::new(),
        servers: Vec::new(),
        instructions: None,
        sessions: Keeping { shared: false, idle_seconds: None, limit: None },
        code: b"code".to_vec(),
    }
}

fn tool(name: &str, required: &[&str], read_only: bool) -> Tool {
    let properties: Value = required.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Tool {
        name: name.into(),
        title: name.into(),
        description: "A test's tool.".into(),
        input_schema: if breaks("tool-schema") { "[]".into() } else { schema.to_string() },
        output_schema: None,
        read_only,
        destructive: false,
        idempotent: read_only,
        open_world: false,
    }
}

fn count(state: &str) -> u64 {
    serde_json::from_str::<Value>(state).ok().and_then(|state| state.get("count")?.as_u64()).unwrap_or(0)
}

fn turn(count: u64) -> Turn {
    let over = count >= 3;
    let schema = if breaks("requests-schema") { "{" } else { r#"{"type":"boolean"}"# };
    let question = Question { audience: Audience::Human, prompt: "Well?".into(), schema: schema.into() };
    let request = Request { id: format!("r{count}"), need: Need::Answer(question), deadline: None };
    let mut requests = if over && !breaks("requests-end") { Vec::new() } else { vec![request.clone()] };
    if breaks("requests-twins") && !over {
        requests.push(request);
    }
    let entry = Entry { node: "a".into(), kind: "counted".into(), input: None, branch: None, detail: None };
    Turn {
        state: json!({"count": count}).to_string(),
        entries: vec![entry],
        remember: if breaks("not-json") { vec!["{".into()] } else { Vec::new() },
        window: 0,
        progress: Vec::new(),
        requests,
        current: vec![if breaks("not-drawn") { "nowhere" } else { "b" }.into()],
        outcome: over.then(|| Ok("null".into())),
        reply: output(&json!({"count": count})),
    }
}

fn output(value: &Value) -> Output {
    Output { headline: None, value: value.to_string(), content: None, is_error: false }
}

fn refused() -> Refusal {
    let message = if breaks("refusal") { "" } else { "not now" };
    Refusal {
        code: "no".into(),
        message: message.into(),
        entries: Vec::new(),
        reply: output(&json!({"refused": "no"})),
    }
}

wfhost_guest::export!(Broken, include_str!("../about.json"));
