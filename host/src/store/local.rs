//! The store on a database of this process: opening, reading, and the way into the batches. It knows nothing of other
//! processes. Reads take a snapshot and never wait for a writer.

use std::fmt;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use redb::backends::InMemoryBackend;
use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTableMetadata, StorageBackend};

use super::backend::{Gauge, Gauged};
use super::batch::{Done, Job};
use super::desk::Desk;
use super::format;
use super::limits::{
    ANSWER_BYTES_MAX, BLOB_BYTES_MAX, CHANGE_BYTES_MAX, ELECTION_MAX, ELECTION_PAUSE, PRUNED_AT_ONCE_MAX,
};
use super::news::{Changes, Mark, News};
use super::opening::{backend, begin, database, furnish, log_backend, verify};
use super::provenance;
use super::prune::Taking;
use super::queue::{Queue, Seat, lock};
use super::tables::{self, Readable};
use super::trouble::{self, Trouble};
use super::{Change, Committed, Committing, Durability, Fault, Limit, Listed, Options, Query, Report, Store};
use crate::session::model::{Digest, Head, Line, Millis, Pruned, SessionId};
use crate::waiting::may_block;

/// The store on a database that only this process has open.
pub struct Local {
    pub(super) database: Database,
    queue: Queue<Job, Result<Done, Fault>>,
    news: News,
    pub(super) desk: Mutex<Desk>,
    pub(super) gauge: Arc<Gauge>,
    log_gauge: Arc<Gauge>,
    pub(super) place: String,
    role: &'static str,
    /// The first fault of file or disk. After it nothing is read or written: what the pages hold is not known.
    broken: OnceLock<Fault>,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("place", &self.place).field("broken", &self.broken).finish_non_exhaustive()
    }
}

/// Whether a database is begun or must be there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The backend is empty: the tables are made.
    Nothing,
    /// The tables must be there. A file without them was damaged, and is not taken for a new one.
    Tables,
}

impl Local {
    /// A store that is gone with the process.
    pub fn ephemeral() -> Result<Self, Fault> {
        let mut local =
            Self::open_with_backend(InMemoryBackend::new(), Expect::Nothing, "memory", &Options::default())?;
        local.role = "memory";
        Ok(local)
    }

