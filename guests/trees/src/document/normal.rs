//! What YAML allows and a tree does not: keys that are no texts, values that JSON has no word for. And the one exception, a
//! node's key `on`, which YAML 1.1 reads as true.

use wfhost_guest::diagnostic;
use wfhost_guest::model::Diagnostic;
use wfhost_guest::python;
use wfhost_guest::value::{Int, Value};
use wfhost_guest::yaml::{Data, Node, Pair};

/// Puts `on` right, and tells of all keys and values that a tree cannot have.
pub(super) fn normalise(root: &mut Node, findings: &mut Vec<Diagnostic>) {
    if let Data::Map(pairs) = &mut root.data
        && let Some(nodes) = pairs.iter_mut().find(|pair| pair.key.as_str() == Some("nodes"))
        && let Data::Map(nodes) = &mut nodes.value.data
    {
        nodes.iter_mut().for_each(|node| name_on(&mut node.value));
    }
    check(root, "", findings);
}

/// Names the key of a node that Python holds for equal to True: `on`, `yes`, `true`, 1, 1.0.
fn name_on(node: &mut Node) {
    let Data::Map(pairs) = &mut node.data else { return };
    if pairs.iter().any(|pair| pair.key.as_str() == Some("on")) {
        return;
    }
    if let Some(pair) = pairs.iter_mut().find(|pair| is_one(&pair.key)) {
        pair.key.data = Data::Str("on".to_owned());
    }
}

fn is_one(key: &Node) -> bool {
    matches!(key.data, Data::Bool(_) | Data::Int(_) | Data::Float(_))
        && python::equal(&key.value(), &Value::Int(Int::Small(1)))
}

fn check(node: &Node, path: &str, findings: &mut Vec<Diagnostic>) {
    match &node.data {
        Data::Map(pairs) => {
            for Pair { key, value } in pairs {
                let name = key.as_str().map(str::to_owned).unwrap_or_else(|| odd_key(key, path, findings));
                let inner = if path.is_empty() { name } else { format!("{path}.{name}") };
                check(value, &inner, findings);
            }
        }
        Data::List(items) => {
            for (index, item) in items.iter().enumerate() {
                check(item, &format!("{path}[{index}]"), findings);
            }
        }
        Data::Date(text) => tell_value(node, &format!("`{text}` is read as a date"), "put it in quotes", findings),
        Data::Binary(_) => tell_value(node, "binary data", "write it as text", findings),
        Data::Set(_) => tell_value(node, "a set", "write it as a list", findings),
        Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) | Data::Str(_) => {}
    }
}

fn odd_key(key: &Node, path: &str, findings: &mut Vec<Diagnostic>) -> String {
    let name = python::repr(&key.value());
    let place = if path.is_empty() { "top level" } else { path };
    let message = format!("the key {name} at {place} is {}, not a text", key.kind());
    findings.push(diagnostic::error("tree-key", message).at(key.span).help("put the key in quotes").done());
    name
}

fn tell_value(node: &Node, what: &str, cure: &str, findings: &mut Vec<Diagnostic>) {
    let message = format!("{what}, which JSON does not know");
    findings.push(diagnostic::error("tree-value", message).at(node.span).help(cure).done());
}
