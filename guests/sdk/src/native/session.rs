//! A session as the host in memory holds it.

use crate::dialect::At;
use crate::model::{Entry, Failure, Journal, Kept, Memory, Past, Request, Run, Session, Source, Turn};

/// A session with all that was kept of it.
#[derive(Clone, Debug)]
pub struct Held {
    /// The host's facts.
    pub session: Session,
    /// The workflow it runs.
    pub workflow: String,
    /// The state after the last turn.
    pub state: String,
    /// What it waits for.
    pub requests: Vec<Request>,
    /// Its audit trail.
    pub journal: Vec<Kept>,
    /// Where it stands.
    pub current: Vec<String>,
    /// How it ended.
    pub outcome: Option<Result<String, Failure>>,
    /// Codes of the refusals so far.
    pub refusals: Vec<String>,
    pub(super) code: Vec<u8>,
    pub(super) memory: Vec<String>,
    pub(super) window: u32,
    pub(super) changed: u64,
    /// Requests that were carried out, or tried, and are not sent again.
    pub(super) sent: Vec<Request>,
    pub(super) states: Vec<(String, u32)>,
}

impl Held {
    pub(super) fn new(session: Session, workflow: &str, code: &[u8]) -> Self {
        Self {
            session,
            workflow: workflow.to_owned(),
            state: String::new(),
            requests: Vec::new(),
            journal: Vec::new(),
            current: Vec::new(),
            outcome: None,
            refusals: Vec::new(),
            code: code.to_vec(),
            memory: Vec::new(),
            window: 0,
            changed: 0,
            sent: Vec::new(),
            states: Vec::new(),
        }
    }

    /// The session as the dialect's functions take it.
    pub fn at(&self) -> At<'_> {
        At { code: &self.code, session: &self.session, state: &self.state }
    }

    /// The number that the next entry gets.
    pub(super) fn seq(&self) -> u32 {
        count(self.journal.len()).saturating_add(1)
    }

    pub(super) fn memory(&self) -> Memory {
        let skip = self.memory.len().saturating_sub(usize::try_from(self.window).unwrap_or(usize::MAX));
        Memory { total: count(self.memory.len()), items: self.memory.iter().skip(skip).cloned().collect() }
    }

    pub(super) fn keep(&mut self, entries: Vec<Entry>, at: u64, source: Source) {
        for entry in entries {
            self.journal.push(Kept { seq: self.seq(), at, source, entry });
        }
    }

    pub(super) fn take(&mut self, turn: &Turn, at: u64, source: Source) {
        self.state.clone_from(&turn.state);
        self.memory.extend(turn.remember.iter().cloned());
        self.window = turn.window;
        self.requests.clone_from(&turn.requests);
        self.current.clone_from(&turn.current);
        self.outcome.clone_from(&turn.outcome);
        self.changed = at;
        self.keep(turn.entries.clone(), at, source);
        self.states.resize(self.journal.len(), (turn.state.clone(), count(self.memory.len())));
    }

    /// At most so many entries after a number, or the newest ones.
    pub(super) fn page(&self, after: Option<u32>, limit: u32) -> Journal {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let skip = match after {
            Some(after) => usize::try_from(after).unwrap_or(usize::MAX),
            None => self.journal.len().saturating_sub(limit),
        };
        Journal {
            total: count(self.journal.len()),
            entries: self.journal.iter().skip(skip).take(limit).cloned().collect(),
        }
    }

    /// An old entry, and the state after the event that wrote it.
    pub(super) fn past(&self, seq: Option<u32>) -> Option<Past> {
        let index = match seq {
            Some(seq) => usize::try_from(seq.checked_sub(1)?).ok()?,
            None => self.journal.len().checked_sub(1)?,
        };
        let (state, remembered) = self.states.get(index)?.clone();
        Some(Past { session: self.session.clone(), entry: self.journal.get(index)?.clone(), state, remembered })
    }

    pub(super) fn run(&self) -> Run {
        Run {
            session: self.session.clone(),
            workflow: self.workflow.clone(),
            changed: self.changed,
            entries: count(self.journal.len()),
            current: self.current.clone(),
            outcome: self.outcome.clone(),
            unreadable: None,
        }
    }
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
