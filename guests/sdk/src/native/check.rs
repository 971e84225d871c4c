//! What a dialect promises and types cannot say: JSON that is JSON, requests that can be told apart, nodes that are drawn.

use crate::json;
use crate::model::{Graph, Output, Refusal, Turn};

/// The first promise that a turn breaks.
pub(super) fn turn(turn: &Turn, graph: &Graph) -> Result<(), String> {
    is_json("the state", &turn.state)?;
    output(&turn.reply)?;
    for entry in &turn.entries {
        entry.input.iter().chain(&entry.detail).try_for_each(|text| is_json("an entry", text))?;
        drawn(&entry.node, graph)?;
    }
    turn.remember.iter().chain(&turn.progress).try_for_each(|text| is_json("a memory or a progress", text))?;
    turn.current.iter().try_for_each(|node| drawn(node, graph))?;
    if turn.outcome.is_some() && !turn.requests.is_empty() {
        return Err("a session that has ended waits for something".to_owned());
    }
    if let Some(Ok(text)) = &turn.outcome {
        is_json("the outcome", text)?;
    }
    for (index, request) in turn.requests.iter().enumerate() {
        if turn.requests.iter().skip(index + 1).any(|other| other.id == request.id) {
            return Err(format!("two open requests have the id {}", request.id));
        }
    }
    Ok(())
}

/// The first promise that a refusal breaks.
pub(super) fn refusal(refusal: &Refusal) -> Result<(), String> {
    if refusal.code.is_empty() || refusal.message.is_empty() {
        return Err("a refusal without code or message".to_owned());
    }
    output(&refusal.reply)
}

/// The first promise that an output breaks.
pub(super) fn output(output: &Output) -> Result<(), String> {
    is_json("an output", &output.value)?;
    output.content.iter().try_for_each(|text| is_json("content", text))
}

fn is_json(what: &str, text: &str) -> Result<(), String> {
    json::read(text).map(|_| ()).map_err(|fault| format!("{what} is no JSON: {} at byte {}", fault.what, fault.offset))
}

fn drawn(node: &str, graph: &Graph) -> Result<(), String> {
    if graph.nodes.iter().any(|drawn| drawn.id == node) {
        Ok(())
    } else {
        Err(format!("the node {node} is not in the drawing"))
    }
}
