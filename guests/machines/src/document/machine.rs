//! From the top of a document, and of each machine in it, to its parts.

use wfhost_guest::diagnostic;
use wfhost_guest::schema;
use wfhost_guest::value::{Map, Value};
use wfhost_guest::yaml::{Data, Node};

use super::action;
use super::fields::{Desk, Fields, Sees};
use super::model::{Book, Edge, Machine, Name, Server, Text, Use};

const MACHINE: [&str; 13] = [
    "machine",
    "description",
    "version",
    "entry",
    "state",
    "schema",
    "tables",
    "schemas",
    "actions",
    "transitions",
    "machines",
    "server",
    "title",
];
const SERVER: [&str; 11] = [
    "name",
    "instructions",
    "default_instructions",
    "timeout",
    "sessions",
    "record",
    "hints",
    "external_tools",
    "personas",
    "default_persona",
    "upstream",
];

/// All machines of a document.
pub(super) fn book(root: &Node, desk: &mut Desk<'_>) -> Book {
    let mut book = Book::default();
    let mut fields = Fields::new(root, desk, None, "");
    let given = |name: &str| root.get(name).is_some();
    let single = given("actions") || given("entry") || given("transitions") || !given("machines");
    if let Some(node) = fields.given("server") {
        book.server = server(node, fields.desk);
    }
    if single {
        let name = fields.name("machine").unwrap_or(Name { text: "machine".to_owned(), span: fields.place() });
        book.served.push(0);
        machine(root, name, &mut book, fields.desk);
    } else {
        fields.unknown(&MACHINE);
        for (name, node) in fields.members("machines") {
            book.served.push(book.machines.len());
            machine(node, name, &mut book, fields.desk);
        }
    }
    book
}

/// One machine, and those inside it after it.
fn machine(node: &Node, name: Name, book: &mut Book, desk: &mut Desk<'_>) {
    let mut fields = Fields::new(node, desk, None, "");
    if node.as_map().is_none() {
        return fields.wrong(&name.text, "a mapping", node);
    }
    if book.machines.iter().any(|other| other.name.text == name.text) {
        let message = format!("two machines of this document have the name `{}`", name.text);
        return fields.tell(diagnostic::error("machine-repeated-name", message), name.span);
    }
    fields.unknown(&MACHINE);
    let map = |fields: &mut Fields<'_, '_, '_>, key: &str| -> Map {
        fields.members(key).into_iter().map(|(name, node)| (name.text, node.value())).collect()
    };
    let (mut state, tables) = (map(&mut fields, "state"), map(&mut fields, "tables"));
    for key in ["state", "tables"] {
        for (name, _) in fields.members(key) {
            reserved(&mut fields, &name);
        }
    }
    let schema = fields.given("schema").map(|node| {
        action::check_schema(&mut fields, "schema", node);
        node.value()
    });
    if let Some(schema) = &schema
        && let Value::Map(full) = schema::with_defaults(Value::Map(state.clone()), schema)
    {
        state = full;
    }
    let actions = match (fields.given("actions"), fields.members("actions")) {
        (Some(node), members) if node.as_map().is_some() && members.is_empty() => none(&mut fields, node.span),
        (None, _) => {
            let place = fields.place();
            none(&mut fields, place)
        }
        (_, members) => members,
    };
    let entry = fields.name("entry");
    if entry.is_none() && fields.given("entry").is_none() {
        let finding = diagnostic::error("machine-no-entry", "the field `entry` is missing");
        let place = fields.place();
        fields.tell(finding.help("name the action that comes first"), place);
    }
    let edges = transitions(&mut fields, &actions);
    let description = fields.text("description").unwrap_or_default();
    let version = fields.given("version").map(|node| wfhost_guest::python::str(&node.value()));
    let actions = actions.into_iter().map(|(name, node)| action::action(name, node, fields.desk)).collect();
    let inner = fields.members("machines");
    let entry = entry.unwrap_or(Name { text: String::new(), span: fields.place() });
    book.machines.push(Machine {
        name,
        description,
        version,
        entry,
        state,
        schema,
        tables,
        actions,
        edges,
        labels_choose: false,
    });
    for (name, node) in inner {
        machine(node, name, book, desk);
    }
}

fn none<'n>(fields: &mut Fields<'_, '_, '_>, span: wfhost_guest::model::Span) -> Vec<(Name, &'n Node)> {
    fields.tell(diagnostic::error("machine-no-actions", "there are no `actions`"), span);
    Vec::new()
}

/// A name that would hide what every expression may use.
pub(super) fn reserved(fields: &mut Fields<'_, '_, '_>, name: &Name) {
    let taken = ["state", "inputs", "tables"].contains(&name.text.as_str());
    if taken || crate::expr::FUNCTIONS.contains(&name.text.as_str()) || name.text.starts_with("__") {
        let message = format!("the name `{}` is taken: it would hide what expressions may use", name.text);
        let finding = diagnostic::error("machine-reserved-name", message).help("choose another name");
        fields.tell(finding, name.span);
    }
}

