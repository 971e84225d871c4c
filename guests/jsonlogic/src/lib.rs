//! JSON Logic with the semantics of json-logic-js 2.0.5: its 35 operators, JavaScript's coercions, and the inner scope of its
//! array operations. `var` is resolved while a rule is evaluated, by whoever asks, so a rule that never reaches a `var` never
//! looks it up.
//!
//! DEVIATES: a value is never read again as logic. The peer hands what `var` gave to its evaluator once more, and a message
//! such as `{"==": [1, 1]}` becomes an operation (cases e11, e17 of mcpgraph).
//! DEVIATES: `log` gives its value and prints nothing (e20). What only JavaScript objects have, such as `constructor`, is not
//! found.
//!
//! - `rule`: from a JSON value to a rule, and what can be said of it without running it
//! - `run`, `scope`, `plain`: evaluation; what `var` and `missing` see; the operators without an inner scope
//! - `js`, `coerce`, `number`: values, conversions and numbers as JavaScript has them
//! - `expression`: a rule and its data as JSON texts, for `evaluate` of the contract
//! - `fault`: what can go wrong, where, and the budget

mod coerce;
mod expression;
mod fault;
mod js;
mod number;
mod plain;
mod rule;
mod run;
mod scope;
#[cfg(test)]
mod tests;

pub use expression::{LANGUAGE, evaluate};
pub use fault::{Budget, Fault, Kind, RULE_DEPTH_MAX, VALUE_DEPTH_MAX};
pub use rule::{OPERATIONS, Reference, Rule, Unknown};
pub use scope::{Absent, Lookup, dotted};

use wfhost_guest::value::Value;

/// Whether a value counts as true: not null, false, 0, NaN, the empty text or the empty list. An empty mapping is true.
#[must_use]
pub fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Int(int) => int.as_f64() != 0.0,
        Value::Float(float) => *float != 0.0 && !float.is_nan(),
        Value::Str(text) => !text.is_empty(),
        Value::List(items) => !items.is_empty(),
        Value::Map(_) => true,
    }
}
