//! A Mermaid flowchart. Ids stand in it as they are.

use std::fmt::Write as _;

use crate::plugin::contract::{Graph, Shape};

/// The flowchart.
pub(super) fn drawing(graph: &Graph) -> String {
    let mut text = String::from("flowchart TD\n");
    for node in &graph.nodes {
        let (open, close) = brackets(node.shape);
        let _ = writeln!(text, "  {}{open}\"{}\"{close}", node.id, label(&node.label));
    }
    for edge in &graph.edges {
        let _ = match edge.label.as_str() {
            "" => writeln!(text, "  {} --> {}", edge.source, edge.target),
            on_edge => writeln!(text, "  {} -- {} --> {}", edge.source, label(on_edge), edge.target),
        };
    }
    text
}

fn brackets(shape: Shape) -> (&'static str, &'static str) {
    match shape {
        Shape::Branch => ("{", "}"),
        Shape::Terminal => ("([", "])"),
        Shape::Judgment => ("[[", "]]"),
        Shape::Fork => ("{{", "}}"),
        Shape::Action | Shape::Question => ("[", "]"),
    }
}

fn label(text: &str) -> String {
    text.replace('"', "#quot;").replace('\n', "<br/>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::viz::terminal::tests::graph;

    #[test]
    fn every_shape_and_edge_is_drawn() {
        let expected = "flowchart TD\n  a[\"a<br/>ask #quot;x#quot;\"]\n  b{\"b<br/>on it\"}\n  c[[\"c<br/>judgment\"]]\n  \
            e([\"e<br/>done\"])\n  a --> b\n  b -- eq #quot;1#quot; --> e\n  b -- default --> c\n  c -- again --> a\n  c -- end --> e\n";
        assert_eq!(drawing(&graph()), expected);
    }
}
