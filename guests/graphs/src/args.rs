//! Values against schemas: the arguments of a call, and results.

use wfhost_guest::schema::{self, Problem};
use wfhost_guest::value::Value;

/// LIMIT: problems that are told.
const TOLD_MAX: usize = 10;

/// What does not fit. A tool without a schema, or with an empty one, takes and gives anything.
pub(crate) fn problems(value: &Value, schema: &Value) -> Vec<Problem> {
    if schema.as_map().is_none_or(wfhost_guest::value::Map::is_empty) {
        return Vec::new();
    }
    schema::problems(value, schema)
}

/// In a sentence: each with its JSON pointer.
pub(crate) fn words(problems: &[Problem]) -> String {
    let told: Vec<String> =
        problems.iter().take(TOLD_MAX).map(|problem| format!("{}: {}", shown(problem), problem.message)).collect();
    let more = problems.len().saturating_sub(TOLD_MAX);
    let tail = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{tail}", told.join("; "))
}

/// Where it does not fit, as a JSON pointer (RFC 6901).
fn pointer(problem: &Problem) -> String {
    problem.path.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect()
}

fn shown(problem: &Problem) -> String {
    let pointer = pointer(problem);
    if pointer.is_empty() { "the whole".to_owned() } else { pointer }
}

/// For programs.
pub(crate) fn listed(problems: &[Problem]) -> Value {
    let one = |problem: &Problem| {
        Value::from([("at", pointer(problem).into()), ("message", problem.message.as_str().into())])
    };
    Value::List(problems.iter().take(TOLD_MAX).map(one).collect())
}
