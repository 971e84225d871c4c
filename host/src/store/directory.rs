//! The data directory: made, entered and named in faults. Only its owner may look into it.

use std::io;
use std::path::{Path, PathBuf};

use super::Fault;

const REMEDY: &str = "name another with `--data DIR` or `WFHOST_DATA`, or keep nothing with `--ephemeral`";

/// The database's file within the data directory.
pub(super) fn database(directory: &Path) -> PathBuf {
    directory.join("store.redb")
}

/// The log beside a database's file.
pub(super) fn log(database: &Path) -> PathBuf {
    database.with_extension("log")
}

/// The fault that this error at this path is.
pub(super) fn fault(path: &Path, error: &io::Error) -> Fault {
    Fault::Directory { path: path.display().to_string(), reason: format!("{error}; {REMEDY}") }
}

/// The data directory, made if it is missing, in a form that does not depend on where the process stands.
pub(super) fn enter(directory: &Path) -> Result<PathBuf, Fault> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if let Err(error) = builder.create(directory) {
        let other = std::fs::metadata(directory).is_ok_and(|found| !found.is_dir());
        let error = if other { io::Error::from(io::ErrorKind::NotADirectory) } else { error };
        return Err(fault(directory, &error));
    }
    directory.canonicalize().map_err(|error| fault(directory, &error))
}
