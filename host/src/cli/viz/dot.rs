//! A Graphviz drawing. Every id and label is a quoted text, so none can end it.

use std::fmt::Write as _;

use crate::plugin::contract::{Graph, Shape};

/// The digraph of a workflow.
pub(super) fn drawing(id: &str, graph: &Graph) -> String {
    let mut text =
        format!("digraph {} {{\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n", quoted(id));
    for node in &graph.nodes {
        let bold = if node.id == graph.entry { ", penwidth=2" } else { "" };
        let _ = writeln!(text, "  {} [label={}, {}{bold}];", quoted(&node.id), quoted(&node.label), shape(node.shape));
    }
    for edge in &graph.edges {
        let label = if edge.label.is_empty() { String::new() } else { format!(" [label={}]", quoted(&edge.label)) };
        let _ = writeln!(text, "  {} -> {}{label};", quoted(&edge.source), quoted(&edge.target));
    }
    text.push_str("}\n");
    text
}

fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Action => "shape=box",
        Shape::Branch => "shape=diamond",
        Shape::Question => "shape=box, style=rounded",
        Shape::Judgment => "shape=box, peripheries=2",
        Shape::Fork => "shape=hexagon",
        Shape::Terminal => "shape=oval",
    }
}

/// In a quoted text only the quote and, for us, the backslash and the end of the line are special.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::viz::terminal::tests::graph;

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("a\"; x -> y [\\\n"), r#""a\"; x -> y [\\\n""#);
        let drawn = drawing("w \"1\"", &graph());
        assert!(drawn.starts_with("digraph \"w \\\"1\\\"\" {\n"), "{drawn}");
        assert!(drawn.contains("  \"b\" -> \"e\" [label=\"eq \\\"1\\\"\"];\n"), "{drawn}");
    }
}
