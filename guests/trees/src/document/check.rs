//! The tree as a graph: what must hold for it to be walked at all.

use std::collections::{BTreeMap, BTreeSet};

use wfhost_guest::diagnostic::{self, Finding};
use wfhost_guest::model::Diagnostic;
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::template;
use wfhost_guest::value::Value;

use super::model::{Kind, Name, Tree, TreeNode};

/// Tells of references that lead nowhere, of nodes that nothing leads to, and of what is missing.
pub(super) fn check(tree: &Tree, findings: &mut Vec<Diagnostic>) {
    let index = Index::of(tree);
    let ids = || tree.ids.iter().map(String::as_str);
    if !tree.ids.contains(&tree.entry.text) {
        let message = format!("`entry` names '{}', which is no node", tree.entry.text);
        let cure = did_you_mean(&tree.entry.text, ids());
        findings.push(diagnostic::error("tree-entry", message).at(tree.entry.span).maybe_help(cure).done());
    }
    for node in &tree.nodes {
        let unknown = node.kind.targets().into_iter().filter(|name| !tree.ids.contains(&name.text));
        for name in unknown {
            let message = format!("there is no node '{}'", name.text);
            tell(
                node,
                name,
                diagnostic::error("tree-unknown-node", message).maybe_help(did_you_mean(&name.text, ids())),
                findings,
            );
        }
        incomplete(node, findings);
    }
    if tree.whole && !tree.nodes.iter().any(|node| matches!(node.kind, Kind::Terminal { .. })) {
        findings.push(
            diagnostic::error("tree-no-terminal", "the tree has no terminal node, so it cannot end")
                .at(tree.entry.span)
                .done(),
        );
    }
    if tree.v2 {
        placeholders(tree, findings);
    }
    if tree.whole {
        unreachable(tree, &index, findings);
    }
}

/// What a node lacks, or has too much of, as a part of the graph.
fn incomplete(node: &TreeNode, findings: &mut Vec<Diagnostic>) {
    match &node.kind {
        Kind::Condition { default: None, .. } => {
            let finding =
                diagnostic::error("tree-no-default", "a condition needs a `default` for when no branch holds");
            tell(node, &node.id, finding, findings);
        }
        Kind::Ask { free: true, capture, next, .. } if capture.is_empty() || next.is_none() => {
            let message = "an ask node needs 'options', or 'capture' plus 'next' for a free answer";
            tell(node, &node.id, diagnostic::error("tree-ask-incomplete", message), findings);
        }
        Kind::Ask { free: false, next: Some(next), .. } => {
            let message = "an ask node with 'options' must not have 'next' as well, which would never be followed";
            tell(node, next, diagnostic::error("tree-ask-next", message).help("remove `next`"), findings);
        }
        Kind::Condition { .. }
        | Kind::Ask { .. }
        | Kind::Judgment { .. }
        | Kind::Action { .. }
        | Kind::Terminal { .. } => {}
    }
}

fn tell(node: &TreeNode, at: &Name, finding: Finding, findings: &mut Vec<Diagnostic>) {
    findings.push(finding.about(&node.id.text).at(at.span).done());
}

/// Numbers of nodes by their ids.
pub(super) struct Index<'a>(BTreeMap<&'a str, usize>);

impl<'a> Index<'a> {
    pub(super) fn of(tree: &'a Tree) -> Self {
        Self(tree.nodes.iter().enumerate().map(|(number, node)| (node.id.text.as_str(), number)).collect())
    }

    fn number(&self, id: &str) -> Option<usize> {
        self.0.get(id).copied()
    }

    /// The numbers of the nodes that each node leads to.
    pub(super) fn edges(&self, tree: &Tree) -> Vec<Vec<usize>> {
        let targets =
            |node: &TreeNode| node.kind.targets().into_iter().filter_map(|name| self.number(&name.text)).collect();
        tree.nodes.iter().map(targets).collect()
    }

    /// Which nodes the entry leads to.
    pub(super) fn reached(&self, tree: &Tree, edges: &[Vec<usize>]) -> Vec<bool> {
        walk(self.number(&tree.entry.text), edges)
    }
}

/// Which nodes can be walked to from some.
pub(super) fn walk(from: impl IntoIterator<Item = usize>, edges: &[Vec<usize>]) -> Vec<bool> {
    let mut seen = vec![false; edges.len()];
    let mut open: Vec<usize> = from.into_iter().collect();
    while let Some(number) = open.pop() {
        let Some(mark) = seen.get_mut(number).filter(|mark| !**mark) else { continue };
        *mark = true;
        open.extend(edges.get(number).into_iter().flatten());
    }
    seen
}

fn unreachable(tree: &Tree, index: &Index<'_>, findings: &mut Vec<Diagnostic>) {
    if index.number(&tree.entry.text).is_none() {
        return;
    }
    let edges = index.edges(tree);
    let reached = index.reached(tree, &edges);
    for (node, _) in tree.nodes.iter().zip(reached).filter(|(_, reached)| !reached) {
        let finding =
            diagnostic::error("tree-unreachable", "nothing leads from the entry to this node, it is unreachable");
        tell(node, &node.id, finding.help("lead an option, a branch or `next` to it, or remove it"), findings);
    }
}

/// Placeholders whose first word is captured nowhere.
fn placeholders(tree: &Tree, findings: &mut Vec<Diagnostic>) {
    let captures: BTreeSet<&str> =
        tree.nodes.iter().map(|node| node.kind.capture()).filter(|name| !name.is_empty()).collect();
    let mut told = |node: &TreeNode, text: &str, at: &Name| {
        for found in template::placeholders(text) {
            let root = found.path.split('.').next().unwrap_or_default();
            if captures.contains(root) {
                continue;
            }
            let written = text.get(found.start..found.start + found.len).unwrap_or_default();
            let message = format!("the placeholder '{written}' names '{root}', which no node captures");
            tell(
                node,
                at,
                diagnostic::error("tree-placeholder", message).maybe_help(did_you_mean(root, captures.iter().copied())),
                findings,
            );
        }
    };
    for node in &tree.nodes {
        match &node.kind {
            Kind::Ask { prompt, .. } | Kind::Judgment { prompt, .. } => told(node, &prompt.text, prompt),
            Kind::Terminal { summary, .. } => told(node, &summary.text, summary),
            Kind::Action { args, .. } => texts(args, &mut |text| told(node, text, &node.id)),
            Kind::Condition { .. } => {}
        }
    }
}

fn texts(value: &Value, told: &mut dyn FnMut(&str)) {
    match value {
        Value::Str(text) => told(text),
        Value::List(items) => items.iter().for_each(|item| texts(item, told)),
        Value::Map(map) => map.iter().for_each(|(_, item)| texts(item, told)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
    }
}
