//! From the text of a document to its definitions and all that is wrong or doubtful in it, in one go.
//!
//! - `fields`, `machine`, `action`, `effects`: machine.yaml; `model`: the result
//! - `assembly`, `personas`: a file that bundles a machine with personas and servers
//! - `check`: the machine as a graph; `names`: what expressions name
//! - `draw`: the drawing

mod action;
mod assembly;
mod check;
mod draw;
mod effects;
mod fields;
mod machine;
pub(crate) mod model;
mod names;
mod personas;

pub(crate) use action::action as read_action;
pub(crate) use draw::label;
pub(crate) use fields::{Desk, Fields, duration};
pub(crate) use machine::{server as read_server, transitions as read_transitions};

use wfhost_guest::model::{Bundle, Compiled, Definition, Diagnostic, Document, Keeping, Server, Severity, Workflow};
use wfhost_guest::value::Map;
use wfhost_guest::yaml::{self, Node, Rules};
use wfhost_guest::{diagnostic, json};

use crate::code;
use crate::{mermaid, tools, views};
use model::{Book, Machine};

/// YAML 1.2, with merge keys for schemas that share parts.
pub(crate) const RULES: Rules = Rules { merge: true, ..Rules::CORE };

/// None: not a document of this dialect. Else the globs of its companions.
pub(crate) fn recognise(document: &Document) -> Option<Vec<String>> {
    if mermaid::is_diagram(&document.path, &document.bytes) {
        return Some(vec![mermaid::companion(&document.path)]);
    }
    let loaded = yaml::load(&document.bytes, RULES);
    match loaded.root {
        Some(root) if assembly::is_one(&root) => Some(assembly::companions(&root)),
        Some(root) => {
            is_machine(&root).then(|| personas::globs(root.get("server").and_then(|server| server.get("personas"))))
        }
        None => looks_like_one(&document.bytes).then(Vec::new),
    }
}

fn is_machine(root: &Node) -> bool {
    let is_map = |key: &str| root.get(key).is_some_and(|node| node.as_map().is_some());
    let other = ["mcptree", "nodes", "workflow"].iter().any(|key| root.get(key).is_some());
    let named = root.get("machine").is_some_and(|node| node.as_str().is_some());
    !other
        && (is_map("actions")
            || is_map("machines")
            || named && (root.get("entry").is_some() || root.get("actions").is_some()))
}

/// A document that is no YAML is ours by the look of its lines.
fn looks_like_one(bytes: &[u8]) -> bool {
    let top = |key: &[u8]| bytes.split(|byte| *byte == b'\n').any(|line| line.starts_with(key));
    top(b"actions:") && (top(b"entry:") || top(b"machine:") || top(b"transitions:"))
}

/// Definitions and findings of a document.
pub(crate) fn compile(bundle: &Bundle) -> Compiled {
    let mut findings = Vec::new();
    let mut book = book_of(bundle, &mut findings, true).unwrap_or_default();
    personas::take(&bundle.companions, &mut book, &mut findings);
    finished(book, findings)
}

/// The machines of a document. `outer`: it may be an assembly.
fn book_of(bundle: &Bundle, findings: &mut Vec<Diagnostic>, outer: bool) -> Option<Book> {
    let bytes = &bundle.main.bytes;
    if mermaid::is_diagram(&bundle.main.path, bytes) {
        return mermaid::read(bundle, findings);
    }
    let loaded = yaml::load(bytes, RULES);
    findings.extend(loaded.findings);
    let mut desk = Desk::new(bytes);
    unquoted(findings, &desk);
    let root = loaded.root?;
    if outer && assembly::is_one(&root) {
        return Some(assembly::book(&root, bundle, findings));
    }
    let book = machine::book(&root, &mut desk);
    findings.append(&mut desk.findings);
    Some(book)
}

/// A placeholder without quotes is a mapping to YAML.
fn unquoted(findings: &mut [Diagnostic], desk: &Desk<'_>) {
    for finding in findings.iter_mut().filter(|finding| finding.severity == Severity::Error) {
        let line = finding.span.and_then(|span| usize::try_from(span.start.line).ok()?.checked_sub(1));
        let line = line.and_then(|line| desk.lines.get(line)).copied().unwrap_or_default();
        if line.contains(": {{") {
            finding.code = "machine-unquoted-placeholder".to_owned();
            finding.help = Some("put the placeholder in quotes: \"{{ .. }}\"".to_owned());
        }
    }
}

/// The machines of a book, checked, as definitions.
pub(crate) fn finished(book: Book, mut findings: Vec<Diagnostic>) -> Compiled {
    for machine in &book.machines {
        check::edges(machine, &mut findings);
    }
    check::runs(&book, &mut findings);
    for machine in &book.machines {
        names::check(machine, &mut findings);
    }
    if !diagnostic::refused(&findings) {
        book.machines.iter().for_each(|machine| check::roads(machine, &mut findings));
    }
    findings.sort_by_key(|finding| finding.span.map(|span| (span.start.line, span.start.column)));
    let definitions = if diagnostic::refused(&findings) {
        Vec::new()
    } else {
        book.served.iter().filter_map(|at| Some(definition(&book, *at, book.machines.get(*at)?))).collect()
    };
    Compiled { definitions, diagnostics: findings }
}

fn definition(book: &Book, at: usize, machine: &Machine) -> Definition {
    let server = &book.server;
    let servers = server.upstream.iter().map(|(name, spec)| Server { name: name.to_owned(), spec: json::text(spec) });
    Definition {
        about: Workflow {
            id: machine.name.text.clone(),
            title: server.name.clone().unwrap_or_else(|| machine.name.text.clone()),
            description: described(machine),
            version: machine.version.clone(),
            extra: json::text(&tools::extra(machine)),
        },
        graph: draw::graph(machine),
        views: views::offered(book),
        servers: servers.collect(),
        instructions: Some(tools::instructions(book, machine)),
        sessions: Keeping { shared: server.shared, idle_seconds: server.idle_seconds, limit: server.limit },
        code: code::write(book, at),
    }
}

fn described(machine: &Machine) -> String {
    if machine.description.is_empty() {
        format!("State machine of {} actions; it begins with {}.", machine.actions.len(), machine.entry.text)
    } else {
        machine.description.clone()
    }
}

/// Required and optional inputs of an action, by name.
pub(crate) fn split(inputs: &Map) -> (Vec<&str>, Vec<&str>) {
    let optional = |name: &&str| inputs.get(name).is_some_and(|schema| schema.get("default").is_some());
    inputs.keys().partition(|name| !optional(name))
}
