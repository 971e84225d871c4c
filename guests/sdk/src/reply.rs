//! Outputs and refusals in their common shapes. What stands in them is the dialect's.

use crate::json;
use crate::model::{Output, Refusal};
use crate::value::Value;

/// A plain reply: the value, as structured content and as text.
pub fn output(value: &Value) -> Output {
    Output { headline: None, value: json::text(value), content: None, is_error: false }
}

/// A reply that says in words why a call came to nothing.
pub fn failed(message: &str) -> Output {
    Output { headline: None, value: json::quoted(message), content: None, is_error: true }
}

/// A refusal that the caller sees as an error, in the same words.
pub fn refusal(code: &str, message: &str) -> Refusal {
    Refusal { code: code.to_owned(), message: message.to_owned(), entries: Vec::new(), reply: failed(message) }
}
