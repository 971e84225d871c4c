//! The bytes of a document as text with positions: encoding, byte order mark, characters that no document may hold.

use saphyr_parser::Marker;

use super::{BYTES_MAX, Schema};
use crate::diagnostic::{self, Finding};
use crate::model::{Position, Span};

/// A document's text, and a way from a character's number to its byte.
#[derive(Debug)]
pub(super) struct Source<'a> {
    /// The text without byte order mark.
    pub(super) text: &'a str,
    offsets: Vec<u32>,
}

impl<'a> Source<'a> {
    /// The text of a document, or why it is none.
    pub(super) fn new(bytes: &'a [u8], schema: Schema) -> Result<Self, Finding> {
        if bytes.len() > BYTES_MAX {
            let message = format!("the document has {} bytes, more than the {BYTES_MAX} that are read", bytes.len());
            return Err(diagnostic::error("yaml-size", message).help("split the document"));
        }
        let text = std::str::from_utf8(bytes).map_err(|fault| {
            let good =
                bytes.get(..fault.valid_up_to()).and_then(|head| std::str::from_utf8(head).ok()).unwrap_or_default();
            diagnostic::error("yaml-encoding", "the document is not UTF-8 text")
                .at(point(end_of(good)))
                .help("save it as UTF-8")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if schema == Schema::PyYaml
            && let Some(at) = text.find(unprintable)
        {
            let (head, tail) = text.split_at(at);
            let code = tail.chars().next().map_or(0, u32::from);
            let message = format!("the control character U+{code:04X} may not stand in a document");
            return Err(diagnostic::error("yaml-character", message)
                .at(point(end_of(head)))
                .help("write it as an escape in double quotes"));
        }
        let offsets = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().filter_map(|(at, _)| u32::try_from(at).ok()).collect()
        };
        Ok(Self { text, offsets })
    }

    /// Whether a collection that begins here is written in brackets. Its anchor and its tag may stand before them.
    pub(super) fn opens_flow(&self, at: &Marker) -> bool {
        let byte = if self.offsets.is_empty() {
            Some(at.index())
        } else {
            self.offsets.get(at.index()).and_then(|&byte| usize::try_from(byte).ok())
        };
        let mut rest = byte.and_then(|byte| self.text.get(byte..)).unwrap_or_default();
        while rest.starts_with(['&', '!']) {
            rest = rest
                .trim_start_matches(|c: char| !c.is_ascii_whitespace())
                .trim_start_matches(|c: char| c.is_ascii_whitespace());
        }
        rest.starts_with(['{', '['])
    }
}

/// Characters that PyYAML's reader refuses.
fn unprintable(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn end_of(text: &str) -> Position {
    let line = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let column = text.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Position { line: number(line), column: number(column) }
}

/// The position of a parser's marker.
pub(super) fn position(marker: &Marker) -> Position {
    Position { line: number(marker.line().max(1)), column: number(marker.col() + 1) }
}

/// A span of no width.
pub(super) fn point(at: Position) -> Span {
    Span { start: at, end: at }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
