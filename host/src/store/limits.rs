//! The store's limits, each with what it is for. Nothing else of the store names a number of this kind.

use std::time::Duration;

/// LIMIT: jobs in one write transaction. More gain nothing: the sync is shared well by then.
pub(super) const BATCH_JOBS_MAX: usize = 256;
/// LIMIT: how long a commit waits for others that may come, so that they share a batch. It is less than what the calls that
/// are under way then take to be worked on.
pub(super) const GATHER_TIME: Duration = Duration::from_millis(3);
/// How often it is looked whether anybody may still come.
pub(super) const GATHER_PAUSE: Duration = Duration::from_micros(500);
/// LIMIT: bytes in one write transaction, so that a batch's dirty pages stay within the memory aim.
pub(super) const BATCH_BYTES_MAX: usize = 4 << 20;
/// LIMIT: jobs that wait for the writer. Past it a caller waits before it may queue (back-pressure).
pub(super) const QUEUE_JOBS_MAX: usize = 1024;
/// LIMIT: bytes that wait for the writer. One job always gets in, whatever its size.
pub(super) const QUEUE_BYTES_MAX: usize = 16 << 20;
/// LIMIT: bytes of a definition or plugin.
pub(super) const BLOB_BYTES_MAX: usize = 48 << 20;
/// LIMIT: bytes of one change: lines, memories and head together.
pub(super) const CHANGE_BYTES_MAX: usize = 48 << 20;
/// Bytes of pages that the database keeps in memory unless told otherwise. The system's own cache is below it, and a read
/// from there takes microseconds: more here buys little and counts against every process that serves.
pub(super) const CACHE_BYTES: usize = 8 << 20;
/// LIMIT: bytes of the log. When it is full the database is synced, which holds up the commits of that moment: a longer log
/// makes that rarer and longer.
pub(super) const LOG_BYTES_MAX: u64 = 8 << 20;
/// LIMIT: bytes of a batch in the log. A larger one goes into the database at once.
pub(super) const LOG_RECORD_BYTES_MAX: usize = 1 << 20;
/// The log grows in steps of so many bytes until it has reached its length for the first time.
pub(super) const LOG_STEP_BYTES: u64 = 256 << 10;
/// Up to this file size an opened file is verified page by page. A larger one is verified after a crash only, and by
/// each record's own checksum when it is read.
pub(super) const VERIFY_BYTES_MAX: u64 = 32 << 20;

/// LIMIT: changes that a watcher may be behind; past it it is told to look at everything.
pub(super) const CHANGES_KEPT_MAX: usize = 4096;
/// LIMIT: how long one question for changes waits. Less than an owner may be silent.
pub(super) const CHANGES_WAIT_MAX: Duration = Duration::from_secs(1);
/// LIMIT: sessions that one transaction takes out.
pub(super) const PRUNED_AT_ONCE_MAX: usize = 64;

/// LIMIT: bytes of one frame between two processes.
pub(super) const FRAME_BYTES_MAX: usize = 64 << 20;
/// LIMIT: bytes of lines or memories in one answer to another process.
pub(super) const ANSWER_BYTES_MAX: usize = 32 << 20;
/// LIMIT: connections that an owner serves at once; another one is closed, and its process tries again.
pub(super) const CLIENTS_MAX: usize = 1024;
/// LIMIT: connections that a follower opens; calls past it wait for one.
pub(super) const CONNECTIONS_MAX: usize = 32;
/// LIMIT: how long an owner may leave a call unanswered before it counts as stopped,
/// unless told otherwise.
pub(super) const OWNER_SILENCE_MAX: Duration = Duration::from_secs(5);
/// LIMIT: how long a client may take over the rest of a frame that it began, or over reading its answer.
pub(super) const CLIENT_SILENCE_MAX: Duration = Duration::from_secs(10);
/// LIMIT: how long a process tries to become the owner or to reach it.
pub(super) const ELECTION_MAX: Duration = Duration::from_secs(10);
/// The pause between two such tries.
pub(super) const ELECTION_PAUSE: Duration = Duration::from_millis(4);
/// LIMIT: how often one call is sent again because its owner went away under it.
pub(super) const RESENDS_MAX: usize = 16;
/// The stack of a thread that serves a client: the calls are shallow, and there may be many.
pub(super) const CLIENT_STACK_BYTES: usize = 512 << 10;
