//! Which of the three generations of the document form a document is in, and what that means for texts with a leading `$`.
//!
//! | mcpGraph | a way out of a switch | an argument that is computed |
//! |---|---|---|
//! | up to 0.1.27 | `target`; a condition without rule is the default | a text that begins with `$`, directly under `args` |
//! | 0.1.28 to 0.1.30 | `next` | the same |
//! | from 0.1.31 | `next` | `{expr: ..}` at any depth |

use wfhost_guest::diagnostic;
use wfhost_guest::value::Value;
use wfhost_jsonata::Expression;

use super::fields::Findings;
use super::model::{Args, Document, Kind, NodeDef, Target, Text};

/// Turns texts with a leading `$` into expressions, where the document's form wants that, and names the form.
pub(super) fn settle(document: &mut Document, option: Option<bool>, targets: bool, findings: &mut Findings) {
    let modern = document.tools.iter().flat_map(|tool| &tool.nodes).filter_map(args).any(has_expr);
    let dollars = option.unwrap_or(!modern);
    let mut computed = 0;
    for tool in &mut document.tools {
        for node in &mut tool.nodes {
            let upstream = matches!(
                node.kind,
                Kind::Call { target: Target::Upstream { .. }, .. }
                    | Kind::Foreach { target: Target::Upstream { .. }, .. }
            );
            findings.subject = Some(node.id.text.clone());
            match &mut node.kind {
                Kind::Call { args, .. } | Kind::Foreach { args, .. } if upstream => {
                    computed += top_level(args, dollars, findings);
                }
                Kind::Call { .. }
                | Kind::Foreach { .. }
                | Kind::Entry { .. }
                | Kind::Exit { .. }
                | Kind::Transform { .. }
                | Kind::Switch { .. } => {}
            }
            findings.subject = None;
        }
    }
    let Some(first) = document.tools.first() else { return };
    let (form, cure) = match (targets, computed > 0) {
        (true, _) => (
            "0.1.27 or older (`target` in conditions)",
            "write `next` for `target`, and the default as `next` of the switch",
        ),
        (false, true) => ("0.1.28 to 0.1.30 (arguments with a leading `$`)", "write `{expr: ..}` for them"),
        (false, false) => return,
    };
    let message = format!("the document is in the form of mcpGraph {form}");
    findings.tell(diagnostic::note("graph-form", message).help(cure), first.name.span);
}

fn args(node: &NodeDef) -> Option<&Args> {
    match &node.kind {
        Kind::Call { args, .. } | Kind::Foreach { args, .. } => Some(args),
        Kind::Entry { .. } | Kind::Exit { .. } | Kind::Transform { .. } | Kind::Switch { .. } => None,
    }
}

fn has_expr(args: &Args) -> bool {
    match args {
        Args::Expr(_) | Args::BadExpr(_) => true,
        Args::List(items) => items.iter().any(has_expr),
        Args::Map(members) => members.iter().any(|(_, item)| has_expr(item)),
        Args::Plain(..) => false,
    }
}

/// How many arguments became expressions.
fn top_level(args: &mut Args, dollars: bool, findings: &mut Findings) -> usize {
    let Args::Map(members) = args else { return 0 };
    let mut computed = 0;
    for (name, item) in members {
        let Args::Plain(Value::Str(text), span) = item else { continue };
        if !looks_computed(text) {
            continue;
        }
        let parses = Expression::parse(text).is_ok();
        if dollars && parses {
            computed += 1;
            *item = Args::Expr(Text { text: text.clone(), span: *span });
            continue;
        }
        let message = format!("the argument `{name}` begins like an expression and is sent as it is");
        let help = if dollars { "it is no JSONata" } else { "to have it computed, write `{expr: ..}`" };
        findings.tell(diagnostic::warning("graph-dollar", message).help(help), *span);
    }
    computed
}

/// `$.a`, `$$.a`, `$name(..)`, and `$` alone; but not `$5.00`.
fn looks_computed(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('$') else { return false };
    if rest.is_empty() || rest.starts_with(['.', '$', '[']) {
        return true;
    }
    let name = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    name.len() < rest.len() && name.starts_with('(')
}
