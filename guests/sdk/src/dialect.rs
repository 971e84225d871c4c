//! What a dialect implements: the contract's functions with borrowed arguments, so that the same code runs as a component
//! and under the native host of the tests.

use crate::model::{
    Action, Bundle, Call, Compiled, Diagnostic, Document, Event, Journal, Memory, Output, Refusal, Run, Session, Tool,
    Turn, Workflow,
};

/// A document language and its rules. Every function is pure; the type itself holds nothing.
pub trait Dialect {
    /// None: not a document of this dialect. Else the globs of its companions.
    fn recognise(document: &Document) -> Option<Vec<String>>;
    /// Definitions and findings of one document. Never fails: a bad document is a matter for diagnostics.
    fn compile(bundle: &Bundle) -> Compiled;
    /// The tools to publish for these workflows.
    fn tools(workflows: &[Workflow]) -> Vec<Tool>;
    /// What a tool call means. `workflows` are the ids that the caller may see.
    fn route(call: &Call, workflows: &[String]) -> Result<Action, Refusal>;
    /// The reply to a call that concerns no session.
    fn catalogue(call: &Call, workflows: &[Workflow], runs: &[Run]) -> Output;
    /// Begins a session.
    fn start(code: &[u8], session: &Session, event: Event) -> Result<Turn, Refusal>;
    /// Moves a session, also one that has ended.
    fn answer(at: At<'_>, memory: &Memory, event: Event) -> Result<Turn, Refusal>;
    /// Where a session stands.
    fn status(at: At<'_>) -> Output;
    /// What happened, in the dialect's own shape.
    fn trace(at: At<'_>, journal: &Journal) -> Output;

    /// The value of an expression. A dialect without languages is never asked.
    fn evaluate(language: &str, _expression: &str, _context: &str) -> Result<String, Diagnostic> {
        Err(crate::diagnostic::error("no-such-language", format!("this interpreter evaluates no `{language}`")).done())
    }
    /// The text of a view. A dialect whose definitions list none is never asked.
    fn render(_at: At<'_>, _journal: &Journal, view: &str, _args: &str) -> Result<String, Refusal> {
        Err(crate::reply::refusal("no-such-view", &format!("there is no view `{view}`")))
    }
}

/// A session as a call finds it: its definition, what the host knows of it, and its state.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The compiled definition.
    pub code: &'a [u8],
    /// The host's facts about the session.
    pub session: &'a Session,
    /// The state that the last turn left.
    pub state: &'a str,
}
