//! The jobs of a batch: each is checked against what is there, including what earlier jobs of the batch wrote, and then
//! written. After the checks only the disk can fail, and then all of the batch fails. A job can be written down in the log
//! and read again.

use redb::ReadableTable;

use super::codec::{Broken, Reader, Writer};
use super::format::{self, Label, Stub};
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

/// Jobs as the body of a log's record.
pub(super) fn put(writer: &mut Writer, jobs: &[&Job]) {
    writer.many(jobs, |writer, job| match job {
        Job::Keep { digest, record } => {
            writer.byte(0);
            writer.exact(&digest.0);
            writer.bytes(record);
        }
        Job::Change(change) => {
            writer.byte(1);
            writer.exact(&change.stub.session.to_bytes());
            writer.number(change.expected);
            writer.bytes(&change.label);
            writer.bytes(&change.row);
            writer.many(&change.line_records, |writer, record| writer.bytes(record));
            writer.many(&change.memory_records, |writer, record| writer.bytes(record));
        }
    });
}

/// Jobs from the body of a log's record.
pub(super) fn read(body: &[u8]) -> Result<Vec<Job>, Unread> {
    let mut reader = Reader(body);
    let mut jobs = Vec::new();
    for _ in 0..reader.size()? {
        jobs.push(match reader.byte()? {
            0 => Job::Keep { digest: Digest(reader.exact()?), record: reader.bytes()?.to_vec() },
            1 => Job::Change(Box::new(take_change(&mut reader)?)),
            _ => return Err(Broken("there is no job of that kind").into()),
        });
    }
    reader.end()?;
    Ok(jobs)
}

/// A log's record cannot be read: a newer wfhost wrote it, or something else did.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unread {
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error(transparent)]
    Fault(#[from] Fault),
}

fn take_change(reader: &mut Reader<'_>) -> Result<Prepared, Unread> {
    let session = SessionId::from_bytes(reader.exact()?);
    let (expected, label, row) = (reader.number()?, reader.bytes()?.to_vec(), reader.bytes()?.to_vec());
    let stub = format::read_stub(&row, session)?;
    let records = |reader: &mut Reader<'_>| reader.many(|reader| reader.bytes().map(<[u8]>::to_vec));
    let (line_records, memory_records) = (records(reader)?, records(reader)?);
    let numbered = (expected.saturating_add(1)..).zip(&line_records);
    let lines = numbered.map(|(number, record)| format::read_line(record, session, number));
    Ok(Prepared { expected, stub, label, row, lines: lines.collect::<Result<_, _>>()?, line_records, memory_records })
}

/// Checks a job and writes it. The answer, and whether anything was written.
pub(super) fn carry_out(tables: &mut Writable<'_>, job: &Job) -> Result<Result<(Committed, bool), Fault>, Trouble> {
    let change = match job {
        Job::Keep { digest, record } => return Ok(Ok((Committed::Done, keep(tables, *digest, record)?))),
        Job::Change(change) => change,
    };
    Ok(match standing(tables, change)? {
        Standing::Next(old) => {
            apply(tables, change, old)?;
            Ok((Committed::Done, true))
        }
        Standing::Known => Ok((Committed::Done, false)),
        Standing::Elsewhere => Ok((Committed::Conflict, false)),
        Standing::Unreadable(fault) => Err(fault),
    })
}

fn keep(tables: &mut Writable<'_>, digest: Digest, record: &[u8]) -> Result<bool, Trouble> {
    if tables.blobs()?.get(&digest.0)?.is_some() {
        return Ok(false);
    }
    tables.blobs()?.insert(&digest.0, record)?;
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

fn standing(tables: &mut Writable<'_>, change: &Prepared) -> Result<Standing, Trouble> {
    let session = change.stub.session;
    let stub = tables.heads()?.get(&session.to_bytes())?.map(|row| format::read_stub(row.value(), session));
    let old = match stub {
        None if change.expected == 0 => return Ok(Standing::Next(None)),
        None => return Ok(Standing::Elsewhere),
        Some(Err(fault)) => return Ok(Standing::Unreadable(fault)),
        Some(Ok(old)) => old,
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
fn known(tables: &mut Writable<'_>, change: &Prepared, old: &Stub) -> Result<bool, Trouble> {
    let after = change.stub.lines;
    if change.lines.is_empty() || old.lines < after || (old.lines == after && old.chain != change.stub.chain) {
        return Ok(false);
    }
    let session = change.stub.session;
    for (number, line) in (change.expected + 1..).zip(&change.lines) {
        let Some(record) = tables.lines()?.get(&tables::line_key(session, number))? else {
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
    tables.heads()?.insert(&session.to_bytes(), change.row.as_slice())?;
    for (number, record) in (change.expected + 1..).zip(&change.line_records) {
        tables.lines()?.insert(&tables::line_key(session, number), record.as_slice())?;
    }
    let remembered = old.map_or(0, |old| old.memories);
    for (index, record) in (remembered..).zip(&change.memory_records) {
        tables.memories()?.insert(&tables::memory_key(session, index), record.as_slice())?;
    }
    let start = tables::time_key(new.started, session);
    if old.is_none() {
        tables.starts()?.insert(&start, change.label.as_slice())?;
    }
    let was_open = old.is_some_and(|old| !old.finished);
    if was_open && new.finished {
        tables.unfinished()?.remove(&start)?;
    } else if !was_open && !new.finished {
        tables.unfinished()?.insert(&start, change.label.as_slice())?;
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
        tables.due()?.remove(&tables::time_key(old, session))?;
    }
    if let Some(new) = new {
        tables.due()?.insert(&tables::time_key(new, session), ())?;
    }
    Ok(())
}
