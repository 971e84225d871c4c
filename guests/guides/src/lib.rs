//! Interpreter for guidepost support flows.
//!
//! A flow is a list of nodes of four kinds. An **ask** is one question: the agent maps what the caller said to one of its
//! labels, each of which leads to a node. A **tell** is one piece of guidance. A **collect** gathers several independent items,
//! its slots, in any order. An **end** closes the run with an outcome.
//!
//! Answers accumulate: whatever is known may be sent as `values` at any time, and the run goes on by itself through all that
//! is known, so nothing is asked twice. "I don't know" leads somewhere: by the question's own way `__unknown__`, else by
//! telling the endings of every branch (`broaden`), else to a person (`escalate`). Where no label fits often enough, the same
//! happens.
//!
//! - `document`: text to definition and findings; `code`: the definition's bytes, read in place
//! - `engine`: one turn of a run; `facts`: what comes in values; `walk`: passing what is known; `fold`: telling every branch
//! - `state`: what a turn needs of the one before; `reply`, `words`, `trace`: what the agent reads
//! - `tools`: the tools and the meaning of their calls; `args`: their arguments

mod args;
mod code;
mod document;
mod engine;
mod facts;
mod fold;
mod reply;
mod state;
mod tools;
mod trace;
mod walk;
mod words;

use wfhost_guest::model::{
    Action, Bundle, Call, Compiled, Document, Event, Journal, Memory, Output, Refusal, Run, Session, Tool, Turn,
    Workflow,
};
use wfhost_guest::{At, Dialect};

/// The dialect of guidepost.
#[derive(Clone, Copy, Debug)]
pub struct Guides;

impl Dialect for Guides {
    fn recognise(document: &Document) -> Option<Vec<String>> {
        document::is_flow(&document.bytes).then(Vec::new)
    }

    fn compile(bundle: &Bundle) -> Compiled {
        document::compile(&bundle.main)
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
        trace::trace(at, journal)
    }
}

wfhost_guest::export!(
    Guides,
    include_str!("../about.json"),
    include_str!("../schema.json"),
    include_str!("../SKILL.md")
);

#[cfg(test)]
mod tests;
