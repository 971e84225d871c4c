//! Every figure that bounds something, by name. Nothing else in the host holds a number of this kind.

use std::time::Duration;

/// What one call into a plugin may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Linear memory, bytes.
    pub memory_bytes: usize,
    /// Wall time, milliseconds.
    pub time_ms: u64,
    /// Wasm instructions, in wasmtime's fuel: about 7 a nanosecond.
    pub fuel: u64,
    /// Bytes that may be copied between host and guest, results among them.
    pub copied_bytes: usize,
}

/// What one plugin may use, for each kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginLimits {
    /// Turns, routes, views and the like.
    pub call: CallLimits,
    /// `describe`, `compile` and `tools`: rarer, and allowed more.
    pub load: CallLimits,
}

impl Default for PluginLimits {
    fn default() -> Self {
        Self {
            call: CallLimits { memory_bytes: 64 << 20, time_ms: 2_000, fuel: 10_000_000_000, copied_bytes: 16 << 20 },
            load: CallLimits {
                memory_bytes: 256 << 20,
                time_ms: 10_000,
                fuel: 60_000_000_000,
                copied_bytes: 128 << 20,
            },
        }
    }
}

/// Tool calls that wait to be worked on; a further one is told to come again.
pub const CALLS_WAITING_MAX: usize = 1_024;
/// Bytes of HTTP requests that are read or worked on at once; a further request is told to come again.
pub const HTTP_BYTES_AT_ONCE_MAX: usize = 64 << 20;
/// What a request counts for at least, whatever the length of its body.
pub const HTTP_REQUEST_BYTES_MIN: usize = 16 << 10;
/// Events that wait for hooks; a further one is dropped and counted.
pub const HOOK_EVENTS_WAITING_MAX: usize = 1_024;
/// How long a hook may take.
pub const HOOK_TIME_MAX: Duration = Duration::from_secs(10);
/// How long waiting events are carried out after the server has been told to end.
pub const HOOKS_LEAVE_TIME: Duration = Duration::from_secs(2);
/// How long a collector of traces and metrics may take to accept some.
pub const EXPORT_TIME_MAX: Duration = Duration::from_secs(10);
/// How long waiting traces and metrics are sent after the server has been told to end.
pub const EXPORT_LEAVE_TIME: Duration = Duration::from_secs(2);
/// Bytes of an answer to a request of this program's own.
pub const WEB_ANSWER_BYTES_MAX: usize = 1 << 20;
/// Calls that may be inside plugins at once; further ones wait. One memory slot each is reserved (address space only).
pub const CALLS_AT_ONCE_MAX: u32 = 128;
/// How often the clock that stops plugins ticks.
pub const TICK: Duration = Duration::from_millis(5);
/// Native stack of a call into a plugin: what a thread of 2 MiB, the least that calls are made on, can spare.
pub const PLUGIN_STACK_BYTES: usize = 1 << 20;
/// Ticks that a call may work beside all others; after them long calls take turns in the slow lane.
pub const FAST_TICKS: u32 = 2;
/// How long a call pauses once when it leaves the fast lane, so that another thread takes over the rest of its thread's work.
pub const HANDOVER: Duration = Duration::from_millis(2);
/// Tool calls in one trial of a document that is not saved.
pub const AUTHORED_CALLS_MAX: usize = 64;
/// A plugin file may have so many bytes: as many as the store keeps of one.
pub const PLUGIN_BYTES_MAX: u64 = 48 << 20;
/// A plugin file from so many bytes on is made ready beside the others at its first start, which takes seconds.
pub const PLUGIN_BYTES_SLOW: u64 = 4 << 20;
/// A document, companions each, may have so many bytes.
pub const DOCUMENT_BYTES_MAX: u64 = 8 << 20;
/// Documents that are read from a folder.
pub const DOCUMENTS_MAX: usize = 100_000;
/// Bytes of a session's state.
pub const STATE_BYTES_MAX: usize = 4 << 20;
/// Lines of a session's journal; a session that is full takes no more events.
pub const LINES_PER_SESSION_MAX: u64 = 1_000_000;
/// Entries of one page of a journal.
pub const PAGE_ENTRIES_MAX: u32 = 1_000;
/// Bytes of the lines that one page of a journal is made from.
pub const PAGE_BYTES_MAX: usize = 1 << 20;
/// One turn in so many, by its seed, keeps the whole state; the others only what changed.
pub const SNAPSHOT_EVERY: u64 = 32;
/// Keys that may have changed for a line to hold the changes alone; past that it holds the whole state. Taking keys out of a
/// large object one by one costs its size each time.
pub const CHANGED_KEYS_MAX: usize = 256;
/// How often a turn is tried again because another process moved the session meanwhile.
pub const CONFLICT_RETRIES_MAX: u32 = 64;
/// Replies that one tool call may carry out before it answers.
pub const ROUNDS_PER_CALL_MAX: u32 = 64;
/// Results of upstream servers and other workflows that one tool call may take in before it answers.
pub const REPLIES_PER_CALL_MAX: u32 = 100_000;
/// A call of an upstream server that is not limited by its configuration ends after this time.
pub const UPSTREAM_TIME: Duration = Duration::from_secs(60);
/// And one that is, after this time at the latest.
pub const UPSTREAM_TIME_MAX: Duration = Duration::from_secs(600);
/// How long an upstream server may take to start and greet.
pub const UPSTREAM_START_TIME: Duration = Duration::from_secs(30);
/// Bytes of what an upstream server sends at once.
pub const UPSTREAM_RESULT_BYTES_MAX: usize = 4 << 20;
/// How long upstream servers may take to end, all together.
pub const UPSTREAM_END_TIME: Duration = Duration::from_secs(7);
/// A server that failed is not tried again before this time, doubled with each failure.
pub const UPSTREAM_PAUSE: Duration = Duration::from_millis(250);
/// Nor later than this.
pub const UPSTREAM_PAUSE_MAX: Duration = Duration::from_secs(30);
/// A host that has not handed over what it carries out by then has lost it, even if it still runs.
pub const CARRY_LEASE: Duration = Duration::from_secs(660);
/// How many workflows may call one another, one within the other.
pub const WORKFLOW_DEPTH_MAX: u32 = 16;
/// Sessions that are looked at when a host starts, for what another one has left.
pub const TAKE_OVER_MAX: usize = 100_000;
/// A tool call answers within this time, whatever it waits for.
pub const CALL_TIME_MAX: Duration = Duration::from_secs(50);
/// And waits so long for timers that its own step has set; one that is later fires without the caller.
pub const TIMER_WAIT_MAX: Duration = Duration::from_secs(30);
/// Calls that wait for timers at once; a further one answers at once, and its timers fire without it.
pub const TIMERS_WAITED_FOR_MAX: usize = 128;
/// How long connections may take to end once the server has been told to.
pub const LEAVE_TIME: Duration = Duration::from_secs(10);
/// How long a client may take over a notice before it is told no more.
pub const NOTICE_TIME: Duration = Duration::from_secs(5);
/// How long a person has for a form before the call answers without.
pub const FORM_TIME: Duration = Duration::from_secs(45);
/// How long a sealed request state can be redeemed.
pub const SEAL_TIME: Duration = Duration::from_secs(3_600);
/// Tool calls that are worked on at once; further ones wait in order of arrival.
pub const TOOL_CALLS_AT_ONCE_MAX: usize = 256;
/// Bytes of an HTTP request's body.
pub const HTTP_BODY_BYTES_MAX: usize = 4 << 20;
/// How long an HTTP request's body may take to arrive.
pub const HTTP_BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// Bytes of one line on standard input.
pub const STDIO_LINE_BYTES_MAX: usize = 16 << 20;
/// The least number of threads that work for HTTP clients; with more processor cores there are as many as those.
pub const HTTP_WORKERS_MIN: usize = 2;
/// Resources that one connection may subscribe to.
pub const SUBSCRIPTIONS_MAX: usize = 256;
/// Legacy HTTP sessions that are kept open at once.
pub const HTTP_SESSIONS_MAX: usize = 1_000;
/// How often timers and deadlines are looked at when nobody calls.
pub const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Sessions that one such look moves at most.
pub const SWEEP_SESSIONS_MAX: usize = 64;
/// Sessions that one start ends at most, because more are open than their document lets be.
pub const DROPPED_AT_ONCE_MAX: usize = 64;
/// Open sessions that are looked at together for that.
pub const KEPT_PAGE: usize = 500;
/// How often folders are looked at where no notice of changes comes.
pub const POLL_EVERY: Duration = Duration::from_secs(2);
/// How long a change of a folder must be quiet before it is read.
pub const SETTLE: Duration = Duration::from_millis(60);
/// A tool's name, so that clients that add a prefix can still call it.
pub const TOOL_NAME_CHARS_MAX: usize = 40;
/// Gaps that a seal names one by one; more are told as one from the first to the last.
pub const GAPS_MAX: usize = 64;
/// Sessions whose newest seal a process remembers as its own.
pub const SEALS_IN_MEMORY_MAX: usize = 4_096;
/// Compiled definitions that are kept in memory.
pub const DEFINITIONS_IN_MEMORY_MAX: usize = 256;
