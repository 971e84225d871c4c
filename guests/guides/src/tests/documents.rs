//! Findings: all of a document at once, each with its code, node and place. Which documents are ours.

use wfhost_guest::Dialect;
use wfhost_guest::model::Severity;

use super::{compiled, document, lines};
use crate::Guides;

fn check(text: &str, want: &[&str]) {
    assert_eq!(lines(&compiled("q", text).diagnostics), want, "{text}");
}

const ENDS: &str = "  - {id: e, kind: end, outcome: o, say: s}\n";

#[test]
fn all_faults_of_a_document_are_told_at_once() {
    let text = "\
id: r
title: t
entry: zz
max_unmatched: 0
branch_depth: two
on_unknown: brooden
colour: red
nodes:
  - {id: a, kind: ask, say: s, accepts: {x: 1st, y: 2nd, __other__: z}, next: {x: gone, w: e}}
  - {id: b, kind: shout, say: s}
  - {id: c, kind: collect, say: s, slots: {a: q, n: {required: yes}}, next: e, on_unknown: maybe}
  - {id: a, kind: tell, next: e, say: [s]}
  - {kind: end, say: s}
  - say it
";
    check(
        text,
        &[
            "guide-id-is-not-file-name  1:5",
            "guide-bad-entry  3:8",
            "guide-not-a-positive-integer  4:16",
            "guide-not-a-positive-integer  5:15",
            "guide-bad-on-unknown  6:13",
            "guide-unknown-key  7:1",
            "guide-label-without-next a 9:50",
            "guide-reserved-label a 9:58",
            "guide-next-to-nowhere a 9:83",
            "guide-next-without-label a 9:89",
            "guide-unknown-kind b 10:19",
            "guide-slot-named-as-node c 11:44",
            "guide-missing c 11:53",
            "guide-type c 11:64",
            "guide-next-to-nowhere c 11:77",
            "guide-bad-on-unknown c 11:92",
            "guide-duplicate-id a 12:10",
            "guide-next-to-nowhere a 12:31",
            "guide-type a 12:39",
            "guide-missing  13:5",
            "guide-missing  13:5",
            "guide-type  14:5",
        ],
    );
}

#[test]
fn a_slip_is_told_with_its_cure() {
    let found = compiled("q", &format!("id: q\ntitle: t\nentry: e\non_unkown: broaden\nnodes:\n{ENDS}")).diagnostics;
    assert_eq!(found[0].help.as_deref(), Some("did you mean `on_unknown`?"));
    let found = compiled("q", &format!("id: q\ntitle: t\nentry: E\nnodes:\n{ENDS}")).diagnostics;
    assert_eq!(found[0].message, "`entry` names `E`, which is no node");
}

#[test]
fn what_stands_in_the_document_is_the_label() {
    let text = "\
id: q
title: 7
version: 1.10
entry: a
nodes:
  - {id: a, kind: ask, say: s, accepts: {007: x, 1e5: x, 0x80: x, true: x, null: x, 2.0: x}, next: {007: e, 1e5: e, 0x80: e, true: e, null: e, 2.0: e}}
  - {id: e, kind: end, outcome: 1.50, say: s}
";
    let compiled = compiled("q", text);
    assert_eq!(lines(&compiled.diagnostics), ["guide-unfoldable a 6:10"]);
    let about = &compiled.definitions[0].about;
    assert_eq!((about.version.as_deref(), about.title.as_str()), (Some("1.10"), "7"));
    assert_eq!(about.description, "Support flow. Outcomes: 1.50.");
    let labels: Vec<&str> = compiled.definitions[0].graph.edges.iter().map(|edge| edge.label.as_str()).collect();
    assert_eq!(labels, ["007", "1e5", "0x80", "true", "null", "2.0"]);
}

#[test]
fn names_that_only_yaml_tells_apart_are_told() {
    let node = "  - {id: a, kind: ask, say: s, accepts: {1: x, \"1\": y}, next: {1: e}}\n";
    check(&format!("id: q\ntitle: t\nentry: a\nnodes:\n{node}{ENDS}"), &["guide-repeated-name a 5:48"]);
}

