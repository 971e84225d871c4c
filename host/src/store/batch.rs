//! The jobs of a batch: each is checked against what is there, including what earlier jobs of the batch wrote, and then
//! written. After the checks only the disk can fail, and then all of the batch fails. A job can be written down in the log
//! and read again.

use redb::ReadableTable;

use super::codec::{Broken, Reader, Writer};
use super::format::{self, Label, Stub};
use super::provenance::{put_inherit, take_inherit};
use super::prune::{self, Pins, Taking};
use super::tables::{self, Writable};
use super::trouble::Trouble;
use super::{Change, Committed, Fault, Inherit};
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
    /// Sessions that are taken out.
    Prune(Vec<Taking>),
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Done {
    /// Content is kept, or a change was answered.
    Committed(Committed),
    /// These sessions were taken out.
    Taken(Vec<SessionId>),
}

impl Done {
    /// What became of a change.
    pub(super) fn committed(self) -> Committed {
        match self {
            Self::Committed(committed) => committed,
            Self::Taken(_) => Committed::Conflict,
        }
    }
}

impl From<Committed> for Done {
    fn from(committed: Committed) -> Self {
        Self::Committed(committed)
    }
}

/// A change as records.
#[derive(Debug)]
pub(super) struct Prepared {
    expected: u64,
    stub: Stub,
    label: Vec<u8>,
    pinned: [Digest; 2],
    inherit: Option<Inherit>,
    row: Vec<u8>,
    lines: Vec<Line>,
    line_records: Vec<Vec<u8>>,
    memory_records: Vec<Vec<u8>>,
}

impl Prepared {
    /// Whose change it is.
    pub(super) fn session(&self) -> SessionId {
        self.stub.session
    }

    /// How many lines there are before those that it brings.
    fn base(&self) -> u64 {
        self.expected + self.inherit.map_or(0, |inherit| inherit.lines)
    }
}

