//! What an operator wants done after a commit: a command that is run, an address that is called. One thread does it, from
//! a queue with an end; whoever commits never waits for it, and what does not fit is counted and told. A hook gets names
//! and numbers; a command gets none of this process's environment but what a program needs to run at all.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Observer;
use super::facts::Committed;
use crate::limits::{HOOK_EVENTS_WAITING_MAX, HOOK_TIME_MAX, HOOKS_LEAVE_TIME};
use crate::store::Notice;

/// How often it is told that hooks fail or events are dropped.
const TOLD_EVERY: Duration = Duration::from_secs(60);
/// How often a running command is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// What a command gets of the environment.
const ENVIRONMENT: [&str; 8] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "SystemRoot", "ComSpec"];

/// Posts a text and gives the reason if that fails.
pub type Post = Arc<dyn Fn(&str, Duration) -> Result<(), String> + Send + Sync>;

/// What is to be done after a commit.
#[derive(Clone)]
pub enum Hook {
    /// A command line for the system's shell. It gets the event as JSON on its standard input.
    Command(String),
    /// An address that the event is posted to as JSON, by this function.
    Post(Post),
}

impl std::fmt::Debug for Hook {
    /// Neither a command line nor an address: both may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Command(_) => "Command",
            Self::Post(_) => "Post",
        })
    }
}

/// The hooks and their queue.
#[derive(Debug)]
pub struct Hooks {
    queue: Mutex<Option<SyncSender<String>>>,
    worker: Mutex<Option<JoinHandle<()>>>,
    counts: Arc<Counts>,
    notice: Told,
}

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

impl Hooks {
    /// Begins to carry out these hooks.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn begin(hooks: Vec<Hook>, notice: Notice) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(HOOK_EVENTS_WAITING_MAX);
        let counts = Arc::new(Counts::default());
        let (inside, told) = (Arc::clone(&counts), Told::new(Arc::clone(&notice)));
        let worker =
            thread::Builder::new().name("hooks".into()).spawn(move || work(&receiver, &hooks, (&inside, &told)))?;
        let (queue, worker) = (Mutex::new(Some(sender)), Mutex::new(Some(worker)));
        Ok(Self { queue, worker, counts, notice: Told::new(notice) })
    }

    /// How many events were sent, failed, and were dropped because too many waited.
    #[must_use]
    pub fn counts(&self) -> [(&'static str, u64); 3] {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = &self.counts;
        [("sent", read(&counts.sent)), ("failed", read(&counts.failed)), ("dropped", read(&counts.dropped))]
    }

    /// Takes no more events, and lets those that wait be carried out for a short while.
    pub fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(worker) = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let until = Instant::now() + HOOKS_LEAVE_TIME;
        while !worker.is_finished() && Instant::now() < until {
            thread::sleep(LOOK_EVERY);
        }
    }
}

impl Observer for Hooks {
    fn committed(&self, fact: &Committed<'_>) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(queue) = queue else { return };
        match queue.try_send(event(fact).to_string()) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => {
                let dropped = self.counts.dropped.fetch_add(1, Ordering::Relaxed) + 1;
                self.notice.tell(&format!("hooks are slower than commits: {dropped} events were not sent so far"));
            }
        }
    }
}

fn event(fact: &Committed<'_>) -> Value {
    json!({
        "event": "committed",
        "session": fact.session.to_string(),
        "interpreter": fact.interpreter,
        "workflow": fact.workflow,
        "lines": fact.lines,
        "chain": fact.chain.to_string(),
        "at": fact.at,
        "began": fact.began,
        "turns": fact.added.turns,
        "refusals": fact.added.refusals,
        "faults": fact.added.faults,
        "ended": fact.ended.map(super::Ended::word),
    })
}

fn work(events: &Receiver<String>, hooks: &[Hook], (counts, told): (&Counts, &Told)) {
    loop {
        let event = match events.recv_timeout(TOLD_EVERY) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        for hook in hooks {
            let done = match hook {
                Hook::Command(line) => run(line, &event),
                Hook::Post(post) => post(&event, HOOK_TIME_MAX),
            };
            match done {
                Ok(()) => counts.sent.fetch_add(1, Ordering::Relaxed),
                Err(reason) => {
                    told.tell(&format!("a hook failed: {reason}"));
                    counts.failed.fetch_add(1, Ordering::Relaxed)
                }
            };
        }
    }
}

fn shell(line: &str) -> Command {
    let (program, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(program);
    command.args([flag, line]).env_clear();
    let kept = ENVIRONMENT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    command.envs(kept).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn run(line: &str, event: &str) -> Result<(), String> {
    let mut child = shell(line).spawn().map_err(|error| format!("its command cannot be run: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // An event is shorter than a pipe; a command that does not read it does not hold this up.
        let _ = stdin.write_all(event.as_bytes());
    }
    let until = Instant::now() + HOOK_TIME_MAX;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("its command ended with {status}")),
            Ok(None) if Instant::now() < until => thread::sleep(LOOK_EVERY),
            Ok(None) => return Err(stopped(&mut child)),
            Err(error) => return Err(format!("its command cannot be waited for: {error}")),
        }
    }
}

fn stopped(child: &mut Child) -> String {
    let _ = child.kill();
    let _ = child.wait();
    format!("its command took longer than {HOOK_TIME_MAX:?} and was stopped")
}

/// Tells the operator, but not all the time.
struct Told {
    notice: Notice,
    last: Mutex<Option<Instant>>,
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Told")
    }
}

impl Told {
    fn new(notice: Notice) -> Self {
        Self { notice, last: Mutex::default() }
    }

    fn tell(&self, line: &str) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() >= TOLD_EVERY) {
            *last = Some(Instant::now());
            (self.notice)(line);
        }
    }
}

#[cfg(test)]
mod tests;