#[test]
fn nodes_that_cannot_be_folded_are_named_with_the_reason() {
    let reason = |more: &str, nodes: &str| {
        let found = compiled("q", &format!("id: q\ntitle: t\nentry: a\n{more}nodes:\n{nodes}{ENDS}")).diagnostics;
        let told = found.iter().filter(|one| one.subject.as_deref() == Some("a"));
        assert!(found.iter().all(|one| one.severity == Severity::Note), "{found:#?}");
        told.map(|one| one.message.split(['(', ')']).nth(1).unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let a = "  - {id: a, kind: ask, say: s, accepts: {x: 1st, y: 2nd}, next: {x: b, y: t}}\n  - {id: t, kind: tell, say: s, next: e}\n";
    let b = |rest: &str| format!("{a}  - {{id: b, kind: ask, say: s, accepts: {{p: 1, q: 2}}, {rest}}}\n");
    assert_eq!(reason("", &b("next: {p: e, q: t}")), "");
    assert_eq!(reason("max_branch_fanout: 1\n", &b("next: {p: e, q: t}")), "fanout");
    assert_eq!(reason("branch_depth: 1\n", &b("next: {p: e, q: t}")), "depth");
    assert_eq!(reason("", &b("next: {p: e, q: a}")), "cycle");
    assert_eq!(reason("", &b("next: {p: e, q: t}, on_unknown: escalate")), "escalate");
    assert_eq!(reason("", &format!("{a}  - {{id: b, kind: collect, say: s, slots: {{n: q}}, next: e}}\n")), "collect");
}

#[test]
fn only_flows_are_ours() {
    let ours = |text: &str| Guides::recognise(&document("q", text)).is_some();
    assert!(ours(&format!("id: q\nentry: e\nnodes:\n{ENDS}")));
    assert!(ours("{\"id\": \"q\", \"entry\": \"e\", \"nodes\": []}"));
    assert!(ours(&format!("title: t\nnodes:\n{ENDS}")), "a flow that lacks something is told so");
    assert!(ours("id: q\nentry: e\nnodes:\n  e: {kind: end}\n"), "so is one whose nodes are no list");
    assert!(ours("id: q\nentry: e\nnodes:\n  - {id: e, kind: [\n"), "and one that is no YAML");
    assert!(!ours("mcptree: '0.2'\nid: q\nentry: e\nnodes:\n  e: {type: terminal}\n"));
    assert!(!ours("mcptree: 1\nid: q\nentry: e\nnodes:\n  - {id: e, kind: end}\n"));
    assert!(!ours("id: q\nentry: e\nnodes:\n  e: {type: terminal}\n"));
    assert!(!ours("version: 1\ntools:\n  - {name: t, nodes: [{id: a, type: entry}]}\n"));
    assert!(!ours("machine: m\nentry: start\nactions: {}\n"));
    assert!(!ours("nodes: [[\n"), "broken, and it could be anybody's");
    assert!(!ours("nodes\n") && !ours("") && !ours("- nodes\n"));
}

#[test]
fn the_drawing_marks_escapes_and_policies() {
    let text = "\
id: q
title: t
entry: a
on_unknown: escalate
nodes:
  - {id: a, kind: ask, say: s, accepts: {x: x}, next: {x: c, __other__: t, __unknown__: e}}
  - {id: t, kind: tell, say: s, next: e}
  - {id: c, kind: collect, say: s, slots: {n: {ask: q, required: true}, m: q}, next: e, on_unknown: broaden}
  - {id: e, kind: end, outcome: done, say: s}
";
    let graph = &compiled("q", text).definitions[0].graph;
    let labels: Vec<&str> = graph.nodes.iter().map(|node| node.label.as_str()).collect();
    assert_eq!(labels, ["a\nask, unknown: escalate", "t\ntell", "c\ncollect n*, m", "e\nend: done"]);
    let edges: Vec<String> =
        graph.edges.iter().map(|edge| format!("{} {} {}", edge.source, edge.label, edge.target)).collect();
    assert_eq!(edges, ["a x c", "a __other__ t", "a __unknown__ e", "t  e", "c  e"]);
}
