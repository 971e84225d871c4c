//! Interpreter for state machines as documents.
//!
//! A machine is a set of **actions** and the **transitions** between them. There are no states beside: where a machine stands
//! is which action ran last. The agent names the next action (`step`); it runs if a transition leads there whose guard holds
//! on the machine's data, else it is refused with what may be done instead. An action takes inputs that its schemas check,
//! may ask people, models, tools of other servers and other machines, and then sets the data, all of it or nothing.
//!
//! - `document`: machine.yaml to definition and findings; `mermaid`: a state diagram to the same
//! - `code`: the definition's bytes, read in place; `expr`: MiniJinja, set up for documents
//! - `engine`: one turn; `reply`, `hints`, `listing`, `history`, `drawing`, `persona`: what the agent reads
//! - `tools`: the tools and the meaning of their calls; `args`: their arguments; `views`: resources and prompts

mod args;
mod code;
mod document;
mod drawing;
mod engine;
mod expr;
mod hints;
mod history;
mod listing;
mod mermaid;
mod persona;
mod reply;
mod tools;
mod views;

use wfhost_guest::model::{
    Action, Bundle, Call, Compiled, Diagnostic, Document, Event, Journal, Memory, Output, Refusal, Run, Session, Tool,
    Turn, Workflow,
};
use wfhost_guest::{At, Dialect};

/// The dialect of machine.yaml and of Mermaid's state diagrams.
#[derive(Clone, Copy, Debug)]
pub struct Machines;

impl Dialect for Machines {
    fn recognise(document: &Document) -> Option<Vec<String>> {
        document::recognise(document)
    }

    fn compile(bundle: &Bundle) -> Compiled {
        document::compile(bundle)
    }

    fn tools(workflows: &[Workflow]) -> Vec<Tool> {
        tools::all(workflows)
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
        engine::status(at)
    }

    fn trace(at: At<'_>, journal: &Journal) -> Output {
        wfhost_guest::reply::output(&history::trace_of(at, journal))
    }

    fn render(at: At<'_>, journal: &Journal, view: &str, args: &str) -> Result<String, Refusal> {
        views::render(at, journal, view, args)
    }

    fn evaluate(language: &str, expression: &str, context: &str) -> Result<String, Diagnostic> {
        expr::evaluate(language, expression, context)
    }
}

wfhost_guest::export!(Machines, include_str!("../about.json"), "", include_str!("../SKILL.md"));

#[cfg(test)]
mod tests;
