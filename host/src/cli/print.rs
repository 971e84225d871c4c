//! Writing to the terminal. Results go to standard output, everything else to standard error; a reader that has gone away
//! is no failure.

use std::io::{Write, stderr, stdout};

/// A line of the result.
pub(crate) fn line(text: impl std::fmt::Display) {
    let _ = writeln!(stdout().lock(), "{text}");
}

/// The result as it is.
pub(crate) fn raw(text: impl std::fmt::Display) {
    let mut out = stdout().lock();
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

/// A line for the operator.
pub(crate) fn note(text: impl std::fmt::Display) {
    let _ = writeln!(stderr().lock(), "wfhost: {text}");
}

/// What ended the command.
pub(crate) fn error(error: &anyhow::Error) {
    let _ = writeln!(stderr().lock(), "wfhost: error: {error:#}");
}
