//! The file below the database, as the store wants to see it: its size at any moment, the system's words for the first
//! failure (the database crate only repeats that there was one), and syncing left out where an operator chose so.

use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use redb::{BackendError, StorageBackend};

/// What the store knows of its file.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    /// How long it is.
    pub(super) length: AtomicU64,
    /// What the system said at the first failure.
    pub(super) failure: OnceLock<String>,
}

/// A backend with a gauge on it.
#[derive(Debug)]
pub(super) struct Gauged<B> {
    pub(super) inner: B,
    pub(super) gauge: Arc<Gauge>,
    /// Whether a commit waits for the disk.
    pub(super) synced: bool,
}

impl<B> Gauged<B> {
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            // The first one is the cause; what follows is its consequence.
            let _ = self.gauge.failure.set(error.to_string());
        }
        result
    }
}

impl<B: StorageBackend> StorageBackend for Gauged<B> {
    fn len(&self) -> io::Result<u64> {
        let length = self.note(self.inner.len())?;
        self.gauge.length.store(length, Ordering::Relaxed);
        Ok(length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.note(self.inner.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.note(self.inner.set_len(len))?;
        self.gauge.length.store(len, Ordering::Relaxed);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.synced { self.note(self.inner.sync_data()) } else { Ok(()) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.note(self.inner.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
