//! Predicates: whether one holds of a fact, and its words in a drawing. That a predicate is well formed, `document` has seen to.

use std::cmp::Ordering;

use wfhost_guest::python;
use wfhost_guest::value::Value;

/// Operators that compare the fact with an operand.
pub(crate) const LEAVES: [&str; 8] = ["eq", "neq", "gt", "gte", "lt", "lte", "in", "exists"];
/// Operators over other predicates, since 0.2.
pub(crate) const COMPOSITES: [&str; 3] = ["all", "any", "not"];

/// Whether it holds. A missing fact satisfies no comparison, not even `neq`.
pub(crate) fn holds(predicate: &Value, fact: Option<&Value>) -> bool {
    let Some((op, operand)) = single(predicate) else { return false };
    let items = operand.as_list().unwrap_or_default();
    match (op, fact) {
        ("all", _) => items.iter().all(|item| holds(item, fact)),
        ("any", _) => items.iter().any(|item| holds(item, fact)),
        ("not", _) => !holds(operand, fact),
        (_, None) => false,
        ("exists", Some(_)) => true,
        ("eq", Some(fact)) => python::equal(fact, operand),
        ("neq", Some(fact)) => !python::equal(fact, operand),
        ("gt", Some(fact)) => python::order(fact, operand) == Some(Ordering::Greater),
        ("gte", Some(fact)) => python::order(fact, operand).is_some_and(Ordering::is_ge),
        ("lt", Some(fact)) => python::order(fact, operand) == Some(Ordering::Less),
        ("lte", Some(fact)) => python::order(fact, operand).is_some_and(Ordering::is_le),
        ("in", Some(fact)) => is_in(fact, operand),
        (_, Some(_)) => false,
    }
}

/// Operator and operand.
pub(crate) fn single(predicate: &Value) -> Option<(&str, &Value)> {
    predicate.as_map().and_then(|map| map.iter().next())
}

fn is_in(fact: &Value, operand: &Value) -> bool {
    match operand {
        Value::List(items) => items.iter().any(|item| python::equal(fact, item)),
        Value::Str(text) => fact.as_str().is_some_and(|part| text.contains(part)),
        Value::Map(map) => fact.as_str().is_some_and(|key| map.get(key).is_some()),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
    }
}

/// How a drawing words it.
pub(crate) fn label(predicate: &Value) -> String {
    let Some((op, operand)) = single(predicate) else { return String::new() };
    let inner = || operand.as_list().unwrap_or_default().iter().map(label).collect::<Vec<_>>().join(", ");
    match op {
        "all" | "any" => format!("{op}({})", inner()),
        "not" => format!("not({})", label(operand)),
        "exists" => "exists".to_owned(),
        _ => format!("{op} {}", python::str(operand)),
    }
}
