//! Looking back: entries by their number, the state after any of them, and every step with what it changed.

use std::collections::VecDeque;

use serde_json::Value;

use super::caller::Caller;
use super::fault::Fault;
use super::host::Host;
use super::line::LineRow;
use super::{patch, wire};
use crate::limits::{PAGE_BYTES_MAX, PAGE_ENTRIES_MAX};
use crate::plugin::contract;
use crate::session::model::{Head, SessionId};
use crate::store::Limit;

/// Lines that are read at once on the way back from the end.
const CHUNK_LINES: u64 = 16;

/// One journal line, for a reader: what it says, and the state after it.
#[derive(Debug, Clone)]
pub struct Step {
    /// The line.
    pub line: LineRow,
    /// The state after it, if it changed the state.
    pub state: Option<Value>,
}

impl Host {
    /// A journal line.
    pub(super) fn line(&self, session: SessionId, n: u64) -> Result<LineRow, Fault> {
        let lines = self.lines(session, n, Limit { lines: 1, bytes: usize::MAX })?;
        lines.into_iter().next().ok_or_else(|| Fault::Line { session, line: n, reason: "it is missing".into() })
    }

    /// Journal lines from a number on.
    pub(super) fn lines(&self, session: SessionId, from: u64, limit: Limit) -> Result<Vec<LineRow>, Fault> {
        let lines = self.store.lines(session, from, limit)?;
        (from..)
            .zip(lines)
            .map(|(n, bytes)| {
                let bad = |e: serde_json::Error| Fault::Line { session, line: n, reason: e.to_string() };
                LineRow::decode(&bytes).map_err(bad)
            })
            .collect()
    }

    /// The last line whose entries begin at or before this number. Each line names the number that comes next.
    pub(super) fn line_of(&self, head: &Head, seq: u32) -> Result<u64, Fault> {
        let (mut low, mut high) = (1, head.lines);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.line(head.session, middle)?.seq <= seq {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        // Lines without entries share a number with the one that has them, and come before it.
        Ok(low)
    }

    /// Entries after a number, at most `limit`, as the contract's journal.
    pub(super) fn page(&self, head: &Head, after: Option<u32>, limit: u32) -> Result<contract::Journal, Fault> {
        let wanted = usize::try_from(limit.clamp(1, PAGE_ENTRIES_MAX)).unwrap_or(usize::MAX);
        // Before its first commit a session has no lines to look at.
        if head.lines == 0 || after.is_some_and(|after| after >= head.entries) {
            return Ok(contract::Journal { total: head.entries, entries: Vec::new() });
        }
        let entries = match after {
            Some(after) => self.entries_after(head, after, wanted)?,
            None => self.newest_entries(head, wanted)?,
        };
        Ok(contract::Journal { total: head.entries, entries })
    }

    fn entries_after(&self, head: &Head, after: u32, wanted: usize) -> Result<Vec<contract::Kept>, Fault> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let mut next = self.line_of(head, after + 1)?;
        while next <= head.lines && entries.len() < wanted && bytes < PAGE_BYTES_MAX {
            let chunk = self.store.lines(head.session, next, Limit { lines: 256, bytes: PAGE_BYTES_MAX })?;
            if chunk.is_empty() {
                break;
            }
            for line in &chunk {
                entries.extend(kept(&row(head.session, next, line)?).filter(|k| k.seq > after));
                next += 1;
                bytes += line.len();
                if entries.len() >= wanted || bytes >= PAGE_BYTES_MAX {
                    break;
                }
            }
        }
        entries.truncate(wanted);
        Ok(entries)
    }

    /// From the end backwards, so that large entries cost the oldest ones and not the newest.
    fn newest_entries(&self, head: &Head, wanted: usize) -> Result<Vec<contract::Kept>, Fault> {
        let (mut entries, mut bytes) = (VecDeque::new(), 0);
        let mut end = head.lines;
        while end > 0 && entries.len() < wanted && bytes < PAGE_BYTES_MAX {
            let first = end.saturating_sub(CHUNK_LINES - 1).max(1);
            let lines = usize::try_from(end - first + 1).unwrap_or(usize::MAX);
            let chunk = self.store.lines(head.session, first, Limit { lines, bytes: usize::MAX })?;
            for (n, line) in (first..).zip(&chunk).collect::<Vec<_>>().into_iter().rev() {
                if entries.len() >= wanted || bytes >= PAGE_BYTES_MAX {
                    break;
                }
                bytes += line.len();
                kept(&row(head.session, n, line)?)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .rev()
                    .for_each(|k| entries.push_front(k));
            }
            end = first - 1;
        }
        let spare = entries.len().saturating_sub(wanted);
        Ok(entries.into_iter().skip(spare).collect())
    }

