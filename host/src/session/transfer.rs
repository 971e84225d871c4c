//! Sessions as JSON lines, to be kept or checked elsewhere: what they are pinned to, their heads, their journals byte for byte.
//! A line's JSON is the very text that the chain covers, so a file that was formatted anew does not verify.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::caller::Caller;
use super::fault::Fault;
use super::host::Host;
use super::wire::{self, OutcomeRow, Raw};
use crate::limits::PAGE_BYTES_MAX;
use crate::session::model::{Digest, Fork, Gap, Head, Line, OpenRequest, Seal, SessionId, Standing};
use crate::store::{Change, Limit, Store};

/// The form of the rows, the newest that is read.
const FORM: u32 = 1;

/// A row of the file. Exactly one of these is there.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The first row: the form of those that follow.
    #[serde(rename = "wfhost-export", default, skip_serializing_if = "Option::is_none")]
    pub form: Option<u32>,
    /// What a session is pinned to, in Base64; its name is its SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// A session begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<HeadRow>>,
    /// A line of its journal, as it is kept.
    #[serde(default, deserialize_with = "wire::present", skip_serializing_if = "Option::is_none")]
    pub line: Option<Raw>,
    /// A memory of it, as it is kept.
    #[serde(default, deserialize_with = "wire::present", skip_serializing_if = "Option::is_none")]
    pub memory: Option<Raw>,
    /// The session ends: its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// The last row: how many sessions the file holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
}

/// A head as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct HeadRow {
    session: String,
    owner: String,
    interpreter: String,
    plugin: String,
    definition: String,
    workflow: String,
    started: u64,
    changed: u64,
    human_only: bool,
    lines: u64,
    chain: String,
    entries: u32,
    memories: u32,
    window: u32,
    state: Raw,
    requests: Vec<OpenRow>,
    current: Vec<String>,
    outcome: Option<OutcomeRow>,
    fork: Option<ForkHeadRow>,
    seal: Option<SealRow>,
}

#[derive(Debug, Serialize, Deserialize)]
struct OpenRow {
    id: String,
    need: Raw,
    deadline: Option<u64>,
    /// When it was refused what a host or the clock answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
    /// When a host began to carry it out: elsewhere nobody can tell what came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ForkHeadRow {
    from: String,
    seq: u32,
    lines: u64,
    root: String,
    root_started: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct SealRow {
    key: String,
    lines: u64,
    gaps: Vec<(u64, u64)>,
    signature: String,
}

/// Why a file cannot be taken in: what it says, or the store.
#[derive(Debug, thiserror::Error)]
pub enum TransferFault {
    /// The file is not what it should be.
    #[error("row {row}: {reason}")]
    Row {
        /// Its number, from 1.
        row: usize,
        /// What is wrong.
        reason: String,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] crate::store::Fault),
}

impl Host {
    /// Hands out the rows of a session. `known` are the contents that the file has already.
    pub fn export(
        &self,
        caller: &Caller,
        session: SessionId,
        known: &mut HashSet<Digest>,
        out: &mut dyn FnMut(&Row) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        for digest in [head.plugin, head.definition] {
            if known.insert(digest)
                && let Some(bytes) = self.store.blob(digest)?
            {
                out(&Row { content: Some(BASE64.encode(bytes)), ..Row::default() })?;
            }
        }
        let bad = |error: serde_json::Error| Fault::Arguments(format!("session {session}: {error}"));
        out(&Row { session: Some(Box::new(head_row(&head).map_err(bad)?)), ..Row::default() })?;
        let mut next = 1;
        while next <= head.lines {
            let left = usize::try_from(head.lines + 1 - next).unwrap_or(usize::MAX);
            let lines = self.store.lines(session, next, Limit { lines: left.min(256), bytes: 4 * PAGE_BYTES_MAX })?;
            if lines.is_empty() {
                break;
            }
            for line in lines {
                next += 1;
                let text = std::str::from_utf8(&line).map_err(|error| Fault::Line {
                    session,
                    line: next - 1,
                    reason: error.to_string(),
                })?;
                let line = Raw::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(bad)?;
                out(&Row { line: Some(line), ..Row::default() })?;
            }
        }
        let mut first = 0;
        while first < head.memories {
            let memories = self.store.memories(session, first, head.memories - first)?;
            if memories.is_empty() {
                break;
            }
            first = first.saturating_add(u32::try_from(memories.len()).unwrap_or(u32::MAX));
            for memory in memories {
                out(&Row { memory: Some(wire::raw(&memory).map_err(bad)?), ..Row::default() })?;
            }
        }
        out(&Row { end: Some(session.to_string()), ..Row::default() })
    }
}

