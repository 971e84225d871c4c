//! Work that may hold a thread up: a sync of the disk, a turn in the slow lane, a session that is being moved. Short work
//! runs where it is; only what really waits tells the async runtime, so that a call need not change threads to be safe.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs work that may block. Inside a multi-threaded runtime the other tasks go on meanwhile.
pub(crate) fn may_block<T>(work: impl FnOnce() -> T) -> T {
    let threads = Handle::try_current().is_ok_and(|h| h.runtime_flavor() == RuntimeFlavor::MultiThread);
    if threads { tokio::task::block_in_place(work) } else { work() }
}
