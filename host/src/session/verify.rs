//! Whether a journal is what it was: line by line against its chain, and as a whole against its head, which is kept apart.

use serde_json::Value;

use super::caller::Caller;
use super::fault::Fault;
use super::host::Host;
use super::line::{self, LineRow, TurnRow};
use super::patch;
use crate::limits::PAGE_BYTES_MAX;
use crate::session::model::{Digest, Head, SessionId};
use crate::store::Limit;

/// What was found wrong with a journal.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "code")]
pub enum Damage {
    /// Lines at the end are gone, or all of them.
    Cut {
        /// How many there are.
        found: u64,
        /// How many the head counts.
        counted: u64,
    },
    /// There are more lines than the head counts.
    Longer {
        /// How many the head counts.
        counted: u64,
    },
    /// A line cannot be read.
    Unreadable {
        /// Its number.
        line: u64,
        /// Why.
        reason: String,
    },
    /// A line stands where another belongs: re-ordered, inserted, or one before it was taken out.
    Misplaced {
        /// Where it stands.
        line: u64,
        /// The number that it bears.
        bears: u64,
    },
    /// A line of another session.
    Foreign {
        /// Where it stands.
        line: u64,
        /// Whose it is.
        session: String,
    },
    /// A line does not say what it said when the next one was written.
    Altered {
        /// Its number.
        line: u64,
    },
    /// The journal begins from another plugin, definition, owner or start than the head names.
    OtherBeginning,
    /// The state in the head is not the one that the last turn left.
    State {
        /// The line of that turn.
        line: u64,
    },
    /// Something else in the head is not what the last turn left.
    Head {
        /// `requests`, `current`, `outcome`, `window`, `memories` or `entries`.
        field: String,
    },
    /// Memories are missing, or are not those that were remembered.
    Memories {
        /// The line of the turn that remembered them.
        line: u64,
    },
    /// What the session is pinned to is missing, or is not what its name says.
    Pinned {
        /// `plugin` or `definition`.
        what: String,
    },
    /// The head is not the one that was exported: the session was cut, or its whole chain written anew.
    OtherHead {
        /// Lines that the exported head counts.
        lines: u64,
    },
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cut { found, counted } => {
                write!(f, "the journal is cut: {found} lines are there, the head counts {counted}")
            }
            Self::Longer { counted } => write!(f, "the journal has lines after the {counted} that the head counts"),
            Self::Unreadable { line, reason } => write!(f, "line {line} cannot be read: {reason}"),
            Self::Misplaced { line, bears } => {
                write!(f, "line {line} bears the number {bears}: lines were re-ordered, put in or taken out")
            }
            Self::Foreign { line, session } => write!(f, "line {line} is one of session {session}"),
            Self::Altered { line } => write!(f, "line {line} was altered after it was written"),
            Self::OtherBeginning => {
                write!(f, "the journal does not begin from the plugin, definition and start that the head names")
            }
            Self::State { line } => write!(f, "the head's state is not the one that line {line} left"),
            Self::Head { field } => write!(f, "the head's {field} are not what the last turn left"),
            Self::Memories { line } => write!(f, "the memories that line {line} added are missing or altered"),
            Self::Pinned { what } => write!(f, "the {what} that the session is pinned to is missing or altered"),
            Self::OtherHead { lines } => {
                write!(f, "the session is not the one whose head with {lines} lines was exported")
            }
        }
    }
}

/// The verdict on a session.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Verdict {
    /// The session.
    pub session: String,
    /// How many lines were looked at.
    pub lines: u64,
    /// The hash of its newest line, as the head has it.
    pub head: String,
    /// What is wrong; nothing: the journal is whole.
    pub damages: Vec<Damage>,
}

/// What a walk along the lines has seen.
struct Walk<'h> {
    head: &'h Head,
    chain: Digest,
    next: u64,
    state: Value,
    /// The last turn, and its line.
    last: Option<(u64, TurnRow)>,
    entries: u32,
    /// Where memories were added: the line, how many there were after it, their hash.
    remembered: Vec<(u64, u32, String)>,
    damages: Vec<Damage>,
}

impl Host {
    /// Looks at the whole journal of a session. `exported` is the head's line count and chain, if it was kept elsewhere.
    pub fn verify(
        &self,
        caller: &Caller,
        session: SessionId,
        exported: Option<(u64, Digest)>,
    ) -> Result<Verdict, Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        let mut walk = Walk {
            head: &head,
            chain: line::genesis(&head),
            next: 1,
            state: Value::Null,
            last: None,
            entries: 0,
            remembered: Vec::new(),
            damages: Vec::new(),
        };
        let mut exported_chain = None;
        let mut at_once = 256;
        let read = loop {
            let left = usize::try_from(head.lines.saturating_add(1).saturating_sub(walk.next)).unwrap_or(usize::MAX);
            let limit = Limit { lines: at_once.min(left.max(1)), bytes: 4 * PAGE_BYTES_MAX };
            let lines = match self.store.lines(session, walk.next, limit) {
                Ok(lines) => lines,
                // Which of them it is shows one by one.
                Err(_) if at_once > 1 => {
                    at_once = 1;
                    continue;
                }
                Err(fault) => {
                    walk.damages.push(Damage::Unreadable { line: walk.next, reason: fault.to_string() });
                    break false;
                }
            };
            // A session that went on meanwhile has lines that this head could not count yet.
            let later = left == 0 && self.store.head(session)?.is_some_and(|now| now.lines > head.lines);
            if lines.is_empty() || later {
                break true;
            }
            for bytes in &lines {
                walk.step(bytes);
                if exported.is_some_and(|(lines, _)| lines == walk.next - 1) {
                    exported_chain = Some(walk.chain);
                }
            }
        };
        // Lines that could not be read are not lines that are gone.
        if read {
            walk.end();
            self.memories_are_there(&mut walk)?;
        }
        for (what, digest) in [("plugin", head.plugin), ("definition", head.definition)] {
            let whole = self.store.blob(digest).is_ok_and(|b| b.is_some_and(|bytes| Digest::of(&bytes) == digest));
            if !whole {
                walk.damages.push(Damage::Pinned { what: what.into() });
            }
        }
        if let Some((lines, _)) = exported.filter(|(_, chain)| exported_chain != Some(*chain)) {
            walk.damages.push(Damage::OtherHead { lines });
        }
        Ok(Verdict {
            session: session.to_string(),
            lines: walk.next - 1,
            head: head.chain.to_string(),
            damages: walk.damages,
        })
    }
}