    /// What `route` asked to have laid out; none if there is no such session for this caller, or no such entry in it.
    pub(super) fn past(
        &self,
        caller: &Caller,
        target: &Head,
        moment: &contract::Moment,
    ) -> Result<Option<contract::Past>, Fault> {
        let head = match &moment.session {
            None => Some(target.clone()),
            Some(text) => match text.parse() {
                // A workflow's id is unique within its interpreter only, and so is what a state means.
                Ok(session) => self
                    .visible(caller, session)?
                    .filter(|h| h.interpreter == target.interpreter && h.workflow == target.workflow),
                Err(_) => None,
            },
        };
        let Some(head) = head else { return Ok(None) };
        let seq = moment.seq.unwrap_or(head.entries);
        if seq == 0 || seq > head.entries || head.lines == 0 {
            return Ok(None);
        }
        let n = self.line_of(&head, seq)?;
        let line = self.line(head.session, n)?;
        let Some(entry) = kept(&line).find(|k| k.seq == seq) else { return Ok(None) };
        let (state, remembered) = self.state_after(&head, n)?;
        Ok(Some(contract::Past { session: super::advance::record(&head), entry, state, remembered }))
    }

    /// The state after a line, and how many memories there were: the nearest whole state, and the changes since.
    pub(super) fn state_after(&self, head: &Head, n: u64) -> Result<(String, u32), Fault> {
        let session = head.session;
        let mut changes = Vec::new();
        let mut remembered = None;
        let mut at = n;
        let mut state = loop {
            if at == 0 {
                return Err(Fault::Line { session, line: 1, reason: "no line holds a whole state".into() });
            }
            let row = self.line(session, at)?;
            if let Some(turn) = row.turn {
                remembered.get_or_insert(turn.memories);
                if let Some(whole) = turn.state {
                    if changes.is_empty() {
                        return Ok((whole.get().to_owned(), remembered.unwrap_or_default()));
                    }
                    let bad = |e: serde_json::Error| Fault::Line { session, line: at, reason: e.to_string() };
                    break serde_json::from_str::<Value>(whole.get()).map_err(bad)?;
                }
                changes.extend(turn.change);
            }
            at -= 1;
        };
        changes.iter().rev().for_each(|change| patch::apply(&mut state, change));
        Ok((state.to_string(), remembered.unwrap_or_default()))
    }

    /// Every step of a session, oldest first, with the state after each.
    pub fn steps(&self, caller: &Caller, session: SessionId) -> Result<Vec<Step>, Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        let mut steps = Vec::new();
        let mut state = Value::Null;
        let mut next = 1;
        while next <= head.lines {
            let lines = self.lines(session, next, Limit { lines: 256, bytes: 4 * PAGE_BYTES_MAX })?;
            if lines.is_empty() {
                break;
            }
            for line in lines {
                next += 1;
                let after = line.turn.as_ref().map(|turn| {
                    if let Some(whole) = &turn.state {
                        state = serde_json::from_str(whole.get()).unwrap_or_default();
                    } else if let Some(change) = &turn.change {
                        patch::apply(&mut state, change);
                    }
                    state.clone()
                });
                steps.push(Step { line, state: after });
            }
        }
        Ok(steps)
    }
}

/// A line that was read, as a row.
fn row(session: SessionId, line: u64, bytes: &[u8]) -> Result<LineRow, Fault> {
    LineRow::decode(bytes).map_err(|e| Fault::Line { session, line, reason: e.to_string() })
}

/// The entries on a line, numbered and stamped.
fn kept(row: &LineRow) -> impl Iterator<Item = contract::Kept> {
    let named = row.event.as_ref().and_then(|e| wire::source_named(&e.source));
    let source = named.unwrap_or(contract::Source::Host);
    let at = row.at;
    (row.seq..).zip(row.entries()).map(move |(seq, entry)| contract::Kept {
        seq,
        at,
        source,
        entry: wire::entry_of(entry.clone()),
    })
}
