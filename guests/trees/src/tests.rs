//! Sessions through the kit's host: what the recorded cases cannot show, because the peer has no such thing.

use wfhost_guest::json;
use wfhost_guest::model::{Document, Failure, Mishap, Need, Request, Source};
use wfhost_guest::native::{Alone, Host, World};
use wfhost_guest::value::Value;
use wfhost_guest::{At, Dialect};

use crate::Trees;

const GATE: &str = "mcptree: \"0.2\"\nid: gate\ntitle: G\nentry: ask\nnodes:\n  ask: { type: ask, prompt: Sure, options: [ { id: y, then: act }, { id: n, then: end } ], human_only: true, capture: c }\n  act: { type: action, tool: x, args: { why: \"{{ c }}\" }, result: { capture: r }, next: judge, on_error: end }\n  judge: { type: judgment, prompt: P, evidence: [r], options: [ { id: ok, then: end } ], require_rationale: true }\n  end: { type: terminal, outcome: done, summary: \"{{ r }}!\" }\n";

fn host() -> Host<Trees> {
    let mut host = Host::default();
    let told = host.load(&[Document { path: "gate.yaml".to_owned(), bytes: GATE.as_bytes().to_vec() }]);
    assert!(told.iter().all(|(_, findings)| findings.is_empty()), "{told:?}");
    host
}

fn call(host: &mut Host<Trees>, tool: &str, args: &str) -> Value {
    let output = host.call(tool, args, &mut Alone).unwrap();
    let value = json::read(&output.value).unwrap();
    if output.is_error { Value::from([("failed", value)]) } else { value }
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn answer(host: &mut Host<Trees>, step: u32, value: &str) -> Value {
    call(host, "tree_answer", &format!("{{\"session_id\":\"ses_000000000001\",\"step\":{step},\"value\":{value}}}"))
}

/// A person who gives one answer.
struct Person(Result<String, Failure>);

impl World for Person {
    fn carry_out(&mut self, request: &Request) -> Option<(Source, Result<String, Failure>)> {
        matches!(request.need, Need::Answer(_)).then(|| (Source::Human, self.0.clone()))
    }
}

#[test]
fn a_human_only_question_refuses_the_agent_and_takes_the_person() {
    let mut one = host();
    call(&mut one, "tree_start", "{\"tree_id\":\"gate\"}");
    let refused = answer(&mut one, 1, "\"y\"");
    assert!(word(&refused, "error").starts_with("human_only: "));
    assert_eq!(word(&refused, "node"), "ask");
    assert_eq!(one.sessions["ses_000000000001"].refusals, ["human_only"]);

    let mut two = host();
    let started = two.call("tree_start", "{\"tree_id\":\"gate\"}", &mut Person(Ok("\"y\"".to_owned()))).unwrap();
    assert_eq!(word(&json::read(&started.value).unwrap(), "node"), "act");
    let trace = call(&mut two, "tree_trace", "{\"session_id\":\"ses_000000000001\"}");
    assert_eq!(word(&trace.get("trace").unwrap().as_list().unwrap()[0], "source"), "elicitation");
}

#[test]
fn the_operator_can_make_every_question_a_persons() {
    let mut host = host();
    host.load(&[Document { path: "t.yaml".to_owned(), bytes: GATE.replace(", human_only: true", "").into_bytes() }]);
    host.human_only = true;
    call(&mut host, "tree_start", "{\"tree_id\":\"gate\"}");
    assert!(word(&answer(&mut host, 1, "\"y\""), "error").starts_with("human_only: "));
    let told = host.reply("ses_000000000001", "step-1", Ok("\"y\"".to_owned()), Source::Operator).unwrap();
    assert_eq!(word(&json::read(&told.value).unwrap(), "node"), "act");
    let trace = call(&mut host, "tree_trace", "{\"session_id\":\"ses_000000000001\"}");
    assert_eq!(word(&trace.get("trace").unwrap().as_list().unwrap()[0], "source"), "operator");
}

#[test]
fn a_declined_question_changes_nothing() {
    let mut host = host();
    let declined = Failure { kind: Mishap::Declined, message: "no".to_owned(), detail: None };
    let output = host.call("tree_start", "{\"tree_id\":\"gate\"}", &mut Person(Err(declined))).unwrap();
    let envelope = json::read(&output.value).unwrap();
    assert_eq!((word(&envelope, "node"), word(&envelope, "error")), ("ask", ""));
    let held = &host.sessions["ses_000000000001"];
    assert_eq!((held.refusals.join(" "), held.journal.len(), held.requests.len()), ("declined".to_owned(), 0, 1));
}

#[test]
fn an_operator_reports_for_the_agent() {
    let mut host = host();
    host.call("tree_start", "{\"tree_id\":\"gate\"}", &mut Person(Ok("\"y\"".to_owned()))).unwrap();
    let request = host.sessions["ses_000000000001"].requests[0].clone();
    let Need::Tool(tool) = request.need else { panic!("an action wants a tool") };
    assert_eq!((tool.server, tool.tool.as_str(), tool.args.as_str()), (None, "x", "{\"why\":\"y\"}"));
    let result = "{\"content\":[{\"type\":\"text\",\"text\":\"fine\"}],\"structuredContent\":null}";
    host.reply("ses_000000000001", "step-2", Ok(result.to_owned()), Source::Operator).unwrap();
    let refused = host.reply("ses_000000000001", "step-3", Ok("\"ok\"".to_owned()), Source::Operator).unwrap();
    assert!(word(&json::read(&refused.value).unwrap(), "error").starts_with("rationale_required"));
    let envelope = call(
        &mut host,
        "tree_answer",
        "{\"session_id\":\"ses_000000000001\",\"step\":3,\"value\":\"ok\",\"rationale\":\"r\"}",
    );
    assert_eq!((word(&envelope, "outcome"), word(&envelope, "instruction")), ("done", "fine!"));
}

#[test]
fn a_failed_tool_takes_the_error_branch() {
    let mut host = host();
    host.call("tree_start", "{\"tree_id\":\"gate\"}", &mut Person(Ok("\"y\"".to_owned()))).unwrap();
    let result = "{\"content\":[{\"type\":\"text\",\"text\":\"boom\"}],\"isError\":true}";
    host.reply("ses_000000000001", "step-2", Ok(result.to_owned()), Source::Operator).unwrap();
    let trace = call(&mut host, "tree_trace", "{\"session_id\":\"ses_000000000001\"}");
    let lines = trace.get("trace").unwrap().as_list().unwrap();
    assert_eq!(json::text(lines[1].get("input").unwrap()), "{\"error\":\"boom\"}");
    assert_eq!(word(&lines[1], "resolved_branch"), "end");
}

#[test]
fn sessions_are_listed_and_found_again() {
    let mut host = host();
    call(&mut host, "tree_start", "{\"tree_id\":\"gate\"}");
    host.call("tree_start", "{\"tree_id\":\"gate\"}", &mut Person(Ok("\"n\"".to_owned()))).unwrap();
    let open = call(&mut host, "tree_sessions", "{}");
    let listed = open.get("sessions").unwrap().as_list().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (word(&listed[0], "session_id"), word(&listed[0], "node"), word(&listed[0], "state")),
        ("ses_000000000001", "ask", "open")
    );
    let all = call(&mut host, "tree_sessions", "{\"unfinished\":false,\"tree_id\":\"gate\",\"limit\":\"5\"}");
    let listed = all.get("sessions").unwrap().as_list().unwrap();
    assert_eq!((listed.len(), word(&listed[0], "outcome"), word(&listed[0], "state")), (2, "done", "done"));
    let failed = call(&mut host, "tree_sessions", "{\"tree_id\":\"gat\"}");
    assert_eq!(word(&failed, "failed"), "unknown tree 'gat'; known trees: ['gate']");
}

