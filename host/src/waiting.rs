//! Work that may hold a thread up: a sync of the disk, a turn in the slow lane, a session that is being moved. Short work
//! runs where it is; only what really waits tells the async runtime, so that a call need not change threads to be safe.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{Handle, RuntimeFlavor};

/// Calls that are being worked on in this process.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// A call is being worked on.
#[derive(Debug)]
pub(crate) struct Working(());

impl Working {
    pub(crate) fn begin() -> Self {
        CALLS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs work that blocks for about a sync of the disk. A lone call does that on its own thread: handing the others' work
/// over would cost more than it saves.
pub(crate) fn may_block_briefly<T>(work: impl FnOnce() -> T) -> T {
    if CALLS.load(Ordering::Relaxed) <= 1 { work() } else { may_block(work) }
}

/// Runs work that may block. Inside a multi-threaded runtime the other tasks go on meanwhile.
pub(crate) fn may_block<T>(work: impl FnOnce() -> T) -> T {
    let threads = Handle::try_current().is_ok_and(|h| h.runtime_flavor() == RuntimeFlavor::MultiThread);
    if threads { tokio::task::block_in_place(work) } else { work() }
}
