//! Upstream servers and other workflows, called on behalf of sessions: each reply its own, each failure told for what it is,
//! nothing done twice that nobody asked for.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wfhost_tests::client::Client;
use wfhost_tests::upstream::{Bench, calls, processes};

use crate::PROGRAM;

const WORKER: &str = env!("CARGO_BIN_EXE_upstream-worker");

fn bench(servers: &[(&str, Value)]) -> Bench {
    Bench::new((PROGRAM, WORKER), &[("a.probe", "probe a"), ("b.probe", "probe b")], servers).unwrap()
}

fn one() -> Bench {
    bench(&[("up", json!({}))])
}

fn call(tool: &str, args: &Value) -> Value {
    json!([{"server": "up", "tool": tool, "args": args}])
}

fn text(came: &Value) -> &str {
    came["content"][0]["text"].as_str().unwrap_or_default()
}

fn started(client: &mut Client) -> String {
    client.structured("probe_start", &json!({})).unwrap()["session"].as_str().unwrap().to_owned()
}

/// The kinds of the host's notes in a session's journal, in order.
fn notes(bench: &Bench, session: &str) -> Vec<String> {
    let output = bench.command(&["sessions", "show", session, "--json"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let lines = shown["journal"].as_array().cloned().unwrap_or_default();
    lines.iter().filter_map(|l| l["line"]["note"]["kind"].as_str().map(str::to_owned)).collect()
}

fn look(client: &mut Client, session: &str) -> Value {
    client.structured("probe_look", &json!({"session": session})).unwrap()["state"].clone()
}

fn eventually(client: &mut Client, session: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let state = look(client, session);
        if holds(&state) {
            return state;
        }
        assert!(Instant::now() < until, "never: {state}");
        std::thread::sleep(Duration::from_millis(25));
    }
}

#[test]
fn a_server_is_started_when_it_is_wanted_once_and_ends_with_the_host() {
    let bench = one();
    let mut client = bench.client().unwrap();
    client.structured("probe_start", &json!({})).unwrap();
    assert!(bench.record("up").is_empty(), "nobody has asked for it yet");
    for word in ["one", "two"] {
        let state = calls(&mut client, None, &call("echo", &json!({"text": word}))).unwrap();
        assert_eq!(text(&state["got"]["c0"]), word);
    }
    assert_eq!(bench.record("up"), ["start", "echo one", "echo two"]);
    client.close().unwrap();
    bench.until("up", "end").unwrap();
    assert_eq!(processes(&bench.folder.path().join("up.record")), 0, "no orphan is left");
}

#[test]
fn sixteen_calls_side_by_side_each_get_their_own_reply() {
    let bench = bench(&[("up", json!({})), ("other", json!({}))]);
    let mut client = bench.client().unwrap();
    let many: Vec<Value> = (0..16)
        .map(|n| {
            let server = if n % 2 == 0 { "up" } else { "other" };
            json!({"server": server, "tool": "slow", "args": {"text": format!("t{n}"), "ms": 400 - 20 * n}})
        })
        .collect();
    // One session asks for all at once.
    let begun = Instant::now();
    let state = calls(&mut client, None, &json!(many)).unwrap();
    let took = begun.elapsed();
    for n in 0..16 {
        assert_eq!(text(&state["got"][format!("c{n}")]), format!("t{n}"));
    }
    // One after the other they would have taken four seconds.
    assert!(took < Duration::from_secs(3), "{took:?}");
    // And sixteen sessions, one each, over one connection.
    let sessions: Vec<String> = (0..16).map(|_| started(&mut client)).collect();
    let ids: Vec<(String, u64)> = (0..16)
        .zip(sessions)
        .map(|(n, session)| {
            let arguments = json!({"do": "call", "calls": [many[n]], "session": session});
            let id = client.ask("tools/call", &json!({"name": "probe_do", "arguments": arguments})).unwrap();
            (session, id)
        })
        .collect();
    let mut replies = std::collections::HashMap::new();
    while replies.len() < 16 {
        let message = client.receive(Duration::from_secs(20)).unwrap();
        replies.insert(message["id"].as_u64().unwrap(), message);
    }
    for (n, (_, id)) in ids.iter().enumerate() {
        let state = &replies[id]["result"]["structuredContent"]["state"];
        assert_eq!(text(&state["got"]["c0"]), format!("t{n}"));
    }
}

#[test]
fn every_kind_of_failure_is_told_for_what_it_is() {
    let bench = bench(&[
        ("up", json!({"timeout": 300, "tools": {"deny": ["env"]}})),
        ("missing", json!({"command": "/nowhere/at/all"})),
        ("off", json!({"disabled": true})),
        ("unset", json!({"env": {"X": "${WFHOST_TEST_SURELY_UNSET}"}})),
    ]);
    let mut client = bench.client().unwrap();
    let on = |server: &str, tool: &str, args: Value| json!({"server": server, "tool": tool, "args": args});
    let state = calls(
        &mut client,
        None,
        &json!([
            on("up", "fail", json!({})),
            on("up", "refuse", json!({"text": "because"})),
            on("up", "never", json!({})),
            on("up", "env", json!({})),
            on("up", "unheard-of", json!({})),
            on("nobody", "echo", json!({})),
            on("missing", "echo", json!({})),
            on("off", "echo", json!({})),
            on("unset", "echo", json!({})),
            on("up", "big", json!({"ms": 5 << 20})),
        ]),
    )
    .unwrap();
    let got = &state["got"];
    assert_eq!(
        (text(&got["c0"]), &got["c0"]["isError"]),
        ("it failed", &json!(true)),
        "a tool's own failure is a result"
    );
    for (id, kind, words) in [
        ("c1", "Failed", "refused"),
        ("c2", "TimedOut", "300 ms"),
        ("c3", "Denied", "does not let `env`"),
        ("c4", "Failed", "no tool unheard-of"),
        ("c5", "Unavailable", "no upstream server `nobody`; known are:"),
        ("c6", "Unavailable", "`/nowhere/at/all` was not found"),
        ("c7", "Denied", "disabled"),
        ("c8", "Unavailable", "`WFHOST_TEST_SURELY_UNSET` is not set"),
        ("c9", "Failed", "up to 4194304 are taken"),
    ] {
        assert_eq!(got[id]["kind"], format!("Mishap::{kind}"), "{id}: {}", got[id]);
        assert!(got[id]["message"].as_str().unwrap().contains(words), "{id}: {}", got[id]);
    }
    bench.until("up", "cancelled \"request timeout\"").unwrap();
    // The others go on.
    let state = calls(&mut client, None, &call("echo", &json!({"text": "still here"}))).unwrap();
    assert_eq!(text(&state["got"]["c0"]), "still here");
}

#[test]
fn a_server_that_ends_in_a_call_is_told_and_started_again() {
    let bench = one();
    let mut client = bench.client().unwrap();
    let state = calls(&mut client, None, &call("crash", &json!({}))).unwrap();
    let came = &state["got"]["c0"];
    assert_eq!(came["kind"], "Mishap::Lost", "{came}");
    assert!(came["message"].as_str().unwrap().contains("going down in flames"), "{came}");
    let state = calls(&mut client, None, &call("echo", &json!({"text": "again"}))).unwrap();
    assert_eq!(text(&state["got"]["c0"]), "again");
    assert_eq!(bench.record("up").iter().filter(|l| *l == "start").count(), 2);
    // One that keeps ending is given pauses, and the pause is told.
    for _ in 0..3 {
        calls(&mut client, None, &call("crash", &json!({}))).unwrap();
    }
    let state = calls(&mut client, None, &call("echo", &json!({}))).unwrap();
    let came = &state["got"]["c0"];
    assert!(came["message"].as_str().unwrap_or_default().contains("is tried again in"), "{came}");
}

#[test]
fn a_slow_start_and_a_flood_of_words_disturb_nobody() {
    let bench =
        bench(&[("up", json!({"env": {"UPSTREAM_START": "2000", "UPSTREAM_FLOOD": "3000000"}})), ("quick", json!({}))]);
    let mut client = bench.client().unwrap();
    let slow = started(&mut client);
    let arguments = json!({"do": "call", "calls": call("echo", &json!({"text": "late"})), "session": slow});
    let id = client.ask("tools/call", &json!({"name": "probe_do", "arguments": arguments})).unwrap();
    let begun = Instant::now();
    let quick = started(&mut client);
    let state =
        calls(&mut client, Some(&quick), &json!([{"server": "quick", "tool": "echo", "args": {"text": "soon"}}]))
            .unwrap();
    assert_eq!(text(&state["got"]["c0"]), "soon");
    assert!(begun.elapsed() < Duration::from_millis(1_500), "{:?}", begun.elapsed());
    let response = client.response(id);
    let state = response.map(|r| r["result"]["structuredContent"]["state"].clone()).unwrap_or_default();
    assert_eq!(text(&state["got"]["c0"]), "late");
}

#[test]
fn secrets_are_filled_in_and_seen_nowhere() {
    let bench = bench(&[("up", json!({"env": {"TOKEN": "${WFHOST_TEST_SECRET}", "PLAIN": "${NOT_SET:-a default}"}}))]);
    let mut client = Client::start(bench.serve(&[]).env("WFHOST_TEST_SECRET", "hunter2-hunter2"), &json!({})).unwrap();
    let wanted = json!([{"id": "token", "server": "up", "tool": "env", "args": {"text": "TOKEN"}},
        {"id": "plain", "server": "up", "tool": "env", "args": {"text": "PLAIN"}},
        {"id": "other", "server": "up", "tool": "env", "args": {"text": "WFHOST_TEST_SECRET"}}]);
    let state = calls(&mut client, None, &wanted).unwrap();
    assert_eq!(text(&state["got"]["plain"]), "a default");
    assert_eq!(text(&state["got"]["token"]), "${WFHOST_TEST_SECRET}", "it was there, and is not kept");
    assert_eq!(text(&state["got"]["other"]), "unset", "the host's own environment is not handed on");
    client.close().unwrap();
    let mut folders = vec![bench.folder.path().join("data")];
    let mut looked = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.file_type().unwrap().is_file() {
                looked += 1;
                let bytes = std::fs::read(entry.path()).unwrap();
                assert!(!bytes.windows(15).any(|w| w == b"hunter2-hunter2"), "{}", entry.path().display());
            }
        }
    }
    assert!(looked > 0);
}

