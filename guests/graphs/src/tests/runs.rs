//! Runs as sessions: schemas, limits, where they stand, damage.

use super::{Script, call, check, document, fails, host, member};
use wfhost_guest::json;
use wfhost_guest::native::Alone;

fn pure(expr: &str) -> String {
    format!(
        "- {{id: entry, type: entry, next: a}}\n- {{id: a, type: transform, transform: {{expr: '{expr}'}}, next: exit}}"
    )
}

#[test]
fn arguments_and_results_are_held_against_their_schemas() {
    let text = document(&pure("{\"n\": $.entry.n}"))
        .replace(
            "inputSchema: {type: object}",
            "inputSchema: {type: object, properties: {n: {enum: [1, x]}}, required: [n]}",
        )
        .replace("outputSchema: {type: object}", "outputSchema: {type: object, properties: {n: {type: integer}}}");
    let mut host = host(&text);
    let told = |host: &mut _, args: &str| json::read(&call(host, args, &mut Alone).1).unwrap();
    let refused = told(&mut host, r#"{"n": 2}"#);
    assert_eq!(member(&refused, "error"), "arguments");
    assert!(member(&refused, "message").contains("/n"), "{refused:?}");
    assert!(host.sessions.is_empty(), "a refused start leaves no session");
    let failed = told(&mut host, r#"{"n": "x"}"#);
    assert_eq!(member(&failed, "error"), "result_schema");
    assert!(member(&failed, "message").contains("/n"));
    assert_eq!(call(&mut host, r#"{"n": 1}"#, &mut Alone), (false, r#"{"n":1}"#.to_owned()));
}

#[test]
fn data_are_never_logic() {
    let graph = "- {id: entry, type: entry, next: s}
        - {id: s, type: switch, conditions: [{rule: {\"==\": [{var: $.entry.x}, true]}, next: yes}], next: no}
        - {id: yes, type: transform, transform: {expr: '{\"hit\": true}'}, next: exit}
        - {id: no, type: transform, transform: {expr: '{\"hit\": false}'}, next: exit}";
    check(graph, r#"{"x": {"==": [1, 1]}}"#, &mut Script::default(), r#"{"hit":false}"#);
    check(graph, r#"{"x": [{"nosuch": 1}]}"#, &mut Script::default(), r#"{"hit":false}"#);
    check(graph, r#"{"x": true}"#, &mut Script::default(), r#"{"hit":true}"#);
}

#[test]
fn a_long_computation_takes_a_breath() {
    let graph = "- {id: entry, type: entry, next: n}
        - {id: n, type: transform, transform: {expr: '{\"n\": ($.n.n ?? 0) + 1}'}, next: s}
        - {id: s, type: switch, conditions: [{rule: {\"<\": [{var: $.n.n}, 3000]}, next: n}], next: r}
        - {id: r, type: transform, transform: {expr: $.n}, next: exit}";
    let text = document(graph).replace("tools:\n", "executionLimits: {maxNodeExecutions: 10000}\ntools:\n");
    let mut world = Script::default();
    assert_eq!(call(&mut host(&text), "{}", &mut world), (false, r#"{"n":3000}"#.to_owned()));
    assert_eq!(world.asked, ["pause", "pause", "pause"]);
}

#[test]
fn what_recurses_without_end_is_named() {
    let failure = fails(&pure("($f := function($n){1 + $f($n)}; $f(1))"), "{}", &mut Script::default());
    assert_eq!(
        (member(&failure, "error"), member(&failure, "code")),
        ("expression_limit".to_owned(), "U1001".to_owned())
    );
}

const WAITING: &str = "- {id: entry, type: entry, next: a}
    - {id: a, type: mcp, server: up, tool: look, args: {q: 1}, next: b}
    - {id: b, type: transform, transform: {expr: '{\"got\": $.a, \"before\": $executionCount(\"a\")}'}, next: exit}";

#[test]
fn a_run_goes_on_where_it_was() {
    let mut host = host(&document(WAITING));
    let (is_error, text) = call(&mut host, "{}", &mut Alone);
    let working = json::read(&text).unwrap();
    assert!(is_error && member(&working, "error") == "working");
    let run = member(&working, "run_id");
    let shown = |host: &mut wfhost_guest::native::Host<crate::Graphs>, tool: &str| {
        let output = host.call(tool, &format!("{{\"run_id\": \"{run}\"}}"), &mut Alone).unwrap();
        json::read(&output.value).unwrap()
    };
    let status = shown(&mut host, "graph_status");
    assert_eq!((member(&status, "state"), member(&status, "node")), ("working".to_owned(), "a".to_owned()));
    let request = host.sessions.get(&run).unwrap().requests.first().unwrap().id.clone();
    let reply = r#"{"content":[{"type":"text","text":"{\"x\":1}"}]}"#.to_owned();
    host.reply(&run, &request, Ok(reply), wfhost_guest::model::Source::Upstream).unwrap();
    let status = shown(&mut host, "graph_status");
    assert_eq!(member(&status, "state"), "done");
    assert_eq!(json::text(status.get("result").unwrap()), r#"{"got":{"x":1},"before":1}"#);
    let trace = shown(&mut host, "graph_trace");
    let nodes: Vec<String> = trace.get("trace").unwrap().as_list().unwrap().iter().map(|e| member(e, "node")).collect();
    assert_eq!(nodes, ["entry", "a", "b", "exit"]);
    let runs = host.call("graph_runs", r#"{"unfinished": false}"#, &mut Alone).unwrap();
    assert!(runs.value.contains(&run) && runs.value.contains("done"));
}

#[test]
fn damaged_code_and_state_are_refused() {
    let mut host = host(&document(WAITING));
    call(&mut host, "{}", &mut Alone);
    let code = host.definitions.first().unwrap().code.clone();
    let session = host.sessions.values().next().unwrap().session.clone();
    let state = host.sessions.values().next().unwrap().state.clone();
    for place in (0..code.len()).step_by(3) {
        let mut broken = code.clone();
        broken[place] ^= 0x55;
        let _ = crate::reply::status(wfhost_guest::At { code: &broken, session: &session, state: &state });
        let _ = crate::reply::status(wfhost_guest::At { code: &broken[..place], session: &session, state: &state });
    }
    for state in (0..state.len()).filter_map(|place| state.get(..place)) {
        let _ = crate::reply::status(wfhost_guest::At { code: &code, session: &session, state });
    }
}
