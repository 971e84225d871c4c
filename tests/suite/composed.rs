//! One graph with all of it: a tree and a flow as nodes, fifty upstream calls side by side of which one is tried again, and an
//! error edge. Its host is killed twice on the way, and everything that happened stands in the journals.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

const STAND_IN: &str = env!("CARGO_BIN_EXE_recorded-upstream");
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

const GRAPH: &str = r#"
version: "1"
server: {name: rounds, version: "1"}
mcpServers:
  up: {command: STAND_IN, args: [SCRIPT, up]}
tools:
  - name: round
    description: Asks whether to go, looks at fifty places, and tells how it went.
    inputSchema: {type: object, properties: {by: {type: string}}, required: [by]}
    outputSchema: {type: object, properties: {sum: {type: number}}, required: [went, sum, why, told]}
    nodes:
      - {id: entry, type: entry, next: gate}
      - {id: gate, type: call, workflow: gate, interpreter: trees, args: {by: {expr: $.entry.by}}, next: each}
      - id: each
        type: foreach
        items: {expr: "[1..50]"}
        parallel: 50
        retry: {attempts: 3, delayMs: 20}
        do: {server: up, tool: slow, args: {i: {expr: $item()}, ms: 200}}
        next: bad
      - {id: bad, type: mcp, server: up, tool: rpc_error, args: {}, onError: talk, next: exit}
      - {id: talk, type: call, workflow: talk, interpreter: guides, args: {}, next: out}
      - id: out
        type: transform
        transform: {expr: '{"went": $.gate.outcome, "sum": $sum($.each), "why": $.bad.error.code, "told": $.talk.outcome}'}
        next: exit
      - {id: exit, type: exit}
"#;

const TREE: &str = r#"
mcptree: "0.2"
id: gate
title: May it go?
entry: ask
nodes:
  ask:
    type: ask
    prompt: May it go?
    options: [{id: go, then: gone}, {id: stay, then: stayed}]
  gone: {type: terminal, outcome: go, summary: It may.}
  stayed: {type: terminal, outcome: stay, summary: It may not.}
"#;

const FLOW: &str = r#"
id: talk
title: How did it go?
entry: first
nodes:
  - {id: first, kind: ask, say: Is everybody back?, accepts: {yes: all are back, no: somebody is missing}, next: {yes: end, no: end}}
  - {id: end, kind: end, outcome: resolved, say: Good night}
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    let text = |n: u64| json!({"content": [{"type": "text", "text": n.to_string()}]});
    let mut calls = Vec::new();
    for i in 1..=50 {
        let call = json!({"server": "up", "tool": "slow", "arguments": {"i": i, "ms": 200}});
        let with = |key: &str, value: Value| {
            let mut call = call.clone();
            call[key] = value;
            call
        };
        if i == 7 {
            calls.push(with("error", json!({"code": -32000, "message": "not now"})));
        }
        calls.push(with("result", text(i)));
    }
    let gone = json!({"code": -32042, "message": "gone"});
    calls.push(json!({"server": "up", "tool": "rpc_error", "arguments": {}, "error": gone}));
    std::fs::write(&script, json!({"turn": 1, "calls": calls}).to_string()).unwrap();
    let documents = folder.path().join("documents");
    std::fs::create_dir(&documents).unwrap();
    let graph = GRAPH.replace("STAND_IN", STAND_IN).replace("SCRIPT", &script.display().to_string());
    for (name, text) in [("round.yaml", graph.as_str()), ("gate.yaml", TREE), ("talk.yaml", FLOW)] {
        std::fs::write(documents.join(name), text).unwrap();
    }
    folder
}

fn client(folder: &TempDir) -> Client {
    let mut command = program_in(PROGRAM.as_ref(), folder.path());
    Client::start(command.args(["serve", "documents"]), &json!({})).unwrap()
}

fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the program prints as JSON, and whether it was content.
fn told(folder: &TempDir, arguments: &[&str]) -> (bool, Value) {
    let output = program_in(PROGRAM.as_ref(), folder.path()).args(arguments).output().unwrap();
    (output.status.success(), serde_json::from_slice(&output.stdout).unwrap_or_default())
}

/// The journal's lines, each in a few words: what came in and from whom, the nodes that it passed, the host's own notes.
fn journal(folder: &TempDir, session: &str) -> Vec<Value> {
    let (_, shown) = told(folder, &["sessions", "show", session, "--json"]);
    shown["journal"].as_array().unwrap().iter().map(|line| line["line"].clone()).collect()
}

