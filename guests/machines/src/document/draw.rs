//! The drawing of a machine: actions in the order of the document, transitions with their label or guard.

use wfhost_guest::model::{Edge, Graph, Node, Shape};

use super::check::effects;
use super::model::Action;
use super::numbered::Numbered;

/// The drawing.
pub(super) fn graph(numbered: &Numbered<'_>) -> Graph {
    let machine = numbered.machine;
    let node = |(number, action): (usize, &Action)| Node {
        id: action.name.text.clone(),
        label: action.name.text.clone(),
        shape: shape(action, numbered.leaving(number).next().is_none()),
    };
    let edge = |edge: &super::model::Edge| Edge {
        source: edge.from.text.clone(),
        target: edge.to.text.clone(),
        label: label(edge).unwrap_or_default().to_owned(),
    };
    Graph {
        entry: machine.entry.text.clone(),
        nodes: machine.actions.iter().enumerate().map(node).collect(),
        edges: machine.edges.iter().map(edge).collect(),
    }
}

fn shape(action: &Action, last: bool) -> Shape {
    let asks = effects(&action.body).any(|effect| effect.get("kind").and_then(|kind| kind.as_str()) == Some("ask"));
    if last {
        Shape::Terminal
    } else if asks {
        Shape::Question
    } else {
        Shape::Action
    }
}

/// What stands on the arrow.
pub(crate) fn label(edge: &super::model::Edge) -> Option<&str> {
    edge.label.as_deref().or_else(|| edge.when.as_ref().map(|when| when.source.as_str()))
}
