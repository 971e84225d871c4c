//! From the text of a document to its definitions and all that is wrong or doubtful in it, in one go.
//!
//! - `fields`, `machine`, `action`, `effects`: machine.yaml; `model`: the result
//! - `assembly`, `personas`: a file that bundles a machine with personas and servers
//! - `numbered`: actions by number; `check`: the machine as a graph; `names`: what expressions name
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
mod numbered;
mod personas;

pub(crate) use action::action as read_action;
pub(crate) use draw::label;
pub(crate) use fields::{Desk, Fields, duration};
pub(crate) use machine::{server as read_server, transitions as read_transitions};
pub(crate) use numbered::Numbered;

use wfhost_guest::model::{Bundle, Compiled, Definition, Diagnostic, Document, Keeping, Server, Severity, Workflow};
use wfhost_guest::value::Map;
use wfhost_guest::yaml::{self, Node, Rules};
use wfhost_guest::{diagnostic, json};

use crate::code;
use crate::expr::Reading;
use crate::{mermaid, tools, views};
use model::Book;

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
        None => Tops::of(&document.bytes).look_like_one().then(Vec::new),
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

/// What the lines of a document begin with, found in one go.
#[derive(Default)]
struct Tops {
    actions: bool,
    entry: bool,
    /// `machine` or `transitions`.
    others: bool,
    /// Another dialect's word, or a quoted or complex key, which may be any word.
    doubtful: bool,
}

impl Tops {
    fn of(bytes: &[u8]) -> Self {
        let mut tops = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            match line.first() {
                Some(b'a') => tops.actions |= line.starts_with(b"actions:"),
                Some(b'e') => tops.entry |= line.starts_with(b"entry:"),
                Some(b'm' | b't' | b'n' | b'w') => {
                    tops.others |= line.starts_with(b"machine:") || line.starts_with(b"transitions:");
                    let words: [&[u8]; 3] = [b"mcptree", b"nodes", b"workflow"];
                    tops.doubtful |= words.iter().any(|word| line.starts_with(word));
                }
                Some(b'"' | b'\'' | b'?') => tops.doubtful = true,
                Some(_) | None => {}
            }
        }
        tops
    }

    /// A document that is no YAML is ours by the look of its lines.
    fn look_like_one(&self) -> bool {
        self.actions && (self.entry || self.others)
    }
}

/// The same by its lines alone, where they leave no doubt and nothing in it names companions: it is then not read twice.
fn plainly_one(bytes: &[u8]) -> bool {
    let tops = Tops::of(bytes);
    tops.look_like_one() && !tops.doubtful && block_of_actions(bytes) && !holds(bytes, b"personas")
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
    let Some((first, tail)) = word.split_first() else { return true };
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        rest = rest.get(at + 1..).unwrap_or_default();
        if rest.starts_with(tail) {
            return true;
        }
    }
    false
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
    let numbered: Vec<Numbered<'_>> = book.machines.iter().map(Numbered::of).collect();
    for machine in &numbered {
        check::edges(machine, &mut own);
    }
    check::runs(&book, &mut own);
    for machine in &book.machines {
        names::check(machine, &mut reading, &mut own);
    }
    names::hints(&book, &mut reading, &mut own);
    if !diagnostic::refused(&findings) && !diagnostic::refused(&own) {
        numbered.iter().for_each(|machine| check::roads(machine, &mut own));
    }
    let place = |finding: Diagnostic| Diagnostic { path: finding.path.or_else(|| book.file.clone()), ..finding };
    findings.extend(own.into_iter().map(place));
    findings.sort_by_key(|finding| finding.span.map(|span| (span.start.line, span.start.column)));
    let definitions = if diagnostic::refused(&findings) {
        Vec::new()
    } else {
        let inner = check::inner(&book);
        let within = |at: &usize| check::within(&inner, *at).into_iter().filter_map(|at| numbered.get(at)).collect();
        book.served.iter().filter_map(|at| definition(&book, within(at), &mut reading)).collect()
    };
    Compiled { definitions, diagnostics: findings }
}

/// The first of these machines as it is served; it runs the others.
fn definition(book: &Book, machines: Vec<&Numbered<'_>>, reading: &mut Reading) -> Option<Definition> {
    let (server, first) = (&book.server, *machines.first()?);
    let machine = first.machine;
    let servers = server.upstream.iter().map(|(name, spec)| Server { name: name.to_owned(), spec: json::text(spec) });
    Some(Definition {
        about: Workflow {
            id: machine.name.text.clone(),
            title: server.name.clone().unwrap_or_else(|| machine.name.text.clone()),
            description: described(machine),
            version: machine.version.clone(),
            extra: json::text(&tools::extra(machine)),
        },
        graph: draw::graph(first),
        views: views::offered(book),
        servers: servers.collect(),
        instructions: Some(tools::instructions(book, machine)),
        sessions: Keeping { shared: server.shared, idle_seconds: server.idle_seconds, limit: server.limit },
        code: code::write(book, &machines, reading),
    })
}

fn described(machine: &model::Machine) -> String {
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
