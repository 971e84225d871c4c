//! Rules of the loader, each by a document.

use super::{Data, Loaded, Node, Rules, load};
use crate::python;

fn findings(loaded: &Loaded) -> String {
    let lines = loaded.findings.iter().map(|finding| {
        let place = finding.span.map(|span| format!("{}:{}", span.start.line, span.start.column)).unwrap_or_default();
        format!("{place} {}", finding.code)
    });
    lines.collect::<Vec<_>>().join(", ")
}

fn reads(rules: Rules, text: &str, want: &str) {
    let loaded = load(text.as_bytes(), rules);
    assert_eq!(findings(&loaded), "", "{text}");
    assert_eq!(python::repr(&loaded.root.unwrap().value()), want, "{text}");
}

fn refuses(text: &str, want: &str) {
    assert_eq!(findings(&load(text.as_bytes(), Rules::PYYAML)), want, "{text}");
}

#[test]
fn core_scalars_are_typed() {
    let text = "[yes, true, True, tRUE, 017, 0o17, 0x1F, 1e3, 1., .5, -.5, +1, 1_000, 12:30, .inf, ~, '', 2026-02-30, -0x1, .]";
    reads(
        Rules::CORE,
        text,
        "['yes', True, True, 'tRUE', 17, 15, 31, 1000.0, 1.0, 0.5, -0.5, 1, '1_000', '12:30', inf, None, '', '2026-02-30', '-0x1', '.']",
    );
}

#[test]
fn merge_keys_and_aliases_keep_pythons_order() {
    reads(
        Rules::PYYAML,
        "a: &a {x: 1, y: 2}\nb: {z: 3, <<: *a, y: 4}\nc: *a",
        "{'a': {'x': 1, 'y': 2}, 'b': {'x': 1, 'y': 4, 'z': 3}, 'c': {'x': 1, 'y': 2}}",
    );
    reads(Rules::PYYAML, "b: {<<: [{x: 1, y: 1}, {y: 2, z: 2}]}", "{'b': {'y': 1, 'z': 2, 'x': 1}}");
    reads(Rules::CORE, "{<<: {x: 1}}", "{'<<': {'x': 1}}");
    reads(Rules::PYYAML, "'<<': 1", "{'<<': 1}");
    refuses("<<: 5", "1:5 yaml-merge");
}

#[test]
fn tags_are_obeyed() {
    reads(
        Rules::PYYAML,
        "[!!str 5, !!int '7', !!float '7', !!null x, ! 5, !!seq [1], !!map {a: 1}, !!bool 'yes']",
        "['5', 7, 7.0, None, '5', [1], {'a': 1}, True]",
    );
    refuses(
        "[!!int abc, !!float x, !!bool 5, !foo a, !!python/none x, !!seq {}]",
        "1:2 yaml-number, 1:13 yaml-tag, 1:24 yaml-tag, 1:34 yaml-tag, 1:42 yaml-tag, 1:59 yaml-tag",
    );
}

#[test]
fn what_pyyaml_refuses_is_refused_with_its_place() {
    refuses("a: 2026-02-30", "1:4 yaml-date");
    refuses("a: {b: go on?, c: 1}", "1:8 yaml-question-mark");
    refuses("a: &x !!map {b: go on?, c: 1}", "1:17 yaml-question-mark");
    refuses("a: =", "1:4 yaml-reserved");
    refuses("a: 0x_", "1:4 yaml-number");
    refuses("é: 1\n\u{7}", "2:1 yaml-character");
    refuses("? [a]\n: 1", "1:3 yaml-key");
    refuses("a: 1\n--- \nb: 2", "2:1 yaml-documents");
    refuses("a: &a [*a]", "1:8 yaml-alias");
    refuses("a: 1\nb: 2\na: 3", "3:1 yaml-repeated-key");
    refuses("{yes: 1, true: 2}", "1:10 yaml-repeated-key");
    refuses(&"[".repeat(100_000), "1:256 yaml-depth");
    refuses(&"- ".repeat(1_000), "1:403 yaml-depth");
    assert_eq!(findings(&load(b"a: 1\nb: \xff", Rules::PYYAML)), "2:4 yaml-encoding");
    let bomb: String = (0..9)
        .map(|level| {
            format!(
                "l{level}: &l{level} [{}]\n",
                if level == 0 { "x".to_owned() } else { vec![format!("*l{}", level - 1); 9].join(", ") }
            )
        })
        .collect();
    assert_eq!(findings(&load(bomb.as_bytes(), Rules::PYYAML)).split(' ').next_back(), Some("yaml-size"));
}

#[test]
fn nothing_is_a_document_too() {
    reads(Rules::PYYAML, "", "None");
    reads(Rules::PYYAML, "\u{feff}# c\r\na: 1\r\n", "{'a': 1}");
    reads(Rules::PYYAML, "prompt: Go on?\nb: [a b]", "{'prompt': 'Go on?', 'b': ['a b']}");
}

#[test]
fn inside_brackets_and_quotes_a_line_may_begin_anywhere() {
    reads(Rules::PYYAML, "a:\n  b: { c: 1,\nd: [2,\n 3],\n}\n  e: 4", "{'a': {'b': {'c': 1, 'd': [2, 3]}, 'e': 4}}");
    reads(
        Rules::PYYAML,
        "a:\n  b: \"one\ntwo \\\"\n\nthree\"\n  c: 'it''s\n  so'",
        "{'a': {'b': 'one two \"\\nthree', 'c': \"it's so\"}}",
    );
    assert_eq!(findings(&load(b"a:\n  b: { c: 1,\nd: 1 }", Rules::CORE)), "3:1 yaml-syntax");
    refuses("a:\n  b: { c: 1,\nd: 2026-02-30,\n e: *x }", "3:4 yaml-date, 4:5 yaml-syntax");
    refuses("a:\n  b: { c: 1,\nd: 2026-02-30 }", "3:4 yaml-date");
}

#[test]
fn positions_count_characters_from_one() {
    let loaded = load("é: {🙂: &x [1]}\nb:\n  - c".as_bytes(), Rules::PYYAML);
    let root = loaded.root.unwrap();
    let start = |node: &Node| (node.span.start.line, node.span.start.column);
    assert_eq!(start(root.get("é").unwrap()), (1, 4));
    assert_eq!(start(root.get("é").unwrap().get("🙂").unwrap()), (1, 8));
    assert_eq!(start(&root.get("b").unwrap().as_list().unwrap()[0]), (3, 5));
    assert_eq!(start(&root.pair("b").unwrap().key), (2, 1));
}

/// Plain scalars that PyYAML 6 was asked about, beside its answers.
#[test]
fn pyyaml_scalars_are_typed_as_pyyaml_types_them() {
    for line in include_str!("pyyaml_scalars.txt").lines() {
        let (text, want) = line.split_once('\t').unwrap();
        let got = match super::Schema::PyYaml.plain(text) {
            Ok(Data::Date(text)) => format!("'<date {text}>'"),
            Ok(data) => python::repr(
                &Node { span: super::source::point(crate::model::Position { line: 1, column: 1 }), data }.value(),
            ),
            Err(_) => "error".to_owned(),
        };
        assert_eq!(got, want, "{text}");
    }
}