fn replies(lines: &[Value]) -> Vec<(String, String, Value)> {
    let replies = lines.iter().filter(|line| line["event"]["input"]["reply"].is_object());
    let one = |line: &Value| {
        let reply = &line["event"]["input"]["reply"];
        let words = |value: &Value| value.as_str().unwrap().to_owned();
        (words(&reply["request"]), words(&line["event"]["source"]), reply.clone())
    };
    replies.map(one).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in its order")]
fn a_graph_over_a_tree_a_flow_and_fifty_calls_is_killed_twice_and_comes_to_its_end() {
    let folder = folder();
    let mut first = client(&folder);
    // The tree asks first, and the agent hears the tree.
    let asked = first.tool("round", &json!({"by": "Ann"})).unwrap();
    let gate = asked["structuredContent"].clone();
    assert_eq!(gate["instruction"], "May it go?", "{asked}");
    // That is not what the tool's schema says of its results, so it comes as what clients do not hold against it.
    assert_eq!(asked["isError"], true, "{asked}");
    assert!(asked["content"][0]["text"].as_str().unwrap().contains("no failure"), "{asked}");
    let answer = json!({"session_id": gate["session_id"], "step": gate["step"], "value": "go"});
    first.ask("tools/call", &json!({"name": "tree_answer", "arguments": answer})).unwrap();
    // Killed amid the fifty calls.
    let log = folder.path().join("script.log");
    eventually("ten calls are out", || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.lines().count() >= 10).then_some(())
    });
    first.kill().unwrap();
    let mut second = client(&folder);
    // The flow asks after the error edge was taken; nobody has called the tool again for that.
    let flow = eventually("the flow is begun", || {
        let listed = second.structured("guide_sessions", &json!({})).unwrap();
        listed["sessions"][0]["run_id"].as_str().map(str::to_owned)
    });
    // Killed while the flow waits for the agent.
    second.kill().unwrap();
    let mut third = client(&folder);
    let ended = third.tool("guide_answer", &json!({"run_id": flow, "choice": "yes"})).unwrap();
    let want = json!({"went": "go", "sum": 1275, "why": -32042, "told": "resolved"});
    assert_eq!(ended["structuredContent"], want, "{ended}");
    let runs = third.structured("graph_runs", &json!({"unfinished": false})).unwrap();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1, "one run, however often its host was killed: {runs}");
    let run = runs["runs"][0]["run_id"].as_str().unwrap().to_owned();
    let status = third.structured("graph_status", &json!({"run_id": run})).unwrap();
    assert_eq!((&status["state"], &status["result"]), (&json!("done"), &want));
    third.close().unwrap();

    let lines = journal(&folder, &run);
    let nodes: Vec<(&str, &str)> = lines
        .iter()
        .flat_map(|line| line["turn"]["entries"].as_array().into_iter().flatten())
        .map(|entry| (entry["node"].as_str().unwrap(), entry["branch"].as_str().unwrap_or_default()))
        .collect();
    let want = [
        ("entry", "gate"),
        ("gate", "each"),
        ("each", "bad"),
        ("bad", "talk"),
        ("talk", "out"),
        ("out", "exit"),
        ("exit", ""),
    ];
    assert_eq!(nodes, want);
    // Both sessions that it began, and what they came to.
    let begun: Vec<&str> = lines
        .iter()
        .filter(|line| line["note"]["kind"] == "begun")
        .map(|line| line["note"]["detail"]["session"].as_str().unwrap())
        .collect();
    assert_eq!(begun, [gate["session_id"].as_str().unwrap(), flow.as_str()]);
    let replies = replies(&lines);
    let by_workflows: Vec<&str> = replies
        .iter()
        .filter_map(|(_, source, reply)| (source == "host").then(|| reply["value"]["outcome"].as_str())?)
        .collect();
    assert_eq!(by_workflows, ["go", "resolved"]);
    // Fifty-two answers of the upstream server: one failure that was tried again after a pause, one that took the error edge.
    let upstream: Vec<&Value> =
        replies.iter().filter(|(_, source, _)| source == "upstream").map(|(_, _, reply)| reply).collect();
    let failures: BTreeMap<i64, usize> = upstream
        .iter()
        .filter_map(|reply| reply["failure"]["detail"]["code"].as_i64())
        .fold(BTreeMap::new(), |mut all, code| {
            *all.entry(code).or_default() += 1;
            all
        });
    assert_eq!(failures[&-32042], 1, "{failures:?}");
    assert!(failures[&-32000] >= 1, "{failures:?}");
    let items: std::collections::BTreeSet<&str> = replies
        .iter()
        .filter(|(_, source, reply)| source == "upstream" && reply["value"].is_object())
        .map(|(request, _, _)| request.split('.').nth(1).unwrap())
        .collect();
    assert_eq!(items.len(), 50, "each item came back once: {items:?}");
    assert!(replies.iter().any(|(request, source, _)| source == "clock" && request.starts_with("pause-")), "no pause");
    for session in [run.as_str(), begun[0], begun[1]] {
        let (whole, verdict) = told(&folder, &["verify", session, "--json"]);
        assert!(whole, "{verdict}");
        let (same, replayed) = told(&folder, &["replay", session, "--json"]);
        assert!(same, "{replayed}");
    }
}
