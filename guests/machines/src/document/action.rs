//! One action: its inputs, and its body in the form that the engine runs.
//!
//! The body is a map: `require`, `normalise`, `fail`, `let`, `effects`, `progress`, `unset`, `set`, `result`. `effects` is one
//! list of all that the action asks of others, in order; each has a `kind`, and `join` where it must wait for those before
//! it. What stands beside another in one list, and names nothing that the other brings, runs at the same time.

use wfhost_guest::diagnostic;
use wfhost_guest::schema;
use wfhost_guest::value::{Map, Value};
use wfhost_guest::yaml::{Data, Node};

use super::fields::{Desk, Fields, Sees};
use super::machine::reserved;
use super::model::{Action, Name, Use};

const ACTION: [&str; 19] = [
    "description",
    "tags",
    "inputs",
    "reads",
    "writes",
    "timeout",
    "require",
    "normalise",
    "fail",
    "let",
    "call",
    "run",
    "ask",
    "ask_model",
    "progress",
    "wait",
    "unset",
    "set",
    "result",
];
const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "any"];

/// An action as its document says it.
pub(crate) fn action(name: Name, node: &Node, desk: &mut Desk<'_>) -> Action {
    let source = desk.source(name.span, node.span);
    let mut fields = Fields::new(node, desk, Some(&name.text), "");
    if !matches!(node.data, Data::Null | Data::Map(_)) {
        fields.wrong(&name.text, "a mapping", node);
    }
    fields.unknown(&ACTION);
    let inputs = inputs(&mut fields);
    let texts = |names: Vec<Name>| names.into_iter().map(|name| name.text).collect::<Vec<_>>();
    let (reads, tags) = (texts(fields.names("reads")), texts(fields.names("tags")));
    let timeout = fields.duration("timeout");
    let description = fields.text("description").unwrap_or_default();
    let body = body(&mut fields, !reads.is_empty());
    for key in ["set", "let"] {
        for (name, _) in fields.members(key) {
            reserved(&mut fields, &name);
        }
    }
    let set: Vec<String> = texts(fields.members("set").into_iter().map(|(name, _)| name).collect());
    let written = fields.names("writes");
    if fields.given("writes").is_some() {
        undeclared(&mut fields, &written);
    }
    let writes = if fields.given("writes").is_some() { texts(written) } else { set };
    let texts = std::mem::take(&mut fields.texts);
    Action { name, description, tags, inputs, reads, writes, timeout, body, source, texts }
}

fn undeclared(fields: &mut Fields<'_, '_, '_>, writes: &[Name]) {
    for (name, _) in fields.members("set") {
        if !writes.iter().any(|declared| declared.text == name.text) {
            let message = format!("`set` writes `{}`, which is not among `writes`", name.text);
            let finding = diagnostic::warning("machine-undeclared-write", message);
            fields.tell(finding.help("add it to `writes`, or leave `writes` out"), name.span);
        }
    }
}

fn inputs(fields: &mut Fields<'_, '_, '_>) -> Map {
    let mut inputs = Map::default();
    for (name, node) in fields.members("inputs") {
        reserved(fields, &name);
        let schema = match &node.data {
            Data::Str(word) if word == "any" => Value::Map(Map::default()),
            Data::Str(word) if TYPES.contains(&word.as_str()) => Value::from([("type", word.as_str().into())]),
            Data::Str(word) => {
                let message = format!("input `{}`: there is no type `{word}`", name.text);
                let finding = diagnostic::error("machine-wrong-type", message);
                fields.tell(finding.help(format!("types: {}; or a JSON Schema", TYPES.join(", "))), node.span);
                Value::Map(Map::default())
            }
            Data::Null
            | Data::Bool(_)
            | Data::Int(_)
            | Data::Float(_)
            | Data::Date(_)
            | Data::Binary(_)
            | Data::Set(_)
            | Data::List(_)
            | Data::Map(_) => {
                check_schema(fields, &format!("inputs.{}", name.text), node);
                node.value()
            }
        };
        inputs.set(&name.text, schema);
    }
    inputs
}

