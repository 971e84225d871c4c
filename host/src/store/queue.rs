//! Group commit: jobs that wait become one batch, and the sync of one batch is the gathering time of the next; there is no
//! timer. Whoever finds no leader leads: a lone caller is its own leader and changes no thread. Where many call, a clerk, a
//! thread of its own, leads for those who await their answers: what waits for the disk then holds no other thread. The clerk
//! waits a little for those who are about to come: a batch costs a sync and a transaction, whatever is in it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures::channel::oneshot;

use super::limits::{BATCH_BYTES_MAX, BATCH_JOBS_MAX, GATHER_PAUSE, GATHER_TIME, QUEUE_BYTES_MAX, QUEUE_JOBS_MAX};
use crate::waiting::more_may_come;

/// Jobs on their way into batches.
#[derive(Debug)]
pub(super) struct Queue<J, A> {
    state: Mutex<State<J, A>>,
    room: Condvar,
    called: Condvar,
}

#[derive(Debug)]
struct State<J, A> {
    waiting: VecDeque<Arc<Seat<J, A>>>,
    bytes: usize,
    led: bool,
    clerk: Clerk,
}

/// Whether there is a thread that leads for those who await.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clerk {
    None,
    Here,
    /// It answers those who are there, and goes.
    Leaving,
}

/// A job and the place for its answer.
#[derive(Debug)]
pub(super) struct Seat<J, A> {
    pub(super) job: J,
    bytes: usize,
    taken: Taken<A>,
}

/// Who sits there: a thread that waits, and leads if it must, or a task that awaits.
#[derive(Debug)]
enum Taken<A> {
    Thread(Arc<Place<A>>),
    Task(Mutex<Option<oneshot::Sender<A>>>),
}

#[derive(Debug)]
struct Place<A> {
    answer: Mutex<Option<A>>,
    wake: Condvar,
}

/// A lock, also after a panic under it: what these locks guard is whole at every moment.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<J, A> Seat<J, A> {
    fn answer(&self, answer: A) {
        match &self.taken {
            Taken::Thread(place) => {
                *lock(&place.answer) = Some(answer);
                place.wake.notify_one();
            }
            // One who does not wait any more wants no answer.
            Taken::Task(place) => drop(lock(place).take().map(|sender| sender.send(answer))),
        }
    }
}

impl<J, A> Queue<J, A> {
    pub(super) fn new() -> Self {
        let state = State { waiting: VecDeque::new(), bytes: 0, led: false, clerk: Clerk::None };
        Self { state: Mutex::new(state), room: Condvar::new(), called: Condvar::new() }
    }

