//! Why an expression has no value.

use jsonata_core::evaluator::{EvaluatorError, error_code_prefix};
use jsonata_core::parser::ParserError;

/// What is wrong with an expression, or with its evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// JSONata's own code, such as `T2001`; empty where it has none.
    pub code: String,
    /// What is wrong, in a sentence.
    pub message: String,
    /// How many characters of the expression stand before the fault. None: it has no place, as everything that shows only in
    /// evaluation.
    pub at: Option<usize>,
}

impl Fault {
    /// A fault with a code of the language.
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), at: None }
    }

    pub(crate) fn of_text(text: &str) -> Self {
        // Some of the library's errors carry the code in front, others behind a word of their own.
        let before = ["Invalid syntax: ", "Signature validation failed: "];
        let text = before.iter().find_map(|words| text.strip_prefix(words)).unwrap_or(text);
        let code = error_code_prefix(text).unwrap_or_default();
        let message = text.get(code.len()..).unwrap_or_default().trim_start_matches(':').trim_start();
        // The language has one code for a recursion that does not end, the library one for each of its two bounds.
        Self::new(if code == "D1011" { "U1001" } else { code }, message)
    }

    pub(crate) fn of_parser(error: &ParserError) -> Self {
        match error {
            ParserError::UnclosedComment => Self::new("S0106", "Comment has no closing tag"),
            ParserError::InvalidNumber(text) => Self::new("S0102", format!("Number out of range: {text}")),
            ParserError::UnexpectedToken(_)
            | ParserError::UnexpectedEnd
            | ParserError::InvalidSyntax(_)
            | ParserError::UnclosedString
            | ParserError::InvalidEscape(_)
            | ParserError::UnclosedBacktick
            | ParserError::Expected { .. }
            | ParserError::Coded { .. } => Self::of_text(&error.to_string()),
        }
    }

    pub(crate) fn of_evaluator(error: &EvaluatorError) -> Self {
        Self::of_text(error.message())
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.code.is_empty() { f.write_str(&self.message) } else { write!(f, "{} ({})", self.message, self.code) }
    }
}
