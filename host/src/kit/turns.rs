//! What the contract's rules say of tools, turns, requests, refusals and replies, beyond what types can.

use std::collections::HashSet;

use serde_json::Value;

use super::report::Report;
use crate::limits::{STATE_BYTES_MAX, TOOL_NAME_CHARS_MAX};
use crate::plugin::Plugin;
use crate::plugin::contract::{Definition, Graph, Need, Output, Refusal, Tool, Turn};

/// The tools for these workflows, each with a name and schemas that fit.
pub(super) fn tools(plugin: &Plugin, definitions: &[Definition], report: &mut Report) -> Vec<Tool> {
    let workflows: Vec<_> = definitions.iter().map(|definition| definition.about.clone()).collect();
    if let Err(fault) = plugin.tools(&[]) {
        report.call_fault("trap", "tools", &fault);
    }
    let tools = match plugin.tools(&workflows) {
        Ok(tools) => tools,
        Err(fault) => {
            report.call_fault("trap", "tools", &fault);
            return Vec::new();
        }
    };
    report.figures.tools = tools.len();
    let mut seen = HashSet::new();
    for tool in &tools {
        let letters = tool.name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if !letters || !(1..=TOOL_NAME_CHARS_MAX).contains(&tool.name.len()) {
            let reason = format!("a tool's name is 1 to {TOOL_NAME_CHARS_MAX} of A-Z, a-z, 0-9, _ and -");
            report.find("tool-name", &tool.name, reason, "shorten it; begin with the dialect's name");
        }
        if !seen.insert(tool.name.as_str()) {
            report.find("tool-name", &tool.name, "two tools have this name", "give one of them another name");
        }
        let schemas = [("input", Some(&tool.input_schema)), ("output", tool.output_schema.as_ref())];
        for (which, schema) in schemas {
            if let Some(wrong) = schema.and_then(|schema| no_object(schema)) {
                let reason = format!("its {which} schema is no JSON object: {wrong}");
                report.find("tool-schema", &tool.name, reason, "write a JSON Schema of type object");
            }
        }
        if tool.description.trim().is_empty() {
            report.find("tool-schema", &tool.name, "it has no description", "say when to call it: a model reads that");
        }
    }
    tools
}

fn no_object(schema: &str) -> Option<String> {
    match serde_json::from_str::<Value>(schema) {
        Ok(Value::Object(_)) => None,
        Ok(other) => Some(format!("it is `{}`", start(&other.to_string()))),
        Err(error) => Some(error.to_string()),
    }
}

/// The rules that a turn breaks. `moved`: its state is not the one before.
pub(super) fn turn(turn: &Turn, graph: &Graph, moved: bool, report: &mut Report) {
    let cure = "see `turn` in wit/engine.wit";
    for (what, text) in texts(turn) {
        if serde_json::from_str::<Value>(text).is_err() {
            report.find("not-json", what, format!("{what} should be JSON and is `{}`", start(text)), cure);
        }
    }
    if turn.state.len() > STATE_BYTES_MAX {
        let reason = format!("a state has {} bytes, {STATE_BYTES_MAX} are allowed", turn.state.len());
        report.find("state", "turn", reason, "keep what the document can still read, no history");
    }
    let drawn = |id: &String| graph.nodes.iter().any(|node| node.id == *id);
    if let Some(id) = turn.current.iter().chain(turn.entries.iter().map(|e| &e.node)).find(|id| !drawn(id)) {
        let reason = format!("it names the node `{id}`, which the drawing lacks");
        report.find("not-drawn", "turn", reason, "name nodes of `definition.graph`");
    }
    if turn.outcome.is_some() && !turn.requests.is_empty() {
        report.find("requests", "turn", "a session that has ended waits for something", "leave no requests at the end");
    }
    for (index, request) in turn.requests.iter().enumerate() {
        if request.id.is_empty() || turn.requests.iter().skip(index + 1).any(|other| other.id == request.id) {
            let reason = format!("the id `{}` is empty, or that of two open requests", request.id);
            report.find("requests", "turn", reason, "give each open request an id of its own");
        }
        if let Some(reason) = ill_formed(&request.need) {
            report.find("requests", &request.id, reason, "see `need` in wit/engine.wit");
        }
    }
    if turn.reply.is_error && moved {
        let reason = "a reply that says `is-error` moved the session";
        report.find("error-moves", "turn", reason, "refuse what you do not take: a refusal changes nothing");
    }
    output("a reply", &turn.reply, report);
}

/// The rules that a refusal breaks.
pub(super) fn refusal(refusal: &Refusal, report: &mut Report) {
    if refusal.code.is_empty() || refusal.message.is_empty() {
        let reason = "a refusal has no code or no message";
        report.find("refusal", "refusal", reason, "say why, and what may be done instead");
    }
    output("a refusal", &refusal.reply, report);
}

/// The rules that an output breaks.
pub(super) fn output(what: &str, output: &Output, report: &mut Report) {
    let whole = serde_json::from_str::<Value>(&output.value);
    let content = output.content.as_ref().map(|text| serde_json::from_str::<Value>(text));
    if whole.is_err() || content.is_some_and(|content| !content.is_ok_and(|blocks| blocks.is_array())) {
        let reason = format!("what it says is no JSON: `{}`", start(&output.value));
        report.find(
            "not-json",
            what,
            reason,
            "`value` is a JSON text (a string in quotes), `content` a list of blocks",
        );
    }
}

fn texts(turn: &Turn) -> impl Iterator<Item = (&'static str, &str)> {
    let entries = turn.entries.iter().flat_map(|e| e.input.iter().chain(&e.detail)).map(|t| ("an entry", t.as_str()));
    let outcome = turn.outcome.iter().filter_map(|o| Some(("the outcome", o.as_ref().ok()?.as_str())));
    let more = turn.remember.iter().chain(&turn.progress).map(|t| ("a memory or progress", t.as_str()));
    std::iter::once(("the state", turn.state.as_str())).chain(entries).chain(outcome).chain(more)
}

fn ill_formed(need: &Need) -> Option<String> {
    let read = |text: &str| serde_json::from_str::<Value>(text);
    let is_object = |text: &str| read(text).is_ok_and(|value| value.is_object());
    match need {
        Need::Answer(question) if question.prompt.trim().is_empty() => Some("a question without words".into()),
        Need::Answer(question) if !is_object(&question.schema) => {
            Some(format!("the schema of a question is no JSON object: `{}`", start(&question.schema)))
        }
        Need::Tool(call) if call.tool.is_empty() || !is_object(&call.args) => {
            Some("a tool call needs a tool's name, and a JSON object as arguments".into())
        }
        Need::ToolList(servers) if servers.is_empty() => Some("a tool list of no server".into()),
        Need::Completion(params) if !read(params).is_ok_and(|p| p.get("messages").is_some_and(Value::is_array)) => {
            Some("a completion needs `messages`, as sampling/createMessage does".into())
        }
        Need::Workflow(call) if call.workflow.is_empty() || read(&call.args).is_err() => {
            Some("a workflow call needs a workflow's id, and JSON as arguments".into())
        }
        Need::Answer(_)
        | Need::Tool(_)
        | Need::ToolList(_)
        | Need::Completion(_)
        | Need::Timer(_)
        | Need::Workflow(_) => None,
    }
}

/// The first characters of a text, on one line.
pub(super) fn start(text: &str) -> String {
    text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
