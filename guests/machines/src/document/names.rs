//! Expressions and values of a machine: whether they can be read, and whether all that they name is there.

use std::collections::BTreeSet;

use wfhost_guest::diagnostic::{self, Finding};
use wfhost_guest::model::Diagnostic;
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::value::{Map, Value};

use super::model::{Action, Book, Machine, Text, Use};
use crate::expr::{Names, Reading};

/// All names that a guard may use.
struct Known<'m> {
    keys: BTreeSet<&'m str>,
    tables: BTreeSet<&'m str>,
}

impl<'m> Known<'m> {
    /// What some machines provide together.
    fn of(machines: impl Iterator<Item = &'m Machine>) -> Self {
        let mut known = Self { keys: BTreeSet::new(), tables: BTreeSet::new() };
        for machine in machines {
            let schema = machine.schema.as_ref().and_then(|schema| schema.get("properties")).and_then(Value::as_map);
            known.keys.extend(machine.state.keys().chain(schema.into_iter().flat_map(Map::keys)));
            for action in &machine.actions {
                known.keys.extend(action.writes.iter().map(String::as_str));
                known.keys.extend(action.body.get("set").and_then(Value::as_map).into_iter().flat_map(Map::keys));
            }
            known.tables.extend(machine.tables.keys());
        }
        known
    }
}

/// Tells all that is wrong with the hints of a document.
pub(super) fn hints(book: &Book, reading: &mut Reading, findings: &mut Vec<Diagnostic>) {
    let known = Known::of(book.served.iter().filter_map(|at| book.machines.get(*at)));
    for text in &book.server.texts {
        one(text, None, &known, reading, findings);
    }
}

/// Tells all that is wrong with the texts of a machine.
pub(super) fn check(machine: &Machine, reading: &mut Reading, findings: &mut Vec<Diagnostic>) {
    let known = Known::of(std::slice::from_ref(machine).iter());
    for action in &machine.actions {
        for text in &action.texts {
            one(text, Some(action), &known, reading, findings);
        }
    }
    let mut seen = BTreeSet::new();
    for guard in machine.edges.iter().filter_map(|edge| edge.when.as_ref()) {
        if seen.insert((guard.span.start.line, guard.span.start.column, guard.source.as_str())) {
            one(guard, None, &known, reading, findings);
        }
    }
}

fn one(text: &Text, action: Option<&Action>, known: &Known<'_>, reading: &mut Reading, findings: &mut Vec<Diagnostic>) {
    let mut tell = |finding: Finding| {
        let finding = finding.at(text.span);
        let finding = if let Some(action) = action { finding.about(&action.name.text) } else { finding };
        findings.push(Diagnostic { path: text.file.clone(), ..finding.done() });
    };
    let names = match text.kind {
        Use::Guard | Use::Expression if text.source.trim_start().starts_with("{{") => {
            let message = format!("`{}` is an expression and needs no braces", text.source);
            return tell(diagnostic::error("machine-braces-in-guard", message).help("write what stands between them"));
        }
        Use::Guard | Use::Expression => match reading.expression(&text.source) {
            Ok(names) => names,
            Err(why) => return tell(diagnostic::error("machine-bad-expression", why.0)),
        },
        Use::Value => match reading.value(&text.source) {
            Ok(names) => names,
            Err(why) => return tell(diagnostic::error("machine-bad-template", why.0)),
        },
    };
    for finding in unknown(text, &names, action, known).into_iter().chain(absent(&names, reading)) {
        tell(finding);
    }
}

fn unknown(text: &Text, names: &Names, action: Option<&Action>, known: &Known<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in &names.variables {
        let name = name.as_str();
        let input = text.inputs && (name == "inputs" || action.is_some_and(|action| action.inputs.get(name).is_some()));
        if ["state", "tables"].contains(&name) || input || text.locals.iter().any(|local| local == name) {
            continue;
        }
        let stated = known.keys.contains(name);
        if !stated && !known.tables.contains(name) {
            let inputs = action.filter(|_| text.inputs).map(|action| &action.inputs);
            let all = known.keys.iter().chain(&known.tables).copied();
            let all = all.chain(inputs.into_iter().flat_map(Map::keys)).chain(text.locals.iter().map(String::as_str));
            let help = did_you_mean(name, all)
                .unwrap_or_else(|| "names come from `state`, `schema`, what actions write, and `tables`".to_owned());
            let message = format!("`{}` names `{name}`, which nothing provides", text.source.trim());
            found.push(diagnostic::error("machine-unknown-name", message).help(help));
        } else if stated && text.reads && action.is_some_and(|action| !action.reads.iter().any(|key| key == name)) {
            let message = format!("`{}` reads `{name}`, which is not among `reads`", text.source.trim());
            found.push(diagnostic::error("machine-reads-undeclared", message).help("add it to `reads`"));
        }
    }
    found
}

/// Filters and tests that the engine does not have.
fn absent(names: &Names, reading: &mut Reading) -> Vec<Finding> {
    let mut found = Vec::new();
    for filter in names.filters.iter().filter(|name| !reading.has_filter(name)) {
        let message = format!("there is no filter `{filter}`");
        found.push(diagnostic::error("machine-unknown-filter", message));
    }
    for test in names.tests.iter().filter(|name| !reading.has_test(name)) {
        let message = format!("there is no test `{test}`");
        found.push(diagnostic::error("machine-unknown-test", message));
    }
    found
}
