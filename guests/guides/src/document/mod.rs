//! From the text of a document to its definition and all that is wrong or doubtful in it, in one go.
//!
//! - `fields`, `parse`: nodes and their fields; `model`: the result
//! - `check`: the flow as a graph, and what cannot be folded
//! - `draw`: the drawing

mod check;
mod draw;
mod fields;
pub(crate) mod model;
mod parse;

use wfhost_guest::model::{Compiled, Definition, Diagnostic, Document, Keeping, Workflow};
use wfhost_guest::yaml::{self, Node, Rules};
use wfhost_guest::{diagnostic, json};

use crate::code;
use crate::tools;
use fields::Lines;

/// Whether a document is a flow: a mapping with `id`, `entry` and a list of `nodes`, or with a list of `nodes` that have a
/// `kind`. One that is no YAML is ours by the look of its lines.
pub(crate) fn is_flow(bytes: &[u8]) -> bool {
    // Cheaper than to read it, and also true of YAML that cannot be read.
    if top_lines(bytes, b"mcptree") {
        return false;
    }
    match yaml::load(bytes, Rules::CORE).root {
        Some(root) => {
            let list = root.get("nodes").and_then(Node::as_list);
            let named = root.get("id").is_some() && root.get("entry").is_some();
            let kinds = || list.is_some_and(|nodes| nodes.iter().any(|node| node.get("kind").is_some()));
            root.get("mcptree").is_none() && (named && list.is_some() || kinds() || named && mapping_of_kinds(&root))
        }
        None => top_lines(bytes, b"nodes") && top_lines(bytes, b"entry") && holds(bytes, b"kind"),
    }
}

/// Nodes written as a mapping by their ids, which is a slip that is told.
fn mapping_of_kinds(root: &Node) -> bool {
    let nodes = root.get("nodes").and_then(Node::as_map).unwrap_or_default();
    nodes.iter().any(|pair| pair.value.get("kind").is_some())
}

fn holds(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|part| part == word)
}

/// Whether a line begins with that key.
fn top_lines(bytes: &[u8], key: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.split(|byte| matches!(byte, b'\n' | b'\r')).any(|line| {
        let quote = line.first().filter(|byte| matches!(byte, b'"' | b'\''));
        let rest = quote.map_or(line, |_| line.get(1..).unwrap_or_default());
        let Some(rest) = rest.strip_prefix(key) else { return false };
        let rest = match quote {
            Some(quote) => rest.strip_prefix(std::slice::from_ref(quote)).unwrap_or_default(),
            None => rest,
        };
        rest.trim_ascii_start().first() == Some(&b':')
    })
}

/// Definition and findings of a document.
pub(crate) fn compile(document: &Document) -> Compiled {
    let loaded = yaml::load(&document.bytes, Rules::CORE);
    let mut findings = loaded.findings;
    let flow = loaded.root.and_then(|root| parse::flow(&root, &Lines::of(&document.bytes), &mut findings));
    let mut code = Vec::new();
    if let Some(flow) = &flow {
        check::names(flow, &document.path, &mut findings);
        // What follows takes every reference for good.
        if !diagnostic::refused(&findings) {
            check::roads(flow, &mut findings);
        }
        if !diagnostic::refused(&findings) {
            code = code::write(flow);
            check::folds(flow, &code, &mut findings);
        }
    }
    findings.sort_by_key(|finding| finding.span.map(|span| (span.start.line, span.start.column)));
    let definitions = flow.filter(|_| !diagnostic::refused(&findings)).map(|flow| definition(&flow, code));
    Compiled { definitions: definitions.into_iter().collect(), diagnostics: findings }
}

fn definition(flow: &model::Flow, code: Vec<u8>) -> Definition {
    Definition {
        about: Workflow {
            id: flow.id.text.clone(),
            title: flow.title.clone(),
            description: described(flow),
            version: flow.version.clone(),
            extra: "{}".to_owned(),
        },
        graph: draw::graph(flow),
        views: Vec::new(),
        servers: Vec::new(),
        instructions: Some(tools::INSTRUCTIONS.to_owned()),
        sessions: Keeping { shared: false, idle_seconds: None, limit: None },
        code,
    }
}

/// What the documents have no field for: how a run can end.
fn described(flow: &model::Flow) -> String {
    let mut outcomes: Vec<&str> = Vec::new();
    for node in &flow.nodes {
        if let model::Kind::End { outcome } = &node.kind
            && !outcomes.contains(&outcome.as_str())
        {
            outcomes.push(outcome);
        }
    }
    format!("Support flow. Outcomes: {}.", outcomes.join(", "))
}

/// For a message: a text in quotes, whatever stands in it.
fn quoted(text: &str) -> String {
    if text.contains(['`', '\n']) { json::quoted(text) } else { format!("`{text}`") }
}

/// A finding about a node.
fn about(node: &model::FlowNode, at: &model::Name, finding: diagnostic::Finding) -> Diagnostic {
    finding.about(&node.id.text).at(at.span).done()
}
