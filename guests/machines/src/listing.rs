//! Machines in words, for the listing of tools and for instructions.

use wfhost_guest::json;
use wfhost_guest::model::Workflow;
use wfhost_guest::value::{Map, Value};

use crate::document::label;
use crate::document::model::Machine;

/// Inputs in one line: `item (string, required), n (integer)`.
pub(crate) fn shorthand(inputs: &Value) -> String {
    let one = |(name, schema): (&str, &Value)| {
        let kind = match (schema.get("type"), schema.get("enum")) {
            (Some(Value::Str(kind)), _) => kind.clone(),
            (_, Some(options)) => format!("one of {}", json::text(options)),
            (_, _) => "any".to_owned(),
        };
        let required = if schema.get("default").is_none() { ", required" } else { "" };
        format!("{name} ({kind}{required})")
    };
    inputs.as_map().into_iter().flat_map(Map::iter).map(one).collect::<Vec<_>>().join(", ")
}

fn line(name: &str, about: &str, inputs: &str) -> String {
    let about = if about.is_empty() { String::new() } else { format!(": {about}") };
    let inputs = if inputs.is_empty() { String::new() } else { format!("\n    inputs: {inputs}") };
    format!("  - {name}{about}{inputs}")
}

/// Actions and transitions of a machine, at most so many of each.
pub(crate) fn actions(machine: &Machine, most: usize) -> String {
    let mut lines = vec![format!("Actions (entry: {}):", machine.entry.text)];
    for action in machine.actions.iter().take(most) {
        let about = action.description.lines().next().unwrap_or_default();
        lines.push(line(&action.name.text, about, &shorthand(&Value::Map(action.inputs.clone()))));
    }
    lines.extend(rest(machine.actions.len(), most));
    if !machine.edges.is_empty() {
        lines.push("\nTransitions:".to_owned());
    }
    for edge in machine.edges.iter().take(most) {
        let when = label(edge).map(|label| format!("  (when: {label})")).unwrap_or_default();
        lines.push(format!("  - {} -> {}{when}", edge.from.text, edge.to.text));
    }
    lines.extend(rest(machine.edges.len(), most));
    lines.join("\n")
}

fn rest(all: usize, most: usize) -> Option<String> {
    (all > most).then(|| format!("  - and {} more", all - most))
}

/// The machines that are served, with their first actions.
pub(crate) fn workflows(workflows: &[Workflow]) -> String {
    if workflows.len() > 1 {
        let one = |workflow: &Workflow| {
            let about = workflow.description.lines().next().unwrap_or_default();
            line(&workflow.id, about, "")
        };
        let lines: Vec<String> = workflows.iter().take(20).map(one).collect();
        return format!("Machines (argument `machine`):\n{}", lines.join("\n"));
    }
    let Some(workflow) = workflows.first() else { return String::new() };
    let extra = json::read(&workflow.extra).unwrap_or_default();
    let entry = extra.get("entry").and_then(Value::as_str).unwrap_or_default();
    let listed = extra.get("actions").and_then(Value::as_list).unwrap_or_default();
    let of = |action: &Value, key: &str| action.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut lines = vec![format!("Actions (entry: {entry}):")];
    lines.extend(listed.iter().map(|action| line(&of(action, "name"), &of(action, "about"), &of(action, "inputs"))));
    let count = extra.get("count").and_then(Value::as_i64).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    lines.extend(rest(count, listed.len()));
    lines.join("\n")
}

/// The names of a machine's actions, if they are few enough to be listed.
pub(crate) fn names(workflow: &Workflow) -> Option<Vec<String>> {
    let extra = json::read(&workflow.extra).ok()?;
    let listed = extra.get("actions").and_then(Value::as_list)?;
    let all = extra.get("count").and_then(Value::as_i64).and_then(|count| usize::try_from(count).ok())?;
    let names = listed.iter().filter_map(|action| action.get("name").and_then(Value::as_str).map(str::to_owned));
    (listed.len() == all).then(|| names.collect())
}

/// A persona as a model is told to speak.
pub(crate) fn persona(name: &str, description: &str, voice: &str, body: &str) -> String {
    let mut head = format!("You are acting as the persona '{name}'.");
    if !description.is_empty() {
        head.push_str(&format!("\n{description}"));
    }
    if !voice.is_empty() {
        head.push_str(&format!("\nVoice: {voice}."));
    }
    format!("{head}\n\n{body}").trim_end().to_owned()
}
