//! One event at a time for each session of this process. Other processes are kept apart by the store's compare-and-set.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::session::model::SessionId;
use crate::waiting::may_block;

/// The sessions that are being moved, each with its queue.
#[derive(Debug, Default)]
pub(super) struct Locks {
    held: Mutex<HashMap<SessionId, Queue>>,
    released: Condvar,
}

/// Tickets: the next one to be given out, and the one whose turn it is.
#[derive(Debug, Clone, Copy)]
struct Queue {
    next: u64,
    serving: u64,
}

/// A session that nobody else in this process moves meanwhile.
#[derive(Debug)]
pub(super) struct Held<'l> {
    locks: &'l Locks,
    session: SessionId,
}

impl Locks {
    /// Waits for the session, in the order of arrival.
    pub(super) fn hold(&self, session: SessionId) -> Held<'_> {
        let ticket = {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let queue = held.entry(session).or_insert(Queue { next: 0, serving: 0 });
            queue.next += 1;
            queue.next - 1
        };
        let turn = |held: &HashMap<SessionId, Queue>| held.get(&session).is_none_or(|q| q.serving == ticket);
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if !turn(&held) {
            drop(held);
            may_block(|| {
                let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                while !turn(&held) {
                    held = self.released.wait(held).unwrap_or_else(PoisonError::into_inner);
                }
            });
        }
        Held { locks: self, session }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut held = self.locks.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = held.get_mut(&self.session) {
            queue.serving += 1;
            if queue.serving == queue.next {
                held.remove(&self.session);
            } else {
                drop(held);
                self.locks.released.notify_all();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
                        let _held = locks.hold(session);
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(locks.held.lock().unwrap().is_empty());
    }
}
