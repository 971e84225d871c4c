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
use crate::expr::Reading;
use crate::{mermaid, tools, views};
use model::{Book, Machine};

/// YAML 1.2, with merge keys for schemas that share parts.
pub(crate) const RULES: Rules = Rules { merge: true, ..Rules::CORE };

/// None: not a document of this dialect. Else the globs of its companions.
pub(crate) fn recognise(document: &Document) -> Option<Vec<String>> {
    if mermaid::is_diagram(&document.path, &document.bytes) {
        return Some(vec![mermaid::companion(&document.path)]);
    }
    if plainly_one(&document.bytes) {
        return Some(Vec::new());
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

/// The same by its lines alone, where they leave no doubt and nothing in it names companions: it is then not read twice.
fn plainly_one(bytes: &[u8]) -> bool {
    let top = |key: &[u8]| bytes.split(|byte| *byte == b'\n').any(|line| line.starts_with(key));
    let other = ["mcptree", "nodes", "workflow"].iter().any(|key| top(key.as_bytes()));
    let quoted = top(b"\"") || top(b"'") || top(b"?");
    looks_like_one(bytes) && !other && !quoted && block_of_actions(bytes) && !holds(bytes, b"personas")
}

/// Whether the member `actions` is a mapping in lines of its own.
fn block_of_actions(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let mut lines = lines.filter(|line| !line.trim_ascii_start().is_empty());
    if !lines.any(|line| line == b"actions:") {
        return false;
    }
    let first = lines.find(|line| !line.trim_ascii_start().starts_with(b"#")).unwrap_or_default();
    first.starts_with(b" ")
        && first.trim_ascii_start().first().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && holds(first, b":")
}

fn holds(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|part| part == word)
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
    let (mut own, mut reading) = (Vec::new(), Reading::new());
    for machine in &book.machines {
        check::edges(machine, &mut own);
    }
    check::runs(&book, &mut own);
    for machine in &book.machines {
        names::check(machine, &mut reading, &mut own);
    }
    names::hints(&book, &mut reading, &mut own);
    if !diagnostic::refused(&findings) && !diagnostic::refused(&own) {
        book.machines.iter().for_each(|machine| check::roads(machine, &mut own));
    }
    let place = |finding: Diagnostic| Diagnostic { path: finding.path.or_else(|| book.file.clone()), ..finding };
    findings.extend(own.into_iter().map(place));
    findings.sort_by_key(|finding| finding.span.map(|span| (span.start.line, span.start.column)));
    let definitions = if diagnostic::refused(&findings) {
        Vec::new()
    } else {
        let inner = check::inner(&book);
        book.served.iter().filter_map(|at| definition(&book, &check::within(&inner, *at), &mut reading)).collect()
    };
    Compiled { definitions, diagnostics: findings }
}

/// The first of these machines as it is served; it runs the others.
fn definition(book: &Book, within: &[usize], reading: &mut Reading) -> Option<Definition> {
    let machines: Vec<&Machine> = within.iter().filter_map(|at| book.machines.get(*at)).collect();
    let (server, machine) = (&book.server, *machines.first()?);
    let servers = server.upstream.iter().map(|(name, spec)| Server { name: name.to_owned(), spec: json::text(spec) });
    Some(Definition {
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
        code: code::write(book, &machines, reading),
    })
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
