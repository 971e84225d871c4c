//! Error edges, retries, `foreach`, and calls of other tools and workflows.

use super::{Script, call, check, document, fails, host, member};
use wfhost_guest::model::Mishap;

const ENTRY: &str = "- {id: entry, type: entry, next: a}\n";

fn nodes(rest: &str) -> String {
    format!("{ENTRY}{rest}")
}

#[test]
fn an_error_edge_leads_on() {
    let graph = nodes(
        "- {id: a, type: mcp, server: up, tool: look, args: {}, onError: b, next: exit}
         - {id: b, type: transform, transform: {expr: '{\"why\": $.a.error.message, \"error\": $.a.error.error, \"kind\": $.a.error.kind}'}, next: exit}",
    );
    let refusing = || Script::default().fails("look", Mishap::Denied, "not allowed");
    check(&graph, "{}", &mut refusing(), r#"{"why":"not allowed","error":"call_failed","kind":"denied"}"#);
    let failing = r#"{"isError":true,"content":[{"type":"text","text":"broken"}]}"#;
    check(&graph, "{}", &mut Script::default().says("look", failing), r#"{"why":"broken","error":"tool_failed"}"#);
}

#[test]
fn a_call_is_made_again_after_a_pause() {
    let graph = nodes(
        "- {id: a, type: mcp, server: up, tool: look, args: {x: 1}, retry: {attempts: 3, delayMs: 50}, next: exit}",
    );
    let mut world = Script::default()
        .fails("look", Mishap::Failed, "no")
        .fails("look", Mishap::TimedOut, "late")
        .says("look", r#"{"structuredContent":{"ok":true},"content":[]}"#);
    check(&graph, "{}", &mut world, r#"{"ok":true}"#);
    assert_eq!(world.asked, ["look {\"x\":1}", "pause", "look {\"x\":1}", "pause", "look {\"x\":1}"]);
    let mut world = Script::default().fails("look", Mishap::Failed, "no");
    assert_eq!(member(&fails(&graph, "{}", &mut world), "message"), "no");
    assert_eq!(world.asked.len(), 5);
    for kind in [Mishap::Denied, Mishap::Lost, Mishap::Cancelled] {
        let mut world = Script::default().fails("look", kind, "no");
        fails(&graph, "{}", &mut world);
        assert_eq!(world.asked.len(), 1, "{kind:?} is not tried again");
    }
}

#[test]
fn a_list_is_gone_through_side_by_side() {
    let graph = nodes(
        "- {id: a, type: foreach, items: {expr: $.entry.list}, parallel: 2, do: {server: up, tool: look, args: {i: {expr: $index()}, v: {expr: $item().v}}}, next: b}
         - {id: b, type: transform, transform: {expr: '{\"all\": [$.a]}'}, next: exit}",
    );
    let mut world = Script::default().says("look", r#"{"content":[{"type":"text","text":"7"}]}"#);
    check(&graph, r#"{"list":[{"v":"x"},{"v":"y"},{}]}"#, &mut world, r#"{"all":[7,7,7]}"#);
    assert_eq!(world.asked, [r#"look {"i":0,"v":"x"}"#, r#"look {"i":1,"v":"y"}"#, r#"look {"i":2}"#]);
    check(&graph, "{}", &mut Script::default(), r#"{"all":[]}"#);
}

#[test]
fn an_item_that_fails_is_kept_or_ends_the_node() {
    let graph = |keep: bool| {
        nodes(&format!(
            "- {{id: a, type: foreach, items: {{expr: '[1..3]'}}, keepErrors: {keep}, do: {{server: up, tool: look, args: {{n: {{expr: $item()}}}}}}, next: b}}
             - {{id: b, type: transform, transform: {{expr: '{{\"ok\": [$.a.n], \"bad\": $.a.error.message}}'}}, next: exit}}"
        ))
    };
    let world = || {
        Script::default()
            .says("look", r#"{"structuredContent":{"n":1},"content":[]}"#)
            .fails("look", Mishap::Failed, "two")
            .says("look", r#"{"structuredContent":{"n":3},"content":[]}"#)
    };
    check(&graph(true), "{}", &mut world(), r#"{"ok":[1,3],"bad":"two"}"#);
    let failure = fails(&graph(false), "{}", &mut world());
    assert_eq!((member(&failure, "node"), member(&failure, "item")), ("a".to_owned(), "1".to_owned()));
}

#[test]
fn another_workflow_is_a_node() {
    let graph = nodes(
        "- {id: a, type: call, interpreter: trees, workflow: triage, args: {sev: {expr: $.entry.sev}}, next: exit}",
    );
    let mut world = Script::default().says("triage", r#"{"done":true}"#);
    check(&graph, r#"{"sev":2}"#, &mut world, r#"{"done":true}"#);
    assert_eq!(world.asked, [r#"triage {"sev":2}"#]);
}

#[test]
fn the_time_of_another_workflow_is_not_the_runs() {
    let graph = |call: &str| {
        let nodes = format!("- {{id: entry, type: entry, next: a}}\n- {{id: a, {call}, args: {{}}, next: exit}}");
        document(&nodes).replace("\ntools:", "\nexecutionLimits: {maxExecutionTimeMs: 1}\ntools:")
    };
    let told = |call_of: &str| {
        let mut world =
            Script::default().says("other", r#"{"structuredContent":{"done":true},"content":[],"done":true}"#);
        call(&mut host(&graph(call_of)), "{}", &mut world).1
    };
    assert!(told("type: call, interpreter: trees, workflow: other").contains("\"done\":true"));
    assert!(told("type: mcp, server: up, tool: other").contains("limit_time"));
}
