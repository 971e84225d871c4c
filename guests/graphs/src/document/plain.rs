//! Nodes of a document as JSON values, as js-yaml and JSON give them.

use wfhost_guest::python;
use wfhost_guest::value::{Map, Value};
use wfhost_guest::yaml::{Data, Node};

/// The value of a node. A date is an object without members, as it arrives at the peer's upstream servers (h26); a number that
/// JSON does not know is null.
pub(super) fn plain(node: &Node) -> Value {
    match &node.data {
        Data::Date(_) => Value::Map(Map::default()),
        Data::Float(float) if !float.is_finite() => Value::Null,
        Data::List(items) => Value::List(items.iter().map(plain).collect()),
        Data::Map(pairs) | Data::Set(pairs) => {
            pairs.iter().map(|pair| (key(&pair.key), plain(&pair.value))).collect::<Map>().into()
        }
        Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) | Data::Str(_) | Data::Binary(_) => node.value(),
    }
}

/// A key as JavaScript has it.
pub(super) fn key(node: &Node) -> String {
    match &node.data {
        Data::Null => "null".to_owned(),
        Data::Bool(flag) => flag.to_string(),
        Data::Int(_)
        | Data::Float(_)
        | Data::Str(_)
        | Data::Date(_)
        | Data::Binary(_)
        | Data::Set(_)
        | Data::List(_)
        | Data::Map(_) => python::str(&node.value()),
    }
}
