//! Where sessions are kept: a small trait, and its implementations. Callers see plain bytes and plain structs; the
//! database crate is used in this folder and nowhere else.

mod backend;
mod batch;
mod codec;
mod desk;
mod directory;
#[cfg(unix)]
mod follower;
mod format;
#[doc(hidden)]
pub mod fuzzing;
mod limits;
mod local;
mod log;
mod memory;
mod news;
mod opening;
#[cfg(unix)]
mod owner;
mod presence;
#[cfg(unix)]
mod protocol;
mod provenance;
mod prune;
mod queue;
#[cfg(unix)]
mod shared;
#[cfg(unix)]
mod socket;
mod tables;
#[cfg(test)]
mod tests;
mod trouble;
mod upkeep;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use local::{Expect, Local};

use crate::session::model::{Digest, Head, Line, Millis, Pruned, SessionId};
pub use news::{Changes, Mark};

/// A commit under way. Whoever drops it does not stop it.
pub type Committing<'s> = Pin<Box<dyn Future<Output = Result<Committed, Fault>> + Send + 's>>;

/// What a store can do. All of it is synchronous and may block on the disk, but for `committing`; nothing is held between two
/// calls.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// The head of a session, if there is one.
    fn head(&self, session: SessionId) -> Result<Option<Head>, Fault>;
    /// Journal lines from number `from` (the first is 1), oldest first, until a limit is reached (at least one line). One
    /// answer holds at most 32 MiB: fewer lines than asked for do not mean that there are no more.
    fn lines(&self, session: SessionId, from: u64, limit: Limit) -> Result<Vec<Line>, Fault>;
    /// Memories from index `from` (the first is 0), oldest first, at most `count` and 32 MiB.
    fn memories(&self, session: SessionId, from: u32, count: u32) -> Result<Vec<String>, Fault>;
    /// Sessions, newest start first. A record that cannot be read is an item of its own and hides no other.
    fn list(&self, query: &Query) -> Result<Vec<Listed>, Fault>;
    /// The sessions whose head names a request deadline or timer at or before `now`, soonest first.
    fn due(&self, now: Millis, limit: usize) -> Result<Vec<SessionId>, Fault>;
    /// A definition or plugin by its content's SHA-256.
    fn blob(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, Fault>;
    /// Keeps bytes by content and returns their SHA-256. Kept already: nothing is written.
    fn keep(&self, bytes: &[u8]) -> Result<Digest, Fault>;
    /// One transaction: head, lines and memories, or none of them. Returns after it is durable.
    fn commit(&self, change: Change) -> Result<Committed, Fault>;
    /// The same, awaited: a store that can do so holds no thread while it waits for the disk.
    fn committing(&self, change: Change) -> Committing<'_> {
        Box::pin(async move { self.commit(change) })
    }
    /// The number of this running host among those that work on the store, from its first use until the process ends.
    fn host(&self) -> Result<u64, Fault>;
    /// Whether the host of that number still runs.
    fn alive(&self, host: u64) -> bool;
    /// Takes sessions out, each in one transaction with the record that is kept of it, and content that no other session is
    /// pinned to. Left alone is one that has another number of lines than its record says. Returns those that were taken.
    fn prune(&self, records: &[Pruned]) -> Result<Vec<SessionId>, Fault>;
    /// The record of a session that was pruned.
    fn pruned(&self, session: SessionId) -> Result<Option<Pruned>, Fault>;
    /// Records of pruned sessions, by session, after this one, at most so many.
    fn pruned_after(&self, after: Option<SessionId>, limit: usize) -> Result<Vec<Pruned>, Fault>;
    /// Which sessions changed since a mark, in any process; waits until there is one, at most so long (and a second).
    fn changes(&self, after: Option<Mark>, wait: Duration) -> Result<Changes, Fault>;
    /// Leaves the store in order before the process ends; what is called afterwards is a fault. Without it nothing is lost,
    /// but the next start has to look at the whole file.
    fn close(&self) {}
    /// Sizes and the like, for `doctor`.
    fn report(&self) -> Result<Report, Fault>;
}

/// When to stop reading lines: whichever comes first.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// So many lines.
    pub lines: usize,
    /// So many bytes of lines.
    pub bytes: usize,
}

/// What a listing asks for.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Only those of this owner; none: of all.
    pub owner: Option<String>,
    /// Only those of this interpreter.
    pub interpreter: Option<String>,
    /// Only those of this workflow.
    pub workflow: Option<String>,
    /// Only those without an outcome.
    pub unfinished: bool,
    /// Only those that come after this one, named by its start: where the page before ended.
    pub after: Option<(Millis, SessionId)>,
    /// At most so many.
    pub limit: usize,
}

/// An item of a listing.
#[derive(Debug, Clone)]
pub enum Listed {
    /// A session, without its state.
    Head(Box<Head>),
    /// A record that cannot be read: whose it is and why.
    Unreadable(SessionId, String),
}

/// A change of one session.
#[derive(Debug, Clone)]
pub struct Change {
    /// How many lines the session has before the change; 0 creates it.
    pub expected: u64,
    /// The head after it. `head.lines` is `expected` and what is inherited and `lines.len()`.
    pub head: Head,
    /// What a session that is created begins with, taken from another one in the same transaction.
    pub inherit: Option<Inherit>,
    /// The lines that are appended.
    pub lines: Vec<Line>,
    /// The memories that are appended.
    pub memories: Vec<String>,
    /// When the session must be looked at again although nobody calls (the soonest deadline or timer).
    pub due: Option<Millis>,
}