/// The first row of a file.
#[must_use]
pub fn first_row() -> Row {
    Row { form: Some(FORM), ..Row::default() }
}

/// Takes rows in: contents at once, a session when all of it is there. `sessions` are handed to `keep` one by one.
#[derive(Debug, Default)]
pub struct Intake {
    row: usize,
    open: Option<(Head, Vec<Line>, Vec<String>)>,
    complete: u64,
    over: bool,
}

impl Intake {
    /// The next row of the file. Content is kept in the store; a session that is complete comes back as a change.
    pub fn row(&mut self, text: &str, store: &dyn Store) -> Result<Option<Change>, TransferFault> {
        self.row += 1;
        let fault = |row: usize, reason: String| TransferFault::Row { row, reason };
        let n = self.row;
        let row: Row = serde_json::from_str(text).map_err(|error| fault(n, error.to_string()))?;
        if n == 1 {
            return match row.form {
                Some(FORM) => Ok(None),
                Some(form) => Err(fault(n, format!("the file has form {form}, this wfhost reads {FORM}"))),
                None => Err(fault(n, "the file is no export: it does not begin with `wfhost-export`".into())),
            };
        }
        if let Some(content) = row.content {
            let bytes = BASE64.decode(content).map_err(|error| fault(n, error.to_string()))?;
            store.keep(&bytes)?;
            return Ok(None);
        }
        if let Some(head) = row.session {
            if self.open.is_some() {
                return Err(fault(n, "a session begins before the one before has ended".into()));
            }
            let head = head_of(*head).ok_or_else(|| fault(n, "the session's head cannot be read".into()))?;
            self.open = Some((head, Vec::new(), Vec::new()));
            return Ok(None);
        }
        if let Some(sessions) = row.sessions.filter(|_| self.open.is_none()) {
            self.over = true;
            let complete = self.complete;
            let short = || fault(n, format!("the file holds {complete} of its {sessions} sessions"));
            return if sessions == complete { Ok(None) } else { Err(short()) };
        }
        let Some((head, lines, memories)) = &mut self.open else {
            return Err(fault(n, "a line stands outside of a session".into()));
        };
        if let Some(line) = row.line {
            lines.push(line.get().as_bytes().into());
        } else if let Some(memory) = row.memory {
            memories.push(memory.get().to_owned());
        } else if row.end.as_deref() == Some(&head.session.to_string()) {
            let (found, counted) = (lines.len() as u64, head.lines);
            if found != counted || memories.len() != head.memories as usize {
                return Err(fault(n, format!("{} has {found} lines here, its head counts {counted}", head.session)));
            }
            let complete = self.open.take();
            self.complete += 1;
            return Ok(complete.map(|(head, lines, memories)| Change {
                expected: 0,
                head,
                inherit: None,
                lines,
                memories,
                due: None,
            }));
        } else {
            return Err(fault(n, "the row says nothing that an export holds".into()));
        }
        Ok(None)
    }

