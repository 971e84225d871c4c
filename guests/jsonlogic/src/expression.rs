//! A rule and its data as JSON texts: what an interpreter that offers this language answers to `evaluate`.

use wfhost_guest::diagnostic;
use wfhost_guest::json;
use wfhost_guest::model::{Diagnostic, Position, Span};
use wfhost_guest::yaml;

use crate::fault::{Budget, Fault, Kind};
use crate::rule::Rule;

/// The name of the language.
pub const LANGUAGE: &str = "jsonlogic";

/// The JSON text of the rule's value over this data, or what is wrong, with its place in the expression. NaN and infinities
/// are null, as in `JSON.stringify`.
pub fn evaluate(expression: &str, context: &str) -> Result<String, Diagnostic> {
    let rule = json::read(expression).map_err(|fault| {
        let at = position(expression, fault.offset);
        diagnostic::error("logic-syntax", format!("the rule is no JSON: {}", fault.what))
            .help("a rule looks like {\"==\": [{\"var\": \"a\"}, 1]}")
            .at(Span { start: at, end: at })
            .done()
    })?;
    let data = json::read(context).map_err(|fault| {
        let at = position(context, fault.offset);
        let place = format!("line {}, column {}", at.line, at.column);
        diagnostic::error("logic-data", format!("the data is no JSON: {} at {place}", fault.what)).done()
    })?;
    let value = Rule::parse(&rule).and_then(|rule| rule.apply(&data, &mut Budget::default()));
    value.map(|value| json::text(&value)).map_err(|fault| told(expression, &fault))
}

fn told(expression: &str, fault: &Fault) -> Diagnostic {
    let help = if let Kind::UnknownOperation(name) = &fault.kind {
        let value = "a mapping with one member is an operation; one that is to be a value needs a second member";
        wfhost_guest::nearest::did_you_mean(name, crate::OPERATIONS).or_else(|| Some(value.into()))
    } else {
        None
    };
    let mut finding = diagnostic::error(fault.code(), fault.kind.to_string()).maybe_help(help);
    if !fault.pointer().is_empty() {
        finding = finding.about(&fault.pointer());
    }
    match place(expression, fault) {
        Some(span) => finding.at(span).done(),
        None => finding.done(),
    }
}

/// Where the fault stands in the text. JSON is YAML, and the reader of that knows places.
fn place(expression: &str, fault: &Fault) -> Option<Span> {
    let root = yaml::load(expression.as_bytes(), yaml::Rules::CORE).root?;
    let mut node = &root;
    for step in fault.steps() {
        node = if let Some(items) = node.as_list() {
            items.get(step.parse::<usize>().ok()?)?
        } else {
            &node.pair(step)?.value
        };
    }
    Some(node.span)
}

fn position(text: &str, offset: usize) -> Position {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Position { line: number(line), column: number(column) }
}
