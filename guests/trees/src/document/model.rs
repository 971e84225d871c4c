//! A tree as its document says it, with the positions that findings need.

use std::collections::BTreeSet;

use wfhost_guest::model::Span;
use wfhost_guest::value::Value;

/// A document's tree.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) entry: Name,
    pub(crate) max_steps: u32,
    /// Whether it is of version 0.2.
    pub(crate) v2: bool,
    pub(crate) nodes: Vec<TreeNode>,
    /// All ids, also those of nodes that could not be read.
    pub(crate) ids: BTreeSet<String>,
    /// Whether every node could be read.
    pub(crate) whole: bool,
    /// SHA-256 of the document as sorted JSON.
    pub(crate) hash: String,
}

/// A text and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A node of the tree.
#[derive(Debug)]
pub(crate) struct TreeNode {
    pub(crate) id: Name,
    pub(crate) kind: Kind,
}

/// What a node does. A target that could not be read is none; an absent capture is empty.
#[derive(Debug)]
pub(crate) enum Kind {
    Condition {
        on: Name,
        branches: Vec<Branch>,
        default: Option<Name>,
    },
    /// `free`: without options, so that `next` is followed.
    Ask {
        prompt: Name,
        free: bool,
        options: Vec<Choice>,
        capture: String,
        next: Option<Name>,
        human_only: bool,
    },
    Judgment {
        prompt: Name,
        evidence: Vec<Name>,
        options: Vec<Choice>,
        capture: String,
        require_rationale: bool,
    },
    Action {
        tool: Name,
        args: Value,
        schema: Option<Value>,
        capture: String,
        next: Option<Name>,
        on_error: Option<Name>,
    },
    Terminal {
        outcome: Name,
        summary: Name,
    },
}

/// A branch of a condition.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) when: Value,
    pub(crate) then: Option<Name>,
}

/// An option of a question.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) id: Name,
    pub(crate) then: Option<Name>,
}

impl Kind {
    /// The nodes it can lead to, in the order of the document's fields.
    pub(crate) fn targets(&self) -> Vec<&Name> {
        match self {
            Self::Condition { branches, default, .. } => {
                branches.iter().filter_map(|branch| branch.then.as_ref()).chain(default).collect()
            }
            Self::Ask { free: true, next, .. } => next.iter().collect(),
            Self::Ask { options, .. } | Self::Judgment { options, .. } => {
                options.iter().filter_map(|option| option.then.as_ref()).collect()
            }
            Self::Action { next, on_error, .. } => next.iter().chain(on_error).collect(),
            Self::Terminal { .. } => Vec::new(),
        }
    }

    /// The fact it captures; empty if none.
    pub(crate) fn capture(&self) -> &str {
        match self {
            Self::Ask { capture, .. } | Self::Judgment { capture, .. } | Self::Action { capture, .. } => capture,
            Self::Condition { .. } | Self::Terminal { .. } => "",
        }
    }
}
