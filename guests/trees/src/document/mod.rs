//! From the text of a document to its definition and all that is wrong or doubtful in it, in one go.
//!
//! - `normal`: what YAML allows and JSON does not; the key `on`
//! - `parse`, `fields`: nodes and their fields; `model`: the result
//! - `check`: the tree as a graph; `doubt`: what is legal and most likely a slip
//! - `draw`: the drawing

mod check;
mod doubt;
mod draw;
mod fields;
pub(crate) mod model;
mod normal;
mod parse;

use sha2::{Digest, Sha256};
use wfhost_guest::diagnostic;
use wfhost_guest::model::{Compiled, Definition, Keeping, Workflow};
use wfhost_guest::python::{self, Layout};
use wfhost_guest::yaml::{self, Rules};

use crate::code;
use crate::tools;

const MARK: &[u8] = b"mcptree";

/// Whether a document says that it is a tree: by the key `mcptree` at its top level. A broken one is ours by the look of it.
pub(crate) fn is_tree(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.split(|byte| matches!(byte, b'\n' | b'\r')).any(begins_with_mark) {
        return true;
    }
    let in_braces = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if !in_braces || !bytes.windows(MARK.len()).any(|part| part == MARK) {
        return false;
    }
    yaml::load(bytes, Rules::PYYAML).root.is_none_or(|root| root.get("mcptree").is_some())
}

fn begins_with_mark(line: &[u8]) -> bool {
    let (line, quote) = match line {
        [quote @ (b'"' | b'\''), rest @ ..] => (rest, Some(*quote)),
        [..] => (line, None),
    };
    let Some(rest) = line.strip_prefix(MARK) else { return false };
    let rest = match (quote, rest) {
        (Some(quote), [first, rest @ ..]) if *first == quote => rest,
        (Some(_), _) => return false,
        (None, rest) => rest,
    };
    rest.trim_ascii_start().first() == Some(&b':')
}

/// Definition and findings of a document.
pub(crate) fn compile(bytes: &[u8]) -> Compiled {
    let loaded = yaml::load(bytes, Rules::PYYAML);
    let mut findings = loaded.findings;
    let Some(mut root) = loaded.root else {
        return Compiled { definitions: Vec::new(), diagnostics: findings };
    };
    normal::normalise(&mut root, &mut findings);
    let tree = parse::tree(&root, &mut findings).map(|mut tree| {
        check::check(&tree, &mut findings);
        doubt::check(&tree, &mut findings);
        let text = python::dumps(&root.value(), Layout::SORTED);
        tree.hash = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        tree
    });
    findings.sort_by_key(|finding| finding.span.map(|span| (span.start.line, span.start.column)));
    let definitions = tree.filter(|_| !diagnostic::refused(&findings)).map(|tree| definition(&tree));
    Compiled { definitions: definitions.into_iter().collect(), diagnostics: findings }
}

fn definition(tree: &model::Tree) -> Definition {
    Definition {
        about: Workflow {
            id: tree.id.clone(),
            title: tree.title.clone(),
            description: tree.description.clone(),
            version: None,
            extra: "{}".to_owned(),
        },
        graph: draw::graph(tree),
        views: Vec::new(),
        servers: Vec::new(),
        instructions: Some(tools::INSTRUCTIONS.to_owned()),
        sessions: Keeping { shared: false, idle_seconds: None, limit: None },
        code: code::write(tree),
    }
}

#[cfg(test)]
mod tests;
