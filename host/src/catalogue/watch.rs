//! Tells when the places that documents come from have changed: by the system's notice of the folder around them, and by
//! looking from time to time where no notice comes (network mounts, containers).

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Instant, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use crate::limits::{POLL_EVERY, SETTLE};

/// A watch over some places; dropped, it ends.
#[derive(Debug)]
pub struct Watch {
    places: Vec<PathBuf>,
    changes: Receiver<()>,
    wake: Sender<()>,
    seen: Vec<Seen>,
    // Its drop ends the notices.
    _watcher: Option<RecommendedWatcher>,
}

/// What a look at a file or folder shows.
type Seen = (PathBuf, Option<SystemTime>, u64);

impl Watch {
    /// Begins to watch.
    #[must_use]
    pub fn new(places: &[PathBuf]) -> Self {
        let (wake, changes) = channel();
        let sender = wake.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|e| !e.kind.is_access()) {
                let _ = sender.send(());
            }
        });
        let mut watcher = watcher.ok();
        for place in places {
            // The folder around a file, since editors put a new file in its place.
            let folder = if place.is_dir() { place.as_path() } else { place.parent().unwrap_or(Path::new(".")) };
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            if let Some(watcher) = &mut watcher {
                let _ = watcher.watch(folder, RecursiveMode::NonRecursive);
            }
        }
        Self { seen: look(places), places: places.to_vec(), changes, wake, _watcher: watcher }
    }

    /// What wakes the watch without any change: a signal of the operator.
    #[must_use]
    pub fn waker(&self) -> Sender<()> {
        self.wake.clone()
    }

    /// Waits until something may have changed and is quiet again.
    pub fn wait(&mut self) {
        loop {
            match self.changes.recv_timeout(POLL_EVERY) {
                Ok(()) => break self.settle(),
                Err(RecvTimeoutError::Timeout) => {
                    if look(&self.places) != self.seen {
                        break self.settle();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(POLL_EVERY),
            }
        }
        self.seen = look(&self.places);
    }

    fn settle(&self) {
        let longest = Instant::now() + SETTLE * 20;
        while Instant::now() < longest && self.changes.recv_timeout(SETTLE).is_ok() {}
    }
}

fn look(places: &[PathBuf]) -> Vec<Seen> {
    let mut seen = Vec::new();
    for place in places {
        let mut paths = vec![place.clone()];
        if let Ok(entries) = std::fs::read_dir(place) {
            paths.extend(entries.filter_map(|e| e.ok().map(|e| e.path())));
        }
        // Links are followed: that is how a mounted configuration is exchanged.
        seen.extend(paths.into_iter().filter_map(|path| {
            let meta = std::fs::metadata(&path).ok()?;
            Some((path, meta.modified().ok(), meta.len()))
        }));
    }
    seen.sort();
    seen
}
