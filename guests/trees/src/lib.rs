//! Interpreter for mcptree decision trees, versions 0.1 and 0.2.
//!
//! A document is a tree of five kinds of nodes. A **condition** compares a captured fact and goes on by itself. An **ask**
//! wants an answer, from the person at the client or else from the agent; a **judgment** wants the agent to weigh evidence
//! and choose; an **action** wants a tool of the agent called and its result reported; a **terminal** ends the session with
//! an outcome. What is answered can be captured as a fact, read by later conditions and, in 0.2, filled into prompts and
//! arguments as `{{ fact.path }}`.
//!
//! The agent sees one envelope at a time and answers it by its step number, so it can neither skip nor repeat a step. An
//! answer that does not fit is refused in the envelope's `error` and changes nothing. A run of conditions stops after
//! `max_steps` trace entries.
//!
//! - `document`: text to definition and findings; `code`: the definition's bytes, read in place
//! - `engine`: one step of a session; `state`: what a step needs of the one before; `reply`: envelope and trace
//! - `tools`: the tools and the meaning of their calls; `args`: their arguments
//!
//! One field is ours: `human_only: true` on an ask node. Its answer is refused when it comes from the agent.

mod args;
mod code;
mod document;
mod engine;
mod predicate;
mod reply;
mod state;
mod tools;

use wfhost_guest::model::{
    Action, Bundle, Call, Compiled, Document, Event, Journal, Memory, Output, Refusal, Run, Session, Tool, Turn,
    Workflow,
};
use wfhost_guest::{At, Dialect};

/// The dialect of mcptree.
#[derive(Clone, Copy, Debug)]
pub struct Trees;

impl Dialect for Trees {
    fn recognise(document: &Document) -> Option<Vec<String>> {
        document::is_tree(&document.bytes).then(Vec::new)
    }

    fn compile(bundle: &Bundle) -> Compiled {
        document::compile(&bundle.main.bytes)
    }

    fn tools(_workflows: &[Workflow]) -> Vec<Tool> {
        tools::all()
    }

    fn route(call: &Call, workflows: &[String]) -> Result<Action, Refusal> {
        tools::route(call, workflows)
    }

    fn catalogue(call: &Call, workflows: &[Workflow], runs: &[Run]) -> Output {
        tools::catalogue(call, workflows, runs)
    }

    fn start(code: &[u8], session: &Session, event: Event) -> Result<Turn, Refusal> {
        engine::start(code, session, &event)
    }

    fn answer(at: At<'_>, _memory: &Memory, event: Event) -> Result<Turn, Refusal> {
        engine::answer(at, &event)
    }

    fn status(at: At<'_>) -> Output {
        reply::status(at)
    }

    fn trace(at: At<'_>, journal: &Journal) -> Output {
        reply::trace(at, journal)
    }
}

wfhost_guest::export!(
    Trees,
    include_str!("../about.json"),
    include_str!("../schema.json"),
    include_str!("../SKILL.md")
);

#[cfg(test)]
mod tests;
