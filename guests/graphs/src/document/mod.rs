//! From the text of a document to its definitions, one a tool, and all that is wrong or doubtful in it, in one go.
//!
//! - `fields`, `parse`, `nodes`, `plain`: what stands in it; `model`: the result
//! - `forms`: which generation of the form it is in
//! - `check`: expressions, references, the graph; `place`: characters of expressions in the document
//! - `draw`: the drawing

mod check;
mod draw;
mod fields;
mod forms;
pub(crate) mod model;
mod nodes;
mod parse;
mod place;
mod plain;

use wfhost_guest::model::{Bundle, Compiled, Definition, Diagnostic, Keeping, Server, Workflow};
use wfhost_guest::offers::{self, Offers};
use wfhost_guest::value::Value;
use wfhost_guest::yaml::{self, Node, Rules};
use wfhost_guest::{diagnostic, json};

use crate::code;
use check::Scene;
use fields::Findings;
use model::{Document, ToolDef};
use place::Lines;

/// Files beside a document that declare upstream servers for it.
pub(crate) const COMPANIONS: [&str; 3] = ["mcp.json", ".mcp.json", "*.mcp.json"];

/// LIMIT: tools that a document's instructions name.
const NAMED_MAX: usize = 50;

/// Whether a document is a graph: a mapping that has two of `version`, `server`, `mcpServers` and `tools`, among them `server` or
/// `tools`. One that is no YAML is ours by the look of its lines.
pub(crate) fn is_graph(bytes: &[u8]) -> bool {
    match yaml::load(bytes, Rules::JS_YAML).root {
        Some(root) => {
            let has = |key: &str| root.pair(key).is_some();
            let words = ["version", "server", "mcpServers", "tools"].iter().filter(|key| has(key)).count();
            words >= 2 && (has("server") || has("tools")) && !has("mcptree") && !has("kind")
        }
        None => {
            let lines = |key: &[u8]| bytes.split(|byte| *byte == b'\n').any(|line| line.starts_with(key));
            lines(b"tools:") && (lines(b"server:") || lines(b"version:"))
        }
    }
}

/// Definitions and findings of a document.
pub(crate) fn compile(bundle: &Bundle) -> Compiled {
    let bytes = &bundle.main.bytes;
    let loaded = yaml::load(bytes, Rules::JS_YAML);
    let mut findings = Findings { told: loaded.findings, subject: None };
    let mut beside = Vec::new();
    let by_host = |path: &str| [offers::PATH, offers::SERVERS].contains(&path);
    for companion in bundle.companions.iter().filter(|companion| !by_host(&companion.path)) {
        beside.extend(companion_servers(&companion.bytes, &companion.path, &mut findings.told));
    }
    let lines = Lines::of(bytes);
    let document = loaded.root.and_then(|root| read(&root, &mut findings));
    if let Some(document) = &document {
        let named = beside.iter().map(|(name, _)| name.clone());
        let names: Vec<String> = named.chain(offers::servers(bundle)).collect();
        let offers = Offers::of(bundle);
        check::all(document, &Scene { lines: &lines, servers: &names, offers: offers.as_ref() }, &mut findings);
    }
    let mut findings = findings.told;
    findings.sort_by_key(|finding| finding.span.map(|span| (span.start.line, span.start.column)));
    let served = document.filter(|_| !diagnostic::refused(&findings));
    let definitions = served.map(|document| definitions(&document, &beside)).unwrap_or_default();
    Compiled { definitions, diagnostics: findings }
}

fn read(root: &Node, findings: &mut Findings) -> Option<Document> {
    let mut document = parse::document(root, findings)?;
    let targets = root.get("tools").and_then(Node::as_list).unwrap_or_default().iter().any(old_conditions);
    forms::settle(&mut document, parse::dollar_option(root), targets, findings);
    Some(document)
}

/// Whether a tool has conditions with `target`.
fn old_conditions(tool: &Node) -> bool {
    let nodes = tool.get("nodes").and_then(Node::as_list).unwrap_or_default();
    let conditions = nodes.iter().filter_map(|node| node.get("conditions").and_then(Node::as_list)).flatten();
    conditions.into_iter().any(|condition| condition.get("target").is_some())
}

