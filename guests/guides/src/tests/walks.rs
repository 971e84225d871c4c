//! Walks by chance through flows by chance: what must hold after every call, whatever was said.

use std::collections::BTreeSet;

use wfhost_guest::json;
use wfhost_guest::model::Graph;
use wfhost_guest::native::Host;
use wfhost_guest::value::Value;

use super::flows::{Chance, flow};
use super::{call, host};
use crate::Guides;

const FLOWS: u64 = 1_000;
const CALLS: usize = 25;

/// A call by chance: labels that fit and that do not, values for anything, nothing at all.
fn said(chance: &mut Chance, run: &str) -> String {
    let word = |chance: &mut Chance| ["l0", "l1", "l2", "__unknown__", "__other__", "zz", "", "1"][chance.below(8)];
    let key = |chance: &mut Chance| match chance.below(4) {
        0 => format!("s{}", chance.below(3)),
        _ => format!("n{}", chance.below(9)),
    };
    let values = |chance: &mut Chance| {
        let count = 1 + chance.below(3);
        let pairs: Vec<String> = (0..count).map(|_| format!("\"{}\":\"{}\"", key(chance), word(chance))).collect();
        format!(",\"values\":{{{}}}", pairs.join(","))
    };
    let mut args = run.to_owned();
    if chance.hit(60) {
        args.push_str(&format!(",\"choice\":\"{}\"", word(chance)));
    }
    if chance.hit(40) {
        args.push_str(&values(chance));
    }
    format!("{{{args}}}")
}

/// A walk: its calls, and the session as it was left.
fn walk(text: &str, chance: &mut Chance) -> (Vec<(&'static str, String)>, String) {
    let mut host = host(&[("q", text)]);
    let graph = host.definitions[0].graph.clone();
    let start = said(chance, "\"flow_id\":\"q\"").replace("\"choice\"", "\"x\"");
    let start = if start.contains("\"x\"") { "{\"flow_id\":\"q\"}".to_owned() } else { start };
    let mut calls = vec![("guide_start", start)];
    let run = "\"run_id\":\"ses_000000000001\"";
    calls.extend((0..CALLS).map(|_| ("guide_answer", said(chance, run))));
    for (tool, args) in &calls {
        let before = host.sessions.values().next().map(|held| (held.state.clone(), held.outcome.is_some()));
        let (is_error, reply) = call(&mut host, tool, args);
        let after = host.sessions.values().next().map(|held| held.state.clone()).unwrap();
        match before {
            Some((state, closed)) if is_error => {
                assert_eq!(state, after, "a refused call changes nothing (closed: {closed})")
            }
            Some((_, closed)) => assert!(!closed, "a closed run refuses"),
            None => {}
        }
        if !is_error {
            holds(&host, &graph, text, &reply);
        }
    }
    (calls, left(&host))
}

fn left(host: &Host<Guides>) -> String {
    let held = host.sessions.values().next().unwrap();
    format!("{} {:?} {:?}", held.state, held.journal, held.requests)
}

/// What must hold after every call that was not refused.
fn holds(host: &Host<Guides>, graph: &Graph, text: &str, reply: &Value) {
    let held = host.sessions.values().next().unwrap();
    let state = json::read(&held.state).unwrap();
    let word = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (node, mode) = (word(&state, "node"), word(&state, "state"));
    let collected = state.get("collected").unwrap();
    let in_hand = reply.get("node").unwrap();

    // It ends, or it is open with a question.
    assert_eq!(mode == "open", held.outcome.is_none());
    assert_eq!(held.requests.len(), usize::from(mode == "open"));
    assert_eq!(word(in_hand, "kind") == "end", mode == "completed");

    // It never asks for a value that it has.
    if mode == "open" && word(in_hand, "kind") == "ask" {
        assert!(collected.get(&node).is_none(), "{node} is asked and known: {}", held.state);
    }
    if let Some(missing) = in_hand.get("missing").and_then(Value::as_list) {
        assert!(!missing.is_empty(), "{node} is asked and filled: {}", held.state);
        assert!(missing.iter().all(|slot| collected.get(&word(slot, "slot")).is_none()));
    }

    // The path is a path of the document; where a question was folded it goes on where its branches meet.
    let path: Vec<String> = state
        .get("path")
        .and_then(Value::as_list)
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    let folded: BTreeSet<&str> =
        state.get("folded").and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_str).collect();
    let ways: Vec<&String> = path.iter().chain([&node]).collect();
    assert!(path.is_empty() || path[0] == graph.entry);
    for pair in ways.windows(2) {
        let edge = graph.edges.iter().any(|edge| edge.source == *pair[0] && edge.target == *pair[1]);
        assert!(edge || folded.contains(pair[0].as_str()), "{} does not lead to {}:\n{text}", pair[0], pair[1]);
    }

    // Folding crosses no question that is not told, nor one that escalates, nor a collect.
    if let Some(branches) = reply.get("branches").and_then(Value::as_list) {
        let common = word(reply, "common");
        let start = folded_last(&state);
        tells(graph, (&start, &common), branches);
        if !common.is_empty() {
            assert!(path.contains(&start), "the run goes on where the branches meet");
        } else {
            assert_eq!(start, node, "the run stays where it is");
        }
    }
}

