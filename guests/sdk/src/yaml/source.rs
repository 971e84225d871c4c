//! The bytes of a document as text with positions: encoding, byte order mark, characters that no document may hold.

use std::borrow::Cow;
use std::collections::BTreeSet;

use saphyr_parser::{Marker, ScanError};

use super::{BYTES_MAX, Schema};
use crate::diagnostic::{self, Finding};
use crate::model::{Position, Span};

/// A document's text, and a way from a character's number to its byte.
#[derive(Debug)]
pub(super) struct Source<'a> {
    /// The text without byte order mark.
    pub(super) text: Cow<'a, str>,
    offsets: Vec<u32>,
    /// Lines that were moved to the right by `SHIFT`.
    moved: BTreeSet<u32>,
}

/// Blanks by which a line is moved. PyYAML takes a line inside brackets or quotes wherever it begins; YAML 1.2 wants it
/// further to the right than what it is a part of. Blanks at the beginning of such a line have no meaning.
const SHIFT: usize = 256;
/// LIMIT: bytes that are read again because lines were moved.
const MOVED_BYTES_MAX: usize = 16 << 20;

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
        Ok(Self::of(Cow::Borrowed(text), BTreeSet::new()))
    }

    fn of(text: Cow<'a, str>, moved: BTreeSet<u32>) -> Self {
        let offsets = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().filter_map(|(at, _)| u32::try_from(at).ok()).collect()
        };
        Self { text, offsets, moved }
    }

    /// The same document with the line moved that the parser complains of. None: moving lines is no cure.
    pub(super) fn loosened(&self, fault: &ScanError) -> Option<Source<'static>> {
        let line = number(fault.marker().line());
        let lines = match fault.info() {
            "invalid indentation" | "invalid indentation in flow construct" => line..=line,
            "invalid indentation in quoted scalar" => line + 1..=line + self.breaks_in_quotes(fault.marker())?,
            _ => return None,
        };
        let fresh: Vec<u32> = lines.filter(|line| !self.moved.contains(line)).collect();
        let size = self.text.len().saturating_add(fresh.len().saturating_mul(SHIFT));
        if fresh.is_empty() || size.saturating_mul(self.moved.len() + 1) > MOVED_BYTES_MAX {
            return None;
        }
        let mut text = String::with_capacity(size);
        for (line, content) in (1..).zip(self.text.split_inclusive('\n')) {
            if fresh.binary_search(&line).is_ok() {
                text.push_str(&" ".repeat(SHIFT));
            }
            text.push_str(content);
        }
        let moved = self.moved.iter().copied().chain(fresh).collect();
        Some(Source::of(Cow::Owned(text), moved))
    }

    /// How many lines end inside the quoted text that begins here.
    fn breaks_in_quotes(&self, at: &Marker) -> Option<u32> {
        let mut rest = self.from(at).chars();
        let quote = rest.next()?;
        let mut breaks = 0;
        loop {
            match rest.next()? {
                '\n' => breaks += 1,
                '\\' if quote == '"' => breaks += u32::from(rest.next()? == '\n'),
                '\'' if quote == '\'' && rest.as_str().starts_with('\'') => {
                    rest.next();
                }
                c if c == quote => return Some(breaks),
                _ => {}
            }
        }
    }

    fn from(&self, at: &Marker) -> &str {
        let byte = if self.offsets.is_empty() {
            Some(at.index())
        } else {
            self.offsets.get(at.index()).and_then(|&byte| usize::try_from(byte).ok())
        };
        byte.and_then(|byte| self.text.get(byte..)).unwrap_or_default()
    }

    /// The position of a parser's marker in the document as its author wrote it.
    pub(super) fn position(&self, marker: &Marker) -> Position {
        let line = number(marker.line().max(1));
        let shift = if self.moved.contains(&line) { SHIFT } else { 0 };
        Position { line, column: number(marker.col().saturating_sub(shift) + 1) }
    }

    /// Whether a collection that begins here is written in brackets. Its anchor and its tag may stand before them.
    pub(super) fn opens_flow(&self, at: &Marker) -> bool {
        let mut rest = self.from(at);
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

/// A span of no width.
pub(super) fn point(at: Position) -> Span {
    Span { start: at, end: at }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