/// Tells what of a schema is none, or is not checked.
pub(super) fn check_schema(fields: &mut Fields<'_, '_, '_>, name: &str, node: &Node) {
    let value = node.value();
    for fault in schema::faults(&value) {
        let place = fault.path.iter().try_fold(node, |node, step| step_to(node, step)).unwrap_or(node);
        let path = fault.path.join(".");
        let message = if path.is_empty() {
            format!("`{name}`: {}", fault.message)
        } else {
            format!("`{name}`: `{path}` {}", fault.message)
        };
        fields.tell(diagnostic::error("machine-bad-schema", message).maybe_help(fault.help), place.span);
    }
}

fn step_to<'n>(node: &'n Node, step: &str) -> Option<&'n Node> {
    node.get(step).or_else(|| node.as_list()?.get(step.parse::<usize>().ok()?))
}

fn body(fields: &mut Fields<'_, '_, '_>, has_reads: bool) -> Map {
    let mut body = Map::default();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.set(key, value);
        }
    };
    // Before the inputs are checked only what was sent can be named, and reads are not limited.
    let early = Sees { inputs: true, ..Sees::default() };
    put("require", list(fields, "require", &early, &[("that", true), ("reason", false), ("details", false)]));
    put("normalise", mapping(fields, "normalise", &early));
    let mut sees = Sees { locals: Vec::new(), inputs: true, reads: has_reads };
    put("fail", list(fields, "fail", &sees, &[("when", true), ("error", false), ("message", false)]));
    put("let", locals(fields, &mut sees));
    let effects = super::effects::effects(fields, &mut sees);
    put("effects", (!effects.is_empty()).then_some(Value::List(effects)));
    put("progress", fields.given("progress").and_then(|_| fields.value("progress", &sees)));
    let unset: Vec<String> = fields.names("unset").into_iter().map(|name| name.text).collect();
    put("unset", (!unset.is_empty()).then(|| unset.into()));
    put("set", mapping(fields, "set", &sees));
    put("result", fields.value("result", &sees));
    body
}

fn mapping(fields: &mut Fields<'_, '_, '_>, name: &str, sees: &Sees) -> Option<Value> {
    let node = fields.given(name)?;
    if node.as_map().is_none() {
        fields.wrong(name, "a mapping", node);
        return None;
    }
    fields.value(name, sees)
}

/// Names that the texts after them may use.
fn locals(fields: &mut Fields<'_, '_, '_>, sees: &mut Sees) -> Option<Value> {
    let members = fields.members("let");
    for (name, node) in &members {
        fields.collect(node, sees);
        sees.locals.push(name.text.clone());
    }
    (!members.is_empty())
        .then(|| members.into_iter().map(|(name, node)| (name.text, node.value())).collect::<Map>().into())
}

/// A list of rules: in each an expression (flagged) and values.
fn list(fields: &mut Fields<'_, '_, '_>, name: &str, sees: &Sees, known: &[(&str, bool)]) -> Option<Value> {
    let node = fields.given(name)?;
    let items = node.as_list().unwrap_or(std::slice::from_ref(node));
    for item in items {
        let subject = fields.subject.clone();
        let mut inner = Fields::new(item, fields.desk, subject.as_deref(), format!("{name}."));
        if item.as_map().is_none() {
            inner.wrong("", "a mapping", item);
            continue;
        }
        inner.unknown(&known.iter().map(|(key, _)| *key).collect::<Vec<_>>());
        for (key, decides) in known {
            if *decides && inner.given(key).is_none() {
                let finding = diagnostic::error("machine-wrong-type", format!("`{name}` has no `{key}`"));
                let place = inner.place();
                inner.tell(finding, place);
            }
            if *decides {
                inner.expression(key, sees);
            } else {
                inner.value(key, sees);
            }
        }
        fields.texts.append(&mut inner.texts);
    }
    debug_assert!(fields.texts.iter().all(|text| text.kind != Use::Guard), "an action has no guards");
    Some(Value::List(items.iter().map(Node::value).collect()))
}