pub(crate) fn transitions(fields: &mut Fields<'_, '_, '_>, actions: &[(Name, &Node)]) -> Vec<Edge> {
    let Some(node) = fields.given("transitions") else { return Vec::new() };
    let Some(items) = node.as_list() else {
        fields.wrong("transitions", "a list", node);
        return Vec::new();
    };
    let mut edges = Vec::new();
    for item in items {
        let mut fields = Fields::new(item, fields.desk, None, "transitions.");
        if item.as_map().is_none() {
            fields.wrong("", "a mapping", item);
            continue;
        }
        fields.unknown(&["from", "to", "when", "label"]);
        for name in ["from", "to"] {
            if fields.given(name).is_none() {
                let finding = diagnostic::error("machine-wrong-type", format!("the transition has no `{name}`"));
                let place = fields.place();
                fields.tell(finding, place);
            }
        }
        let sources = sources(&mut fields, actions);
        let targets = fields.names("to");
        let mut label = fields.text("label");
        // A guard may also say that it always holds, or never.
        let settled = match fields.expression("when", &Sees::default()) {
            Some(Node { data: Data::Bool(flag), span }) => Some(Text::guard(flag.to_string(), *span)),
            _ => None,
        };
        let mut when = settled.or_else(|| fields.texts.pop().map(|text| Text { kind: Use::Guard, ..text }));
        let span = item.span;
        if sources.len() == 1 && targets.len() == 1 {
            // Most have one way, which takes what was read.
            let ways = sources.into_iter().zip(targets);
            edges.extend(ways.map(|(from, to)| Edge { from, to, when: when.take(), label: label.take(), span }));
            continue;
        }
        for from in &sources {
            let edge =
                |to: &Name| Edge { from: from.clone(), to: to.clone(), when: when.clone(), label: label.clone(), span };
            edges.extend(targets.iter().map(edge));
        }
    }
    edges
}

fn sources(fields: &mut Fields<'_, '_, '_>, actions: &[(Name, &Node)]) -> Vec<Name> {
    let given = fields.names("from");
    match given.as_slice() {
        [one] if one.text == "*" => {
            actions.iter().map(|(name, _)| Name { text: name.text.clone(), span: one.span }).collect()
        }
        _ => given,
    }
}

pub(crate) fn server(node: &Node, desk: &mut Desk<'_>) -> Server {
    let mut fields = Fields::new(node, desk, None, "server.");
    fields.unknown(&SERVER);
    let (mut shared, mut idle_seconds, mut limit) = (false, None, None);
    if let Some(sessions) = fields.given("sessions") {
        if sessions.as_str() == Some("shared") {
            shared = true;
        } else {
            let mut fields = Fields::new(sessions, fields.desk, None, "server.sessions.");
            fields.unknown(&["ttl", "max"]);
            idle_seconds = fields.duration("ttl").map(|millis| millis.div_ceil(1000));
            limit = fields.given("max").and_then(|node| {
                let max = node.value().as_i64().and_then(|max| u32::try_from(max).ok()).filter(|max| *max > 0);
                if max.is_none() {
                    fields.wrong("max", "a whole number from 1 on", node);
                }
                max
            });
        }
    }
    let (hints, texts) = fields.given("hints").map(|node| hints(node, fields.desk)).unwrap_or_default();
    let map = |fields: &mut Fields<'_, '_, '_>, key: &str| -> Map {
        fields.members(key).into_iter().map(|(name, node)| (name.text, node.value())).collect()
    };
    Server {
        name: fields.text("name"),
        instructions: fields.text("instructions"),
        plain_instructions: fields.flag("default_instructions") == Some(false),
        timeout: fields.duration("timeout"),
        shared,
        idle_seconds,
        limit,
        hints,
        texts,
        external_tools: map(&mut fields, "external_tools"),
        default_persona: fields.text("default_persona"),
        upstream: map(&mut fields, "upstream"),
    }
}

const OCCASIONS: [&str; 8] = [
    "success",
    "refusal",
    "unknown_action",
    "invalid_transition",
    "validation_failed",
    "action_error",
    "action_timeout",
    "terminal",
];

/// Hints of the author's own. Their guards are read as guards of transitions are.
fn hints(node: &Node, desk: &mut Desk<'_>) -> (Vec<Value>, Vec<Text>) {
    let (mut kept, mut texts) = (Vec::new(), Vec::new());
    let mut fields = Fields::new(node, desk, None, "server.");
    let Some(items) = node.as_list() else {
        fields.wrong("hints", "a list", node);
        return (kept, texts);
    };
    for item in items {
        let mut fields = Fields::new(item, fields.desk, None, "server.hints.");
        fields.unknown(&["on", "when", "say"]);
        if let Some(on) = fields.name("on")
            && !OCCASIONS.contains(&on.text.as_str())
        {
            let finding = diagnostic::error("machine-wrong-type", format!("a hint has no occasion `{}`", on.text));
            fields.tell(finding.help(format!("occasions: {}", OCCASIONS.join(", "))), on.span);
        }
        fields.expression("when", &Sees::default());
        fields.value("say", &Sees::default());
        texts.append(&mut fields.texts);
        kept.push(item.value());
    }
    (kept, texts)
}