    /// The store in this file, which is made if it is missing. Another process must not have it open.
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, Fault> {
        let place = path.display().to_string();
        let log = super::directory::log(path);
        match std::fs::metadata(path) {
            Ok(found) if found.len() == 0 => return Err(trouble::damaged(&place, "the file is empty")),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if log.exists() {
                    return Err(trouble::damaged(&place, "it is missing, and its log is there"));
                }
                begin(path, options)?;
            }
            Err(error) => return Err(super::directory::fault(path, &error)),
        }
        let begun = Instant::now();
        loop {
            let backends = (backend(path, false)?, Some(log_backend(&log)?));
            let opened = Self::open_with_backends(backends, Expect::Tables, &place, options);
            // A process that was killed lets go of its files one after the other: it may still have this one for a moment.
            match opened {
                Err(Fault::Owner(_)) if begun.elapsed() < ELECTION_MAX => thread::sleep(ELECTION_PAUSE),
                opened => return opened,
            }
        }
    }

    /// The store on any backend, without a log: every commit is one of the database.
    #[doc(hidden)]
    pub fn open_with_backend(
        backend: impl StorageBackend,
        expect: Expect,
        place: &str,
        options: &Options,
    ) -> Result<Self, Fault> {
        Self::open_with_backends((backend, None::<InMemoryBackend>), expect, place, options)
    }

    /// The store on any two backends, for the database and for its log: for tests that stop the world at a chosen write.
    #[doc(hidden)]
    pub fn open_with_backends(
        (backend, log): (impl StorageBackend, Option<impl StorageBackend>),
        expect: Expect,
        place: &str,
        options: &Options,
    ) -> Result<Self, Fault> {
        let [gauge, log_gauge] = [(); 2].map(|()| Arc::new(Gauge::default()));
        let backend = Gauged { inner: backend, gauge: Arc::clone(&gauge), synced: true };
        let synced = options.durability == Durability::PowerLoss;
        let log = log.map(|inner| Gauged { inner, gauge: Arc::clone(&log_gauge), synced });
        let opened = catch_unwind(AssertUnwindSafe(|| -> Result<(Database, Desk), Trouble> {
            let database = database(backend, place, options)?;
            let ledger = match expect {
                Expect::Nothing => furnish(&database)?,
                Expect::Tables => verify(&database, place)?,
            };
            let desk = match log {
                Some(log) => Desk::logged(&database, ledger, (Box::new(log), options.log_bytes), place)?,
                None => Desk::plain(ledger),
            };
            Ok((database, desk))
        }));
        let opened = opened.unwrap_or_else(|_| Err(Trouble::Fault(trouble::panicked(place))));
        let (database, desk) = opened.map_err(|trouble| match trouble {
            Trouble::Fault(fault) => fault,
            Trouble::Database(error) => {
                trouble::fault(place, &error, gauge.failure.get().or_else(|| log_gauge.failure.get()))
            }
        })?;
        let (queue, broken, desk, news) = (Queue::new(), OnceLock::new(), Mutex::new(desk), News::default());
        Ok(Self { database, queue, news, desk, gauge, log_gauge, place: place.to_owned(), role: "owner", broken })
    }

    /// Runs an operation on the database. A failure of the disk is remembered; a page that makes no sense is the matter
    /// of those who read it.
    pub(super) fn guarded<T>(&self, operation: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Fault> {
        if let Some(fault) = self.broken.get() {
            return Err(fault.clone());
        }
        let fault = match catch_unwind(AssertUnwindSafe(operation)) {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(Trouble::Fault(fault))) => return Err(fault),
            Ok(Err(Trouble::Database(error))) => trouble::fault(&self.place, &error, self.words()),
            Err(_) => trouble::panicked(&self.place),
        };
        if matches!(fault, Fault::Io(_)) {
            return Err(self.broken.get_or_init(|| fault).clone());
        }
        Err(fault)
    }

    /// The system's words for the first failure.
    pub(super) fn words(&self) -> Option<&String> {
        self.gauge.failure.get().or_else(|| self.log_gauge.failure.get())
    }

    /// A snapshot. INVARIANT: single rows are read with `get_owned` only: what plain `get` gives does not keep the
    /// snapshot, and a commit may free the page under it.
    fn reading(&self) -> Result<Readable, Trouble> {
        Ok(Readable(self.database.begin_read()?))
    }

    /// Puts bytes where a session's record belongs.
    #[cfg(test)]
    pub(super) fn put_row(&self, session: SessionId, record: &[u8]) {
        let transaction = self.database.begin_write().unwrap();
        let mut tables = tables::Writable::new(&transaction);
        tables.heads().unwrap().insert(&session.to_bytes(), record).unwrap();
        drop(tables);
        transaction.commit().unwrap();
    }

    /// Says that the file is of this version.
    #[cfg(test)]
    pub(super) fn put_version(&self, version: u32) {
        let transaction = self.database.begin_write().unwrap();
        tables::mark(&transaction, version).unwrap();
        transaction.commit().unwrap();
    }

    /// Leaves the file as it was before there was a log.
    #[cfg(test)]
    pub(super) fn forget_log(&self) {
        *lock(&self.desk) = Desk::plain(super::log::Ledger { id: [0; 16], applied: 0, open: false });
        let transaction = self.database.begin_write().unwrap();
        tables::mark(&transaction, 1).unwrap();
        tables::drop_ledger(&transaction).unwrap();
        transaction.commit().unwrap();
    }

    /// Makes it a file in which nobody counted who is pinned to what.
    #[cfg(test)]
    pub(super) fn forget_pins(&self) {
        let transaction = self.database.begin_write().unwrap();
        tables::Writable::new(&transaction).pins().unwrap().retain(|_, _| false).unwrap();
        tables::mark(&transaction, 2).unwrap();
        transaction.commit().unwrap();
    }

    /// Nobody waits for changes any more.
    pub(super) fn hush(&self) {
        self.news.close();
    }

    fn submit(&self, job: Job) -> Result<Done, Fault> {
        let bytes = job.bytes();
        self.queue.submit(job, bytes, |batch| self.run(batch))
    }

    /// Carries out batches for those who await their commits, until the clerk is let go.
    pub(super) fn serve(&self) {
        self.queue.serve(|batch| self.run(batch));
    }

    /// There is a thread that serves.
    pub(super) fn expect_clerk(&self) {
        self.queue.open();
    }

    /// Lets the clerk go.
    pub(super) fn dismiss_clerk(&self) {
        self.queue.close();
    }

    fn run(&self, batch: &[Arc<Seat<Job, Result<Done, Fault>>>]) -> Vec<Result<Done, Fault>> {
        let jobs: Vec<&Job> = batch.iter().map(|seat| &seat.job).collect();
        let answers = self.guarded(|| lock(&self.desk).run(&self.database, &jobs));
        self.news.tell(answers.iter().flatten().zip(&jobs).flat_map(|(answer, job)| changed(answer, job)));
        answers.unwrap_or_else(|fault| {
            // Whatever stopped a batch as a whole, nothing more is written: what the pages hold is not known.
            let fault = self.broken.get_or_init(|| fault);
            jobs.iter().map(|_| Err(fault.clone())).collect()
        })
    }

    fn listed(&self, reading: &Readable, query: &Query) -> Result<Vec<Listed>, Trouble> {
        let heads = reading.heads()?;
        let index = if query.unfinished { reading.unfinished()? } else { reading.starts()? };
        let mut found = Vec::new();
        let end = query.after.map_or([u8::MAX; 24], |(start, session)| tables::time_key(start, session));
        for entry in index.range::<&[u8; 24]>(..&end)?.rev() {
            if found.len() >= query.limit {
                break;
            }
            let (key, label) = entry?;
            if format::read_label(label.value()).is_none_or(|label| wanted(query, label)) {
                found.extend(listed_head(&heads, tables::time_session(key.value()), query)?);
            }
        }
        Ok(found)
    }
}

