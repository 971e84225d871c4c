//! Interpreter for mcpGraph documents: tools that are graphs over the tools of other MCP servers.
//!
//! A document describes one server with its tools. A tool goes from its **entry**, whose output is the tool's arguments, to its
//! **exit**, whose result is the output of the node before. Between them a **transform** computes with JSONata, a **switch** goes
//! where the first JSON Logic rule that holds leads, and an **mcp** node calls a tool of an upstream server. Expressions see the
//! latest output of every node by its id, and read what ran before with `$previousNode` and its kin.
//!
//! Beyond the peer: a **foreach** calls a tool for each item of a list, side by side; a **call** node begins another tool of the
//! document, or any workflow of this host; and each of the three may be tried again and has an error edge.
//!
//! - `document`: text to definitions and findings; `code`: a tool's bytes, read in place
//! - `engine`: one turn; `walk`: from node to node; `calls`, `results`: what others are asked, and what came of it
//! - `scope`, `past`: what expressions see; `args`: values against schemas; `trouble`: why a run fails
//! - `state`: what a turn needs of the one before; `reply`, `trace`: what callers read; `tools`: the tools and their calls

mod args;
mod calls;
mod code;
mod document;
mod engine;
mod past;
mod reply;
mod results;
mod scope;
mod state;
mod tools;
mod trace;
mod trouble;
mod walk;

use wfhost_guest::model::{
    Action, Bundle, Call, Compiled, Diagnostic, Document, Event, Journal, Memory, Output, Refusal, Run, Session, Tool,
    Turn, Workflow,
};
use wfhost_guest::{At, Dialect, diagnostic};

/// The dialect of mcpGraph.
#[derive(Clone, Copy, Debug)]
pub struct Graphs;

impl Dialect for Graphs {
    fn recognise(document: &Document) -> Option<Vec<String>> {
        document::is_graph(&document.bytes).then(|| document::COMPANIONS.map(str::to_owned).to_vec())
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

    fn catalogue(_call: &Call, _workflows: &[Workflow], runs: &[Run]) -> Output {
        tools::catalogue(runs)
    }

    fn start(code: &[u8], session: &Session, event: Event) -> Result<Turn, Refusal> {
        engine::start(code, session, &event)
    }

    fn answer(at: At<'_>, memory: &Memory, event: Event) -> Result<Turn, Refusal> {
        engine::answer(at, memory, &event)
    }

    fn status(at: At<'_>) -> Output {
        reply::status(at)
    }

    fn trace(at: At<'_>, journal: &Journal) -> Output {
        trace::trace(at, journal)
    }

    fn evaluate(language: &str, expression: &str, context: &str) -> Result<String, Diagnostic> {
        match language {
            wfhost_jsonata::LANGUAGE => wfhost_jsonata::evaluate(expression, context),
            wfhost_jsonlogic::LANGUAGE => wfhost_jsonlogic::evaluate(expression, context),
            other => {
                Err(diagnostic::error("no-such-language", format!("this interpreter evaluates no `{other}`")).done())
            }
        }
    }
}

wfhost_guest::export!(
    Graphs,
    include_str!("../about.json"),
    include_str!("../schema.json"),
    include_str!("../skill.md")
);

#[cfg(test)]
mod tests;
