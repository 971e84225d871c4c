//! Whether a journal is what it was: line by line against its chain, and as a whole against its head, which is kept apart.

use serde_json::Value;

use super::caller::Caller;
use super::damage::Damage;
use super::fault::Fault;
use super::host::Host;
use super::line::{self, ForkRow, LineRow, TurnRow};
use super::{patch, sealing};
use crate::limits::PAGE_BYTES_MAX;
use crate::seal::PublicKey;
use crate::session::model::{Digest, Failure, Head, SessionId};
use crate::store::Limit;

/// What a journal is measured against besides itself.
#[derive(Debug, Clone, Default)]
pub struct Against {
    /// The line count and chain of a head that was kept elsewhere.
    pub exported: Option<(u64, Digest)>,
    /// Keys of which one must have sealed all of it; none: a seal must fit, whosesoever it is.
    pub keys: Vec<PublicKey>,
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
    /// The public key that sealed it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
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
    /// Why the host has ended the session after it.
    dropped: Option<String>,
    entries: u32,
    /// The session that the next line must be of: a fork begins with the lines of another.
    session: String,
    /// The last line that says so, and its number.
    fork: Option<(u64, ForkRow)>,
    /// The chain after lines that something is to be compared with.
    wanted: [Option<u64>; 2],
    passed: [Option<Digest>; 2],
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
        self.verify_against(caller, session, &Against { exported, keys: Vec::new() })
    }

    /// Looks at the whole journal of a session, and measures it against what was kept elsewhere.
    pub fn verify_against(&self, caller: &Caller, session: SessionId, against: &Against) -> Result<Verdict, Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        let mut walk = Walk::along(&head, against.exported.map(|(lines, _)| lines));
        let read = self.walk(&mut walk)?;
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
        let [exported_chain, sealed_chain] = walk.passed;
        let whole = walk.damages.is_empty();
        let seal = sealing::findings(&head, sealed_chain, &against.keys);
        // Over a journal that is known to be damaged no signature can fit.
        walk.damages.extend(seal.into_iter().filter(|found| whole || !matches!(found, Damage::BadSignature { .. })));
        if let Some((lines, _)) = against.exported.filter(|(_, chain)| exported_chain != Some(*chain)) {
            walk.damages.push(Damage::OtherHead { lines });
        }
        Ok(Verdict {
            session: session.to_string(),
            lines: walk.next - 1,
            head: head.chain.to_string(),
            key: head.seal.as_ref().map(|seal| PublicKey(seal.key).to_string()),
            damages: walk.damages,
        })
    }

    /// Goes along all lines. False if one could not be read from the store.
    fn walk(&self, walk: &mut Walk<'_>) -> Result<bool, Fault> {
        let head = walk.head;
        let session = head.session;
        let mut at_once = 256;
        loop {
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
                    return Ok(false);
                }
            };
            // A session that went on meanwhile has lines that this head could not count yet.
            let later = left == 0 && self.store.head(session)?.is_some_and(|now| now.lines > head.lines);
            if lines.is_empty() || later {
                return Ok(true);
            }
            for bytes in &lines {
                walk.step(bytes);
            }
        }
    }
}

impl<'h> Walk<'h> {
    fn along(head: &'h Head, exported: Option<u64>) -> Self {
        Self {
            head,
            chain: line::genesis(head),
            next: 1,
            state: Value::Null,
            last: None,
            dropped: None,
            entries: 0,
            session: head.fork.map_or(head.session, |fork| fork.root).to_string(),
            fork: None,
            wanted: [exported, head.seal.as_ref().map(|seal| seal.lines)],
            passed: [None; 2],
            remembered: Vec::new(),
            damages: Vec::new(),
        }
    }

    fn step(&mut self, bytes: &[u8]) {
        let n = self.next;
        self.next += 1;
        match LineRow::decode(bytes) {
            Err(error) => self.damages.push(Damage::Unreadable { line: n, reason: error.to_string() }),
            Ok(row) => self.row(n, &row),
        }
        self.chain = line::link(self.chain, bytes);
        for (wanted, passed) in self.wanted.iter().zip(&mut self.passed) {
            if *wanted == Some(n) {
                *passed = Some(self.chain);
            }
        }
    }

    fn row(&mut self, n: u64, row: &LineRow) {
        let expected = row.fork.as_ref().map_or(&row.session, |fork| &fork.from);
        if *expected != self.session {
            self.damages.push(Damage::Foreign { line: n, session: row.session.clone() });
        } else if row.n != n {
            self.damages.push(Damage::Misplaced { line: n, bears: row.n });
        } else if row.prev != self.chain.to_string() {
            self.damages.push(if n == 1 { Damage::OtherBeginning } else { Damage::Altered { line: n - 1 } });
            // What follows is measured against what it says itself, so that one altered line is one finding.
            self.chain = row.prev.parse().unwrap_or(self.chain);
        }
        if let Some(fork) = &row.fork {
            self.session.clone_from(&row.session);
            self.fork = Some((n, fork.clone()));
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
            self.dropped = None;
        }
        if let Some(note) = row.note.as_ref().filter(|note| note.kind == Failure::DROPPED) {
            self.dropped = Some(note.detail.get("message").and_then(Value::as_str).unwrap_or_default().to_owned());
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
        if found == counted && !self.comes_from_there() {
            self.damages.push(Damage::Head { field: "fork".into() });
        }
        if found == counted
            && let Some((line, turn)) = &self.last
        {
            if Digest::of(self.head.state.as_bytes()).to_string() != turn.state_hash {
                self.damages.push(Damage::State { line: *line });
            }
            let other = differing(self.head, turn, (self.entries, self.dropped.as_deref()));
            self.damages.extend(other.into_iter().map(|field| Damage::Head { field: field.into() }));
        }
    }
}

impl Walk<'_> {
    /// Whether the lines lead to this session, and from where the head says.
    fn comes_from_there(&self) -> bool {
        let head = self.head;
        self.session == head.session.to_string()
            && match (&self.fork, head.fork) {
                (None, None) => true,
                (Some((n, row)), Some(fork)) => {
                    (n - 1, row.seq, row.started) == (fork.lines, fork.seq, head.started)
                        && row.from == fork.from.to_string()
                }
                (Some(_), None) | (None, Some(_)) => false,
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
fn differing(head: &Head, turn: &TurnRow, (entries, dropped): (u32, Option<&str>)) -> Vec<&'static str> {
    let left = if dropped.is_some() { &[][..] } else { &turn.requests };
    let requests = left.iter().map(|r| (r.id.as_str(), r.need.get()));
    let same_requests = requests.eq(head.requests.iter().map(|r| (r.id.as_str(), r.need.as_str())));
    let same_outcome = match (&turn.outcome, &head.outcome) {
        (_, outcome) if dropped.is_some() => {
            let failure = outcome.as_ref().and_then(|outcome| outcome.as_ref().err());
            failure.is_some_and(|f| f.kind == Failure::DROPPED && Some(f.message.as_str()) == dropped)
        }
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