impl Job {
    /// A change as a job, if it adds up.
    pub(super) fn change(change: Change) -> Result<Self, Fault> {
        let Change { expected, head, inherit, lines, memories, due } = change;
        let (added, remembered) = (lines.len() as u64, memories.len());
        let inherited = inherit.map_or(0, |inherit| inherit.lines);
        let sum = expected.checked_add(inherited).and_then(|before| before.checked_add(added));
        let creates = expected == 0 || inherit.is_none();
        if sum != Some(head.lines) || (head.memories as usize) < remembered || !creates {
            let what = format!("the change of the session {}", head.session);
            let reason = format!("{expected} lines, {inherited} inherited and {added} more are not {}", head.lines);
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
            pinned: [head.plugin, head.definition],
            inherit,
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
            Self::Prune(taken) => taken.iter().map(Taking::bytes).sum(),
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
            writer.byte(if change.inherit.is_some() { 2 } else { 1 });
            change.inherit.iter().for_each(|inherit| put_inherit(writer, inherit));
            writer.exact(&change.stub.session.to_bytes());
            writer.number(change.expected);
            writer.bytes(&change.label);
            writer.bytes(&change.row);
            writer.many(&change.line_records, |writer, record| writer.bytes(record));
            writer.many(&change.memory_records, |writer, record| writer.bytes(record));
        }
        Job::Prune(takings) => {
            writer.byte(3);
            writer.many(takings, Taking::put);
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
            1 => Job::Change(Box::new(take_change(&mut reader, None)?)),
            2 => {
                let inherit = take_inherit(&mut reader)?;
                Job::Change(Box::new(take_change(&mut reader, Some(inherit))?))
            }
            3 => Job::Prune(reader.many(Taking::take)?),
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

fn take_change(reader: &mut Reader<'_>, inherit: Option<Inherit>) -> Result<Prepared, Unread> {
    let session = SessionId::from_bytes(reader.exact()?);
    let (expected, label, row) = (reader.number()?, reader.bytes()?.to_vec(), reader.bytes()?.to_vec());
    let stub = format::read_stub(&row, session)?;
    let head = format::read_row(&row, session)?.head;
    let pinned = [head.plugin, head.definition];
    let records = |reader: &mut Reader<'_>| reader.many(|reader| reader.bytes().map(<[u8]>::to_vec));
    let (line_records, memory_records) = (records(reader)?, records(reader)?);
    let base = expected.saturating_add(inherit.map_or(0, |inherit| inherit.lines));
    let numbered = (base.saturating_add(1)..).zip(&line_records);
    let lines = numbered.map(|(number, record)| format::read_line(record, session, number));
    let lines = lines.collect::<Result<_, _>>()?;
    Ok(Prepared { expected, stub, label, pinned, inherit, row, lines, line_records, memory_records })
}

/// Checks a job and writes it. The answer, and whether anything was written.
pub(super) fn carry_out(tables: &mut Writable<'_>, job: &Job) -> Result<Result<(Done, bool), Fault>, Trouble> {
    let change = match job {
        Job::Keep { digest, record } => return Ok(Ok((Committed::Done.into(), keep(tables, *digest, record)?))),
        Job::Prune(takings) => {
            let taken = prune::take(tables, takings)?;
            let wrote = !taken.is_empty();
            return Ok(Ok((Done::Taken(taken), wrote)));
        }
        Job::Change(change) => change,
    };
    Ok(match standing(tables, change)? {
        Standing::Next(old) => {
            apply(tables, change, old)?;
            Ok((Committed::Done.into(), true))
        }
        Standing::Known => Ok((Committed::Done.into(), false)),
        Standing::Elsewhere => Ok((Committed::Conflict.into(), false)),
        Standing::Dropped => Ok((Committed::Dropped.into(), false)),
        Standing::Unreadable(fault) => Err(fault),
    })
}

fn keep(tables: &mut Writable<'_>, digest: Digest, record: &[u8]) -> Result<bool, Trouble> {
    let there = tables.blobs()?.get(&digest.0)?.is_some();
    if !there {
        tables.blobs()?.insert(&digest.0, record)?;
    }
    Ok(Pins(tables).keep(digest)? || !there)
}

/// How a change stands to what is stored.
enum Standing {
    /// It is the next one after this state; none: it creates the session.
    Next(Option<Stub>),
    /// It has been written before.
    Known,
    /// The session went another way, or what it inherits is not there.
    Elsewhere,
    /// What it is pinned to was dropped.
    Dropped,
    /// The stored state cannot be read, and so not be replaced.
    Unreadable(Fault),
}

/// How a change that creates a session stands.
fn beginning(tables: &mut Writable<'_>, change: &Prepared) -> Result<Standing, Trouble> {
    if prune::is_dropped(tables, &change.pinned)? {
        return Ok(Standing::Dropped);
    }
    let Some(inherit) = change.inherit else { return Ok(Standing::Next(None)) };
    let stub = tables.heads()?.get(&inherit.from.to_bytes())?.map(|row| format::read_stub(row.value(), inherit.from));
    Ok(match stub {
        Some(Ok(stub)) if stub.lines >= inherit.lines && stub.memories >= inherit.memories => Standing::Next(None),
        Some(Ok(_)) | None => Standing::Elsewhere,
        Some(Err(fault)) => Standing::Unreadable(fault),
    })
}

fn standing(tables: &mut Writable<'_>, change: &Prepared) -> Result<Standing, Trouble> {
    let session = change.stub.session;
    let stub = tables.heads()?.get(&session.to_bytes())?.map(|row| format::read_stub(row.value(), session));
    let old = match stub {
        None if change.expected == 0 => return beginning(tables, change),
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
    for (number, line) in (change.base() + 1..).zip(&change.lines) {
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
    if let Some(inherit) = &change.inherit {
        copy(tables, inherit, session)?;
    }
    for (number, record) in (change.base() + 1..).zip(&change.line_records) {
        tables.lines()?.insert(&tables::line_key(session, number), record.as_slice())?;
    }
    let inherited = change.inherit.map_or(0, |inherit| inherit.memories);
    let remembered = old.map_or(inherited, |old| old.memories);
    for (index, record) in (remembered..).zip(&change.memory_records) {
        tables.memories()?.insert(&tables::memory_key(session, index), record.as_slice())?;
    }
    let start = tables::time_key(new.started, session);
    if old.is_none() {
        tables.starts()?.insert(&start, change.label.as_slice())?;
        change.pinned.iter().try_for_each(|digest| Pins(tables).pin(*digest))?;
    }
    let was_open = old.is_some_and(|old| !old.finished);
    if was_open && new.finished {
        tables.unfinished()?.remove(&start)?;
    } else if !was_open && !new.finished {
        tables.unfinished()?.insert(&start, change.label.as_slice())?;
    }
    index_due(tables, session, old.and_then(|old| old.due), new.due)
}

/// The records of another session's beginning, as they are: none of them says whose it is.
fn copy(tables: &mut Writable<'_>, inherit: &Inherit, to: SessionId) -> Result<(), Trouble> {
    let lost = |what: &str, number: u64| {
        let what = format!("{what} {number} of the session {}", inherit.from);
        Trouble::Fault(Fault::Unreadable { what, reason: "it is missing".to_owned() })
    };
    for number in 1..=inherit.lines {
        let lines = tables.lines()?;
        let record = lines.get(&tables::line_key(inherit.from, number))?.map(|record| record.value().to_vec());
        let record = record.ok_or_else(|| lost("line", number))?;
        lines.insert(&tables::line_key(to, number), record.as_slice())?;
    }
    for index in 0..inherit.memories {
        let memories = tables.memories()?;
        let record = memories.get(&tables::memory_key(inherit.from, index))?.map(|record| record.value().to_vec());
        let record = record.ok_or_else(|| lost("memory", u64::from(index)))?;
        memories.insert(&tables::memory_key(to, index), record.as_slice())?;
    }
    Ok(())
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
