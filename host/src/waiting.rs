//! Work that may hold a thread up: a sync of the disk, a turn in the slow lane, a session that is being moved. Short work
//! runs where it is; only what really waits tells the async runtime, so that a call need not change threads to be safe.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tokio::runtime::{Handle, RuntimeFlavor};

/// Calls that are being worked on in this process.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// Those of them that wait: for a commit, a person, a server, the clock. What waits without a call counts as well: then it only
/// seems that fewer may come.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Processor cores that this process may use.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Counted for as long as it lives.
#[derive(Debug)]
pub(crate) struct Counted(&'static AtomicUsize);

impl Counted {
    fn among(all: &'static AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call is being worked on.
pub(crate) fn working() -> Counted {
    Counted::among(&CALLS)
}

/// A call waits, and needs no processor meanwhile.
pub(crate) fn waits() -> Counted {
    Counted::among(&WAITING)
}

/// Whether there are calls that do not wait: one of them may soon have something to commit.
pub(crate) fn more_may_come() -> bool {
    CALLS.load(Ordering::Relaxed) > WAITING.load(Ordering::Relaxed)
}

/// Whether at most one call is being worked on: then whoever blocks keeps nobody waiting.
pub(crate) fn lone() -> bool {
    CALLS.load(Ordering::Relaxed) <= 1
}

/// Runs work that blocks for about a sync of the disk. A lone call does that on its own thread: handing the others' work
/// over would cost more than it saves.
pub(crate) fn may_block_briefly<T>(work: impl FnOnce() -> T) -> T {
    if lone() { work() } else { may_block(work) }
}

/// Runs work that may block. Inside a multi-threaded runtime the other tasks go on meanwhile.
pub(crate) fn may_block<T>(work: impl FnOnce() -> T) -> T {
    let threads = Handle::try_current().is_ok_and(|h| h.runtime_flavor() == RuntimeFlavor::MultiThread);
    if threads { tokio::task::block_in_place(work) } else { work() }
}

/// Waits here for what others await: for callers that have no runtime, and for the rare step in between that is not worth
/// making its callers wait in turn.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Sleeper(thread::current())));
    let mut future = pin!(future);
    // As a rule it does not wait at all.
    if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
        return value;
    }
    may_block(|| {
        loop {
            thread::park();
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return value;
            }
        }
    })
}

/// A thread that sleeps until it is woken.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_another_thread_is_waited_for() {
        let (send, receive) = futures::channel::oneshot::channel();
        assert_eq!(now(async { 1 }), 1);
        let other = thread::spawn(move || send.send(2).unwrap());
        assert_eq!(now(receive), Ok(2));
        other.join().unwrap();
    }
}
