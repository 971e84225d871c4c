//! What is legal and most likely a slip: facts that nobody captures, roads without an end, options that cannot be chosen.

use std::collections::BTreeSet;

use wfhost_guest::diagnostic::{self, Finding};
use wfhost_guest::model::Diagnostic;
use wfhost_guest::nearest::did_you_mean;

use super::check::{Index, walk};
use super::model::{Choice, Kind, Name, Tree, TreeNode};

/// Tells the doubts about a tree.
pub(super) fn check(tree: &Tree, findings: &mut Vec<Diagnostic>) {
    let captures: BTreeSet<&str> =
        tree.nodes.iter().map(|node| node.kind.capture()).filter(|name| !name.is_empty()).collect();
    for node in &tree.nodes {
        match &node.kind {
            Kind::Condition { on, .. } => {
                fact(node, on.text.split('.').next().unwrap_or_default(), on, (&captures, findings))
            }
            Kind::Judgment { evidence, options, .. } => {
                evidence.iter().for_each(|name| fact(node, &name.text, name, (&captures, findings)));
                repeated(node, options, findings);
            }
            Kind::Ask { options, .. } => repeated(node, options, findings),
            Kind::Action { .. } | Kind::Terminal { .. } => {}
        }
    }
    let joined = |node: &TreeNode| node.kind.targets().into_iter().all(|name| tree.ids.contains(&name.text));
    if tree.whole && tree.nodes.iter().all(joined) {
        endless(tree, findings);
    }
}

fn tell(node: &TreeNode, at: &Name, finding: Finding, findings: &mut Vec<Diagnostic>) {
    findings.push(finding.about(&node.id.text).at(at.span).done());
}

fn fact(node: &TreeNode, name: &str, at: &Name, (captures, findings): (&BTreeSet<&str>, &mut Vec<Diagnostic>)) {
    if captures.contains(name) {
        return;
    }
    let cure = did_you_mean(name, captures.iter().copied()).or_else(|| {
        (!captures.is_empty()).then(|| format!("facts are {}", captures.iter().copied().collect::<Vec<_>>().join(", ")))
    });
    tell(
        node,
        at,
        diagnostic::warning("tree-unknown-fact", format!("no node captures the fact `{name}`")).maybe_help(cure),
        findings,
    );
}

fn repeated(node: &TreeNode, options: &[Choice], findings: &mut Vec<Diagnostic>) {
    let mut seen: Vec<&str> = Vec::new();
    for option in options {
        if seen.contains(&option.id.text.as_str()) {
            let message = format!("the option `{}` is there twice; the first one is taken", option.id.text);
            tell(
                node,
                &option.id,
                diagnostic::warning("tree-repeated-option", message).help("give it another id"),
                findings,
            );
        }
        seen.push(&option.id.text);
    }
}

/// Nodes that can be reached and from which no end can, and circles of conditions, which no answer can leave.
fn endless(tree: &Tree, findings: &mut Vec<Diagnostic>) {
    let index = Index::of(tree);
    let edges = index.edges(tree);
    let reached = index.reached(tree, &edges);
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (from, targets) in edges.iter().enumerate() {
        for &to in targets {
            if let Some(sources) = back.get_mut(to) {
                sources.push(from);
            }
        }
    }
    let is_end = |node: &TreeNode| matches!(node.kind, Kind::Terminal { .. });
    let ends: Vec<usize> =
        tree.nodes.iter().enumerate().filter(|(_, node)| is_end(node)).map(|(number, _)| number).collect();
    let can_end = walk(ends.iter().copied(), &back);
    let circles = circles(tree, &edges);
    for (((node, reached), can_end), circle) in tree.nodes.iter().zip(reached).zip(can_end).zip(circles) {
        if !reached {
            continue;
        }
        if !can_end && !ends.is_empty() {
            let finding = diagnostic::warning("tree-no-way-out", "no terminal can be reached from this node");
            tell(node, &node.id, finding.help("a session that comes here ends only by `max_steps`"), findings);
        }
        if circle {
            let finding = diagnostic::warning(
                "tree-condition-circle",
                "conditions lead in a circle here, with nothing between them that could change a fact",
            );
            tell(node, &node.id, finding.help("a session that goes round is ended by `max_steps`"), findings);
        }
    }
}

/// Which conditions can come back to themselves through conditions alone: those that stay when all others, and then
/// those that lead to none or come from none, are taken away.
fn circles(tree: &Tree, edges: &[Vec<usize>]) -> Vec<bool> {
    let conditions: Vec<bool> = tree.nodes.iter().map(|node| matches!(node.kind, Kind::Condition { .. })).collect();
    let is_condition = |number: usize| conditions.get(number).copied().unwrap_or(false);
    let among: Vec<Vec<usize>> = edges
        .iter()
        .enumerate()
        .map(|(from, targets)| targets.iter().copied().filter(|&to| is_condition(from) && is_condition(to)).collect())
        .collect();
    let forward = peel(&among);
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); among.len()];
    for (from, targets) in among.iter().enumerate() {
        for &to in targets {
            if let Some(sources) = back.get_mut(to) {
                sources.push(from);
            }
        }
    }
    forward.into_iter().zip(peel(&back)).map(|(a, b)| a && b).collect()
}

/// Takes away nodes without successors until none is left to take; what stays leads into a circle.
fn peel(edges: &[Vec<usize>]) -> Vec<bool> {
    let mut left: Vec<usize> = edges.iter().map(Vec::len).collect();
    let mut sources: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (from, targets) in edges.iter().enumerate() {
        for &to in targets {
            if let Some(list) = sources.get_mut(to) {
                list.push(from);
            }
        }
    }
    let mut gone: Vec<usize> =
        left.iter().enumerate().filter(|(_, count)| **count == 0).map(|(number, _)| number).collect();
    let mut stays = vec![true; edges.len()];
    while let Some(number) = gone.pop() {
        if let Some(mark) = stays.get_mut(number) {
            *mark = false;
        }
        for &source in sources.get(number).into_iter().flatten() {
            if let Some(count) = left.get_mut(source) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    gone.push(source);
                }
            }
        }
    }
    stays
}