    /// The file is over.
    pub fn end(self) -> Result<(), TransferFault> {
        let row = self.row + 1;
        match self.open {
            Some((head, ..)) => {
                Err(TransferFault::Row { row, reason: format!("the file ends within {}", head.session) })
            }
            None if self.row == 0 => Err(TransferFault::Row { row, reason: "the file is empty".into() }),
            None if !self.over => Err(TransferFault::Row { row, reason: "the file ends too early".into() }),
            None => Ok(()),
        }
    }
}

fn head_row(head: &Head) -> Result<HeadRow, serde_json::Error> {
    let requests = head.requests.iter().map(|open| {
        let need = wire::raw(&open.need)?;
        let (refused, sent) = match open.standing {
            Standing::Waiting => (None, None),
            Standing::Refused(at) => (Some(at), None),
            Standing::Sent(sent) | Standing::Begun(sent) | Standing::Doubtful(sent) => (None, Some(sent.at)),
        };
        Ok(OpenRow { id: open.id.clone(), need, deadline: open.deadline, refused, sent })
    });
    Ok(HeadRow {
        session: head.session.to_string(),
        owner: head.owner.clone(),
        interpreter: head.interpreter.clone(),
        plugin: head.plugin.to_string(),
        definition: head.definition.to_string(),
        workflow: head.workflow.clone(),
        started: head.started,
        changed: head.changed,
        human_only: head.human_only,
        lines: head.lines,
        chain: head.chain.to_string(),
        entries: head.entries,
        memories: head.memories,
        window: head.window,
        state: wire::raw(&head.state)?,
        requests: requests.collect::<Result<_, serde_json::Error>>()?,
        current: head.current.clone(),
        outcome: head.outcome.as_ref().map(wire::outcome_row).transpose()?,
        fork: head.fork.map(|fork| ForkHeadRow {
            from: fork.from.to_string(),
            seq: fork.seq,
            lines: fork.lines,
            root: fork.root.to_string(),
            root_started: fork.root_started,
        }),
        seal: head.seal.as_ref().map(|seal| SealRow {
            key: Digest(seal.key).to_string(),
            lines: seal.lines,
            gaps: seal.gaps.iter().map(|gap| (gap.from, gap.to)).collect(),
            signature: BASE64.encode(seal.signature),
        }),
    })
}

fn head_of(row: HeadRow) -> Option<Head> {
    let requests = row.requests.into_iter().map(|open| OpenRequest {
        id: open.id,
        need: open.need.get().to_owned(),
        deadline: open.deadline,
        // A copy carries nothing out, and the clock ends nothing in it; what is open can be answered.
        standing: OpenRequest::WITHHELD,
    });
    let fork = match row.fork {
        None => None,
        Some(fork) => Some(Fork {
            from: fork.from.parse().ok()?,
            seq: fork.seq,
            lines: fork.lines,
            root: fork.root.parse().ok()?,
            root_started: fork.root_started,
        }),
    };
    let seal = match row.seal {
        None => None,
        Some(seal) => Some(Seal {
            key: seal.key.parse::<Digest>().ok()?.0,
            lines: seal.lines,
            gaps: seal.gaps.into_iter().map(|(from, to)| Gap { from, to }).collect(),
            signature: BASE64.decode(seal.signature).ok()?.try_into().ok()?,
        }),
    };
    Some(Head {
        session: row.session.parse().ok()?,
        owner: row.owner,
        interpreter: row.interpreter,
        plugin: row.plugin.parse().ok()?,
        definition: row.definition.parse().ok()?,
        workflow: row.workflow,
        started: row.started,
        changed: row.changed,
        human_only: row.human_only,
        lines: row.lines,
        chain: row.chain.parse().ok()?,
        entries: row.entries,
        memories: row.memories,
        window: row.window,
        state: row.state.get().to_owned(),
        requests: requests.collect(),
        current: row.current,
        outcome: row.outcome.as_ref().map(wire::kept_outcome),
        // Who asked for it is not here to be told.
        parent: None,
        fork,
        seal,
    })
}
