//! One event at a time for each session of this process. Other processes are kept apart by the store's compare-and-set.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::oneshot;

use crate::session::model::SessionId;
use crate::waiting::waits;

/// The sessions that are being moved, each with those who wait for it, first come first served.
#[derive(Debug, Default)]
pub(super) struct Locks {
    held: Arc<Mutex<Sessions>>,
}

type Sessions = HashMap<SessionId, VecDeque<oneshot::Sender<Held>>>;

/// A session that nobody else in this process moves meanwhile.
#[derive(Debug)]
pub(super) struct Held {
    held: Arc<Mutex<Sessions>>,
    session: SessionId,
}

impl Locks {
    /// Waits for the session, in the order of arrival.
    pub(super) async fn hold(&self, session: SessionId) -> Held {
        let mine = || Held { held: Arc::clone(&self.held), session };
        let turn = {
            let mut held = lock(&self.held);
            let Some(waiting) = held.get_mut(&session) else {
                held.insert(session, VecDeque::new());
                return mine();
            };
            let (sender, turn) = oneshot::channel();
            waiting.push_back(sender);
            turn
        };
        let _waiting = waits();
        // Whoever has it hands it on, and is not gone before.
        turn.await.unwrap_or_else(|_| mine())
    }
}

impl Drop for Held {
    /// Hands the session on: to the first who still waits.
    fn drop(&mut self) {
        let next = {
            let mut held = lock(&self.held);
            let next = held.get_mut(&self.session).and_then(VecDeque::pop_front);
            if next.is_none() {
                held.remove(&self.session);
            }
            next
        };
        // One who went away meanwhile drops it in turn.
        if let Some(next) = next {
            let _ = next.send(Self { held: Arc::clone(&self.held), session: self.session });
        }
    }
}

fn lock(held: &Mutex<Sessions>) -> MutexGuard<'_, Sessions> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::now;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn one_at_a_time_and_nobody_is_forgotten() {
        let locks = Locks::default();
        let inside = AtomicU32::new(0);
        let session = SessionId::from_bits(7);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let _held = now(locks.hold(session));
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(lock(&locks.held).is_empty());
    }

    #[tokio::test]
    async fn whoever_goes_away_is_passed_over_before_and_after_its_turn_has_come() {
        let locks = Locks::default();
        let session = SessionId::from_bits(7);
        let first = locks.hold(session).await;
        let [mut second, mut third, mut fourth] = [(); 3].map(|()| Box::pin(locks.hold(session)));
        for waiting in [&mut second, &mut third, &mut fourth] {
            assert!(futures::poll!(waiting).is_pending());
        }
        drop(second);
        drop(first);
        // The third has been given it, and has not looked yet.
        drop(third);
        drop(fourth.await);
        assert!(lock(&locks.held).is_empty());
    }
}
