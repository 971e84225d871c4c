//! Graphs through the program: calls side by side over a stand-in upstream, a kill in the middle, calls at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

const STAND_IN: &str = env!("CARGO_BIN_EXE_recorded-upstream");

/// Fifty calls side by side, of which one fails once; a call that fails for good; a call of another tool.
const SWEEP: &str = r#"
version: "1"
server: {name: sweeps, version: "1"}
mcpServers:
  up: {command: STAND_IN, args: [SCRIPT, up]}
tools:
  - name: sweep
    description: d
    inputSchema: {type: object}
    outputSchema: {type: object, properties: {sum: {type: number}}, required: [sum, why, double]}
    nodes:
      - {id: entry, type: entry, next: each}
      - id: each
        type: foreach
        items: {expr: "[1..50]"}
        parallel: 50
        retry: {attempts: 3, delayMs: 20}
        do: {server: up, tool: slow, args: {i: {expr: $item()}, ms: 200}}
        next: bad
      - {id: bad, type: mcp, server: up, tool: rpc_error, args: {}, onError: twice, next: exit}
      - {id: twice, type: call, tool: double, args: {n: {expr: $count($.each)}}, next: out}
      - id: out
        type: transform
        transform: {expr: '{"sum": $sum($.each), "why": $.bad.error.code, "double": $.twice.n}'}
        next: exit
      - {id: exit, type: exit}
  - name: double
    description: d
    inputSchema: {type: object, properties: {n: {type: number}}, required: [n]}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: n}
      - {id: n, type: transform, transform: {expr: '{"n": $.entry.n * 2}'}, next: exit}
      - {id: exit, type: exit}
  - name: mirror
    description: d
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: ask}
      - {id: ask, type: mcp, server: up, tool: echo, args: {mine: {expr: $.entry.n}}, next: exit}
      - {id: exit, type: exit}
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    let text = |n: u64| json!({"content": [{"type": "text", "text": n.to_string()}]});
    let slow = |i: u64| json!({"server": "up", "tool": "slow", "arguments": {"i": i, "ms": 200}});
    let mut calls = Vec::new();
    for i in 1..=50 {
        let mut call = slow(i);
        if i == 7 {
            call["error"] = json!({"code": -32000, "message": "not now"});
            calls.push(call.clone());
            call = slow(i);
        }
        call["result"] = text(i);
        calls.push(call);
    }
    let gone = json!({"code": -32042, "message": "gone"});
    calls.push(json!({"server": "up", "tool": "rpc_error", "arguments": {}, "error": gone}));
    // Twice over: the tests call it more than once.
    let calls: Vec<Value> = calls.iter().chain(&calls).cloned().collect();
    std::fs::write(&script, json!({"turn": 1, "calls": calls}).to_string()).unwrap();
    std::fs::create_dir(folder.path().join("documents")).unwrap();
    let document = SWEEP.replace("STAND_IN", STAND_IN).replace("SCRIPT", &script.display().to_string());
    std::fs::write(folder.path().join("documents/sweep.yaml"), document).unwrap();
    folder
}

fn client(folder: &TempDir) -> Client {
    let mut command = program_in(PROGRAM.as_ref(), folder.path());
    command.args(["serve", "documents", "--plugin", "graphs"]);
    Client::start(&mut command, &json!({})).unwrap()
}

fn swept() -> Value {
    json!({"sum": 1275, "why": -32042, "double": 100})
}

#[test]
fn calls_side_by_side_are_tried_again_and_an_error_edge_leads_on() {
    let folder = folder();
    let mut client = client(&folder);
    let began = Instant::now();
    assert_eq!(client.structured("sweep", &json!({})).unwrap(), swept());
    assert!(began.elapsed() < Duration::from_secs(50 / 5), "fifty calls of 0.2 s are made one after the other");
    let runs = client.structured("graph_runs", &json!({"unfinished": false, "tool": "sweep"})).unwrap();
    let run = runs["runs"][0]["run_id"].clone();
    let trace = client.structured("graph_trace", &json!({"run_id": run})).unwrap();
    let nodes: Vec<&str> =
        trace["trace"].as_array().unwrap().iter().filter_map(|entry| entry["node"].as_str()).collect();
    assert_eq!(nodes, ["entry", "each", "bad", "twice", "out", "exit"]);
    client.close().unwrap();
    let verified = program_in(PROGRAM.as_ref(), folder.path()).args(["verify", "--json"]).status().unwrap();
    assert!(verified.success());
}

#[test]
fn a_run_that_was_killed_in_the_middle_goes_on() {
    let folder = folder();
    let mut first = client(&folder);
    first.ask("tools/call", &json!({"name": "sweep", "arguments": {}})).unwrap();
    let log = folder.path().join("script.log");
    let until = Instant::now() + Duration::from_secs(40);
    while !std::fs::read_to_string(&log).is_ok_and(|log| log.lines().count() >= 10) {
        assert!(Instant::now() < until, "nothing is called");
        std::thread::sleep(Duration::from_millis(5));
    }
    first.kill().unwrap();
    let mut second = client(&folder);
    let until = Instant::now() + Duration::from_secs(40);
    loop {
        let runs = second.structured("graph_runs", &json!({"unfinished": false, "tool": "sweep"})).unwrap();
        let Some(run) = runs["runs"][0]["run_id"].as_str() else { panic!("the run is gone: {runs}") };
        let status = second.structured("graph_status", &json!({"run_id": run})).unwrap();
        if status["state"] == "done" {
            assert_eq!(status["result"], swept());
            break;
        }
        assert!(status["state"] == "working" && Instant::now() < until, "it does not go on: {status}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn calls_at_once_get_their_own_replies() {
    let folder = folder();
    let mut client = client(&folder);
    let ask = |client: &mut Client, n: u64| {
        let tool = if n.is_multiple_of(2) { "mirror" } else { "double" };
        client.ask("tools/call", &json!({"name": tool, "arguments": {"n": n}})).unwrap()
    };
    let asked: Vec<(u64, u64)> = (0..16).map(|n| (n, ask(&mut client, n))).collect();
    let mut came = BTreeMap::new();
    while came.len() < asked.len() {
        let message = client.receive(Duration::from_secs(60)).unwrap();
        came.extend(message["id"].as_u64().map(|id| (id, message["result"]["structuredContent"].clone())));
    }
    for (n, id) in asked {
        let got = came[&id].clone();
        let want = if n.is_multiple_of(2) { json!({"mine": n}) } else { json!({"n": n * 2}) };
        assert_eq!(got, want, "call {n}");
    }
}
