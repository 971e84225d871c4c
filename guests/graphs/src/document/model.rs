//! A document as it was read: what its fields say, with the places that findings point at.

use wfhost_guest::model::Span;
use wfhost_guest::value::Value;
use wfhost_guest::yaml::Node;

/// A document that could be read.
#[derive(Debug)]
pub(crate) struct Document {
    /// The name of its server.
    pub(crate) server: String,
    /// That name as people read it.
    pub(crate) title: String,
    /// The version of its server.
    pub(crate) version: String,
    /// What it tells models beforehand.
    pub(crate) instructions: Option<String>,
    /// Upstream servers, as they are declared.
    pub(crate) servers: Vec<(Name, Value)>,
    /// What bounds each call.
    pub(crate) limits: Limits,
    /// Its tools.
    pub(crate) tools: Vec<ToolDef>,
}

/// A text and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// What bounds a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Node runs.
    pub(crate) runs: u32,
    /// Milliseconds.
    pub(crate) time_ms: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { runs: 1000, time_ms: 300_000 }
    }
}

/// A tool.
#[derive(Debug)]
pub(crate) struct ToolDef {
    pub(crate) name: Name,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) input: Value,
    pub(crate) output: Value,
    pub(crate) hints: Hints,
    pub(crate) nodes: Vec<NodeDef>,
}

/// What a tool says of itself, in MCP's words. None: nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hints {
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) open_world: Option<bool>,
}

/// A node.
#[derive(Debug)]
pub(crate) struct NodeDef {
    pub(crate) id: Name,
    pub(crate) kind: Kind,
}

/// What a node does.
#[derive(Debug)]
pub(crate) enum Kind {
    Entry { next: Name },
    Exit { next: Option<Name> },
    Transform { expr: Text, next: Name },
    Switch { conditions: Vec<Condition>, next: Option<Name> },
    Call { target: Target, args: Args, policy: Policy, next: Name },
    Foreach { items: Text, target: Target, args: Args, policy: Policy, fan: Fan, next: Name },
}

/// An expression, and the scalar that it stands in.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A way out of a switch.
#[derive(Debug)]
pub(crate) struct Condition {
    /// None: there is no rule, or it is null.
    pub(crate) rule: Option<Node>,
    pub(crate) next: Name,
}

/// Who is called.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// A tool of an upstream server.
    Upstream { server: Name, tool: Name },
    /// A workflow of this host, in the dialect of that interpreter; none: a tool of a graph.
    Workflow { interpreter: Option<Name>, workflow: Name },
}

/// Arguments with expressions in them.
#[derive(Clone, Debug)]
pub(crate) enum Args {
    Expr(Text),
    /// `{expr: 5}`: passes the load and fails when it runs.
    BadExpr(&'static str),
    List(Vec<Args>),
    Map(Vec<(String, Args)>),
    Plain(Value, Span),
}

/// What happens when a call fails.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    pub(crate) on_error: Option<Name>,
    pub(crate) retry: Option<Retry>,
    /// Milliseconds that one try may take.
    pub(crate) timeout_ms: Option<u32>,
}

/// How often and how soon a call is made again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Retry {
    /// Tries in all.
    pub(crate) attempts: u32,
    /// Milliseconds before the second one.
    pub(crate) delay_ms: u32,
    /// By how much the pause grows each time, in hundredths.
    pub(crate) backoff_percent: u32,
}

/// How a `foreach` goes about its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fan {
    /// Calls at once.
    pub(crate) parallel: u32,
    /// An item that fails has `{error: ..}` for its output, and the node goes on.
    pub(crate) keep_errors: bool,
}
