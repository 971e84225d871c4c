//! One write transaction for a batch of jobs: each is checked against what is there, including what earlier jobs of the
//! batch wrote, and then written. After the checks only the disk can fail, and then all of the batch fails.

use redb::{Database, ReadableTable};

use super::format::{self, Label, Stub};
use super::limits::QUICK_REPAIR_BYTES_MIN;
use super::tables::{self, Writable};
use super::trouble::Trouble;
use super::{Change, Committed, Fault};
use crate::session::model::{Digest, Line, Millis, SessionId};

/// What a caller wants written, ready to be put into tables: the work is done before the turn in the queue.
#[derive(Debug)]
pub(super) enum Job {
    /// Content by its digest.
    Keep {
        /// Its SHA-256.
        digest: Digest,
        /// Its record.
        record: Vec<u8>,
    },
    /// A session's change.
    Change(Box<Prepared>),
}

/// A change as records.
#[derive(Debug)]
pub(super) struct Prepared {
    expected: u64,
    stub: Stub,
    label: Vec<u8>,
    row: Vec<u8>,
    lines: Vec<Line>,
    line_records: Vec<Vec<u8>>,
    memory_records: Vec<Vec<u8>>,
}

impl Job {
    /// A change as a job, if it adds up.
    pub(super) fn change(change: Change) -> Result<Self, Fault> {
        let Change { expected, head, lines, memories, due } = change;
        let (added, remembered) = (lines.len() as u64, memories.len());
        if expected.checked_add(added) != Some(head.lines) || (head.memories as usize) < remembered {
            let what = format!("the change of the session {}", head.session);
            let reason = format!("{expected} lines and {added} more are not {}", head.lines);
            return Err(Fault::Unreadable { what, reason });
        }
        let stub = Stub {
            due,
            session: head.session,
            started: head.started,
            lines: head.lines,
            chain: head.chain,
            memories: head.memories,
            finished: head.outcome.is_some(),
        };
        let label = Label { owner: &head.owner, interpreter: &head.interpreter, workflow: &head.workflow };
        Ok(Self::Change(Box::new(Prepared {
            expected,
            stub,
            label: format::label(label),
            row: format::row(&head, due),
            line_records: lines.iter().map(|line| format::wrap(line)).collect(),
            lines,
            memory_records: memories.iter().map(|memory| format::wrap(memory.as_bytes())).collect(),
        })))
    }

    /// How many bytes it brings.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Keep { record, .. } => record.len(),
            Self::Change(change) => {
                let records = change.line_records.iter().chain(&change.memory_records);
                change.row.len() + change.label.len() + records.map(Vec::len).sum::<usize>()
            }
        }
    }
}

/// Writes a batch durably and answers each of its jobs.
pub(super) fn run(
    database: &Database,
    file_bytes: u64,
    jobs: &[&Job],
) -> Result<Vec<Result<Committed, Fault>>, Trouble> {
    let mut transaction = database.begin_write()?;
    // INVARIANT: past this size on every commit, not on some: only the newest commit before a crash counts, so one made
    // without it costs the walk that all the others paid to avoid.
    transaction.set_quick_repair(file_bytes >= QUICK_REPAIR_BYTES_MIN);
    let mut answers = Vec::with_capacity(jobs.len());
    let mut written = false;
    {
        let mut tables = Writable::open(&transaction)?;
        for job in jobs {
            let (answer, wrote) = match job {
                Job::Keep { digest, record } => (Ok(Committed::Done), keep(&mut tables, *digest, record)?),
                Job::Change(change) => match standing(&tables, change)? {
                    Standing::Next(old) => {
                        apply(&mut tables, change, old)?;
                        (Ok(Committed::Done), true)
                    }
                    Standing::Known => (Ok(Committed::Done), false),
                    Standing::Elsewhere => (Ok(Committed::Conflict), false),
                    Standing::Unreadable(fault) => (Err(fault), false),
                },
            };
            written |= wrote;
            answers.push(answer);
        }
    }
    // What a job found in place was durable already, unless an earlier job of this very batch put it there.
    if written {
        transaction.commit()?
    } else {
        transaction.abort()?
    }
    Ok(answers)
}

fn keep(tables: &mut Writable<'_>, digest: Digest, record: &[u8]) -> Result<bool, Trouble> {
    if tables.blobs.get(&digest.0)?.is_some() {
        return Ok(false);
    }
    tables.blobs.insert(&digest.0, record)?;
    Ok(true)
}