impl Drop for Local {
    /// Leaves the database whole without its log. Where that fails, the log has what is missing.
    fn drop(&mut self) {
        if self.broken.get().is_none() {
            let _ = self.guarded(|| lock(&self.desk).close(&self.database));
        }
    }
}

fn wanted(query: &Query, label: format::Label<'_>) -> bool {
    let same = |wish: &Option<String>, value: &str| wish.as_deref().is_none_or(|wish| wish == value);
    same(&query.owner, label.owner)
        && same(&query.interpreter, label.interpreter)
        && same(&query.workflow, label.workflow)
}

fn listed_head(
    heads: &ReadOnlyTable<&'static [u8; 16], &'static [u8]>,
    session: SessionId,
    query: &Query,
) -> Result<Option<Listed>, Trouble> {
    let Some(row) = heads.get_owned(&session.to_bytes())? else {
        let reason = "its record is missing".to_owned();
        return Ok(Some(Listed::Unreadable(session, reason)));
    };
    let mut head = match format::read_row(row.value(), session) {
        Ok(row) => row.head,
        Err(fault) => return Ok(Some(Listed::Unreadable(session, fault.to_string()))),
    };
    // Once more by the head itself: the label is only a short cut.
    let label = format::Label { owner: &head.owner, interpreter: &head.interpreter, workflow: &head.workflow };
    let shown = wanted(query, label) && !(query.unfinished && head.outcome.is_some());
    // A listing shows where sessions stand, not what they know: many states would not fit into one answer.
    head.state = String::new();
    Ok(shown.then(|| Listed::Head(Box::new(head))))
}

impl Store for Local {
    fn host(&self) -> Result<u64, Fault> {
        Ok(1)
    }

    fn alive(&self, host: u64) -> bool {
        host == 1
    }

    fn head(&self, session: SessionId) -> Result<Option<Head>, Fault> {
        self.guarded(|| {
            let row = self.reading()?.heads()?.get_owned(&session.to_bytes())?;
            let row = row.map(|row| format::read_row(row.value(), session)).transpose()?;
            Ok(row.map(|row| row.head))
        })
    }

    fn lines(&self, session: SessionId, from: u64, limit: Limit) -> Result<Vec<Line>, Fault> {
        self.guarded(|| {
            let table = self.reading()?.lines()?;
            let (first, last) = (tables::line_key(session, from), tables::line_key(session, u64::MAX));
            let bytes_max = limit.bytes.min(ANSWER_BYTES_MAX);
            let mut found: Vec<Line> = Vec::new();
            let mut bytes = 0usize;
            for (number, entry) in (from..).zip(table.range::<&[u8; 24]>(&first..=&last)?) {
                let (key, record) = entry?;
                if !found.is_empty() && (found.len() >= limit.lines || bytes >= bytes_max) {
                    break;
                }
                if tables::line_number(key.value()) != number {
                    let what = format!("line {number} of the session {session}");
                    return Err(Fault::Unreadable { what, reason: "it is missing".to_owned() }.into());
                }
                let line = format::read_line(record.value(), session, number)?;
                bytes = bytes.saturating_add(line.len());
                if !found.is_empty() && bytes > bytes_max {
                    break;
                }
                found.push(line);
            }
            Ok(found)
        })
    }

