//! What a document says as a whole: each expression can be read, each reference leads somewhere, and every tool goes from one
//! entry to one exit.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wfhost_guest::diagnostic;
use wfhost_guest::model::Span;
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::offers::Offers;
use wfhost_guest::yaml::{Data, Node};
use wfhost_jsonata::Expression;
use wfhost_jsonlogic::Rule;

use super::fields::Findings;
use super::model::{Args, Document, Kind, Name, NodeDef, Target, Text, ToolDef};
use super::place::Lines;
use super::plain::plain;
use crate::tools;

/// What the checks need to know beside the document.
pub(super) struct Scene<'a> {
    /// The document as it was written.
    pub(super) lines: &'a Lines<'a>,
    /// Servers that a companion declares, or that the operator has.
    pub(super) servers: &'a [String],
    /// What the servers offer, if an author has asked for a check against them.
    pub(super) offers: Option<&'a Offers>,
}

/// All checks.
pub(super) fn all(document: &Document, scene: &Scene<'_>, findings: &mut Findings) {
    names(document, findings);
    if document.tools.is_empty() && !diagnostic::refused(&findings.told) {
        let message = "the document has no tools, so nothing of it is served";
        let told = diagnostic::warning("graph-no-tools", message).help("list them under `tools`");
        findings.told.push(told.done());
    }
    for tool in &document.tools {
        for node in &tool.nodes {
            findings.subject = Some(node.id.text.clone());
            expressions(node, scene, findings);
            findings.subject = None;
        }
        graph(tool, findings);
        for node in &tool.nodes {
            findings.subject = Some(node.id.text.clone());
            targets(node, (document, scene, tool), findings);
            findings.subject = None;
        }
    }
}

fn names(document: &Document, findings: &mut Findings) {
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for tool in &document.tools {
        let name = &tool.name;
        if tools::RESERVED.contains(&name.text.as_str()) {
            let message = format!("the tool `{}` has the name of a tool that every graph brings", name.text);
            findings.tell(diagnostic::error("graph-reserved-name", message).help("choose another name"), name.span);
        }
        match seen.get(name.text.as_str()) {
            Some(first) => {
                let message = format!(
                    "the tool `{}` is there already, in line {}; that one is served, and this one is not",
                    name.text, first.start.line
                );
                findings
                    .tell(diagnostic::warning("graph-duplicate-tool", message).help("rename one of them"), name.span);
            }
            None => {
                seen.insert(&name.text, name.span);
            }
        }
    }
}

fn expressions(node: &NodeDef, scene: &Scene<'_>, findings: &mut Findings) {
    match &node.kind {
        Kind::Transform { expr, .. } => expression(expr, "transform.expr", scene, findings),
        Kind::Switch { conditions, .. } => {
            for (index, condition) in conditions.iter().enumerate() {
                if let Some(node) = &condition.rule {
                    rule(node, index, scene, findings);
                }
            }
        }
        Kind::Call { args, .. } => arguments(args, "args", scene, findings),
        Kind::Foreach { items, args, .. } => {
            expression(items, "items.expr", scene, findings);
            arguments(args, "do.args", scene, findings);
        }
        Kind::Entry { .. } | Kind::Exit { .. } => {}
    }
}

fn arguments(args: &Args, path: &str, scene: &Scene<'_>, findings: &mut Findings) {
    match args {
        Args::Expr(text) => expression(text, &format!("{path}.expr"), scene, findings),
        Args::List(items) => {
            items.iter().enumerate().for_each(|(i, item)| arguments(item, &format!("{path}[{i}]"), scene, findings));
        }
        Args::Map(members) => {
            members.iter().for_each(|(key, item)| arguments(item, &format!("{path}.{key}"), scene, findings));
        }
        Args::BadExpr(_) | Args::Plain(..) => {}
    }
}

fn expression(text: &Text, path: &str, scene: &Scene<'_>, findings: &mut Findings) {
    if let Err(fault) = Expression::parse(&text.text) {
        let place = fault.at.and_then(|at| scene.lines.place(text.span, &text.text, at));
        let at = if place.is_some() { String::new() } else { at_character(fault.at) };
        let message = format!("`{path}` is no JSONata: {fault}{at}");
        findings.tell(diagnostic::error("graph-expression", message), place.unwrap_or(text.span));
    }
}

fn at_character(at: Option<usize>) -> String {
    at.map(|at| format!(", at character {} of the expression", at + 1)).unwrap_or_default()
}

