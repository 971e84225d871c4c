//! A drawing in lines of text: from the entry downwards, each node once, later mentions marked with an arrow. A node's only
//! way on stands below it at the same depth; ways that branch off are set in.

use std::collections::{HashMap, HashSet};

use crate::cli::print::plain;
use crate::plugin::contract::{Edge, Graph, Node, Shape};

/// A node that is to be drawn: what stands before it, and before the lines that belong to it.
struct Task<'g> {
    lead: String,
    prefix: String,
    node: &'g str,
}

/// The drawing, with what the marks mean.
pub(super) fn drawing(graph: &Graph) -> String {
    let nodes: HashMap<&str, &Node> = graph.nodes.iter().map(|n| (n.id.as_str(), n)).collect();
    let mut edges: HashMap<&str, Vec<&Edge>> = HashMap::new();
    for edge in &graph.edges {
        edges.entry(edge.source.as_str()).or_default().push(edge);
    }
    let (mut lines, mut seen) = (Vec::new(), HashSet::new());
    let roots = std::iter::once(graph.entry.as_str()).chain(graph.nodes.iter().map(|n| n.id.as_str()));
    for root in roots {
        if seen.contains(root) {
            continue;
        }
        // Anything but the entry is drawn here only if no way leads to it.
        let lead = if lines.is_empty() { "" } else { "(not reached) " };
        draw(Task { lead: lead.into(), prefix: String::new(), node: root }, (&nodes, &edges), (&mut seen, &mut lines));
    }
    lines.push(String::new());
    lines.push(legend(graph, &lines));
    lines.join("\n") + "\n"
}

/// Draws a node and all that follows. With a stack of its own: documents may be deeper than the thread's.
fn draw<'g>(
    first: Task<'g>,
    (nodes, edges): (&HashMap<&str, &'g Node>, &HashMap<&str, Vec<&'g Edge>>),
    (seen, lines): (&mut HashSet<&'g str>, &mut Vec<String>),
) {
    let mut tasks = vec![first];
    while let Some(Task { lead, prefix, node }) = tasks.pop() {
        let ways = edges.get(node).map(Vec::as_slice).unwrap_or_default();
        let again = !seen.insert(node);
        let back = if again && !ways.is_empty() { " ↑" } else { "" };
        lines.push(format!("{lead}{}{back}", named(node, nodes.get(node).copied(), again)));
        if again {
            continue;
        }
        let straight = match ways.iter().filter(|e| e.label.is_empty()).collect::<Vec<_>>().as_slice() {
            [only] => Some(**only),
            _ => None,
        };
        let branches: Vec<&Edge> =
            ways.iter().copied().filter(|e| straight.is_none_or(|s| !std::ptr::eq(s, *e))).collect();
        if let Some(edge) = straight {
            tasks.push(Task { lead: format!("{prefix}↓ "), prefix: prefix.clone(), node: &edge.target });
        }
        for (n, edge) in branches.iter().enumerate().rev() {
            let last = n + 1 == branches.len() && straight.is_none();
            let label = if edge.label.is_empty() { String::new() } else { format!("{} → ", plain(&edge.label)) };
            tasks.push(Task {
                lead: format!("{prefix}{} {label}", if last { "└─" } else { "├─" }),
                prefix: format!("{prefix}{}", if last { "   " } else { "│  " }),
                node: &edge.target,
            });
        }
    }
}

/// A node on one line; mentioned again, by its id alone.
fn named(id: &str, node: Option<&Node>, again: bool) -> String {
    let Some(node) = node else { return format!("{} (missing)", plain(id)) };
    let label: Vec<String> = if again { vec![plain(id)] } else { node.label.lines().map(plain).collect() };
    format!("{} {}", mark(node.shape), label.join(" · "))
}

fn mark(shape: Shape) -> char {
    match shape {
        Shape::Action => '□',
        Shape::Branch => '◇',
        Shape::Question => '?',
        Shape::Judgment => '◆',
        Shape::Fork => '≡',
        Shape::Terminal => '●',
    }
}

fn legend(graph: &Graph, lines: &[String]) -> String {
    let known = [
        (Shape::Question, "question"),
        (Shape::Action, "action"),
        (Shape::Judgment, "judgment"),
        (Shape::Branch, "branch"),
        (Shape::Fork, "fork"),
        (Shape::Terminal, "end"),
    ];
    let there = known.into_iter().filter(|(shape, _)| graph.nodes.iter().any(|n| n.shape == *shape));
    let mut texts: Vec<String> = there.map(|(shape, name)| format!("{} {name}", mark(shape))).collect();
    if lines.iter().any(|line| line.ends_with('↑')) {
        texts.push("↑ drawn above".into());
    }
    texts.join("   ")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A question, a branch, a judgment that leads back, and an end.
    pub(in crate::cli::viz) fn graph() -> Graph {
        let node = |(id, label, shape): (&str, &str, Shape)| Node { id: id.into(), label: label.into(), shape };
        let edge = |(source, label, target): (&str, &str, &str)| Edge {
            source: source.into(),
            target: target.into(),
            label: label.into(),
        };
        Graph {
            entry: "a".into(),
            nodes: [
                ("a", "a\nask \"x\"", Shape::Question),
                ("b", "b\non it", Shape::Branch),
                ("c", "c\njudgment", Shape::Judgment),
                ("e", "e\ndone", Shape::Terminal),
            ]
            .map(node)
            .into(),
            edges: [
                ("a", "", "b"),
                ("b", "eq \"1\"", "e"),
                ("b", "default", "c"),
                ("c", "again", "a"),
                ("c", "end", "e"),
            ]
            .map(edge)
            .into(),
        }
    }

    #[test]
    fn each_node_is_drawn_once() {
        let expected = "\
? a · ask \"x\"
↓ ◇ b · on it
├─ eq \"1\" → ● e · done
└─ default → ◆ c · judgment
   ├─ again → ? a ↑
   └─ end → ● e

? question   ◆ judgment   ◇ branch   ● end   ↑ drawn above
";
        assert_eq!(drawing(&graph()), expected);
    }

    #[test]
    fn a_long_chain_is_no_deeper_than_the_thread() {
        let node = |n: u32| Node { id: n.to_string(), label: n.to_string(), shape: Shape::Action };
        let edge = |n: u32| Edge { source: n.to_string(), target: (n + 1).to_string(), label: String::new() };
        let graph = Graph {
            entry: "0".into(),
            nodes: (0..100_000).map(node).collect(),
            edges: (0..99_999).map(edge).collect(),
        };
        assert!(drawing(&graph).contains("\n↓ □ 99999\n"));
    }

    #[test]
    fn what_no_way_leads_to_is_drawn_too() {
        let mut graph = graph();
        graph.nodes.push(Node { id: "z".into(), label: "z".into(), shape: Shape::Fork });
        assert!(drawing(&graph).contains("\n(not reached) ≡ z\n"));
    }
}
