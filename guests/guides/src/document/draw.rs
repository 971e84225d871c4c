//! The drawing of a flow: nodes in the order of the document, edges in the order of their fields. Escapes are edges by their
//! names; a node that escalates says so; a required slot has a star.

use wfhost_guest::model::{Edge, Graph, Node, Shape};

use super::model::{Flow, FlowNode, Kind, Name, OTHER, UNKNOWN};

/// The drawing.
pub(super) fn graph(flow: &Flow) -> Graph {
    Graph {
        entry: flow.entry.text.clone(),
        nodes: flow.nodes.iter().map(|node| drawn(node, flow.escalate)).collect(),
        edges: flow.nodes.iter().flat_map(edges).collect(),
    }
}

fn drawn(node: &FlowNode, escalate: bool) -> Node {
    let policy = if node.escalate.unwrap_or(escalate) { ", unknown: escalate" } else { "" };
    let (second, shape) = match &node.kind {
        Kind::Ask { .. } => (format!("ask{policy}"), Shape::Question),
        Kind::Tell { .. } => ("tell".to_owned(), Shape::Action),
        Kind::Collect { slots, .. } => {
            let star = |required: bool| if required { "*" } else { "" };
            let slots: Vec<String> =
                slots.iter().map(|slot| format!("{}{}", slot.name.text, star(slot.required))).collect();
            (format!("collect {}{policy}", slots.join(", ")), Shape::Question)
        }
        Kind::End { outcome } => (format!("end: {outcome}"), Shape::Terminal),
    };
    Node { id: node.id.text.clone(), label: format!("{}\n{second}", node.id.text), shape }
}

fn edges(node: &FlowNode) -> Vec<Edge> {
    let edge = |label: &str, target: &Option<Name>| {
        let target = target.as_ref()?.text.clone();
        Some(Edge { source: node.id.text.clone(), target, label: label.to_owned() })
    };
    match &node.kind {
        Kind::Ask { labels, other, unknown } => {
            let labels = labels.iter().filter_map(|one| edge(&one.label.text, &one.then));
            labels.chain(edge(OTHER, other)).chain(edge(UNKNOWN, unknown)).collect()
        }
        Kind::Tell { next } | Kind::Collect { next, .. } => edge("", next).into_iter().collect(),
        Kind::End { .. } => Vec::new(),
    }
}
