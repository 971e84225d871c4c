//! A flow as its document says it, with places for findings. What follows from it is for the others.

use std::collections::BTreeSet;

use wfhost_guest::model::Span;

/// A word of the document and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A flow.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) id: Name,
    pub(crate) title: String,
    pub(crate) version: Option<String>,
    pub(crate) entry: Name,
    pub(crate) limits: Limits,
    /// What nodes that say nothing of their own do when something is not known.
    pub(crate) escalate: bool,
    pub(crate) on_stuck: String,
    pub(crate) nodes: Vec<FlowNode>,
    /// Ids that the document gives to nodes, also to those that could not be read.
    pub(crate) ids: BTreeSet<String>,
}

/// The three numbers of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The miss that drops an ask to its way for what is not known.
    pub(crate) max_unmatched: u32,
    /// The most branches of an ask that is folded.
    pub(crate) max_branch_fanout: u32,
    /// How many questions deep a fold looks for endings.
    pub(crate) branch_depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_unmatched: 3, max_branch_fanout: 3, branch_depth: 2 }
    }
}

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct FlowNode {
    pub(crate) id: Name,
    pub(crate) say: String,
    /// The node's own `on_unknown`.
    pub(crate) escalate: Option<bool>,
    pub(crate) kind: Kind,
}

/// What a node is. A way that could not be read is none; an error has told so.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Ask { labels: Vec<Label>, other: Option<Name>, unknown: Option<Name> },
    Tell { next: Option<Name> },
    Collect { slots: Vec<Slot>, next: Option<Name> },
    End { outcome: String },
}

/// An answer that an ask accepts.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) label: Name,
    /// When the agent is to choose it.
    pub(crate) when: String,
    pub(crate) then: Option<Name>,
}

/// An item of a collect.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) name: Name,
    pub(crate) ask: String,
    pub(crate) required: bool,
}

/// Where an answer goes that no label fits.
pub(crate) const OTHER: &str = "__other__";
/// What is said when the answer is not known, and where that goes.
pub(crate) const UNKNOWN: &str = "__unknown__";

impl FlowNode {
    /// Every node that this one leads to, in the order of its fields, escapes last.
    pub(crate) fn targets(&self) -> Vec<&Name> {
        match &self.kind {
            Kind::Ask { labels, other, unknown } => {
                labels.iter().filter_map(|label| label.then.as_ref()).chain(other).chain(unknown).collect()
            }
            Kind::Tell { next } | Kind::Collect { next, .. } => next.iter().collect(),
            Kind::End { .. } => Vec::new(),
        }
    }
}