#[test]
fn progress_of_an_upstream_call_reaches_the_client() {
    let bench = one();
    let mut client = bench.client().unwrap();
    let arguments = json!({"do": "call", "calls": call("progress", &json!({}))});
    let params = json!({"name": "probe_do", "arguments": arguments, "_meta": {"progressToken": "p"}});
    let id = client.ask("tools/call", &params).unwrap();
    let mut parts = Vec::new();
    loop {
        let message = client.receive(Duration::from_secs(20)).unwrap();
        if message["method"] == "notifications/progress" {
            parts.push(message["params"]["message"].as_str().unwrap().to_owned());
        } else if message["id"] == json!(id) {
            break;
        }
    }
    assert_eq!(parts, ["part 1", "part 2", "part 3"]);
}

#[test]
fn a_call_that_the_client_gives_up_is_given_up_upstream() {
    let bench = one();
    let mut client = bench.client().unwrap();
    let session = started(&mut client);
    let arguments = json!({"do": "call", "calls": call("never", &json!({})), "session": session});
    let id = client.ask("tools/call", &json!({"name": "probe_do", "arguments": arguments})).unwrap();
    bench.until("up", "never ").unwrap();
    let note =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}});
    client.send(&note).unwrap();
    bench.until("up", "cancelled \"the call was given up\"").unwrap();
    let state = eventually(&mut client, &session, |s| !s["got"]["c0"].is_null());
    assert_eq!(state["got"]["c0"]["kind"], "Mishap::Cancelled");
}

