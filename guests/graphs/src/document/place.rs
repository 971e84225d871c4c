//! Where in a document a character of an expression stands. A scalar may be plain, quoted or a block; where the way back is
//! not certain, the scalar's own place has to do.

use wfhost_guest::model::{Position, Span};

/// The document's lines.
#[derive(Debug)]
pub(super) struct Lines<'a>(Vec<&'a str>);

impl<'a> Lines<'a> {
    /// The lines of a document; none if it is no text.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        Self(text.trim_start_matches('\u{feff}').split('\n').collect())
    }

    /// The place of the character after `at` others of the text that this scalar holds.
    pub(super) fn place(&self, scalar: Span, text: &str, at: usize) -> Option<Span> {
        let head: String = text.chars().take(at).collect();
        let (row, column) = (head.matches('\n').count(), head.rsplit('\n').next()?.chars().count());
        let wanted = text.split('\n').nth(row)?;
        let line = index(scalar.start.line)? + row;
        let written: Vec<char> = self.0.get(line)?.chars().collect();
        let letters: Vec<char> = wanted.chars().collect();
        // A block begins at its first line. A text that was folded, or has escapes, does not stand there as it is.
        let start = if text.contains('\n') {
            (0..=written.len()).find(|start| written.get(*start..).is_some_and(|rest| rest.starts_with(&letters)))?
        } else {
            let from = index(scalar.start.column)?;
            from + usize::from(matches!(written.get(from), Some('"' | '\'')))
        };
        let as_written = written.get(start..)?.starts_with(letters.get(..column.min(letters.len()))?);
        let point = Position { line: number(line + 1), column: number(start + column + 1) };
        as_written.then_some(Span { start: point, end: point })
    }
}

fn index(number: u32) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
