//! One store for all processes on a data directory. One of them is the owner, the others are followers, and when the
//! owner goes the rest settle who is next. A call that was under way is sent again; a commit may be, because the owner
//! recognises a change that it has. No process ever signals another or breaks its lock.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::follower::{Follower, Miss, holder};
use super::limits::{ELECTION_MAX, ELECTION_PAUSE, PRUNED_AT_ONCE_MAX, RESENDS_MAX};
use super::owner::Owner;
use super::presence::{self, Presence};
use super::protocol::{Call, Reply};
use super::queue::lock;
use super::{
    Change, Changes, Committed, Committing, Fault, Limit, Listed, Mark, Options, Query, Report, Store, directory,
};
use crate::session::model::{Digest, Head, Line, Millis, Pruned, SessionId};
use crate::waiting::{lone, may_block, may_block_briefly};

/// The file whose lock makes a process the owner. It lives and dies with the process, so it is never stale.
pub(super) fn lock_path(directory: &Path) -> PathBuf {
    directory.join("lock")
}

/// The store, whoever owns it at the moment.
#[derive(Debug)]
pub(super) struct Shared {
    directory: PathBuf,
    options: Options,
    state: Mutex<State>,
    presence: Presence,
}

#[derive(Debug)]
struct State {
    role: Arc<Role>,
    /// The last vain try to settle: those who waited for it need not try again.
    vain: Option<(Instant, Fault)>,
}

#[derive(Debug)]
enum Role {
    Owner(Owner),
    Follower(Follower),
    /// This process is ending.
    Closed,
}

impl Shared {
    /// Becomes the owner, or finds it.
    pub(super) fn open(directory: PathBuf, options: Options) -> Result<Self, Fault> {
        let role = Arc::new(settle(&directory, &options)?);
        Ok(Self { directory, options, state: Mutex::new(State { role, vain: None }), presence: Presence::default() })
    }

    fn call(&self, call: Call) -> Result<Reply, Fault> {
        let mut role = Arc::clone(&lock(&self.state).role);
        for _ in 0..RESENDS_MAX {
            let follower = match &*role {
                Role::Owner(owner) if call.syncs() => return may_block_briefly(|| call.run(owner.local())),
                Role::Owner(owner) => return call.run(owner.local()),
                Role::Follower(follower) => follower,
                Role::Closed => return Err(Fault::Io("this process is ending".into())),
            };
            // The owner may be slow, or gone and to be succeeded.
            match may_block(|| follower.ask(&call)) {
                Ok(reply) => return Ok(reply),
                Err(Miss::Fault(fault)) => return Err(fault),
                Err(Miss::Lost) => role = may_block(|| self.next_role(&role))?,
            }
        }
        Err(Fault::Owner(format!("it went away {RESENDS_MAX} times during one call")))
    }

    /// The role after this one was lost. Of all the calls that lost it one settles, the others wait for it.
    fn next_role(&self, lost: &Arc<Role>) -> Result<Arc<Role>, Fault> {
        let asked = Instant::now();
        let mut state = lock(&self.state);
        if !Arc::ptr_eq(&state.role, lost) {
            return Ok(Arc::clone(&state.role));
        }
        if let Some((when, fault)) = &state.vain
            && *when >= asked
        {
            return Err(fault.clone());
        }
        match settle(&self.directory, &self.options) {
            Ok(role) => {
                if matches!(role, Role::Owner(_)) {
                    let shown = self.directory.display();
                    let passed = asked.elapsed().as_millis();
                    (self.options.notice)(&format!("took over the store in `{shown}` within {passed} ms"));
                }
                state.role = Arc::new(role);
                state.vain = None;
                Ok(Arc::clone(&state.role))
            }
            Err(fault) => {
                state.vain = Some((Instant::now(), fault.clone()));
                Err(fault)
            }
        }
    }
}

/// Takes the lock or meets who has it, whichever works first.
fn settle(directory: &Path, options: &Options) -> Result<Role, Fault> {
    let begun = Instant::now();
    loop {
        if let Some(lock) = claim(directory)? {
            return Owner::start(directory, lock, options).map(Role::Owner);
        }
        match Follower::connect(directory, options.patience) {
            Ok(follower) => return Ok(Role::Follower(follower)),
            Err(Miss::Fault(fault)) => return Err(fault),
            // It may be on its way out, or not yet listening.
            Err(Miss::Lost) => thread::sleep(ELECTION_PAUSE),
        }
        if begun.elapsed() > ELECTION_MAX {
            let (process, shown) = (holder(directory), directory.display());
            return Err(Fault::Owner(format!(
                "{process} holds the store in `{shown}` but lets nobody in; end it, or name another with `--data DIR`"
            )));
        }
    }
}