impl Walk<'_> {
    fn step(&mut self, bytes: &[u8]) {
        let n = self.next;
        self.next += 1;
        match LineRow::decode(bytes) {
            Err(error) => self.damages.push(Damage::Unreadable { line: n, reason: error.to_string() }),
            Ok(row) => self.row(n, &row),
        }
        self.chain = line::link(self.chain, bytes);
    }

    fn row(&mut self, n: u64, row: &LineRow) {
        let session = self.head.session.to_string();
        if row.session != session {
            self.damages.push(Damage::Foreign { line: n, session: row.session.clone() });
        } else if row.n != n {
            self.damages.push(Damage::Misplaced { line: n, bears: row.n });
        } else if row.prev != self.chain.to_string() {
            self.damages.push(if n == 1 { Damage::OtherBeginning } else { Damage::Altered { line: n - 1 } });
            // What follows is measured against what it says itself, so that one altered line is one finding.
            self.chain = row.prev.parse().unwrap_or(self.chain);
        }
        if let Some(turn) = &row.turn {
            match (&turn.state, &turn.change) {
                (Some(whole), _) => self.state = serde_json::from_str(whole.get()).unwrap_or_default(),
                (None, Some(change)) => patch::apply(&mut self.state, change),
                (None, None) => {}
            }
            let written = turn.state.as_ref().map_or_else(|| self.state.to_string(), |whole| whole.get().to_owned());
            if Digest::of(written.as_bytes()).to_string() != turn.state_hash {
                self.damages.push(Damage::State { line: n });
            }
            if let Some(hash) = &turn.remembered_hash {
                self.remembered.push((n, turn.memories, hash.clone()));
            }
            self.last = Some((n, turn.clone()));
        }
        self.entries = row.seq.saturating_sub(1) + u32::try_from(row.entries().len()).unwrap_or(u32::MAX);
    }

    fn end(&mut self) {
        let (found, counted) = (self.next - 1, self.head.lines);
        if found < counted {
            self.damages.push(Damage::Cut { found, counted });
        } else if found > counted {
            self.damages.push(Damage::Longer { counted });
        } else if self.chain != self.head.chain && self.damages.is_empty() {
            self.damages.push(Damage::Altered { line: found });
        }
        if found == counted
            && let Some((line, turn)) = &self.last
        {
            if Digest::of(self.head.state.as_bytes()).to_string() != turn.state_hash {
                self.damages.push(Damage::State { line: *line });
            }
            let other = differing(self.head, turn, self.entries);
            self.damages.extend(other.into_iter().map(|field| Damage::Head { field: field.into() }));
        }
    }
}

impl Host {
    fn memories_are_there(&self, walk: &mut Walk<'_>) -> Result<(), Fault> {
        let mut first = 0;
        for (line, total, hash) in std::mem::take(&mut walk.remembered) {
            let (mut next, mut texts) = (first, Vec::new());
            while next < total {
                let more = self.store.memories(walk.head.session, next, total - next)?;
                if more.is_empty() {
                    break;
                }
                next = next.saturating_add(u32::try_from(more.len()).unwrap_or(u32::MAX));
                texts.extend(more);
            }
            let parts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            if next != total || Digest::of_parts(&parts).to_string() != hash {
                walk.damages.push(Damage::Memories { line });
            }
            first = total;
        }
        Ok(())
    }
}

/// What of a head is not as the last turn left it.
fn differing(head: &Head, turn: &TurnRow, entries: u32) -> Vec<&'static str> {
    let requests = turn.requests.iter().map(|r| (r.id.as_str(), r.need.get()));
    let same_requests = requests.eq(head.requests.iter().map(|r| (r.id.as_str(), r.need.as_str())));
    let same_outcome = match (&turn.outcome, &head.outcome) {
        (None, None) => true,
        (Some(row), Some(Ok(value))) => row.value.as_ref().is_some_and(|v| v.get() == value),
        (Some(row), Some(Err(failure))) => {
            row.failure.as_ref().is_some_and(|f| f.kind == failure.kind && f.message == failure.message)
        }
        (Some(_), None) | (None, Some(_)) => false,
    };
    [
        ("requests", same_requests),
        ("outcome", same_outcome),
        ("current", turn.current == head.current),
        ("window", turn.window == head.window),
        ("memories", turn.memories == head.memories),
        ("entries", entries == head.entries),
    ]
    .into_iter()
    .filter_map(|(field, same)| (!same).then_some(field))
    .collect()
}
