//! An assembly: one file that bundles a machine, personas, upstream servers and instructions.

use wfhost_guest::diagnostic;
use wfhost_guest::model::{Bundle, Diagnostic, Document};
use wfhost_guest::yaml::Node;

use super::fields::{Desk, Fields};
use super::model::Book;
use super::{book_of, personas};

const FIELDS: [&str; 10] = [
    "name",
    "workflow",
    "version",
    "description",
    "personas",
    "default_persona",
    "upstream",
    "instructions",
    "include_default_instructions",
    "metadata",
];

/// Whether a document is an assembly: it names a workflow that is a file beside it.
pub(super) fn is_one(root: &Node) -> bool {
    let file = |path: &str| [".yaml", ".yml", ".mmd", ".mermaid"].iter().any(|ending| path.ends_with(ending));
    root.get("workflow").and_then(Node::as_str).is_some_and(file) && root.get("name").is_some()
}

/// The files that belong to it.
pub(super) fn companions(root: &Node) -> Vec<String> {
    let workflow = root.get("workflow").and_then(Node::as_str).unwrap_or_default().trim_start_matches("./");
    let mut globs = vec![workflow.to_owned()];
    if [".mmd", ".mermaid"].iter().any(|ending| workflow.ends_with(ending)) {
        globs.push(format!("{workflow}.yaml"));
    }
    globs.extend(personas::globs(root.get("personas")));
    globs
}

/// The machines of the file that it names, served as it says.
pub(super) fn book(root: &Node, bundle: &Bundle, findings: &mut Vec<Diagnostic>) -> Book {
    let mut desk = Desk::new(&bundle.main.bytes);
    let mut fields = Fields::new(root, &mut desk, None, "");
    fields.unknown(&FIELDS);
    let workflow = fields.name("workflow");
    let path = workflow.as_ref().map(|name| name.text.trim_start_matches("./")).unwrap_or_default();
    let file = bundle.companions.iter().find(|file| file.path == path || file.path.ends_with(&format!("/{path}")));
    let mut book = match (file, &workflow) {
        (Some(file), _) => inner(file, bundle, findings),
        (None, Some(name)) => {
            let message = format!("there is no file `{path}` beside this one");
            fields.tell(diagnostic::error("machine-no-workflow", message), name.span);
            Book::default()
        }
        (None, None) => Book::default(),
    };
    let name = fields.name("name");
    if let (Some(name), Some(machine)) = (&name, book.served.first().and_then(|at| book.machines.get_mut(*at))) {
        machine.name = name.clone();
    }
    if let (Some(text), Some(machine)) =
        (fields.text("description"), book.served.first().and_then(|at| book.machines.get_mut(*at)))
        && machine.description.is_empty()
    {
        machine.description = text;
    }
    book.server.instructions = fields.text("instructions").or(book.server.instructions.take());
    book.server.default_persona = fields.text("default_persona").or(book.server.default_persona.take());
    book.server.plain_instructions |= fields.flag("include_default_instructions") == Some(false);
    for (name, node) in fields.members("upstream") {
        let value = match node.as_str() {
            Some(url) => wfhost_guest::value::Value::from([("url", url.into())]),
            None => node.value(),
        };
        book.server.upstream.set(&name.text, value);
    }
    findings.append(&mut desk.findings);
    book
}

fn inner(file: &Document, bundle: &Bundle, findings: &mut Vec<Diagnostic>) -> Book {
    let bundle = Bundle { main: file.clone(), companions: bundle.companions.clone() };
    let mut inside = Vec::new();
    let book = book_of(&bundle, &mut inside, false);
    let place = |finding: Diagnostic| Diagnostic { path: finding.path.or_else(|| Some(file.path.clone())), ..finding };
    findings.extend(inside.into_iter().map(place));
    Book { file: Some(file.path.clone()), ..book.unwrap_or_default() }
}