#[test]
fn a_request_that_is_withdrawn_or_overdue_is_given_up() {
    let bench = one();
    let mut client = bench.client().unwrap();
    let session = started(&mut client);
    let arguments = json!({"do": "call", "calls": call("never", &json!({"text": "one"})), "session": session});
    client.ask("tools/call", &json!({"name": "probe_do", "arguments": arguments})).unwrap();
    bench.until("up", "never one").unwrap();
    client.structured("probe_do", &json!({"do": "withdraw", "session": session})).unwrap();
    bench.until("up", "cancelled \"the call was given up\"").unwrap();
    let mut late = call("never", &json!({"text": "two"}));
    late[0]["within"] = json!(500);
    let arguments = json!({"do": "call", "calls": late, "session": session});
    client.ask("tools/call", &json!({"name": "probe_do", "arguments": arguments})).unwrap();
    let state = eventually(&mut client, &session, |s| !s["got"]["c0"].is_null());
    assert_eq!(state["got"]["c0"]["kind"], "Mishap::TimedOut");
}

#[test]
fn after_a_kill_only_what_may_be_repeated_is_sent_again() {
    let bench = one();
    let mut client = bench.client().unwrap();
    let session = started(&mut client);
    let wanted = json!([
        {"id": "write", "server": "up", "tool": "slow", "args": {"text": "w", "ms": 60_000}},
        {"id": "read", "server": "up", "tool": "slow_read", "args": {"text": "r", "ms": 1_000}},
        {"id": "quick", "server": "up", "tool": "echo", "args": {"text": "q"}},
    ]);
    let arguments = json!({"do": "call", "calls": wanted, "session": session});
    client.ask("tools/call", &json!({"name": "probe_do", "arguments": arguments})).unwrap();
    bench.until("up", "slow w").unwrap();
    bench.until("up", "slow_read r").unwrap();
    bench.until("up", "echo q").unwrap();
    // Long enough for the reply to the quick one to be kept, not for the read.
    std::thread::sleep(Duration::from_millis(300));
    client.kill().unwrap();
    let mut client = bench.client().unwrap();
    let state = eventually(&mut client, &session, |s| !s["got"]["read"].is_null());
    assert_eq!(text(&state["got"]["read"]), "r");
    assert_eq!(text(&state["got"]["quick"]), "q");
    assert!(state["got"]["write"].is_null(), "{state}");
    let record = bench.record("up");
    assert_eq!(record.iter().filter(|l| *l == "slow w").count(), 1, "the write is not done twice: {record:?}");
    assert_eq!(record.iter().filter(|l| *l == "slow_read r").count(), 2, "{record:?}");
    let notes = notes(&bench, &session);
    assert!(notes.contains(&"in-doubt".to_owned()) && notes.contains(&"sent-again".to_owned()), "{notes:?}");
    // The caller is told, and so is the operator, who decides.
    let status = client.tool("probe_look", &json!({"session": session})).unwrap();
    assert!(status["content"][0]["text"].as_str().unwrap().starts_with("In doubt: `slow` of `up`"), "{status}");
    let answered = bench.command(&["sessions", "answer", &session, "--request", "write", "--lost"]).output().unwrap();
    assert!(answered.status.success(), "{}", String::from_utf8_lossy(&answered.stderr));
    assert_eq!(look(&mut client, &session)["got"]["write"]["kind"], "Mishap::Lost");
    let verified = bench.command(&["verify", &session]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    let replayed = bench.command(&["replay", &session]).output().unwrap();
    assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stdout));
}

