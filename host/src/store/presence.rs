//! Which hosts run on a data directory: each holds the lock of a file of its own, so whoever looks can tell a host that works
//! from one that is gone, however it went.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::{Fault, directory};
use crate::clock::{Clock, System};
use crate::files;

/// How often a file that another process cleared away meanwhile is made again.
const TRIES: usize = 8;

/// This process among the hosts of a data directory; it appears there at its first question.
#[derive(Debug, Default)]
pub(super) struct Presence(OnceLock<Result<Mark, Fault>>);

#[derive(Debug)]
struct Mark {
    number: u64,
    path: PathBuf,
    /// Held as long as the process lives.
    _lock: File,
}

impl Presence {
    /// The number of this host, unique among those that run now and, by chance, among all.
    pub(super) fn number(&self, data: &Path) -> Result<u64, Fault> {
        self.0.get_or_init(|| appear(data)).as_ref().map(|mark| mark.number).map_err(Clone::clone)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the host of that number runs.
pub(super) fn alive(data: &Path, number: u64) -> bool {
    let Ok(file) = OpenOptions::new().read(true).open(file_of(data, number)) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn folder(data: &Path) -> PathBuf {
    data.join("hosts")
}

fn file_of(data: &Path, number: u64) -> PathBuf {
    folder(data).join(format!("{number:016x}"))
}

fn appear(data: &Path) -> Result<Mark, Fault> {
    let folder = folder(data);
    files::make_private_folder(&folder).map_err(|error| directory::fault(&folder, &error))?;
    clear(&folder);
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for _ in 0..TRIES {
        let number = System.entropy() as u64;
        let path = file_of(data, number);
        match taken(&path) {
            Ok(lock) => return Ok(Mark { number, path, _lock: lock }),
            Err(error) => last = error,
        }
    }
    Err(directory::fault(&folder, &last))
}

/// The file, made and locked, and still there: a process that clears away may have come in between.
fn taken(path: &Path) -> io::Result<File> {
    let file = files::create_private(path)?;
    file.lock()?;
    if path.exists() { Ok(file) } else { Err(io::Error::from(io::ErrorKind::NotFound)) }
}

/// Takes away what hosts that are gone left behind. What cannot be taken away does no harm.
fn clear(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_seen_as_long_as_it_is_there() {
        let data = tempfile::tempdir().unwrap();
        let one = Presence::default();
        let number = one.number(data.path()).unwrap();
        assert_eq!(one.number(data.path()).unwrap(), number, "it keeps its number");
        assert!(alive(data.path(), number));
        let other = Presence::default();
        assert_ne!(other.number(data.path()).unwrap(), number);
        drop(one);
        assert!(!alive(data.path(), number));
        assert!(!alive(data.path(), 7));
    }

    #[test]
    fn what_a_killed_host_left_is_cleared_away() {
        let data = tempfile::tempdir().unwrap();
        let folder = folder(data.path());
        files::make_private_folder(&folder).unwrap();
        fs::write(folder.join("0000000000000007"), "").unwrap();
        assert!(!alive(data.path(), 7));
        let here = Presence::default();
        here.number(data.path()).unwrap();
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }
}
