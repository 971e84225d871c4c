//! The flow as a graph: names that must be there, roads that must lead somewhere, and nodes that cannot be folded.

use std::collections::{BTreeMap, BTreeSet};

use wfhost_guest::diagnostic;
use wfhost_guest::model::Diagnostic;
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::packed::Broken;

use super::model::{Flow, FlowNode, Kind};
use super::{about, quoted};
use crate::code::{Code, Step, StepKind};
use crate::fold::{Reason, fold};

/// Tells of names that are not what they must be: of the flow, of nodes, of slots.
pub(super) fn names(flow: &Flow, path: &str, findings: &mut Vec<Diagnostic>) {
    let file = path.rsplit('/').next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    if !flow.id.text.is_empty() && flow.id.text != stem {
        let message = format!("the id is {}, and the file is named {}", quoted(&flow.id.text), quoted(stem));
        let finding = diagnostic::error("guide-id-is-not-file-name", message).at(flow.id.span);
        findings.push(finding.help(format!("write `id: {stem}`, or rename the file")).done());
    }
    let ids: BTreeSet<&str> = flow.ids.iter().map(String::as_str).collect();
    if !flow.entry.text.is_empty() && !ids.contains(flow.entry.text.as_str()) {
        let message = format!("`entry` names {}, which is no node", quoted(&flow.entry.text));
        let cure = did_you_mean(&flow.entry.text, ids.iter().copied());
        findings.push(diagnostic::error("guide-bad-entry", message).at(flow.entry.span).maybe_help(cure).done());
    }
    for node in &flow.nodes {
        for target in node.targets().into_iter().filter(|target| !ids.contains(target.text.as_str())) {
            let message = format!("`next` names {}, which is no node", quoted(&target.text));
            let cure = did_you_mean(&target.text, ids.iter().copied());
            findings.push(about(node, target, diagnostic::error("guide-next-to-nowhere", message).maybe_help(cure)));
        }
        if let Kind::Collect { slots, .. } = &node.kind {
            for slot in slots.iter().filter(|slot| ids.contains(slot.name.text.as_str())) {
                let message = format!("the slot {} is named like a node", quoted(&slot.name.text));
                let help = "answers to nodes and slots share one space of names: give the slot another";
                findings.push(about(
                    node,
                    &slot.name,
                    diagnostic::error("guide-slot-named-as-node", message).help(help),
                ));
            }
        }
    }
}

/// Tells of nodes that nothing leads to, and of those from which no end can be reached.
pub(super) fn roads(flow: &Flow, findings: &mut Vec<Diagnostic>) {
    let numbers: BTreeMap<&str, usize> =
        flow.nodes.iter().enumerate().map(|(number, node)| (node.id.text.as_str(), number)).collect();
    let number = |name: &str| numbers.get(name).copied();
    let edges: Vec<Vec<usize>> = flow
        .nodes
        .iter()
        .map(|node| node.targets().into_iter().filter_map(|target| number(&target.text)).collect())
        .collect();
    let reached = walk(number(&flow.entry.text), &edges);
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (from, targets) in edges.iter().enumerate() {
        for &to in targets {
            if let Some(sources) = back.get_mut(to) {
                sources.push(from);
            }
        }
    }
    let ends = flow.nodes.iter().enumerate().filter(|(_, node)| matches!(node.kind, Kind::End { .. }));
    let can_end = walk(ends.map(|(number, _)| number), &back);
    for ((node, reached), can_end) in flow.nodes.iter().zip(reached).zip(can_end) {
        if !reached {
            let message = format!("nothing leads from the entry to {}", quoted(&node.id.text));
            let finding = diagnostic::error("guide-unreachable", message).help("lead a `next` to it, or remove it");
            findings.push(about(node, &node.id, finding));
        } else if !can_end {
            let message = format!("no end can be reached from {}", quoted(&node.id.text));
            let finding =
                diagnostic::error("guide-no-way-to-an-end", message).help("lead some `next` of the ring to an end");
            findings.push(about(node, &node.id, finding));
        }
    }
}

/// Which nodes can be walked to from some.
fn walk(from: impl IntoIterator<Item = usize>, edges: &[Vec<usize>]) -> Vec<bool> {
    let mut seen = vec![false; edges.len()];
    let mut open: Vec<usize> = from.into_iter().collect();
    while let Some(number) = open.pop() {
        let Some(mark) = seen.get_mut(number).filter(|mark| !**mark) else { continue };
        *mark = true;
        open.extend(edges.get(number).into_iter().flatten());
    }
    seen
}

/// Names the nodes at which "I don't know" stalls a run though nobody said that it should.
pub(super) fn folds(flow: &Flow, code: &[u8], findings: &mut Vec<Diagnostic>) {
    let Ok(code) = Code::read(code) else { return };
    for (node, step) in flow.nodes.iter().zip(code.nodes()) {
        let Ok(Some((reason, why))) = step.and_then(|step| unfoldable(code, step)) else { continue };
        findings.push(unfolded(node, reason, &why));
    }
}

fn unfoldable(code: Code<'_>, step: Step<'_>) -> Result<Option<(Reason, String)>, Broken> {
    match step.kind {
        StepKind::Ask(ask) if !ask.escalate && ask.unknown.is_none() => {
            let Err(reason) = fold(code, step)? else { return Ok(None) };
            let why = match reason {
                Reason::Fanout => format!("more than {} branches", code.limits.max_branch_fanout),
                Reason::Depth => format!("an ending is more than {} questions away", code.limits.branch_depth),
                Reason::Collect => "a branch comes to a collect, which has to be asked".to_owned(),
                Reason::Escalate => "a branch comes to a question that escalates".to_owned(),
                Reason::Cycle => "a branch comes back to a question".to_owned(),
            };
            Ok(Some((reason, why)))
        }
        StepKind::Collect(collect) if !collect.escalate => {
            for slot in collect.slots() {
                if slot?.required {
                    return Ok(Some((Reason::Collect, "a required slot cannot be left open".to_owned())));
                }
            }
            Ok(None)
        }
        StepKind::Ask(_) | StepKind::Collect(_) | StepKind::Tell { .. } | StepKind::End { .. } => Ok(None),
    }
}

fn unfolded(node: &FlowNode, reason: Reason, why: &str) -> Diagnostic {
    let message = format!(
        "{} cannot be folded ({}): {why}; \"I don't know\" stalls the run here",
        quoted(&node.id.text),
        reason.word()
    );
    let help = match node.kind {
        Kind::Collect { .. } => "say `on_unknown: escalate` if that is meant",
        Kind::Ask { .. } | Kind::Tell { .. } | Kind::End { .. } => {
            "give `next` a way for `__unknown__`, or say `on_unknown: escalate` if that is meant"
        }
    };
    about(node, &node.id, diagnostic::note("guide-unfoldable", message).help(help))
}