#[test]
fn an_operator_may_have_a_doubtful_call_made_again() {
    let bench = one();
    let mut client = bench.client().unwrap();
    let session = started(&mut client);
    let arguments = json!({"do": "call", "calls": call("slow", &json!({"text": "w", "ms": 600})), "session": session});
    client.ask("tools/call", &json!({"name": "probe_do", "arguments": arguments})).unwrap();
    bench.until("up", "slow w").unwrap();
    client.kill().unwrap();
    let mut client = bench.client().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while !notes(&bench, &session).contains(&"in-doubt".to_owned()) {
        assert!(Instant::now() < until, "never in doubt");
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = bench.command(&["sessions", "answer", &session, "--again"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let state = eventually(&mut client, &session, |s| !s["got"]["c0"].is_null());
    assert_eq!(text(&state["got"]["c0"]), "w");
}

#[test]
fn a_document_may_start_programs_only_where_the_operator_says_so() {
    let bench = one();
    let entry = bench.entry("own", &json!({}));
    std::fs::write(bench.folder.path().join("documents/d.probe"), format!("probe d\nserver own {entry}")).unwrap();
    let wanted =
        json!({"do": "call", "workflow": "d", "calls": [{"server": "own", "tool": "echo", "args": {"text": "hi"}}]});
    let came = |arguments: &[&str]| {
        let mut client = Client::start(&mut bench.serve(arguments), &json!({})).unwrap();
        let result = client.tool("probe_do", &wanted).unwrap();
        result["structuredContent"]["state"]["got"]["c0"].clone()
    };
    assert_eq!(text(&came(&[])), "hi", "a local user named the document");
    assert_eq!(came(&["--allow-spawn=npx"])["kind"], "Mishap::Denied");
    assert!(came(&["--allow-spawn=npx"])["message"].as_str().unwrap().contains("--allow-spawn"));
    assert_eq!(text(&came(&[&format!("--allow-spawn=npx,{WORKER}")])), "hi");
    // The operator's entry of that name comes first.
    bench.mcp(&json!({"mcpServers": {"own": {"command": "/nowhere"}}})).unwrap();
    assert!(came(&[])["message"].as_str().unwrap().contains("/nowhere"));
}

#[test]
fn a_tool_of_the_agents_that_is_bound_is_carried_out_by_the_host() {
    let bench = one();
    let file = json!({"mcpServers": {"up": bench.entry("up", &json!({}))}, "bindings": {"look_around": {"server": "up", "tool": "echo"}}});
    bench.mcp(&file).unwrap();
    let mut client = bench.client().unwrap();
    let state = calls(&mut client, None, &json!([{"tool": "look_around", "args": {"text": "all quiet"}}])).unwrap();
    assert_eq!(text(&state["got"]["c0"]), "all quiet");
    let state = calls(&mut client, None, &json!([{"tool": "other", "args": {}}])).unwrap();
    assert!(
        state["got"]["c0"].is_object() && state["open"]["c0"]["tool"] == "other",
        "that one is the agent's: {state}"
    );
}

#[test]
fn a_server_of_the_stateless_era_is_spoken_with() {
    let bench = bench(&[("up", json!({"env": {"UPSTREAM_ERA": "modern"}}))]);
    let mut client = bench.client().unwrap();
    let state = calls(&mut client, None, &call("echo", &json!({"text": "modern"}))).unwrap();
    assert_eq!(text(&state["got"]["c0"]), "modern", "{state}");
}

#[test]
fn what_servers_offer_is_listed_without_a_session() {
    let bench = bench(&[("up", json!({"tools": {"deny": ["crash"]}})), ("gone", json!({"command": "/nowhere"}))]);
    let output = bench.command(&["tools", "--mcp", "mcp.json", "--json"]).output().unwrap();
    assert!(!output.status.success(), "one of them is not there");
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let up = listed["servers"].as_array().unwrap().iter().find(|s| s["server"] == "up").unwrap();
    assert_eq!(up["tools"].as_array().unwrap().len(), 12);
    let crash = up["tools"].as_array().unwrap().iter().find(|t| t["tool"]["name"] == "crash").unwrap();
    assert_eq!(crash["allowed"], false);
    assert!(crash["tool"]["inputSchema"]["properties"]["text"].is_object(), "schemas are whole");
    let shown = bench.command(&["tools", "--mcp", "mcp.json"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("up: 12 tools (2025-11-25") && shown.contains("echo(text?, ms?)"), "{shown}");
    assert!(shown.contains("gone: unavailable: the server `gone`: the program `/nowhere` was not found"), "{shown}");
    // And a session that asks for it gets the same.
    let mut client = bench.client().unwrap();
    let state =
        client.structured("probe_do", &json!({"do": "list", "tools_of": ["up", "gone"]})).unwrap()["state"].clone();
    let got = &state["got"]["list"];
    assert_eq!(got["up"]["tools"].as_array().unwrap().len(), 11, "what is denied is not offered");
    assert_eq!(got["gone"]["failure"]["kind"], "unavailable");
}

#[test]
fn a_workflow_calls_another_and_gets_its_outcome() {
    let bench = one();
    let mut client = bench.client().unwrap();
    let session = started(&mut client);
    let wanted = json!([{"id": "child", "workflow": "b", "args": {"x": 1}}]);
    let child = client.structured("probe_do", &json!({"do": "call", "calls": wanted, "session": session})).unwrap();
    // While the child waits for the agent, the agent hears the child.
    let child = child["session"].as_str().unwrap().to_owned();
    assert_ne!(child, session);
    let ended = client.structured("probe_do", &json!({"do": "end", "session": child})).unwrap();
    assert_eq!(ended["state"]["got"]["child"], "done", "and after its end the one that asked: {ended}");
    assert_eq!(notes(&bench, &session), ["begun"]);
    assert_eq!(notes(&bench, &child), ["handed-up"]);
    // What is not there is told at once.
    let state = calls(&mut client, Some(&session), &json!([{"workflow": "nowhere", "args": {}}])).unwrap();
    assert_eq!(state["got"]["c0"]["kind"], "Mishap::Unavailable", "{state}");
    for id in [&session, &child] {
        let replayed = bench.command(&["replay", id]).output().unwrap();
        assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stdout));
    }
}

#[test]
fn a_child_that_ends_after_a_kill_still_hands_up() {
    let bench = one();
    let mut client = bench.client().unwrap();
    let session = started(&mut client);
    let wanted = json!([{"id": "child", "workflow": "b", "args": {}}]);
    let child = client.structured("probe_do", &json!({"do": "call", "calls": wanted, "session": session})).unwrap();
    let child = child["session"].as_str().unwrap().to_owned();
    client.kill().unwrap();
    let mut client = bench.client().unwrap();
    client.structured("probe_do", &json!({"do": "end", "session": child})).unwrap();
    let state = eventually(&mut client, &session, |s| !s["got"]["child"].is_null());
    assert_eq!(state["got"]["child"], "done");
    let listed = bench.command(&["sessions", "list", "--all", "--json"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed.matches("\"interpreter\"").count(), 2, "no second child: {listed}");
}

#[test]
fn workflows_that_call_themselves_without_end_are_stopped() {
    let bench = one();
    let mut client = bench.client().unwrap();
    let mut session = started(&mut client);
    for _ in 0..16 {
        let wanted = json!([{"id": "child", "workflow": "b", "args": {}}]);
        let next = client.structured("probe_do", &json!({"do": "call", "calls": wanted, "session": session})).unwrap();
        session = next["session"].as_str().unwrap_or_else(|| panic!("{next}")).to_owned();
    }
    let state = calls(&mut client, Some(&session), &json!([{"workflow": "b", "args": {}}])).unwrap();
    assert!(state["got"]["c0"]["message"].as_str().unwrap_or_default().contains("16 deep"), "{state}");
}
