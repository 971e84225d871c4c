//! The official test suite of YAML, at the level of trees: what must fail fails, and what has a JSON form reads as that.

use super::{Data, Node, Rules, load};
use crate::json;
use crate::python;
use crate::value::Value;

/// What the loader refuses though it is good YAML: streams of several documents, lists and mappings as keys, tags of an
/// application, keys that stand twice.
const REFUSED: [&str; 4] = ["yaml-documents", "yaml-key", "yaml-tag", "yaml-repeated-key"];

fn suite() -> Vec<Value> {
    let Value::List(cases) = json::read(include_str!("../../../../tests/corpus/yaml-suite/cases.json")).unwrap() else {
        panic!("the suite is a list")
    };
    cases
}

/// None: as it should be. Else what is not.
fn fault(case: &Value) -> Option<String> {
    let word = |key| case.get(key).and_then(Value::as_str);
    let loaded = load(word("yaml")?.as_bytes(), Rules::CORE);
    let codes: Vec<_> = loaded.findings.iter().map(|finding| finding.code.as_str()).collect();
    if case.get("fails").is_some() {
        return codes.is_empty().then(|| "is accepted".to_owned());
    }
    if !codes.is_empty() {
        return (!codes.iter().all(|code| REFUSED.contains(code))).then(|| codes.join(" "));
    }
    let want = json::read(word("json")?).ok()?;
    let got = loaded
        .root
        .unwrap_or(Node { span: super::source::point(crate::model::Position { line: 1, column: 1 }), data: Data::Null })
        .value();
    (!python::equal(&want, &got)).then(|| format!("{} instead of {}", json::text(&got), json::text(&want)))
}

#[test]
fn the_suite_is_met() {
    let faults = suite().into_iter().filter_map(|case| {
        let id = case.get("id").and_then(Value::as_str).unwrap_or_default();
        fault(&case).map(|fault| format!("{id}: {fault}"))
    });
    assert_eq!(faults.collect::<Vec<_>>(), [""; 0]);
}