/// The servers of a companion; one that cannot be read is an error of the document, with its own place.
fn companion_servers(bytes: &[u8], path: &str, told: &mut Vec<Diagnostic>) -> Vec<(String, Value)> {
    let loaded = yaml::load(bytes, Rules::JS_YAML);
    let mut findings = Findings { told: loaded.findings, subject: None };
    let pairs = loaded.root.as_ref().and_then(|root| root.get("mcpServers")).and_then(Node::as_map);
    let named = pairs.unwrap_or_default().iter().filter_map(|pair| {
        let name = pair.key.as_str()?;
        parse::one_server(name, pair, &mut findings)
    });
    let servers = named.map(|(name, spec)| (name.text, spec)).collect();
    told.extend(findings.told.into_iter().map(|finding| Diagnostic { path: Some(path.to_owned()), ..finding }));
    servers
}

fn definitions(document: &Document, beside: &[(String, Value)]) -> Vec<Definition> {
    let mut tools: Vec<&ToolDef> = Vec::new();
    for tool in &document.tools {
        if !tools.iter().any(|other| other.name.text == tool.name.text) {
            tools.push(tool);
        }
    }
    let own = document.servers.iter().map(|(name, spec)| (name.text.as_str(), spec));
    let others = beside.iter().map(|(name, spec)| (name.as_str(), spec));
    // What the document says of a server goes before what is said beside it.
    let others = others.filter(|(name, _)| !document.servers.iter().any(|(own, _)| own.text == *name));
    let servers: Vec<Server> =
        own.chain(others).map(|(name, spec)| Server { name: name.to_owned(), spec: json::text(spec) }).collect();
    tools.into_iter().map(|tool| definition(document, tool, servers.clone())).collect()
}

fn definition(document: &Document, tool: &ToolDef, servers: Vec<Server>) -> Definition {
    Definition {
        about: Workflow {
            id: tool.name.text.clone(),
            title: tool.title.clone().unwrap_or_else(|| tool.name.text.clone()),
            description: tool.description.clone(),
            version: Some(document.version.clone()),
            extra: extra(document, tool),
        },
        graph: draw::graph(tool),
        views: Vec::new(),
        servers,
        instructions: Some(instructions(document)),
        sessions: Keeping { shared: false, idle_seconds: None, limit: None },
        code: code::write(document, tool),
    }
}

/// Whose tools these are, and what the document says of them: it is one among others on its host, and keeps its name here.
fn instructions(document: &Document) -> String {
    let Document { server, version, title, .. } = document;
    let mut names: Vec<&str> = Vec::new();
    for tool in &document.tools {
        if !names.contains(&tool.name.text.as_str()) {
            names.push(&tool.name.text);
        }
    }
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let title = if title == server { String::new() } else { format!(": {title}") };
    let text = document.instructions.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let text = text.map(|text| format!("\n\n{text}")).unwrap_or_default();
    format!("## {server} {version}{title}\nTools: {}{more}.{text}", names.join(", "))
}

/// What the tool's listing needs.
fn extra(document: &Document, tool: &ToolDef) -> String {
    let hints = tool.hints;
    let calls =
        tool.nodes.iter().any(|node| matches!(node.kind, model::Kind::Call { .. } | model::Kind::Foreach { .. }));
    let members = [
        ("server", Value::from(document.server.as_str())),
        ("input", tool.input.clone()),
        ("output", tool.output.clone()),
        ("readOnly", hints.read_only.unwrap_or(!calls).into()),
        ("destructive", hints.destructive.unwrap_or(calls).into()),
        ("idempotent", hints.idempotent.unwrap_or(!calls).into()),
        ("openWorld", hints.open_world.unwrap_or(calls).into()),
    ];
    json::text(&Value::from(members))
}

/// A rule as JSON text.
pub(crate) fn rule_text(rule: &Node) -> String {
    json::text(&plain::plain(rule))
}