/// A rule of JSON Logic: its `var`s are JSONata, except within `map` and its kin, where they look into an item.
fn rule(node: &Node, index: usize, scene: &Scene<'_>, findings: &mut Findings) {
    let path = format!("conditions[{index}].rule");
    let read = match Rule::parse(&plain(node)) {
        Ok(read) => read,
        Err(fault) => {
            let message = format!("`{path}` cannot be read: {}", fault.kind);
            findings.tell(diagnostic::error("graph-rule", message), place_of(node, &fault.pointer()).span);
            return;
        }
    };
    for unknown in read.unknown() {
        let message =
            format!("`{path}` has the operation `{}`, which does not exist: it fails when it is reached", unknown.name);
        let help = did_you_mean(&unknown.name, wfhost_jsonlogic::OPERATIONS);
        let span = place_of(node, &unknown.pointer).span;
        findings.tell(diagnostic::warning("graph-operation", message).maybe_help(help), span);
    }
    for reference in read.references().into_iter().filter(|reference| !reference.scoped) {
        let own = place_of(node, &reference.pointer);
        let value = own.get("var").unwrap_or(own);
        let Some(text) = value.as_str() else {
            let message = format!("`{path}`: `var` must be a text of JSONata, and is {}", value.kind());
            let help = "a default is written in JSONata: `var: \"$.a.b ?? 0\"`";
            findings.tell(diagnostic::error("graph-var", message).help(help), value.span);
            continue;
        };
        let Err(fault) = Expression::parse(text) else { continue };
        let place = fault.at.and_then(|at| scene.lines.place(value.span, text, at)).unwrap_or(value.span);
        // The peer reads those without `$` when they run, and a document with one that never runs is served.
        let finding = if text.starts_with('$') {
            diagnostic::error("graph-expression", format!("`{path}`: `var` is no JSONata: {fault}"))
        } else {
            let message = format!("`{path}`: `var` is no JSONata and fails when it is reached: {fault}");
            diagnostic::warning("graph-expression", message)
        };
        findings.tell(finding, place);
    }
}

/// The node at a JSON pointer, or the last one on the way.
fn place_of<'a>(root: &'a Node, pointer: &str) -> &'a Node {
    let mut at = root;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let next = match &at.data {
            Data::List(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
            Data::Map(_) => at.get(&step),
            Data::Null
            | Data::Bool(_)
            | Data::Int(_)
            | Data::Float(_)
            | Data::Str(_)
            | Data::Date(_)
            | Data::Binary(_)
            | Data::Set(_) => None,
        };
        let Some(next) = next else { return at };
        at = next;
    }
    at
}

/// The names of all that a node leads to.
pub(super) fn ways(kind: &Kind) -> Vec<&Name> {
    match kind {
        Kind::Entry { next } | Kind::Transform { next, .. } => vec![next],
        Kind::Exit { next } => next.iter().collect(),
        Kind::Switch { conditions, next } => conditions.iter().map(|one| &one.next).chain(next).collect(),
        Kind::Call { next, policy, .. } | Kind::Foreach { next, policy, .. } => {
            std::iter::once(next).chain(&policy.on_error).collect()
        }
    }
}

fn graph(tool: &ToolDef, findings: &mut Findings) {
    let ends = |entry: bool| {
        let wanted = move |node: &&NodeDef| match node.kind {
            Kind::Entry { .. } => entry,
            Kind::Exit { .. } => !entry,
            Kind::Transform { .. } | Kind::Switch { .. } | Kind::Call { .. } | Kind::Foreach { .. } => false,
        };
        tool.nodes.iter().filter(wanted).collect::<Vec<_>>()
    };
    let (entries, exits) = (ends(true), ends(false));
    for (found, word) in [(&entries, "entry"), (&exits, "exit")] {
        count(tool, found, word, findings);
    }
    let mut last: BTreeMap<&str, &NodeDef> = BTreeMap::new();
    for node in &tool.nodes {
        if let Some(first) = last.insert(&node.id.text, node) {
            let message = format!(
                "the node `{}` is there already, in line {}; the last one counts",
                node.id.text, first.id.span.start.line
            );
            findings.subject = Some(node.id.text.clone());
            findings
                .tell(diagnostic::warning("graph-duplicate-node", message).help("rename one of them"), node.id.span);
            findings.subject = None;
        }
    }
    for node in &tool.nodes {
        findings.subject = Some(node.id.text.clone());
        for way in ways(&node.kind).into_iter().filter(|way| !last.contains_key(way.text.as_str())) {
            let message = format!("the tool `{}` has no node `{}`", tool.name.text, way.text);
            let help = did_you_mean(&way.text, last.keys().copied());
            findings.tell(diagnostic::error("graph-unknown-node", message).maybe_help(help), way.span);
        }
        findings.subject = None;
    }
    if let ([entry], [exit]) = (entries.as_slice(), exits.as_slice()) {
        reach(tool, (entry, exit), &last, findings);
    }
}

