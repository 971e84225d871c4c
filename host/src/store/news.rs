//! Which sessions changed lately: kept in memory by whoever writes, asked for by those who watch, in this process or in
//! another. A watcher that was away too long, or whose owner is another one by now, is told that it missed something.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::limits::{CHANGES_KEPT_MAX, CHANGES_WAIT_MAX};
use super::queue::lock;
use crate::session::model::SessionId;

/// How far a watcher has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// Whose count it is: a number that no other writer has.
    pub epoch: u64,
    /// How many changes it has seen.
    pub count: u64,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// What to ask with next time.
    pub mark: Mark,
    /// The sessions, each once, those that changed last at the end.
    pub sessions: Vec<SessionId>,
    /// Some changes are not among them: look at everything.
    pub missed: bool,
}

/// The changes of one writer.
#[derive(Debug)]
pub(super) struct News {
    epoch: u64,
    latest: Mutex<Latest>,
    told: Condvar,
}

#[derive(Debug, Default)]
struct Latest {
    count: u64,
    sessions: VecDeque<SessionId>,
    closed: bool,
}

impl Default for News {
    fn default() -> Self {
        // Two writers with one number would only make a watcher miss a hint; chance sees to it.
        let epoch = RandomState::new().hash_one(std::process::id());
        Self { epoch, latest: Mutex::default(), told: Condvar::new() }
    }
}

impl News {
    /// Sessions have changed.
    pub(super) fn tell(&self, changed: impl IntoIterator<Item = SessionId>) {
        let mut latest = lock(&self.latest);
        let before = latest.count;
        for session in changed {
            latest.count += 1;
            latest.sessions.push_back(session);
        }
        let spare = latest.sessions.len().saturating_sub(CHANGES_KEPT_MAX);
        latest.sessions.drain(..spare);
        if latest.count != before {
            self.told.notify_all();
        }
    }

    /// Nobody waits any more.
    pub(super) fn close(&self) {
        lock(&self.latest).closed = true;
        self.told.notify_all();
    }

    /// What changed after a mark, as soon as there is something or the time is over.
    pub(super) fn after(&self, mark: Option<Mark>, wait: Duration) -> Changes {
        let until = Instant::now() + wait.min(CHANGES_WAIT_MAX);
        let mut latest = lock(&self.latest);
        let Some(mark) = mark.filter(|mark| mark.epoch == self.epoch && mark.count <= latest.count) else {
            let mark = Mark { epoch: self.epoch, count: latest.count };
            return Changes { mark, sessions: Vec::new(), missed: true };
        };
        while latest.count == mark.count && !latest.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            latest = self.told.wait_timeout(latest, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let new = usize::try_from(latest.count - mark.count).unwrap_or(usize::MAX);
        let missed = new > latest.sessions.len();
        let mut sessions: Vec<SessionId> = Vec::new();
        for session in latest.sessions.iter().rev().take(new) {
            if !sessions.contains(session) {
                sessions.push(*session);
            }
        }
        sessions.reverse();
        Changes { mark: Mark { epoch: self.epoch, count: latest.count }, sessions, missed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_is_told_each_session_once_and_what_it_missed() {
        let news = News::default();
        let id = SessionId::from_bits;
        let begin = news.after(None, Duration::ZERO);
        assert!(begin.missed && begin.sessions.is_empty());
        news.tell([id(1), id(2), id(1)]);
        let changes = news.after(Some(begin.mark), Duration::from_secs(9));
        assert_eq!((changes.sessions.clone(), changes.missed), (vec![id(2), id(1)], false));
        assert!(news.after(Some(changes.mark), Duration::from_millis(1)).sessions.is_empty());
        news.tell((0..5000).map(id));
        assert!(news.after(Some(changes.mark), Duration::ZERO).missed);
        let other = Mark { epoch: 1, ..changes.mark };
        assert!(news.after(Some(other), Duration::ZERO).missed);
    }

    #[test]
    fn a_watcher_wakes_at_once() {
        let news = News::default();
        let mark = news.after(None, Duration::ZERO).mark;
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| news.after(Some(mark), Duration::from_secs(600)));
            news.tell([SessionId::from_bits(7)]);
            assert_eq!(waiting.join().unwrap().sessions, [SessionId::from_bits(7)]);
        });
    }
}
