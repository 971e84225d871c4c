//! One event at a time for each session of this process. Other processes are kept apart by the store's compare-and-set.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::session::model::SessionId;
use crate::waiting::may_block;

/// The sessions that are being moved, and how many wait for each.
#[derive(Debug, Default)]
pub(super) struct Locks {
    held: Mutex<HashMap<SessionId, u32>>,
    released: Condvar,
}

/// A session that nobody else in this process moves meanwhile.
#[derive(Debug)]
pub(super) struct Held<'l> {
    locks: &'l Locks,
    session: SessionId,
}

impl Locks {
    /// Waits for the session.
    pub(super) fn hold(&self, session: SessionId) -> Held<'_> {
        if let Some(held) = self.hold_now(session) {
            return held;
        }
        may_block(|| {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            while held.contains_key(&session) {
                *held.entry(session).or_default() += 1;
                held = self.released.wait(held).unwrap_or_else(PoisonError::into_inner);
                if let Some(waiting) = held.get_mut(&session) {
                    *waiting = waiting.saturating_sub(1);
                }
            }
            held.insert(session, 0);
            Held { locks: self, session }
        })
    }

    fn hold_now(&self, session: SessionId) -> Option<Held<'_>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.contains_key(&session) {
            return None;
        }
        held.insert(session, 0);
        Some(Held { locks: self, session })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let waited_for = {
            let mut held = self.locks.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.remove(&self.session).is_some_and(|waiting| waiting > 0)
        };
        if waited_for {
            self.locks.released.notify_all();
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