/// How a change stands to what is stored.
enum Standing {
    /// It is the next one after this state; none: it creates the session.
    Next(Option<Stub>),
    /// It has been written before.
    Known,
    /// The session went another way.
    Elsewhere,
    /// The stored state cannot be read, and so not be replaced.
    Unreadable(Fault),
}

fn standing(tables: &Writable<'_>, change: &Prepared) -> Result<Standing, Trouble> {
    let session = change.stub.session;
    let Some(row) = tables.heads.get(&session.to_bytes())? else {
        return Ok(if change.expected == 0 { Standing::Next(None) } else { Standing::Elsewhere });
    };
    let old = match format::read_stub(row.value(), session) {
        Ok(old) => old,
        Err(fault) => return Ok(Standing::Unreadable(fault)),
    };
    if old.lines == change.expected {
        return Ok(match misfit(change, &old) {
            None => Standing::Next(Some(old)),
            Some(fault) => Standing::Unreadable(fault),
        });
    }
    Ok(match known(tables, change, &old) {
        Ok(true) => Standing::Known,
        Ok(false) => Standing::Elsewhere,
        // A line that cannot be read is this session's matter and no other's in the batch.
        Err(Trouble::Fault(fault)) => Standing::Unreadable(fault),
        Err(Trouble::Database(error)) => return Err(Trouble::Database(error)),
    })
}

fn misfit(change: &Prepared, old: &Stub) -> Option<Fault> {
    let brought = change.memory_records.len() as u64;
    let fits =
        u64::from(old.memories) + brought == u64::from(change.stub.memories) && old.started == change.stub.started;
    let what = format!("the change of the session {}", change.stub.session);
    let reason = "its memories or its start are not those that follow".to_owned();
    (!fits).then_some(Fault::Unreadable { what, reason })
}

/// Whether this very change was written before, be it the newest or not: a caller whose connection broke sends it again,
/// and meanwhile the session may have gone on. A line is bound to all lines before it, so equal lines at the same place
/// are the same change.
fn known(tables: &Writable<'_>, change: &Prepared, old: &Stub) -> Result<bool, Trouble> {
    let after = change.stub.lines;
    if change.lines.is_empty() || old.lines < after || (old.lines == after && old.chain != change.stub.chain) {
        return Ok(false);
    }
    let session = change.stub.session;
    for (number, line) in (change.expected + 1..).zip(&change.lines) {
        let Some(record) = tables.lines.get(&tables::line_key(session, number))? else {
            return Ok(false);
        };
        if format::read_line(record.value(), session, number)? != *line {
            return Ok(false);
        }
    }
    Ok(true)
}

fn apply(tables: &mut Writable<'_>, change: &Prepared, old: Option<Stub>) -> Result<(), Trouble> {
    let new = &change.stub;
    let session = new.session;
    tables.heads.insert(&session.to_bytes(), change.row.as_slice())?;
    for (number, record) in (change.expected + 1..).zip(&change.line_records) {
        tables.lines.insert(&tables::line_key(session, number), record.as_slice())?;
    }
    let remembered = old.map_or(0, |old| old.memories);
    for (index, record) in (remembered..).zip(&change.memory_records) {
        tables.memories.insert(&tables::memory_key(session, index), record.as_slice())?;
    }
    let start = tables::time_key(new.started, session);
    if old.is_none() {
        tables.starts.insert(&start, change.label.as_slice())?;
    }
    let was_open = old.is_some_and(|old| !old.finished);
    if was_open && new.finished {
        tables.unfinished.remove(&start)?;
    } else if !was_open && !new.finished {
        tables.unfinished.insert(&start, change.label.as_slice())?;
    }
    index_due(tables, session, old.and_then(|old| old.due), new.due)
}

fn index_due(
    tables: &mut Writable<'_>,
    session: SessionId,
    old: Option<Millis>,
    new: Option<Millis>,
) -> Result<(), Trouble> {
    if old == new {
        return Ok(());
    }
    if let Some(old) = old {
        tables.due.remove(&tables::time_key(old, session))?;
    }
    if let Some(new) = new {
        tables.due.insert(&tables::time_key(new, session), ())?;
    }
    Ok(())
}
