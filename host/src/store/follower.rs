//! A process that reaches the store through its owner: a few connections, one call at a time on each. That a connection
//! broke is told apart from an owner that is there and silent; what to do about it is not decided here.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::limits::CONNECTIONS_MAX;
use super::protocol::{self, Call, Reply};
use super::queue::lock;
use super::{Fault, socket};

/// The follower's side.
#[derive(Debug)]
pub(super) struct Follower {
    directory: PathBuf,
    patience: Duration,
    lines: Mutex<Lines>,
    freed: Condvar,
    owner: AtomicU64,
}

#[derive(Debug, Default)]
struct Lines {
    idle: Vec<UnixStream>,
    open: usize,
    /// The number that the next call draws, and the one whose turn it is: calls are served in their order, so that
    /// none waits long while others come and go.
    drawn: u64,
    turn: u64,
}

/// A call did not reach its answer.
#[derive(Debug)]
pub(super) enum Miss {
    /// There is no owner there, or it went away. Whether the call was carried out is not known.
    Lost,
    /// There is no point in trying again now.
    Fault(Fault),
}

impl Follower {
    /// Meets the owner.
    pub(super) fn connect(directory: &Path, patience: Duration) -> Result<Self, Miss> {
        let follower = Self {
            directory: directory.to_owned(),
            patience,
            lines: Mutex::new(Lines::default()),
            freed: Condvar::new(),
            owner: AtomicU64::new(0),
        };
        let first = follower.dial()?;
        *lock(&follower.lines) = Lines { idle: vec![first], open: 1, ..Lines::default() };
        Ok(follower)
    }

    /// Asks the owner.
    pub(super) fn ask(&self, call: &Call) -> Result<Reply, Miss> {
        let stream = self.line()?;
        let answered = protocol::send(&stream, &call.bytes()).and_then(|()| protocol::receive(&stream));
        let answered = answered.map_err(|error| self.miss(&error)).and_then(|body| {
            let odd = |_| self.miss(&io::ErrorKind::InvalidData.into());
            protocol::read_outcome(&body).map_err(odd)?.map_err(Miss::Fault)
        });
        // After a fault in a whole answer the connection is still in step; after anything else it is not.
        let in_step = match &answered {
            Ok(_) => true,
            Err(Miss::Fault(fault)) => !matches!(fault, Fault::Owner(_)),
            Err(Miss::Lost) => false,
        };
        self.hang_up(in_step.then_some(stream));
        answered
    }

    /// A connection of one's own for a call: an idle one, a new one, or the next that gets free.
    fn line(&self) -> Result<UnixStream, Miss> {
        let mut lines = lock(&self.lines);
        let number = lines.drawn;
        lines.drawn += 1;
        while lines.turn != number || (lines.idle.is_empty() && lines.open >= CONNECTIONS_MAX) {
            lines = self.freed.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
        lines.turn += 1;
        let idle = lines.idle.pop();
        lines.open += usize::from(idle.is_none());
        let waiting = lines.turn != lines.drawn;
        drop(lines);
        if waiting {
            self.freed.notify_all();
        }
        idle.map_or_else(|| self.dial().inspect_err(|_| self.hang_up(None)), Ok)
    }

    fn hang_up(&self, kept: Option<UnixStream>) {
        let mut lines = lock(&self.lines);
        match kept {
            Some(stream) => lines.idle.push(stream),
            None => lines.open = lines.open.saturating_sub(1),
        }
        let waiting = lines.turn != lines.drawn;
        drop(lines);
        if waiting {
            self.freed.notify_all();
        }
    }

    fn dial(&self) -> Result<UnixStream, Miss> {
        let stream = socket::connect(&self.directory, self.patience).map_err(|error| self.miss(&error))?;
        let greeted = protocol::send(&stream, &protocol::greeting()).and_then(|()| protocol::receive(&stream));
        let greeting = greeted.map_err(|error| self.miss(&error))?;
        let owner = protocol::read_greeting(&greeting).map_err(|stranger| {
            Miss::Fault(Fault::Owner(format!(
                "{stranger}, in `{}`; end that one, or name another with `--data DIR`",
                self.directory.display()
            )))
        })?;
        self.owner.store(owner, Ordering::Relaxed);
        Ok(stream)
    }

    fn miss(&self, error: &io::Error) -> Miss {
        use io::ErrorKind::{InvalidData, InvalidFilename, PermissionDenied, TimedOut, WouldBlock};
        let kind = error.kind();
        if matches!(kind, WouldBlock | TimedOut) {
            return Miss::Fault(self.silent());
        }
        if matches!(kind, InvalidData | InvalidFilename | PermissionDenied) {
            let shown = self.directory.display();
            return Miss::Fault(Fault::Owner(format!("the socket in `{shown}` cannot be used: {error}")));
        }
        Miss::Lost
    }

    /// The fault that the owner does not answer.
    fn silent(&self) -> Fault {
        let process = match self.owner.load(Ordering::Relaxed) {
            // It never said its name: the lock file may know it.
            0 => holder(&self.directory),
            process => format!("process {process}"),
        };
        Fault::Owner(format!(
            "{process} holds the store in `{}` and has been silent for {:?}: it is stopped, hangs, or waits for its \
             disk; let it go on or end it, and another takes over",
            self.directory.display(),
            self.patience,
        ))
    }
}

/// Who holds the lock, as far as its file tells.
pub(super) fn holder(directory: &Path) -> String {
    match std::fs::read_to_string(super::shared::lock_path(directory)) {
        Ok(text) if text.trim().parse::<u32>().is_ok() => format!("process {}", text.trim()),
        Ok(_) | Err(_) => "another process".to_owned(),
    }
}
