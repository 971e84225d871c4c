//! The machine for readers: as JSON, as a Mermaid state diagram, as a Graphviz drawing.

use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};

use crate::args::{FORK_AT, FORK_PAST, RESET};
use crate::code::{Action, Machine};
use crate::document::split;

const TOOLS: [(&str, &str); 3] = [
    (RESET, "Puts the machine back to its beginning. The history stays."),
    (FORK_AT, "Goes back to the state after an entry of the history."),
    (FORK_PAST, "Goes on from the state of another session of this machine."),
];

/// All of the machine, or the actions with a tag.
pub(crate) fn graph(machine: Machine<'_>, tag: Option<&str>) -> Result<Value, Broken> {
    let mut actions = Vec::new();
    for (action, words) in machine.actions().zip(machine.all_words()?) {
        let (action, about) = action.and_then(|action| Ok((action, action.about()?)))?;
        let tags = about.get("tags").and_then(Value::as_list).unwrap_or_default();
        if tag.is_none_or(|tag| tags.iter().any(|one| one.as_str() == Some(tag))) {
            actions.push(described(action, &about, words.description)?);
        }
    }
    let mut graph: Map = Map::default();
    graph.set("name", machine.name.into());
    graph.set("entrypoint", machine.action(machine.entry)?.name.into());
    if let Some(tag) = tag {
        let matched = i64::try_from(actions.len()).unwrap_or(i64::MAX);
        graph.set("tag", tag.into());
        graph.set("actions", Value::List(actions));
        graph.set("matched", matched.into());
        return Ok(graph.into());
    }
    graph.set("actions", Value::List(actions));
    let edge = |edge: crate::code::Edge<'_>| {
        Ok(Value::from([
            ("from", machine.action(edge.from)?.name.into()),
            ("to", machine.action(edge.to)?.name.into()),
            ("condition", edge.label.into()),
        ]))
    };
    graph.set("transitions", Value::List(machine.edges()?.into_iter().map(edge).collect::<Result<_, _>>()?));
    graph.set("state_schema", machine.schema()?.unwrap_or_default());
    let tool = |(name, about): &(&str, &str)| Value::from([("name", (*name).into()), ("description", (*about).into())]);
    graph.set("meta_tools", Value::List(TOOLS.iter().map(tool).collect()));
    if !machine.description()?.is_empty() {
        graph.set("description", machine.description()?.into());
    }
    Ok(graph.into())
}

fn described(action: Action<'_>, about: &Value, description: String) -> Result<Value, Broken> {
    let of = |key: &str| about.get(key).cloned().unwrap_or_default();
    let inputs = action.inputs()?;
    let (required, optional) = split(&inputs);
    let mut members = vec![
        ("name", Value::from(action.name)),
        ("description", description.into()),
        ("reads", of("reads")),
        ("writes", of("writes")),
        ("required_inputs", required.into()),
        ("optional_inputs", optional.into()),
        ("input_schemas", inputs.clone().into()),
    ];
    if let Some(tools) = action.external_tools()? {
        members.push(("external_tools", tools));
    }
    let tags = of("tags");
    if tags.as_list().is_some_and(|tags| !tags.is_empty()) {
        members.push(("tags", tags));
    }
    Ok(Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
}

/// Names of states as a diagram can write them: as they are, or a number with the name declared for it.
struct Names {
    lines: Vec<String>,
}

impl Names {
    fn of(&mut self, action: Action<'_>, declared: &mut std::collections::BTreeSet<String>) -> String {
        let name = action.name;
        let plain = |c: char| c.is_alphanumeric() || c == '_';
        let word = ["end", "state", "note", "direction", "class", "click"].contains(&name.to_lowercase().as_str());
        if !name.is_empty() && name.chars().all(plain) && !word {
            return name.to_owned();
        }
        let id = format!("s_{}", name.bytes().map(|byte| format!("{byte:02x}")).collect::<String>());
        if declared.insert(id.clone()) {
            self.lines.push(format!("    state \"{}\" as {id}", name.replace('"', "'").replace('\n', " ")));
        }
        id
    }
}

/// As a Mermaid state diagram.
pub(crate) fn mermaid(machine: Machine<'_>) -> Result<String, Broken> {
    let (mut names, mut declared) = (Names { lines: Vec::new() }, std::collections::BTreeSet::new());
    let entry = machine.action(machine.entry)?;
    let mut lines = vec![format!("    [*] --> {}", names.of(entry, &mut declared))];
    for edge in machine.edges()? {
        let (from, to) = (machine.action(edge.from)?, machine.action(edge.to)?);
        let label = edge.label.map(|label| format!(" : {}", label.replace(['\n', ';'], " "))).unwrap_or_default();
        lines.push(format!("    {} --> {}{label}", names.of(from, &mut declared), names.of(to, &mut declared)));
    }
    for action in machine.actions() {
        let action = action?;
        if action.is_last() {
            lines.push(format!("    {} --> [*]", names.of(action, &mut declared)));
        }
    }
    let head = std::iter::once("stateDiagram-v2".to_owned()).chain(names.lines);
    Ok(head.chain(lines).collect::<Vec<_>>().join("\n"))
}

/// As a Graphviz drawing.
pub(crate) fn dot(machine: Machine<'_>) -> Result<String, Broken> {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"));
    let mut lines = vec![format!("digraph {} {{", quoted(machine.name)), "    rankdir=LR;".to_owned()];
    lines.push("    __start__ [shape=point];".to_owned());
    for action in machine.actions() {
        let action = action?;
        let shape = if action.is_last() { "doublecircle" } else { "box" };
        lines.push(format!("    {} [shape={shape}];", quoted(action.name)));
    }
    lines.push(format!("    __start__ -> {};", quoted(machine.action(machine.entry)?.name)));
    for edge in machine.edges()? {
        let label = edge.label.map(|label| format!(" [label={}]", quoted(label))).unwrap_or_default();
        lines.push(format!(
            "    {} -> {}{label};",
            quoted(machine.action(edge.from)?.name),
            quoted(machine.action(edge.to)?.name)
        ));
    }
    lines.push("}".to_owned());
    Ok(lines.join("\n"))
}