    /// Hands in a job and returns its answer. `run` answers a whole batch, in its order, and does not panic.
    pub(super) fn submit(&self, job: J, bytes: usize, run: impl Fn(&[Arc<Seat<J, A>>]) -> Vec<A>) -> A {
        let place = Arc::new(Place { answer: Mutex::new(None), wake: Condvar::new() });
        let seat = Arc::new(Seat { job, bytes, taken: Taken::Thread(Arc::clone(&place)) });
        let mut state = lock(&self.state);
        while state.full() {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.take_in(seat);
        loop {
            if let Some(answer) = lock(&place.answer).take() {
                return answer;
            }
            if state.led {
                state = place.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state = self.lead(state, &run);
            self.call_next(&state);
        }
    }

    /// Hands in a job whose answer is awaited. Back comes a job for which there is no room, or no clerk.
    pub(super) fn hand_in(&self, job: J, bytes: usize) -> Result<oneshot::Receiver<A>, J> {
        let mut state = lock(&self.state);
        if state.full() || state.clerk != Clerk::Here {
            return Err(job);
        }
        let (sender, receiver) = oneshot::channel();
        state.take_in(Arc::new(Seat { job, bytes, taken: Taken::Task(Mutex::new(Some(sender))) }));
        // The first calls the clerk, and the last: those in between are gathered.
        if !state.led && (state.waiting.len() == 1 || !more_may_come()) {
            self.called.notify_one();
        }
        Ok(receiver)
    }

    /// From now on there is a clerk: a thread that serves.
    pub(super) fn open(&self) {
        lock(&self.state).clerk = Clerk::Here;
    }

    /// Leads for all who await, until the queue is closed and nobody awaits any more: threads lead themselves.
    pub(super) fn serve(&self, run: impl Fn(&[Arc<Seat<J, A>>]) -> Vec<A>) {
        let mut state = lock(&self.state);
        loop {
            if state.clerk == Clerk::Leaving && !state.has_tasks() {
                state.clerk = Clerk::None;
                return;
            }
            if !state.led && !state.waiting.is_empty() {
                state = self.gather(state);
                // A thread may have led meanwhile, or be just leading.
                if !state.led && !state.waiting.is_empty() {
                    state = self.lead(state, &run);
                }
            } else {
                state = self.called.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Lets the clerk go, when all who are there have their answers.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        if state.clerk == Clerk::Here {
            state.clerk = Clerk::Leaving;
            self.called.notify_one();
        }
    }

    /// Waits while others may come, and never for long.
    fn gather<'q>(&'q self, mut state: MutexGuard<'q, State<J, A>>) -> MutexGuard<'q, State<J, A>> {
        let until = Instant::now() + GATHER_TIME;
        while state.clerk == Clerk::Here && !state.led && state.waiting.len() < BATCH_JOBS_MAX && more_may_come() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.called.wait_timeout(state, left.min(GATHER_PAUSE));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    fn lead<'q>(
        &'q self,
        mut state: MutexGuard<'q, State<J, A>>,
        run: &impl Fn(&[Arc<Seat<J, A>>]) -> Vec<A>,
    ) -> MutexGuard<'q, State<J, A>> {
        state.led = true;
        let batch = state.batch();
        drop(state);
        self.room.notify_all();
        let answers = run(&batch);
        let mut state = lock(&self.state);
        state.led = false;
        batch.iter().zip(answers).for_each(|(seat, answer)| seat.answer(answer));
        state
    }

    /// Somebody else leads the next batch.
    fn call_next(&self, state: &State<J, A>) {
        match state.waiting.front().map(|next| &next.taken) {
            Some(Taken::Thread(place)) => place.wake.notify_one(),
            Some(Taken::Task(_)) => self.called.notify_one(),
            None => {}
        }
        // It looks whether it may go.
        if state.clerk == Clerk::Leaving {
            self.called.notify_one();
        }
    }
}

impl<J, A> State<J, A> {
    fn take_in(&mut self, seat: Arc<Seat<J, A>>) {
        self.bytes += seat.bytes;
        self.waiting.push_back(seat);
    }

    fn has_tasks(&self) -> bool {
        self.waiting.iter().any(|seat| matches!(seat.taken, Taken::Task(_)))
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::{now, working};
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::thread;
    use std::time::Duration;

    type Numbers = Queue<u32, u32>;

    /// Answers each number with its double.
    fn doubled(batch: &[Arc<Seat<u32, u32>>]) -> Vec<u32> {
        batch.iter().map(|seat| seat.job * 2).collect()
    }

    /// A queue with a clerk, which ends with the work.
    fn staffed(work: impl FnOnce(&Numbers)) {
        let queue = Numbers::new();
        queue.open();
        thread::scope(|scope| {
            let clerk = scope.spawn(|| queue.serve(doubled));
            work(&queue);
            queue.close();
            clerk.join().unwrap();
        });
    }

    #[test]
    fn threads_and_tasks_are_all_answered() {
        staffed(|queue| {
            thread::scope(|scope| {
                for first in 0..4 {
                    scope.spawn(move || {
                        for number in (first..2_000).step_by(4) {
                            let awaited = queue.hand_in(number, 1).map(now);
                            assert_eq!(awaited, Ok(Ok(number * 2)));
                            assert_eq!(queue.submit(number, 1, doubled), number * 2);
                        }
                    });
                }
            });
        });
    }

    #[test]
    fn there_is_one_leader_at_a_time_and_no_batch_is_empty() {
        let (queue, inside, wrong) = (Numbers::new(), AtomicU32::new(0), AtomicU32::new(0));
        let run = |batch: &[Arc<Seat<u32, u32>>]| {
            let others = inside.fetch_add(1, Ordering::SeqCst);
            wrong.fetch_add(others + u32::from(batch.is_empty()), Ordering::SeqCst);
            thread::sleep(Duration::from_micros(200));
            inside.fetch_sub(1, Ordering::SeqCst);
            doubled(batch)
        };
        queue.open();
        // Calls that are under way: the clerk waits for them, and threads lead meanwhile.
        let _under_way = [working(), working()];
        thread::scope(|scope| {
            let clerk = scope.spawn(|| queue.serve(run));
            let awaiting = scope.spawn(|| {
                for number in 0..100 {
                    assert_eq!(queue.hand_in(number, 1).map(now), Ok(Ok(number * 2)));
                }
            });
            for number in 0..400 {
                assert_eq!(queue.submit(number, 1, run), number * 2);
            }
            awaiting.join().unwrap();
            queue.close();
            clerk.join().unwrap();
        });
        assert_eq!(wrong.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn the_clerk_goes_while_threads_go_on() {
        let (queue, ended) = (Numbers::new(), AtomicBool::new(false));
        let run = |batch: &[Arc<Seat<u32, u32>>]| {
            thread::sleep(Duration::from_micros(100));
            doubled(batch)
        };
        queue.open();
        thread::scope(|scope| {
            let clerk = scope.spawn(|| queue.serve(run));
            for _ in 0..3 {
                scope.spawn(|| {
                    while !ended.load(Ordering::SeqCst) {
                        queue.submit(1, 1, run);
                    }
                });
            }
            thread::sleep(Duration::from_millis(20));
            queue.close();
            let until = Instant::now() + Duration::from_secs(10);
            while !clerk.is_finished() && Instant::now() < until {
                thread::sleep(Duration::from_millis(1));
            }
            let gone = clerk.is_finished();
            ended.store(true, Ordering::SeqCst);
            // One that stayed goes now, so that the test ends.
            queue.called.notify_all();
            assert!(gone, "the clerk stays as long as anybody comes");
        });
    }

    #[test]
    fn who_does_not_wait_is_served_and_keeps_nobody_up() {
        staffed(|queue| {
            for number in 0..100 {
                drop(queue.hand_in(number, 1));
            }
            assert_eq!(queue.hand_in(7, 1).map(now), Ok(Ok(14)));
        });
    }

    #[test]
    fn without_a_clerk_the_job_comes_back() {
        let queue = Numbers::new();
        assert_eq!(queue.hand_in(1, 1).map(|_| ()), Err(1));
        staffed(|queue| {
            let left = queue.hand_in(2, 1);
            queue.close();
            // The one who was there is answered, the next is not taken in.
            assert_eq!(left.map(now), Ok(Ok(4)));
            assert_eq!(queue.hand_in(3, 1).map(|_| ()), Err(3));
            assert_eq!(queue.submit(3, 1, doubled), 6);
        });
    }

    #[test]
    fn where_there_is_no_room_the_job_comes_back() {
        let queue = Numbers::new();
        queue.open();
        for number in 0..u32::try_from(QUEUE_JOBS_MAX).unwrap() {
            assert!(queue.hand_in(number, 1).is_ok());
        }
        assert_eq!(queue.hand_in(1, 1).map(|_| ()), Err(1));
    }
}