fn count(tool: &ToolDef, found: &[&NodeDef], word: &str, findings: &mut Findings) {
    match found {
        [] => {
            let message = format!("the tool `{}` has no {word} node", tool.name.text);
            let help = format!("add a node of type {word}");
            findings.tell(diagnostic::error("graph-ends", message).help(help), tool.name.span);
        }
        [_] => {}
        [_, second, ..] => {
            let ids: Vec<String> = found.iter().map(|node| format!("`{}`", node.id.text)).collect();
            let message = format!("the tool `{}` has several {word} nodes: {}", tool.name.text, ids.join(", "));
            findings.tell(diagnostic::error("graph-ends", message).help("leave one of them"), second.id.span);
        }
    }
}

fn reach(
    tool: &ToolDef,
    (entry, exit): (&NodeDef, &NodeDef),
    nodes: &BTreeMap<&str, &NodeDef>,
    findings: &mut Findings,
) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open = VecDeque::from([entry.id.text.as_str()]);
    while let Some(id) = open.pop_front() {
        if seen.insert(id)
            && let Some(node) = nodes.get(id)
        {
            open.extend(ways(&node.kind).into_iter().map(|way| way.text.as_str()));
        }
    }
    if !seen.contains(exit.id.text.as_str()) {
        let message = format!(
            "in the tool `{}` nothing leads from the entry `{}` to the exit `{}`",
            tool.name.text, entry.id.text, exit.id.text
        );
        findings.tell(diagnostic::error("graph-exit-unreachable", message), exit.id.span);
    }
    for node in tool.nodes.iter().filter(|node| !seen.contains(node.id.text.as_str())) {
        if node.id == exit.id {
            continue;
        }
        findings.subject = Some(node.id.text.clone());
        let message = format!("nothing leads to the node `{}`", node.id.text);
        findings.tell(diagnostic::warning("graph-unreachable", message), node.id.span);
        findings.subject = None;
    }
}

/// Servers and tools that are called.
fn targets(node: &NodeDef, (document, scene, tool): (&Document, &Scene<'_>, &ToolDef), findings: &mut Findings) {
    let (Kind::Call { target, .. } | Kind::Foreach { target, .. }) = &node.kind else { return };
    match target {
        Target::Upstream { server, tool: called } => {
            let own = document.servers.iter().map(|(name, _)| name.text.as_str());
            let known: Vec<&str> = own.chain(scene.servers.iter().map(String::as_str)).collect();
            if !known.contains(&server.text.as_str()) {
                let message = format!(
                    "the node `{}` of the tool `{}` calls the server `{}`, which is not declared",
                    node.id.text, tool.name.text, server.text
                );
                let help = did_you_mean(&server.text, known.iter().copied()).unwrap_or_else(|| {
                    "declare it under `mcpServers`, in a file `mcp.json` beside this document, or in the operator's `--mcp` file"
                        .to_owned()
                });
                findings.tell(diagnostic::error("graph-unknown-server", message).help(help), server.span);
            }
            if let Some(fault) = scene.offers.and_then(|offers| offers.fault(&server.text, &called.text)) {
                let message = format!("the server `{}` has no tool `{}`", server.text, called.text);
                findings.tell(diagnostic::error("graph-no-such-upstream-tool", message).help(fault.help), called.span);
            }
        }
        Target::Workflow { interpreter: None, workflow } => {
            let own: Vec<&str> = document.tools.iter().map(|tool| tool.name.text.as_str()).collect();
            if !own.contains(&workflow.text.as_str()) {
                let message = format!("the tool `{}` is not in this document", workflow.text);
                let help = did_you_mean(&workflow.text, own).unwrap_or_else(|| {
                    "if it is a tool of another graph that is served beside this one, all is well".to_owned()
                });
                findings.tell(diagnostic::warning("graph-unknown-tool", message).help(help), workflow.span);
            }
        }
        Target::Workflow { interpreter: Some(_), .. } => {}
    }
}
