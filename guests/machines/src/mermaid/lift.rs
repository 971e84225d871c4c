//! A flat diagram as a machine: each state an action, each arrow a transition that the agent may take. Where several arrows
//! leave a state their labels are a choice: the agent names the action that it leads to, or the label.

use std::collections::{BTreeMap, BTreeSet};

use wfhost_guest::diagnostic;
use wfhost_guest::model::{Diagnostic, Position, Span};
use wfhost_guest::value::{Map, Value};

use super::chart::{Chart, EDGE, Way};
use super::look::Place;
use super::parse::Diagram;
use super::parts;
use crate::document::model::{Action, Edge, Machine, Name, Text};

const CURRENT: &str = "_current_state";
const COUNT: &str = "_step_count";
const CHOICE: &str = "_choice";

/// The machine of a diagram.
pub(super) fn machine(name: &str, diagram: &Diagram, chart: &Chart, findings: &mut Vec<Diagnostic>) -> Option<Machine> {
    let Some((entry, span)) = &chart.entry else {
        let start = Position { line: 1, column: 1 };
        let finding = diagnostic::error("machine-no-entry", "the diagram has no beginning");
        let finding = finding.help("say where it begins: `[*] --> STATE`").at(Span { start, end: start });
        findings.push(finding.done());
        return None;
    };
    let end = end_name(chart);
    let kept = parts::kept(&chart.parts);
    let mut actions: Vec<Action> = chart.places.iter().map(|place| action(place, &kept)).collect();
    if chart.ways.iter().any(|way| way.to == EDGE) {
        let last = chart.ways.iter().find(|way| way.to == EDGE).map_or(*span, |way| way.span);
        actions.push(bare(&end, String::new(), last));
    }
    let mut leaving: BTreeMap<&str, usize> = BTreeMap::new();
    chart.ways.iter().for_each(|way| *leaving.entry(&way.from).or_default() += 1);
    let target = |way: &Way| if way.to == EDGE { end.clone() } else { way.to.clone() };
    let mut labels: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut edges = Vec::new();
    for way in &chart.ways {
        // The label of an only way is words for a reader, and no choice.
        let label = way.label.clone().filter(|_| leaving.get(way.from.as_str()).is_some_and(|ways| *ways > 1));
        let to = target(way);
        if let Some(label) = &label {
            labels.entry((way.from.clone(), to.clone())).or_default().push(label.clone());
        }
        let name = |text: &str| Name { text: text.to_owned(), span: way.span };
        let when = way.guard.clone().map(|source| Text::guard(source, way.span));
        edges.push(Edge { from: name(&way.from), to: name(&to), when, label, span: way.span });
    }
    let mut here: BTreeMap<&str, Vec<&[String]>> = BTreeMap::new();
    labels.iter().for_each(|((_, to), labels)| here.entry(to).or_default().push(labels));
    for action in &mut actions {
        if let Some(labels) = here.get(action.name.text.as_str()) {
            chosen(action, labels);
        }
    }
    let own = [(CURRENT.to_owned(), "".into()), (COUNT.to_owned(), Value::from(0i64)), (CHOICE.to_owned(), "".into())];
    let sides = kept.values().flatten().map(|(key, _)| (key.clone(), Value::from("")));
    let state = own.into_iter().chain(sides).collect();
    let table: Map =
        labels.into_iter().map(|((from, to), labels)| (format!("{from}>{to}"), labels.join(" | ").into())).collect();
    let described = [diagram.title.clone(), diagram.description.clone()].into_iter().flatten().collect::<Vec<_>>();
    Some(Machine {
        name: Name { text: name.to_owned(), span: *span },
        description: described.join(". "),
        version: None,
        entry: Name { text: entry.clone(), span: *span },
        state,
        schema: None,
        tables: Map::from_iter([("labels".to_owned(), Value::Map(table))]),
        actions,
        edges,
        labels_choose: true,
    })
}

/// The action that ends the machine: `done`, unless a state has that name.
fn end_name(chart: &Chart) -> String {
    let mut name = "done".to_owned();
    while chart.places.iter().any(|place| place.id == name) {
        name.push('_');
    }
    name
}

fn action(place: &Place, kept: &BTreeMap<&str, Vec<(String, &str)>>) -> Action {
    let mut action = bare(&place.id, place.about.join("\n\n"), place.span);
    let sides = kept.get(place.id.as_str()).into_iter().flatten();
    if let Some(Value::Map(set)) = action.body.get("set") {
        let mut set = set.clone();
        for (key, value) in sides {
            set.set(key, (*value).into());
            action.writes.push(key.clone());
        }
        action.body.set("set", set.into());
    }
    action
}

fn bare(name: &str, description: String, span: Span) -> Action {
    let set = Map::from_iter([(CURRENT.to_owned(), name.into()), (COUNT.to_owned(), "{{ _step_count + 1 }}".into())]);
    Action {
        name: Name { text: name.to_owned(), span },
        description,
        tags: Vec::new(),
        inputs: Map::default(),
        reads: vec![COUNT.to_owned()],
        writes: vec![CURRENT.to_owned(), COUNT.to_owned()],
        timeout: None,
        body: Map::from_iter([("set".to_owned(), Value::Map(set))]),
        source: String::new(),
        texts: Vec::new(),
    }
}

/// An action to which labelled ways lead keeps which of them was gone; of several from one state the agent may say which.
fn chosen(action: &mut Action, here: &[&[String]]) {
    let mut seen = BTreeSet::new();
    let several = here.iter().filter(|labels| labels.len() > 1).flat_map(|labels| labels.iter());
    let several: Vec<&String> = several.filter(|label| seen.insert(label.as_str())).collect();
    let key = wfhost_guest::json::quoted(&format!(">{}", action.name.text));
    let mut value = format!("labels.get(_current_state ~ {key}, '')");
    if !several.is_empty() {
        let options: Vec<Value> = several.into_iter().map(|label| label.as_str().into()).chain(["".into()]).collect();
        let schema = [
            ("enum", Value::List(options)),
            ("default", "".into()),
            ("description", "Which of the ways that lead here.".into()),
        ];
        action.inputs.set("choice", Value::from(schema));
        value = format!("choice or {value}");
    }
    action.writes.push(CHOICE.to_owned());
    if let Some(Value::Map(set)) = action.body.get("set").cloned() {
        let mut set = set;
        set.set(CHOICE, format!("{{{{ {value} }}}}").into());
        action.body.set("set", set.into());
    }
}
