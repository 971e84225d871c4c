//! Personas: Markdown files with a head between two lines `---` (`name`, `description`, `voice`, `metadata`), and the text in
//! which a model is to speak.

use wfhost_guest::diagnostic;
use wfhost_guest::model::{Diagnostic, Document};
use wfhost_guest::value::{Map, Value};
use wfhost_guest::yaml::{self, Node};

use super::RULES;
use super::model::{Book, Persona};

/// The globs that a field `personas` means: a folder is all Markdown files in it.
pub(super) fn globs(node: Option<&Node>) -> Vec<String> {
    let Some(node) = node else { return Vec::new() };
    let items = node.as_list().unwrap_or(std::slice::from_ref(node));
    let one = |path: &str| {
        let path = path.trim_start_matches("./");
        if path.ends_with(".md") { path.to_owned() } else { format!("{}/*.md", path.trim_end_matches('/')) }
    };
    items.iter().filter_map(Node::as_str).map(one).collect()
}

/// Takes the personas among the companions into the book. One that cannot be read is told and left out; two of one name are
/// an error.
pub(super) fn take(companions: &[Document], book: &mut Book, findings: &mut Vec<Diagnostic>) {
    let mut files: Vec<&Document> = companions.iter().filter(|file| file.path.ends_with(".md")).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    for file in files {
        let tell = |finding: diagnostic::Finding| Diagnostic { path: Some(file.path.clone()), ..finding.done() };
        match read(file) {
            Err(why) => {
                let help = "a persona begins with `---`, `name: ..`, `---`, and then its text";
                findings.push(tell(diagnostic::warning("machine-persona", why).help(help)));
            }
            Ok(persona) if book.personas.iter().any(|other| other.name == persona.name) => {
                let message = format!("two personas have the name `{}`", persona.name);
                findings.push(tell(diagnostic::error("machine-repeated-name", message)));
            }
            Ok(persona) => book.personas.push(persona),
        }
    }
    if let Some(name) = &book.server.default_persona
        && !book.personas.iter().any(|persona| persona.name == *name)
    {
        let known: Vec<&str> = book.personas.iter().map(|persona| persona.name.as_str()).collect();
        let message = format!("the default persona `{name}` is not there; there are {}", known.join(", "));
        findings.push(diagnostic::error("machine-persona", message).done());
    }
}

fn read(file: &Document) -> Result<Persona, String> {
    let text = std::str::from_utf8(&file.bytes).map_err(|_| "the persona is not UTF-8 text".to_owned())?;
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let stem = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".md").to_owned();
    let parts = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---"));
    let (head, body) = match parts {
        Some((head, rest)) => {
            let body = rest.split_once('\n').map_or("", |(_, body)| body);
            let loaded = yaml::load(head.as_bytes(), RULES);
            let root = loaded.root.filter(|root| root.as_map().is_some());
            (root.ok_or_else(|| "the head of the persona is no YAML mapping".to_owned())?.value(), body.to_owned())
        }
        None if text.starts_with("---") => return Err("the head of the persona is never closed".to_owned()),
        None => (Value::Map(Map::default()), text),
    };
    let word = |key: &str| head.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = word("name");
    Ok(Persona {
        name: if name.is_empty() { stem } else { name },
        description: word("description"),
        voice: word("voice"),
        metadata: head.get("metadata").cloned().unwrap_or_default(),
        body: body.trim().to_owned(),
    })
}
