//! An expression and its data as JSON texts, for `evaluate` of the contract.

use wfhost_guest::model::{Diagnostic, Position, Span};
use wfhost_guest::{diagnostic, json};

use crate::data::Data;
use crate::expression::Expression;
use crate::fault::Fault;
use crate::machine::{Machine, Moment};

/// The name of the language.
pub const LANGUAGE: &str = "jsonata";

/// The value of an expression over a context; an empty text is no context. No value is null. Time stands at zero, and chance
/// always begins alike.
pub fn evaluate(expression: &str, context: &str) -> Result<String, Diagnostic> {
    let data = if context.is_empty() { Ok(Data::nothing()) } else { json::read(context).map(|data| Data::from(&data)) };
    let data = data.map_err(|fault| {
        let message = format!("the data are no JSON: {} at byte {}", fault.what, fault.offset);
        diagnostic::error("jsonata-data", message).done()
    })?;
    let told = |fault: Fault| told(expression, &fault);
    let read = Expression::parse(expression).map_err(told)?;
    let mut machine = Machine::new(Moment { now: 0, seed: 0 }, Vec::new());
    let value = machine.evaluate(&read, &data).map_err(told)?;
    Ok(json::text(&value.value().unwrap_or_default()))
}

/// A fault as a finding about the expression.
fn told(expression: &str, fault: &Fault) -> Diagnostic {
    let code = if fault.code.is_empty() { "jsonata-fault".to_owned() } else { format!("jsonata-{}", fault.code) };
    let finding = diagnostic::error(&code, fault.to_string());
    match fault.at {
        Some(at) => {
            let start = position(expression, at);
            finding.at(Span { start, end: start }).done()
        }
        None => finding.done(),
    }
}

/// Line and column of a character of a text.
fn position(text: &str, at: usize) -> Position {
    let head: String = text.chars().take(at).collect();
    let line = head.matches('\n').count() + 1;
    let column = head.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Position { line: number(line), column: number(column) }
}
