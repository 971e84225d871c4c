//! A tool as a drawing.

use std::collections::BTreeSet;

use wfhost_guest::json;
use wfhost_guest::model::{Edge, Graph, Node, Shape};

use super::model::{Kind, NodeDef, Policy, Target, ToolDef};
use super::plain::plain;

/// LIMIT: characters of an expression in a box.
const TEXT_MAX: usize = 60;

/// The drawing. Of nodes with one id the last is drawn, as it is the one that runs.
pub(super) fn graph(tool: &ToolDef) -> Graph {
    let mut seen = BTreeSet::new();
    let mut nodes: Vec<&NodeDef> = tool.nodes.iter().rev().filter(|node| seen.insert(node.id.text.as_str())).collect();
    nodes.reverse();
    let entry = nodes.iter().find(|node| matches!(node.kind, Kind::Entry { .. }));
    Graph {
        entry: entry.map(|node| node.id.text.clone()).unwrap_or_default(),
        nodes: nodes.iter().map(|node| drawn(node)).collect(),
        edges: nodes.iter().flat_map(|node| edges(node)).collect(),
    }
}

fn drawn(node: &NodeDef) -> Node {
    let (second, shape) = match &node.kind {
        Kind::Entry { .. } => ("entry".to_owned(), Shape::Terminal),
        Kind::Exit { .. } => ("exit".to_owned(), Shape::Terminal),
        Kind::Transform { expr, .. } => (short(&expr.text), Shape::Action),
        Kind::Switch { .. } => ("switch".to_owned(), Shape::Branch),
        Kind::Call { target, .. } => (called(target), Shape::Action),
        Kind::Foreach { target, items, .. } => {
            (format!("{} for each of {}", called(target), short(&items.text)), Shape::Fork)
        }
    };
    Node { id: node.id.text.clone(), label: format!("{}\n{second}", node.id.text), shape }
}

fn called(target: &Target) -> String {
    match target {
        Target::Upstream { server, tool } => format!("{}: {}", server.text, tool.text),
        Target::Workflow { interpreter: None, workflow } => format!("tool {}", workflow.text),
        Target::Workflow { interpreter: Some(interpreter), workflow } => {
            format!("{} {}", interpreter.text, workflow.text)
        }
    }
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TEXT_MAX {
        return line;
    }
    line.chars().take(TEXT_MAX).chain("..".chars()).collect()
}

fn edges(node: &NodeDef) -> Vec<Edge> {
    let edge = |target: &str, label: &str| Edge {
        source: node.id.text.clone(),
        target: target.to_owned(),
        label: label.to_owned(),
    };
    let with_error = |next: &str, policy: &Policy| {
        let failed = policy.on_error.iter().map(|to| edge(&to.text, "on error"));
        std::iter::once(edge(next, "")).chain(failed).collect()
    };
    match &node.kind {
        Kind::Exit { .. } => Vec::new(),
        Kind::Entry { next } | Kind::Transform { next, .. } => vec![edge(&next.text, "")],
        Kind::Call { next, policy, .. } | Kind::Foreach { next, policy, .. } => with_error(&next.text, policy),
        Kind::Switch { conditions, next } => {
            let label = |rule: &wfhost_guest::yaml::Node| short(&json::text(&plain(rule)));
            let ways =
                conditions.iter().map(|one| edge(&one.next.text, &one.rule.as_ref().map(label).unwrap_or_default()));
            ways.chain(next.iter().map(|next| edge(&next.text, "else"))).collect()
        }
    }
}
