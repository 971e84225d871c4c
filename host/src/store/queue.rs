//! Group commit: whoever finds no leader leads. A leader takes all jobs that wait, up to a limit, runs them as one batch
//! and hands out the answers; the sync of one batch is the gathering time of the next. There is no timer and no thread of
//! its own, so a lone caller pays for neither.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::limits::{BATCH_BYTES_MAX, BATCH_JOBS_MAX, QUEUE_BYTES_MAX, QUEUE_JOBS_MAX};

/// Jobs on their way into batches.
#[derive(Debug)]
pub(super) struct Queue<J, A> {
    state: Mutex<State<J, A>>,
    room: Condvar,
}

#[derive(Debug)]
struct State<J, A> {
    waiting: VecDeque<Arc<Seat<J, A>>>,
    bytes: usize,
    led: bool,
}

/// A job and the place for its answer.
#[derive(Debug)]
pub(super) struct Seat<J, A> {
    pub(super) job: J,
    bytes: usize,
    answer: Mutex<Option<A>>,
    wake: Condvar,
}

/// A lock, also after a panic under it: what these locks guard is whole at every moment.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<J, A> Queue<J, A> {
    pub(super) fn new() -> Self {
        let state = State { waiting: VecDeque::new(), bytes: 0, led: false };
        Self { state: Mutex::new(state), room: Condvar::new() }
    }

    /// Hands in a job and returns its answer. `run` answers a whole batch, in its order, and does not panic.
    pub(super) fn submit(&self, job: J, bytes: usize, run: impl Fn(&[Arc<Seat<J, A>>]) -> Vec<A>) -> A {
        let seat = Arc::new(Seat { job, bytes, answer: Mutex::new(None), wake: Condvar::new() });
        let mut state = lock(&self.state);
        while state.full() {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes += bytes;
        state.waiting.push_back(Arc::clone(&seat));
        loop {
            if let Some(answer) = lock(&seat.answer).take() {
                return answer;
            }
            if state.led {
                state = seat.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.led = true;
            let batch = state.batch();
            drop(state);
            self.room.notify_all();
            let answers = run(&batch);
            state = lock(&self.state);
            state.led = false;
            for (seat, answer) in batch.iter().zip(answers) {
                *lock(&seat.answer) = Some(answer);
                seat.wake.notify_one();
            }
            if let Some(next) = state.waiting.front() {
                next.wake.notify_one();
            }
        }
    }
}

impl<J, A> State<J, A> {
    fn full(&self) -> bool {
        self.waiting.len() >= QUEUE_JOBS_MAX || self.bytes >= QUEUE_BYTES_MAX
    }

    /// The oldest jobs, as many as fit; at least one if any waits.
    fn batch(&mut self) -> Vec<Arc<Seat<J, A>>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(seat) = self.waiting.front() {
            if !batch.is_empty() && (batch.len() >= BATCH_JOBS_MAX || bytes + seat.bytes > BATCH_BYTES_MAX) {
                break;
            }
            bytes += seat.bytes;
            batch.extend(self.waiting.pop_front());
        }
        self.bytes -= bytes;
        batch
    }
}
