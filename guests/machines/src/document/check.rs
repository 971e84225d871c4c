//! A machine as a graph: names that lead nowhere, ways that can never be gone, places without a way out.

use std::collections::{BTreeMap, BTreeSet};

use wfhost_guest::diagnostic;
use wfhost_guest::model::Diagnostic;
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::value::{Map, Value};

use super::model::{Action, Book, Machine, Name};
use super::numbered::Numbered;
use crate::mermaid;

/// What is wrong with a machine's names. With an error among these the rest is not looked at.
pub(super) fn edges(numbered: &Numbered<'_>, findings: &mut Vec<Diagnostic>) {
    let machine = numbered.machine;
    let actions = || {
        let name = |number: &usize| machine.actions.get(*number).map(|action| action.name.text.as_str());
        numbered.sorted.iter().filter_map(name)
    };
    let mut told = BTreeSet::new();
    let mut known = |name: &Name, number: Option<usize>, findings: &mut Vec<Diagnostic>| {
        if number.is_none() && told.insert((name.text.clone(), name.span.start.line, name.span.start.column)) {
            let help = did_you_mean(&name.text, actions()).unwrap_or_else(|| "it must be one of `actions`".to_owned());
            let message = format!("there is no action `{}`", name.text);
            findings.push(diagnostic::error("machine-unknown-action", message).help(help).at(name.span).done());
        }
    };
    for (edge, (from, to)) in numbered.edges() {
        known(&edge.from, from, findings);
        known(&edge.to, to, findings);
    }
    if !machine.entry.text.is_empty() && !machine.actions.is_empty() && numbered.entry.is_none() {
        let message = format!("the entry `{}` is no action", machine.entry.text);
        let help = did_you_mean(&machine.entry.text, actions());
        let finding = diagnostic::error("machine-unknown-entry", message).maybe_help(help);
        findings.push(finding.at(machine.entry.span).done());
    }
    if !machine.labels_choose {
        defaults(numbered, findings);
    }
}

fn defaults(numbered: &Numbered<'_>, findings: &mut Vec<Diagnostic>) {
    let mut first: Vec<Option<&Name>> = vec![None; numbered.machine.actions.len()];
    let mut nowhere: BTreeMap<&str, Option<&Name>> = BTreeMap::new();
    for (edge, (from, _)) in numbered.edges().filter(|(edge, _)| edge.when.is_none()) {
        let place = from.and_then(|from| first.get_mut(from));
        let place = place.unwrap_or_else(|| nowhere.entry(edge.from.text.as_str()).or_default());
        match place {
            Some(before) => {
                let message = format!(
                    "`{}` has a second transition without `when`, to `{}`; the first leads to `{}`",
                    edge.from.text, edge.to.text, before.text
                );
                let finding = diagnostic::error("machine-second-default", message);
                let help = "both are offered always: give each a `when`, `when: true` if that is meant";
                findings.push(finding.help(help).at(edge.span).about(&edge.from.text).done());
            }
            None => *place = Some(&edge.to),
        }
    }
}

/// Ways that can never be gone, and keys that are read and never there.
pub(super) fn roads(numbered: &Numbered<'_>, findings: &mut Vec<Diagnostic>) {
    let machine = numbered.machine;
    let opens = |place: usize| {
        let when = machine.edges.get(place).and_then(|edge| edge.when.as_ref());
        when.is_none_or(|when| when.source != "false")
    };
    let mut reached = vec![false; machine.actions.len()];
    let mut open: Vec<usize> = numbered.entry.into_iter().collect();
    while let Some(at) = open.pop() {
        if let Some(seen) = reached.get_mut(at)
            && !std::mem::replace(seen, true)
        {
            open.extend(numbered.leaving(at).filter(|(place, _)| opens(*place)).filter_map(|(_, to)| to));
        }
    }
    for (action, _) in machine.actions.iter().zip(&reached).filter(|(_, reached)| !**reached) {
        let message = format!("no way leads from the entry to `{}`", action.name.text);
        let finding = diagnostic::warning("machine-unreachable-action", message);
        findings.push(finding.at(action.name.span).about(&action.name.text).done());
    }
    stuck(numbered, findings);
    reads(machine, findings);
}

/// An action all of whose transitions have a guard may be left with none that holds: it is then stuck, and not at an end. The
/// guards of a diagram's own sides are no doubt of the author's.
fn stuck(numbered: &Numbered<'_>, findings: &mut Vec<Diagnostic>) {
    let machine = numbered.machine;
    for (number, action) in machine.actions.iter().enumerate() {
        let (mut always, mut any) = (false, false);
        let leaving = numbered.leaving(number);
        let ways = leaving.len();
        for edge in leaving.filter_map(|(place, _)| machine.edges.get(place)) {
            let source = edge.when.as_ref().map(|when| when.source.trim());
            let ours = source.is_some_and(|source| machine.labels_choose && source.starts_with(mermaid::KEY));
            always |= ours || matches!(source, None | Some("true"));
            any |= source != Some("false");
        }
        if ways == 0 {
            continue;
        }
        if !any {
            let message =
                format!("after `{}` no transition can ever hold: the machine is stuck there", action.name.text);
            let finding = diagnostic::warning("machine-stuck", message);
            findings.push(finding.at(action.name.span).about(&action.name.text).done());
        } else if !always {
            let message = format!(
                "after `{}` every one of {ways} transitions has a guard: if none holds, the machine is stuck",
                action.name.text
            );
            let finding = diagnostic::note("machine-may-be-stuck", message);
            findings.push(finding.at(action.name.span).about(&action.name.text).done());
        }
    }
}

