//! Findings, each by the smallest document that has it: place, code and node.

use super::{compile, is_tree};
use wfhost_guest::model::Severity;

/// A valid tree around some lines of nodes. `{}` of the head is line 6.
fn tree(nodes: &str) -> String {
    format!(
        "mcptree: \"0.2\"\nid: t\ntitle: T\nentry: a\nnodes:\n{nodes}\n  end: {{ type: terminal, outcome: o, summary: s }}\n"
    )
}

fn findings(text: &str) -> String {
    let compiled = compile(text.as_bytes());
    let refused = compiled.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
    assert_eq!(refused, compiled.definitions.is_empty(), "{text}");
    let lines = compiled.diagnostics.iter().map(|finding| {
        let span = finding.span.unwrap();
        let subject = finding.subject.as_ref().map(|subject| format!(" {subject}")).unwrap_or_default();
        let code = finding.code.trim_start_matches("tree-");
        let mark = match finding.severity {
            Severity::Error => "",
            Severity::Warning => "~",
            Severity::Note => "?",
        };
        format!("{}:{} {mark}{code}{subject}", span.start.line, span.start.column)
    });
    lines.collect::<Vec<_>>().join(", ")
}

fn check(nodes: &str, want: &str) {
    assert_eq!(findings(&tree(nodes)), want, "{nodes}");
}

#[test]
fn a_sound_tree_has_no_findings() {
    check(
        "  a: { type: ask, prompt: P, capture: f, next: c, human_only: true }\n  c: { type: condition, on: f.x, branches: [ { when: { not: { in: [1] } }, then: end } ], default: j }\n  j: { type: judgment, prompt: \"{{ f }}\", evidence: [f], options: [ { id: y, then: end } ], require_rationale: true, capture: g }",
        "",
    );
    check("  a: { type: action, tool: x, next: end, description: D, notes: [1], x-owner: me }", "");
    assert_eq!(
        findings(
            "owner: me\nlicence: MIT\nx-any: 1\nmcptree: '0.1'\nid: t\ntitle: T\nentry: a\nnodes: {a: {type: terminal, outcome: o, summary: '{{ f }}'}}\n"
        ),
        ""
    );
}

#[test]
fn all_findings_are_told_at_once() {
    let nodes =
        "  a: { type: action, tol: x, next: gone }\n  b: { type: ask, prompt: 5, options: [] }\n  c: { type: loop }";
    check(
        nodes,
        "6:6 missing-field a, 6:22 ~unknown-field a, 6:36 unknown-node a, 7:27 field-type b, 7:39 empty-list b, 8:14 node-type c",
    );
    assert_eq!(
        findings("mcptree: 0.2\nnodes: {}\nmax_steps: 0\n"),
        "1:1 missing-field, 1:1 missing-field, 1:1 missing-field, 1:10 field-type, 2:8 empty-nodes, 3:12 max-steps"
    );
}

#[test]
fn references_and_reachability() {
    check(
        "  a: { type: condition, on: f, branches: [ { when: { eq: 1 }, then: ende } ] }",
        "6:3 no-default a, 6:29 ~unknown-fact a, 6:69 unknown-node a, 7:3 unreachable end",
    );
    check(
        "  a: { type: action, tool: x, next: end }\n  lost: { type: action, tool: x, next: end }",
        "7:3 unreachable lost",
    );
    check("  a: { type: ask, prompt: P, options: [ { id: x, then: end } ], next: end }", "6:71 ask-next a");
    check("  a: { type: action, tool: x, args: { k: [ \"{{ f.x }}\" ] }, next: end }", "6:3 placeholder a");
}

#[test]
fn doubts_are_warnings() {
    check("  a: { type: action, tool: x, next: end, on_eror: end }", "6:42 ~unknown-field a");
    check("  a: { type: action, tool: x, next: end, timeout: 5 }", "6:42 ~unknown-field a");
    check(
        "  a: { type: ask, prompt: P, options: [ { id: x, then: end }, { id: x, then: end } ] }",
        "6:69 ~repeated-option a",
    );
    check(
        "  a: { type: action, tool: x, result: { capture: f, schema: { type: strng } }, next: end }",
        "6:69 ~schema-type a",
    );
    check("  a: { type: action, tool: x, next: end, next: end }", "6:42 ~yaml-repeated-key");
    check(
        "  a: { type: action, tool: x, next: b, on_error: end }\n  b: { type: action, tool: x, next: b }",
        "7:3 ~no-way-out b",
    );
    check(
        "  a: { type: ask, prompt: P, capture: f, next: b }\n  b: { type: condition, on: f, branches: [ { when: exists, then: end } ], default: b }",
        "7:52 predicate b",
    );
    check(
        "  a: { type: ask, prompt: P, capture: f, next: b }\n  b: { type: condition, on: f, branches: [ { when: { eq: 1 }, then: end } ], default: b }",
        "7:3 ~condition-circle b",
    );
}

#[test]
fn what_json_does_not_know_is_an_error_with_its_place() {
    check(
        "  a: { type: action, tool: x, args: { d: 2026-01-02, e: 2026-02-30, f: !!binary aGk= }, next: end }",
        "6:42 value, 6:57 yaml-date, 6:72 value",
    );
    check("  a: { type: action, tool: x, args: { 1: x, on: y }, next: end }", "6:45 ~yaml-repeated-key, 6:45 key");
    check("  a: { type: action, tool: x, args: { 2: x, on: y }, next: end }", "6:39 key, 6:45 key");
}

#[test]
fn a_tree_is_known_by_its_first_words() {
    for text in [
        "mcptree: '0.2'",
        "id: x\nmcptree : 1",
        "\u{feff}mcptree: x",
        "\"mcptree\": 1",
        "# c\n'mcptree': 1",
        "{ id: x, mcptree: '0.2' }",
        "{\"mcptree\": [",
        "a: [\nmcptree: x",
        "id: x\r\nmcptree: '0.2'",
    ] {
        assert!(is_tree(text.as_bytes()), "{text}");
    }
    for text in [
        "",
        "name: mcptree",
        "  mcptree: x",
        "mcptrees: x",
        "# mcptree: x",
        "{ a: mcptree }",
        "\"mcptree: 1",
        "- mcptree: 1",
    ] {
        assert!(!is_tree(text.as_bytes()), "{text}");
    }
}

/// The README lists every code, and no other.
#[test]
fn every_code_is_documented() {
    let readme = include_str!("../../README.md");
    let documented: std::collections::BTreeSet<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|code| code.starts_with("tree-") || code.starts_with("yaml-"))
        .collect();
    let sources = [
        include_str!("check.rs"),
        include_str!("doubt.rs"),
        include_str!("fields.rs"),
        include_str!("normal.rs"),
        include_str!("parse.rs"),
        include_str!("../../../sdk/src/yaml/load.rs"),
        include_str!("../../../sdk/src/yaml/source.rs"),
    ];
    let quoted = sources.iter().flat_map(|text| text.split('"'));
    let is_code = |word: &&str| {
        (word.starts_with("tree-") || word.starts_with("yaml-"))
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let used: std::collections::BTreeSet<&str> = quoted.filter(is_code).collect();
    assert_eq!(documented, used);
}