/// The beginning of one session that another one begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inherit {
    /// Whose it is.
    pub from: SessionId,
    /// How many of its lines.
    pub lines: u64,
    /// How many of its memories.
    pub memories: u32,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    /// It is durable. Also the answer when this very change (same chain) had been committed before: a caller that lost
    /// its connection may send it again.
    Done,
    /// The session is elsewhere by now, or what it inherits is: nothing was written.
    Conflict,
    /// What the new session is pinned to was dropped with the last session that needed it: nothing was written. Keep it
    /// again, then commit again.
    Dropped,
}

/// Sizes and the like.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Report {
    /// Where the data lies, or `memory`.
    pub place: String,
    /// `owner`, `follower` or `memory`.
    pub role: String,
    /// Bytes on disk.
    pub bytes: u64,
    /// How many sessions.
    pub sessions: u64,
    /// How many of them have no outcome.
    pub unfinished: u64,
    /// How many journal lines.
    pub lines: u64,
    /// How many definitions and plugins.
    pub contents: u64,
    /// How many sessions were pruned.
    pub pruned: u64,
}

/// The store cannot do what was asked: an operator's matter.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// The data directory cannot be made, entered or written.
    #[error("the data directory `{path}` cannot be used: {reason}")]
    Directory {
        /// Where.
        path: String,
        /// What the system said, and what to do.
        reason: String,
    },
    /// The database file is damaged or no database.
    #[error("the store `{path}` is damaged: {reason}")]
    Damaged {
        /// Where.
        path: String,
        /// What was found.
        reason: String,
    },
    /// A record was written by a newer wfhost.
    #[error("{what} was written in format {found}, this wfhost reads up to {known}: use a newer wfhost")]
    Newer {
        /// Which record.
        what: String,
        /// Its format.
        found: u32,
        /// The newest one known.
        known: u32,
    },
    /// A record cannot be read.
    #[error("{what} cannot be read: {reason}")]
    Unreadable {
        /// Which record.
        what: String,
        /// Why.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("the store cannot be read or written: {0}")]
    Io(String),
    /// What is to be kept is larger than the store takes.
    #[error("{what} of {bytes} bytes is too large: the store takes up to {most}")]
    TooLarge {
        /// What it is.
        what: String,
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        most: u64,
    },
    /// The process that owns the store does not answer, and it could not be taken over.
    #[error("the process that owns the store does not answer: {0}")]
    Owner(String),
}

/// Where lines for an operator go: the progress of a check after a crash, a take-over.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// When a commit counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When it survives the loss of power.
    #[default]
    PowerLoss,
    /// When it survives the end of the process, however it comes. After a loss of power the newest commits may be missing,
    /// or the log may be damaged: for machines that are thrown away.
    Process,
}

/// How a store is opened.
#[derive(Clone)]
pub struct Options {
    /// Bytes of pages kept in memory.
    pub cache_bytes: usize,
    /// Bytes of the log. When it is full the database is synced.
    pub log_bytes: u64,
    /// When a commit counts as done.
    pub durability: Durability,
    /// How long the process that owns the store may leave a call of this one unanswered before that is a fault.
    pub patience: Duration,
    /// Where lines for an operator go.
    pub notice: Notice,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: limits::CACHE_BYTES,
            log_bytes: limits::LOG_BYTES_MAX,
            durability: Durability::default(),
            patience: limits::OWNER_SILENCE_MAX,
            notice: Arc::new(|_| {}),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Options");
        shown.field("cache_bytes", &self.cache_bytes).field("log_bytes", &self.log_bytes);
        shown.field("durability", &self.durability);
        shown.field("patience", &self.patience).finish_non_exhaustive()
    }
}

/// The store in a data directory, which is made if it is missing. Any number of processes may open the same one.
pub fn open(directory: &Path, options: Options) -> Result<Arc<dyn Store>, Fault> {
    let directory = directory::enter(directory)?;
    at(directory, options)
}

#[cfg(unix)]
fn at(directory: PathBuf, options: Options) -> Result<Arc<dyn Store>, Fault> {
    Ok(Arc::new(shared::Shared::open(directory, options)?))
}

/// Without Unix-domain sockets a second process is told who is in its way.
#[cfg(not(unix))]
fn at(directory: PathBuf, options: Options) -> Result<Arc<dyn Store>, Fault> {
    Ok(Arc::new(Local::open(&directory::database(&directory), &options)?))
}

/// Gives room that nothing uses back to the disk, and returns the file's size before and after. Nobody else may work on the
/// data directory meanwhile: a fault says who does.
pub fn compact(directory: &Path, options: &Options) -> Result<(u64, u64), Fault> {
    let directory = directory::enter(directory)?;
    #[cfg(unix)]
    let _lock = shared::alone(&directory)?;
    upkeep::compact(&directory::database(&directory), options)
}

/// A store that is gone with the process.
pub fn open_ephemeral() -> Result<Arc<dyn Store>, Fault> {
    Ok(Arc::new(memory::Memory::default()))
}
