//! Documents: findings with their places, forms, samples and the guide.

use super::{document, findings};
use wfhost_guest::model::Document;
use wfhost_guest::native::Host;

fn told(text: &str, wanted: &str) {
    let found = findings(text);
    assert!(found.iter().any(|line| line.starts_with(wanted)), "{wanted} is not among {found:#?}");
}

#[test]
fn a_fault_in_an_expression_has_its_own_place() {
    let quoted = document(
        "- {id: entry, type: entry, next: a}\n- {id: a, type: transform, transform: {expr: '1 + $x['}, next: exit}",
    );
    told(&quoted, "11:60 graph-expression");
    let block = "version: \"1\"\nserver: {name: s, version: \"1\"}\ntools:\n  - name: t\n    description: d\n    inputSchema: {type: object}\n    outputSchema: {type: object}\n    nodes:\n      - {id: entry, type: entry, next: a}\n      - id: a\n        type: transform\n        transform:\n          expr: |\n            (\n              $x := 1;\n              $x + ]\n            )\n        next: exit\n      - {id: exit, type: exit}\n";
    told(block, "16:20 graph-expression");
    let rule = document(
        "- {id: entry, type: entry, next: a}\n- {id: a, type: switch, conditions: [{rule: {\"==\": [{var: \"$.a b\"}, 1]}, next: exit}], next: exit}",
    );
    told(&rule, "11:70 graph-expression");
}

#[test]
fn a_document_without_tools_is_told_that_nothing_is_served() {
    for tools in ["", "tools: []\n"] {
        let text = format!("version: \"1\"\nserver: {{name: s, version: \"1\"}}\n{tools}");
        assert_eq!(findings(&text), [" graph-no-tools the document has no tools, so nothing of it is served"]);
    }
}

#[test]
fn forms_are_named() {
    let dollar = document(
        "- {id: entry, type: entry, next: a}\n- {id: a, type: mcp, server: up, tool: x, args: {q: $.entry.q, price: $5.00}, next: exit}",
    );
    told(&dollar, "5:11 graph-form the document is in the form of mcpGraph 0.1.28");
    let plain = dollar.replace("price: $5.00", "price: {expr: '1'}");
    told(&plain, "11:59 graph-dollar");
    told(&dollar.replace("tools:\n", "dollarArgs: false\ntools:\n"), "12:59 graph-dollar");
    let target = document("- {id: entry, type: entry, next: a}\n- {id: a, type: switch, conditions: [{target: exit}]}");
    told(&target, "5:11 graph-form the document is in the form of mcpGraph 0.1.27");
}

#[test]
fn doubts_are_told() {
    let twice = document(
        "- {id: entry, type: entry, next: a}\n- {id: a, type: transform, transform: {expr: '1'}, next: exit}\n- {id: a, type: transform, transform: {expr: '2'}, next: exti}",
    );
    told(&twice, "12:14 graph-duplicate-node");
    told(&twice, "12:64 graph-unknown-node");
    told(
        &document("- {id: entry, type: entry, next: exit}\n- {id: x, type: entri, next: exit}"),
        "11:23 graph-node-type",
    );
    told(&document("- {id: entry, type: entry, next: exit, nxet: 1}"), "10:46 graph-unknown-key");
}

fn compiles(path: &str, text: &str) {
    let mut host = Host::<crate::Graphs>::default();
    let told = host.load(&[Document { path: path.to_owned(), bytes: text.into() }]);
    assert!(told.iter().all(|(_, findings)| findings.is_empty()), "{path}: {told:#?}");
    assert!(!host.definitions.is_empty(), "{path} is no graph");
}

#[test]
fn samples_and_the_examples_of_the_guides_have_no_findings() {
    compiles("pricing.yaml", include_str!("../../samples/pricing.yaml"));
    compiles("files.yaml", include_str!("../../samples/files.yaml"));
    let mut examples = 0;
    for guide in [include_str!("../../skill.md"), include_str!("../../README.md")] {
        for part in guide.split("```yaml").skip(1) {
            let (_, example) = part.split_once('\n').unwrap();
            compiles("example.yaml", example.split("```").next().unwrap());
            examples += 1;
        }
    }
    assert_eq!(examples, 3);
}

#[test]
fn anything_at_all_is_read_without_a_panic() {
    let text = include_str!("../../samples/files.yaml");
    for head in (0..text.len()).step_by(7).filter_map(|place| text.get(..place)) {
        findings(head);
        findings(&format!("{head}{}", text.get(head.len() + 5..).unwrap_or_default()));
    }
}
