//! What a drawing cannot say, in a file beside it: `order.mmd.yaml` for `order.mmd`. Its fields are those of machine.yaml:
//! `machine`, `description`, `state`, `tables`, `actions` (for states of the diagram) and `transitions` (guards for its
//! arrows). With data in it, a label that is an expression over that data is a guard.

use std::collections::BTreeSet;

use wfhost_guest::diagnostic;
use wfhost_guest::model::{Diagnostic, Document};
use wfhost_guest::value::{Map, Value};
use wfhost_guest::yaml::Node;

use crate::document::model::{Action, Book, Machine, Name, Text};
use crate::document::{Desk, Fields, read_action, read_server, read_transitions};
use crate::expr::Reading;

const FIELDS: [&str; 8] = ["machine", "description", "version", "state", "tables", "actions", "transitions", "server"];

/// Puts what the file says into the machine.
pub(super) fn apply(
    root: &Node,
    file: &Document,
    machine: &mut Machine,
    book: &mut Book,
    findings: &mut Vec<Diagnostic>,
) {
    let mut desk = Desk { file: Some(file.path.clone()), ..Desk::new(&file.bytes) };
    let mut fields = Fields::new(root, &mut desk, None, "");
    fields.unknown(&FIELDS);
    if let Some(name) = fields.name("machine") {
        machine.name = name;
    }
    if let Some(description) = fields.text("description") {
        machine.description = description;
    }
    for (name, node) in fields.members("state") {
        machine.state.set(&name.text, node.value());
    }
    for (name, node) in fields.members("tables") {
        machine.tables.set(&name.text, node.value());
    }
    if let Some(node) = fields.given("server") {
        book.server = read_server(node, fields.desk);
    }
    for (name, node) in fields.members("actions") {
        let extra = read_action(name.clone(), node, fields.desk);
        match machine.actions.iter_mut().find(|action| action.name.text == name.text) {
            Some(action) => merge(action, extra),
            None => fields.tell(unknown(&name), name.span),
        }
    }
    let known: Vec<(Name, &Node)> = machine.actions.iter().map(|action| (action.name.clone(), root)).collect();
    for edge in read_transitions(&mut fields, &known) {
        let (mut met, mut aside) = (false, Vec::new());
        for own in machine.edges.iter_mut().filter(|own| own.from.text == edge.from.text && own.to.text == edge.to.text)
        {
            met = true;
            if own.when.is_some() && edge.when.is_some() {
                aside.push(edge.span);
                continue;
            }
            own.when.clone_from(&edge.when);
            own.label = edge.label.clone().or(own.label.take());
        }
        if let Some(span) = aside.first() {
            let message = format!("the arrow to `{}` stands side by side with others and takes no guard", edge.to.text);
            let finding = diagnostic::error("machine-diagram", message);
            fields.tell(finding.help("let the action `require` it instead"), *span);
        }
        if !met {
            let message = format!("the diagram has no arrow from `{}` to `{}`", edge.from.text, edge.to.text);
            fields.tell(diagnostic::error("machine-unknown-action", message), edge.span);
        }
    }
    findings.extend(desk.findings.into_iter().map(|finding| Diagnostic { path: Some(file.path.clone()), ..finding }));
    guards(machine);
}

fn unknown(name: &Name) -> diagnostic::Finding {
    diagnostic::error("machine-unknown-action", format!("the diagram has no state `{}`", name.text))
}

/// The state's own action, with what the file adds.
fn merge(action: &mut Action, extra: Action) {
    if !extra.description.is_empty() {
        action.description = extra.description;
    }
    action.tags = extra.tags;
    for (name, schema) in extra.inputs {
        action.inputs.set(&name, schema);
    }
    action.timeout = extra.timeout;
    action.reads = extra.reads;
    for key in extra.writes {
        if !action.writes.contains(&key) {
            action.writes.push(key);
        }
    }
    for (key, value) in extra.body {
        let merged = match (action.body.get(&key), value) {
            (Some(Value::Map(own)), Value::Map(more)) => {
                let mut own: Map = own.clone();
                for (key, value) in more {
                    own.set(&key, value);
                }
                Value::Map(own)
            }
            (_, value) => value,
        };
        action.body.set(&key, merged);
    }
    action.source = extra.source;
    action.texts = extra.texts;
}

/// Labels that are expressions over keys that are there.
fn guards(machine: &mut Machine) {
    let mut reading = Reading::new();
    let written: BTreeSet<String> = machine.actions.iter().flat_map(|action| action.writes.iter().cloned()).collect();
    let known = |name: &String| machine.state.get(name).is_some() || written.contains(name);
    for edge in machine.edges.iter_mut().filter(|edge| edge.when.is_none()) {
        let Some(label) = &edge.label else { continue };
        let Ok(names) = reading.expression(label) else { continue };
        if !names.variables.is_empty() && names.variables.iter().all(known) {
            edge.when = Some(Text::guard(label.clone(), edge.span));
        }
    }
}
