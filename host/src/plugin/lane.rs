//! Two ways to keep one plugin from taking the machine: a count of calls inside plugins, and the slow lane, in which calls
//! that have run for a while take turns, so that a short call always finds a free core.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::waiting::may_block;

/// At most so many at once; the others wait.
#[derive(Debug)]
pub(super) struct Gate {
    free: Mutex<u32>,
    freed: Condvar,
}

/// A place inside; dropped, it is free again.
#[derive(Debug)]
pub(super) struct Place<'g>(&'g Gate);

impl Gate {
    pub(super) fn new(places: u32) -> Self {
        Self { free: Mutex::new(places), freed: Condvar::new() }
    }

    pub(super) fn enter(&self) -> Place<'_> {
        if let Some(place) = self.enter_now() {
            return place;
        }
        may_block(|| {
            let mut free = lock(&self.free);
            while *free == 0 {
                free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
            }
            *free -= 1;
            Place(self)
        })
    }

    fn enter_now(&self) -> Option<Place<'_>> {
        let mut free = lock(&self.free);
        *free = free.checked_sub(1)?;
        Some(Place(self))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *lock(&self.0.free) += 1;
        self.0.freed.notify_one();
    }
}

/// First come, first served, one quantum each.
#[derive(Debug)]
pub(super) struct Lane {
    waiting: Mutex<Queue>,
    moved: Condvar,
}

#[derive(Debug)]
struct Queue {
    next: u64,
    width: usize,
    tickets: VecDeque<u64>,
}

/// A ticket of the lane, to be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket(u64);

impl Lane {
    /// A lane in which `width` calls run side by side.
    pub(super) fn new(width: usize) -> Self {
        Self { waiting: Mutex::new(Queue { next: 0, width, tickets: VecDeque::new() }), moved: Condvar::new() }
    }

    /// Waits for a turn, or until the deadline: then there is none.
    pub(super) fn enter(&self, deadline: Instant) -> Option<Ticket> {
        let mut queue = lock(&self.waiting);
        let ticket = queue.next;
        queue.next += 1;
        queue.tickets.push_back(ticket);
        loop {
            if queue.tickets.iter().take(queue.width).any(|&t| t == ticket) {
                return Some(Ticket(ticket));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                queue.tickets.retain(|&t| t != ticket);
                self.moved.notify_all();
                return None;
            }
            queue = self.moved.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Gives the turn to the next.
    pub(super) fn leave(&self, ticket: Ticket) {
        lock(&self.waiting).tickets.retain(|&t| t != ticket.0);
        self.moved.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_lane_is_first_come_first_served() {
        let lane = Lane::new(1);
        let far = Instant::now() + Duration::from_secs(60);
        let first = lane.enter(far).unwrap();
        assert_eq!(lane.enter(Instant::now()), None);
        lane.leave(first);
        assert!(lane.enter(far).is_some());
    }

    #[test]
    fn a_place_is_free_again_once_dropped() {
        let gate = Gate::new(1);
        drop(gate.enter());
        drop(gate.enter());
        assert_eq!(*lock(&gate.free), 1);
    }
}