#[test]
fn a_long_trace_comes_in_pages() {
    let mut host = host();
    host.call("tree_start", "{\"tree_id\":\"gate\"}", &mut Person(Ok("\"n\"".to_owned()))).unwrap();
    let shape = |value: &Value| {
        let seqs: Vec<_> = value
            .get("trace")
            .unwrap()
            .as_list()
            .unwrap()
            .iter()
            .map(|line| line.get("seq").unwrap().as_i64().unwrap())
            .collect();
        (seqs, value.get("total").map(json::text), value.get("next_after").map(json::text))
    };
    let page = |host: &mut Host<Trees>, more: &str| {
        shape(&call(host, "tree_trace", &format!("{{\"session_id\":\"ses_000000000001\"{more}}}")))
    };
    assert_eq!(page(&mut host, ""), (vec![1, 2], None, None));
    assert_eq!(page(&mut host, ",\"limit\":1"), (vec![1], Some("2".to_owned()), Some("1".to_owned())));
    assert_eq!(page(&mut host, ",\"after\":1"), (vec![2], Some("2".to_owned()), Some("null".to_owned())));
    assert_eq!(page(&mut host, ",\"after\":null"), (vec![1, 2], None, None));
}

#[test]
fn wrong_arguments_are_told_with_their_cure() {
    let mut host = host();
    let mut check = |tool: &str, args: &str, want: &str| {
        let failed = call(&mut host, tool, args);
        assert!(word(&failed, "failed").contains(want), "{}", json::text(&failed));
    };
    check("tree_start", "\"{}\"", "send an object, not a string");
    check("tree_start", "[]", "the arguments are a list");
    check(
        "tree_start",
        "{\"tree\":\"gate\"}",
        "there is no argument `tree`; this tool takes tree_id; `tree_id` is missing",
    );
    check("tree_start", "{\"treeid\":\"gate\"}", "did you mean `tree_id`?");
    check("tree_start", "{\"tree_id\":\"\\ud800\"}", "half of a surrogate pair");
    check(
        "tree_answer",
        "{\"session_id\":\"x\",\"step\":\"two\",\"value\":1}",
        "`step` must be a whole number, got \"two\"",
    );
    check("tree_answer", "{\"session_id\":\"x\",\"step\":1}", "`value` is missing");
    check("tree_list", "{\"x\":1}", "this tool takes none");
    check("tree_trace", "{\"session_id\":\"x\",\"limit\":0}", "`limit` must be a whole number from 1");
    check("tree_burn", "{}", "unknown tool 'tree_burn'");
    check("tree_status", "{\"session_id\":\"x\"}", "unknown session 'x'");
}