fn folded_last(state: &Value) -> String {
    state.get("last").and_then(|last| last.get("fold")).and_then(Value::as_str).unwrap().to_owned()
}

/// Branches lead from their question by their label, through tells that follow one another, to an end, to where all meet,
/// or to something that has to be asked.
fn tells(graph: &Graph, (question, common): (&str, &str), branches: &[Value]) {
    let label = |id: &str| graph.nodes.iter().find(|node| node.id == id).unwrap().label.clone();
    for branch in branches {
        let name = branch.get("label").and_then(Value::as_str).unwrap();
        let first = &graph.edges.iter().find(|edge| edge.source == question && edge.label == name).unwrap().target;
        if let Some(inner) = branch.get("branches").and_then(Value::as_list) {
            assert_eq!(branch.get("node").and_then(Value::as_str), Some(first.as_str()));
            assert!(label(first).ends_with("\nask"), "{first} escalates");
            tells(graph, (first, common), inner);
            continue;
        }
        let mut at = first;
        for step in branch.get("steps").and_then(Value::as_list).unwrap() {
            assert_eq!(step.get("node").and_then(Value::as_str), Some(at.as_str()));
            assert!(label(at).contains("\ntell") || label(at).contains("\nend"), "{at} has to be asked");
            if let Some(edge) = graph.edges.iter().find(|edge| edge.source == *at) {
                at = &edge.target;
            }
        }
        assert!(common.is_empty() || at == common, "{question} {name} leads to {at}, not to {common}");
    }
}

#[test]
fn every_walk_keeps_the_rules() {
    let first = 20_260_801;
    println!("seeds from {first}");
    let mut seen = BTreeSet::new();
    for seed in first..first + FLOWS {
        let mut chance = Chance(seed);
        let text = flow(&mut chance);
        let walked = std::panic::catch_unwind(|| walk(&text, &mut Chance(seed)));
        let (calls, end) = walked.unwrap_or_else(|_| panic!("seed {seed}:\n{text}"));
        // The same events give the same state.
        let mut again = host(&[("q", &text)]);
        for (tool, args) in &calls {
            call(&mut again, tool, args);
        }
        assert_eq!(end, left(&again), "seed {seed}");
        let state = again.sessions.values().next().unwrap().journal.iter().filter_map(|kept| kept.entry.detail.clone());
        for detail in state {
            let detail = json::read(&detail).unwrap();
            for key in ["status", "by", "reason"] {
                seen.extend(detail.get(key).and_then(Value::as_str).map(|word| format!("{key} {word}")));
            }
        }
    }
    // Chance has found everything that can happen.
    let statuses = ["advanced", "completed", "unmatched", "branched", "stalled"].map(|word| format!("status {word}"));
    let ways = ["answer", "value", "escape", "fold"].map(|word| format!("by {word}"));
    let reasons = ["fanout", "depth", "collect", "escalate", "cycle"].map(|word| format!("reason {word}"));
    for word in statuses.iter().chain(&ways).chain(&reasons) {
        assert!(seen.contains(word), "no walk shows {word}");
    }
}
