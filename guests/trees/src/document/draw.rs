//! The drawing of a tree: nodes in the order of the document, edges in the order of their fields, with the peer's labels.

use wfhost_guest::model::{Edge, Graph, Node, Shape};

use super::model::{Kind, Name, Tree, TreeNode};
use crate::predicate;

/// The drawing.
pub(super) fn graph(tree: &Tree) -> Graph {
    Graph {
        entry: tree.entry.text.clone(),
        nodes: tree.nodes.iter().map(node).collect(),
        edges: tree.nodes.iter().flat_map(edges).collect(),
    }
}

fn node(node: &TreeNode) -> Node {
    let (second, shape) = match &node.kind {
        Kind::Condition { on, .. } => (format!("on {}", on.text), Shape::Branch),
        Kind::Ask { .. } => ("ask".to_owned(), Shape::Question),
        Kind::Judgment { .. } => ("judgment".to_owned(), Shape::Judgment),
        Kind::Action { tool, .. } => (format!("action: {}", tool.text), Shape::Action),
        Kind::Terminal { outcome, .. } => (outcome.text.clone(), Shape::Terminal),
    };
    Node { id: node.id.text.clone(), label: format!("{}\n{second}", node.id.text), shape }
}

fn edges(node: &TreeNode) -> Vec<Edge> {
    let edge = |label: String, target: &Name| Edge { source: node.id.text.clone(), target: target.text.clone(), label };
    let plain = |label: &str, target: &Option<Name>| target.as_ref().map(|target| edge(label.to_owned(), target));
    match &node.kind {
        Kind::Condition { branches, default, .. } => {
            let branches =
                branches.iter().filter_map(|branch| Some(edge(predicate::label(&branch.when), branch.then.as_ref()?)));
            branches.chain(plain("default", default)).collect()
        }
        Kind::Ask { free: true, next, .. } => plain("", next).into_iter().collect(),
        Kind::Ask { options, .. } | Kind::Judgment { options, .. } => {
            options.iter().filter_map(|option| Some(edge(option.id.text.clone(), option.then.as_ref()?))).collect()
        }
        Kind::Action { next, on_error, .. } => plain("", next).into_iter().chain(plain("on_error", on_error)).collect(),
        Kind::Terminal { .. } => Vec::new(),
    }
}