/// The lock, or who has it.
pub(super) fn alone(directory: &Path) -> Result<File, Fault> {
    claim(directory)?.ok_or_else(|| {
        let (process, shown) = (holder(directory), directory.display());
        Fault::Owner(format!("{process} works on the store in `{shown}`; end it, then try again"))
    })
}

/// The lock, if nobody has it.
fn claim(directory: &Path) -> Result<Option<File>, Fault> {
    let path = lock_path(directory);
    let mut open = File::options();
    open.read(true).write(true).create(true).truncate(false);
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    let file = open.open(&path).map_err(|error| directory::fault(&path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(directory::fault(&path, &error)),
    }
}

fn odd<T>() -> Result<T, Fault> {
    Err(Fault::Owner("it answered something that was not asked".to_owned()))
}

impl Store for Shared {
    fn host(&self) -> Result<u64, Fault> {
        self.presence.number(&self.directory)
    }

    fn alive(&self, host: u64) -> bool {
        presence::alive(&self.directory, host)
    }

    fn close(&self) {
        let role = std::mem::replace(&mut lock(&self.state).role, Arc::new(Role::Closed));
        // The last who holds it closes the database; calls that still run go on to their end.
        drop(role);
    }

    fn head(&self, session: SessionId) -> Result<Option<Head>, Fault> {
        let Reply::Head(head) = self.call(Call::Head(session))? else { return odd() };
        Ok(head.map(|head| *head))
    }

    fn lines(&self, session: SessionId, from: u64, limit: Limit) -> Result<Vec<Line>, Fault> {
        let Reply::Lines(lines) = self.call(Call::Lines(session, from, limit))? else { return odd() };
        Ok(lines)
    }

    fn memories(&self, session: SessionId, from: u32, count: u32) -> Result<Vec<String>, Fault> {
        let Reply::Memories(memories) = self.call(Call::Memories(session, from, count))? else { return odd() };
        Ok(memories)
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, Fault> {
        let Reply::List(listed) = self.call(Call::List(query.clone()))? else { return odd() };
        Ok(listed)
    }

    fn due(&self, now: Millis, limit: usize) -> Result<Vec<SessionId>, Fault> {
        let Reply::Due(sessions) = self.call(Call::Due(now, limit))? else { return odd() };
        Ok(sessions)
    }

    fn blob(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, Fault> {
        let Reply::Blob(blob) = self.call(Call::Blob(digest))? else { return odd() };
        Ok(blob)
    }

    fn keep(&self, bytes: &[u8]) -> Result<Digest, Fault> {
        let Reply::Keep(digest) = self.call(Call::Keep(Arc::from(bytes)))? else { return odd() };
        Ok(digest)
    }

    fn commit(&self, change: Change) -> Result<Committed, Fault> {
        let Reply::Commit(committed) = self.call(Call::Commit(Box::new(change)))? else {
            return odd();
        };
        Ok(committed)
    }

    /// A lone caller is answered on its own thread, and a follower waits for its owner: both block.
    fn committing(&self, change: Change) -> Committing<'_> {
        let role = Arc::clone(&lock(&self.state).role);
        Box::pin(async move {
            match &*role {
                Role::Owner(owner) if !lone() => owner.local().committing(change).await,
                Role::Owner(_) | Role::Follower(_) | Role::Closed => self.commit(change),
            }
        })
    }

    fn prune(&self, records: &[Pruned]) -> Result<Vec<SessionId>, Fault> {
        let mut taken = Vec::new();
        // Each some in a frame of their own, so that no number of them is too large for one.
        for some in records.chunks(PRUNED_AT_ONCE_MAX) {
            let Reply::Taken(more) = self.call(Call::Prune(some.to_vec()))? else { return odd() };
            taken.extend(more);
        }
        Ok(taken)
    }

    fn pruned(&self, session: SessionId) -> Result<Option<Pruned>, Fault> {
        let Reply::Pruned(found) = self.call(Call::Pruned(session))? else { return odd() };
        Ok(found.into_iter().next())
    }

    fn pruned_after(&self, after: Option<SessionId>, limit: usize) -> Result<Vec<Pruned>, Fault> {
        let Reply::Pruned(found) = self.call(Call::PrunedAfter(after, limit))? else { return odd() };
        Ok(found)
    }

    fn changes(&self, after: Option<Mark>, wait: Duration) -> Result<Changes, Fault> {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let Reply::Changes(changes) = may_block(|| self.call(Call::Changes(after, wait)))? else { return odd() };
        Ok(changes)
    }

    fn report(&self) -> Result<Report, Fault> {
        let Reply::Report(mut report) = self.call(Call::Report)? else { return odd() };
        if matches!(&*lock(&self.state).role, Role::Follower(_)) {
            "follower".clone_into(&mut report.role);
        }
        Ok(report)
    }
}