#[test]
fn another_workflow_begins_a_tree_with_facts() {
    let mut served = host();
    let code = served.definitions.remove(0).code;
    let session = wfhost_guest::model::Session {
        id: "s".to_owned(),
        started: 0,
        definition_hash: String::new(),
        human_only: false,
    };
    let event = |input| wfhost_guest::model::Event { input, source: Source::Host, at: 0, seed: 0, seq: 1 };
    let turn = Trees::start(&code, &session, event(wfhost_guest::model::Input::Open("{\"r\":5}".to_owned()))).unwrap();
    assert!(turn.state.contains("\"facts\":{\"r\":5}"));
    assert!(Trees::start(&code, &session, event(wfhost_guest::model::Input::Open("[]".to_owned()))).is_err());
}

#[test]
fn tools_are_described_for_every_client() {
    for tool in Trees::tools(&[]) {
        assert!(tool.name.len() <= 40 && tool.description.len() < 1024 && !tool.title.is_empty(), "{}", tool.name);
        for schema in [Some(&tool.input_schema), tool.output_schema.as_ref()].into_iter().flatten() {
            let read = json::read(schema).unwrap();
            assert_eq!(word(&read, "type"), "object", "{}", tool.name);
            assert!(
                read.get("properties").is_some()
                    && !schema.contains("$ref")
                    && !schema.contains("\"type\":[")
                    && !schema.contains("oneOf"),
                "{}",
                tool.name
            );
        }
        assert_eq!(tool.read_only, !matches!(tool.name.as_str(), "tree_start" | "tree_answer"));
        assert!(!tool.destructive && !tool.open_world && tool.idempotent == tool.read_only);
    }
}

#[test]
fn the_schema_for_editors_knows_every_field() {
    let schema = json::read(include_str!("../schema.json")).unwrap();
    assert!(schema.get("properties").and_then(|all| all.get("nodes")).is_some());
    for field in ["human_only", "require_rationale", "on_error", "evidence", "branches", "outcome", "max_steps"] {
        assert!(include_str!("../schema.json").contains(field), "{field}");
    }
}

/// Definition and state of a session in the middle of its tree.
fn midway() -> (Vec<u8>, String) {
    let mut host = host();
    host.call("tree_start", "{\"tree_id\":\"gate\"}", &mut Person(Ok("\"y\"".to_owned()))).unwrap();
    (host.definitions.remove(0).code, host.sessions["ses_000000000001"].state.clone())
}

/// Whatever is left of bytes and state, a call comes back.
fn survives(code: &[u8], state: &str) {
    let session = wfhost_guest::model::Session {
        id: "s".to_owned(),
        started: 0,
        definition_hash: String::new(),
        human_only: false,
    };
    let event = || {
        let args = "{\"session_id\":\"s\",\"step\":2,\"value\":\"v\"}".to_owned();
        let call = wfhost_guest::model::Call { tool: "tree_answer".to_owned(), args };
        wfhost_guest::model::Event {
            input: wfhost_guest::model::Input::Call(call),
            source: Source::Agent,
            at: 0,
            seed: 0,
            seq: 1,
        }
    };
    let at = At { code, session: &session, state };
    let memory = wfhost_guest::model::Memory { total: 0, items: Vec::new() };
    let _ = Trees::answer(at, &memory, event());
    let _ = Trees::status(at);
    let _ = Trees::trace(at, &wfhost_guest::model::Journal { total: 0, entries: Vec::new() });
    let _ = Trees::start(code, &session, event());
}

#[test]
fn damaged_definitions_and_states_never_panic() {
    let (code, state) = midway();
    for cut in 0..code.len() {
        survives(&code[..cut], &state);
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = code.clone();
            damaged[cut] ^= flip;
            survives(&damaged, &state);
        }
    }
    for cut in 0..state.len() {
        survives(&code, state.get(..cut).unwrap_or_default());
        let mut damaged = state.clone().into_bytes();
        damaged[cut] ^= 0x01;
        survives(&code, &String::from_utf8_lossy(&damaged));
    }
}

#[test]
fn damaged_documents_never_panic() {
    let mut seed = 88_172_645_463_325_252_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % u64::try_from(below).unwrap()).unwrap()
    };
    let marks = b"{}[]:,&*!|>'\"%@`?-#\n\t \\<=\xff";
    for _ in 0..3_000 {
        let mut bytes = GATE.as_bytes().to_vec();
        for _ in 0..=random(6) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = marks[random(marks.len())],
                1 => bytes.insert(at, marks[random(marks.len())]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let compiled = crate::document::compile(&bytes);
        assert!(!compiled.definitions.is_empty() || !compiled.diagnostics.is_empty());
    }
}
