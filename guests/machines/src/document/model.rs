//! A document's machines as they were read: names with their places, and what is evaluated later as it was written.

use wfhost_guest::model::Span;
use wfhost_guest::value::{Map, Value};

/// A name and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// All that a document says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    /// Machines, those that are served and those that only run inside another.
    pub(crate) machines: Vec<Machine>,
    /// Which of them are served, by number.
    pub(crate) served: Vec<usize>,
    /// The file in which they stand, if it is not the document itself.
    pub(crate) file: Option<String>,
    /// What the document says to clients.
    pub(crate) server: Server,
    /// Texts in which a model speaks.
    pub(crate) personas: Vec<Persona>,
}

/// How a document is served.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    pub(crate) name: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) plain_instructions: bool,
    pub(crate) timeout: Option<u32>,
    pub(crate) shared: bool,
    pub(crate) idle_seconds: Option<u32>,
    pub(crate) limit: Option<u32>,
    /// Hints of the author's own: `[{on, when, say}]`.
    pub(crate) hints: Vec<Value>,
    /// Their expressions and values, for the checks.
    pub(crate) texts: Vec<Text>,
    /// Tools of other servers, by action.
    pub(crate) external_tools: Map,
    pub(crate) default_persona: Option<String>,
    /// Upstream servers, by name, in the form of `mcpServers`.
    pub(crate) upstream: Map,
}

/// A persona.
#[derive(Clone, Debug)]
pub(crate) struct Persona {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) voice: String,
    pub(crate) metadata: Value,
    pub(crate) body: String,
}

/// A machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) name: Name,
    pub(crate) description: String,
    pub(crate) version: Option<String>,
    pub(crate) entry: Name,
    pub(crate) state: Map,
    pub(crate) schema: Option<Value>,
    pub(crate) tables: Map,
    pub(crate) actions: Vec<Action>,
    pub(crate) edges: Vec<Edge>,
    /// Whether a label may stand for the action that it leads to, as in a diagram.
    pub(crate) labels_choose: bool,
}

/// An action.
#[derive(Clone, Debug)]
pub(crate) struct Action {
    pub(crate) name: Name,
    pub(crate) description: String,
    pub(crate) tags: Vec<String>,
    /// Inputs by name, each a JSON Schema.
    pub(crate) inputs: Map,
    pub(crate) reads: Vec<String>,
    pub(crate) writes: Vec<String>,
    pub(crate) timeout: Option<u32>,
    /// What it does, in the form that `engine` runs: see `body`.
    pub(crate) body: Map,
    /// The lines of the document.
    pub(crate) source: String,
    /// Expressions and values in their places, for the checks.
    pub(crate) texts: Vec<Text>,
}

/// A transition from one action to another.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) from: Name,
    pub(crate) to: Name,
    /// None: always.
    pub(crate) when: Option<Text>,
    pub(crate) label: Option<String>,
    /// Where the transition stands.
    pub(crate) span: Span,
}

/// What kind of text it is, which decides how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A bare expression that decides: a guard.
    Guard,
    /// A bare expression inside an action.
    Expression,
    /// A text with or without placeholders.
    Value,
}

/// A text that is evaluated, where it stands, and what it may name beyond state and tables.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) source: String,
    pub(crate) span: Span,
    pub(crate) kind: Use,
    /// Names that exist here: locals that stand before it.
    pub(crate) locals: Vec<String>,
    /// Whether inputs may be named.
    pub(crate) inputs: bool,
    /// Whether `reads` limits what it may name.
    pub(crate) reads: bool,
    /// The file that it stands in, if it is not that of its machine.
    pub(crate) file: Option<String>,
}

impl Text {
    /// A guard that nobody wrote as one.
    pub(crate) fn guard(source: String, span: Span) -> Self {
        Self { source, span, kind: Use::Guard, locals: Vec::new(), inputs: false, reads: false, file: None }
    }
}