    fn memories(&self, session: SessionId, from: u32, count: u32) -> Result<Vec<String>, Fault> {
        self.guarded(|| {
            let table = self.reading()?.memories()?;
            let (first, last) = (tables::memory_key(session, from), tables::memory_key(session, u32::MAX));
            let wanted = usize::try_from(count).unwrap_or(usize::MAX);
            let mut found = Vec::new();
            let mut bytes = 0usize;
            for entry in table.range::<&[u8; 20]>(&first..=&last)?.take(wanted) {
                let (key, record) = entry?;
                bytes = bytes.saturating_add(record.value().len());
                if !found.is_empty() && bytes > ANSWER_BYTES_MAX {
                    break;
                }
                found.push(format::read_memory(record.value(), session, tables::memory_index(key.value()))?);
            }
            Ok(found)
        })
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, Fault> {
        self.guarded(|| self.listed(&self.reading()?, query))
    }

    fn due(&self, now: Millis, limit: usize) -> Result<Vec<SessionId>, Fault> {
        self.guarded(|| {
            let last = tables::time_key(now, SessionId::from_bits(u128::MAX));
            let mut found = Vec::new();
            for entry in self.reading()?.due()?.range::<&[u8; 24]>(..=&last)?.take(limit) {
                found.push(tables::time_session(entry?.0.value()));
            }
            Ok(found)
        })
    }

    fn blob(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, Fault> {
        self.guarded(|| {
            let row = self.reading()?.blobs()?.get_owned(&digest.0)?;
            Ok(row.map(|row| format::read_blob(row.value(), digest)).transpose()?)
        })
    }

    fn keep(&self, bytes: &[u8]) -> Result<Digest, Fault> {
        let what = "a definition or plugin";
        bounded(what, bytes.len(), BLOB_BYTES_MAX)?;
        let digest = Digest::of(bytes);
        let kept = self.guarded(|| Ok(self.reading()?.blobs()?.get_owned(&digest.0)?.is_some()))?;
        if !kept {
            self.submit(Job::Keep { digest, record: format::blob(bytes) })?;
        }
        Ok(digest)
    }

    fn commit(&self, change: Change) -> Result<Committed, Fault> {
        self.submit(job(change)?).map(Done::committed)
    }

    fn committing(&self, change: Change) -> Committing<'_> {
        Box::pin(async move {
            let job = job(change)?;
            let bytes = job.bytes();
            let done = match self.queue.hand_in(job, bytes) {
                Ok(answer) => answer.await.unwrap_or_else(|_| Err(Fault::Io("this process is ending".into()))),
                Err(job) => may_block(|| self.submit(job)),
            };
            done.map(Done::committed)
        })
    }

    fn prune(&self, records: &[Pruned]) -> Result<Vec<SessionId>, Fault> {
        let mut taken = Vec::new();
        for some in records.chunks(PRUNED_AT_ONCE_MAX) {
            if let Done::Taken(more) = self.submit(Job::Prune(some.iter().map(Taking::of).collect()))? {
                taken.extend(more);
            }
        }
        Ok(taken)
    }

    fn pruned(&self, session: SessionId) -> Result<Option<Pruned>, Fault> {
        self.guarded(|| {
            let row = self.reading()?.pruned()?.get_owned(&session.to_bytes())?;
            Ok(row.map(|row| provenance::read_pruned(row.value(), session)).transpose()?)
        })
    }

    fn pruned_after(&self, after: Option<SessionId>, limit: usize) -> Result<Vec<Pruned>, Fault> {
        self.guarded(|| {
            let first = after.map_or(Bound::Unbounded, |session| Bound::Excluded(session.to_bytes()));
            let table = self.reading()?.pruned()?;
            let mut found = Vec::new();
            for entry in table.range::<&[u8; 16]>((first.as_ref(), Bound::Unbounded))?.take(limit) {
                let (key, record) = entry?;
                found.push(provenance::read_pruned(record.value(), SessionId::from_bytes(*key.value()))?);
            }
            Ok(found)
        })
    }

    fn changes(&self, after: Option<Mark>, wait: Duration) -> Result<Changes, Fault> {
        Ok(self.news.after(after, wait))
    }

    fn report(&self) -> Result<Report, Fault> {
        self.guarded(|| {
            let reading = self.reading()?;
            Ok(Report {
                place: self.place.clone(),
                role: self.role.to_owned(),
                bytes: [&self.gauge, &self.log_gauge].iter().map(|gauge| gauge.length.load(Ordering::Relaxed)).sum(),
                sessions: reading.heads()?.len()?,
                unfinished: reading.unfinished()?.len()?,
                lines: reading.lines()?.len()?,
                contents: reading.blobs()?.len()?,
                pruned: reading.pruned()?.len()?,
            })
        })
    }
}

/// The sessions that a job has changed.
fn changed(answer: &Result<Done, Fault>, job: &Job) -> Vec<SessionId> {
    match (answer, job) {
        (Ok(Done::Committed(Committed::Done)), Job::Change(change)) => vec![change.session()],
        (Ok(Done::Taken(taken)), _) => taken.clone(),
        (Ok(Done::Committed(_)) | Err(_), _) => Vec::new(),
    }
}

/// A change as a job, if it is not too large.
fn job(change: Change) -> Result<Job, Fault> {
    let job = Job::change(change)?;
    bounded("a change", job.bytes(), CHANGE_BYTES_MAX)?;
    Ok(job)
}

fn bounded(what: &str, bytes: usize, most: usize) -> Result<(), Fault> {
    if bytes <= most {
        return Ok(());
    }
    Err(Fault::TooLarge { what: what.to_owned(), bytes: bytes as u64, most: most as u64 })
}