fn reads(machine: &Machine, findings: &mut Vec<Diagnostic>) {
    let schema = machine.schema.as_ref().and_then(|schema| schema.get("properties")).and_then(Value::as_map);
    let seeded: BTreeSet<&str> = machine.state.keys().collect();
    let mut provided: BTreeSet<&str> = seeded.iter().copied().chain(schema.into_iter().flat_map(Map::keys)).collect();
    for action in &machine.actions {
        provided.extend(action.writes.iter().map(String::as_str));
    }
    for action in &machine.actions {
        for key in action.reads.iter().filter(|key| !provided.contains(key.as_str())) {
            let message =
                format!("`{}` reads `{key}`, which nobody writes and `state` does not have", action.name.text);
            let finding = diagnostic::warning("machine-unwritten-read", message);
            findings.push(finding.at(action.name.span).about(&action.name.text).done());
        }
        let set = action.body.get("set").and_then(Value::as_map);
        let set: BTreeSet<&str> = set.into_iter().flat_map(Map::keys).collect();
        let never = |key: &&String| !set.contains(key.as_str()) && !seeded.contains(key.as_str());
        for key in action.writes.iter().filter(never) {
            let message = format!("`{}` declares that it writes `{key}`, and its `set` does not", action.name.text);
            let finding = diagnostic::warning("machine-write-never-set", message);
            findings.push(finding.at(action.name.span).about(&action.name.text).done());
        }
    }
}

/// Machines that run one another: names that are not there, and circles.
pub(super) fn runs(book: &Book, findings: &mut Vec<Diagnostic>) {
    let places = places(book);
    for machine in &book.machines {
        for action in &machine.actions {
            for name in run_by(action).filter(|name| !places.contains_key(name)) {
                let known = book.machines.iter().map(|machine| machine.name.text.as_str());
                let help = did_you_mean(name, known).unwrap_or_else(|| "it must be one of `machines`".to_owned());
                let finding = diagnostic::error("machine-unknown-machine", format!("there is no machine `{name}`"));
                findings.push(finding.help(help).at(action.name.span).about(&action.name.text).done());
            }
        }
    }
    for at in circling(&inner(book)) {
        if let Some(machine) = book.machines.get(at) {
            let message = format!("the machine `{}` runs itself", machine.name.text);
            findings.push(diagnostic::error("machine-cycle", message).at(machine.name.span).done());
        }
    }
}

fn places(book: &Book) -> BTreeMap<&str, usize> {
    book.machines.iter().enumerate().map(|(at, machine)| (machine.name.text.as_str(), at)).collect()
}

/// The names of the machines that an action runs.
fn run_by(action: &Action) -> impl Iterator<Item = &str> {
    effects(&action.body).filter_map(|effect| effect.get("machine")?.as_str())
}

/// For each machine those that it runs, by number.
pub(super) fn inner(book: &Book) -> Vec<Vec<usize>> {
    let places = places(book);
    let one = |machine: &Machine| {
        machine.actions.iter().flat_map(run_by).filter_map(|name| places.get(name).copied()).collect()
    };
    book.machines.iter().map(one).collect()
}

/// What a machine runs, and what those run; itself only if a way leads back to it.
fn reached(inner: &[Vec<usize>], from: usize) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::new(), inner.get(from).cloned().unwrap_or_default());
    while let Some(one) = open.pop() {
        if seen.insert(one) {
            open.extend(inner.get(one).into_iter().flatten());
        }
    }
    seen
}

/// Machines that run themselves. Those that run nothing which is still open are closed first; most often that is all of them.
fn circling(inner: &[Vec<usize>]) -> Vec<usize> {
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); inner.len()];
    for (at, runs) in inner.iter().enumerate() {
        for one in runs {
            callers.get_mut(*one).into_iter().for_each(|callers| callers.push(at));
        }
    }
    let mut left: Vec<usize> = inner.iter().map(Vec::len).collect();
    let mut closed: Vec<usize> = (0..inner.len()).filter(|at| left.get(*at) == Some(&0)).collect();
    while let Some(at) = closed.pop() {
        for caller in callers.get(at).into_iter().flatten() {
            if let Some(left) = left.get_mut(*caller) {
                *left -= 1;
                closed.extend((*left == 0).then_some(*caller));
            }
        }
    }
    let open = (0..inner.len()).filter(|at| left.get(*at).is_some_and(|left| *left > 0));
    open.filter(|at| reached(inner, *at).contains(at)).collect()
}

/// A machine and all that it runs, by number; itself first.
pub(super) fn within(inner: &[Vec<usize>], at: usize) -> Vec<usize> {
    std::iter::once(at).chain(reached(inner, at).into_iter().filter(|one| *one != at)).collect()
}

/// The effects of an action's body.
pub(crate) fn effects(body: &Map) -> impl Iterator<Item = &Value> {
    body.get("effects").and_then(Value::as_list).unwrap_or_default().iter()
}
