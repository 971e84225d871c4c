//! The database's file and its log as they are found: begun where there is none, looked at where there is, and told by name
//! where they are not what they should be.

use std::path::Path;
use std::sync::Arc;

use redb::backends::FileBackend;
use redb::{Builder, Database, ReadableDatabase, ReadableTableMetadata, StorageBackend, WriteTransaction};

use super::backend::Gauged;
use super::limits::VERIFY_BYTES_MAX;
use super::local::{Expect, Local};
use super::log::Ledger;
use super::tables::{self, Readable};
use super::trouble::{self, Trouble};
use super::{Fault, Options, format, upkeep};
use crate::clock::{Clock as _, System};

/// Makes the file under another name first: one that has its own name has its tables, whenever the power went.
pub(super) fn begin(path: &Path, options: &Options) -> Result<(), Fault> {
    let draft = path.with_extension("new");
    let place = draft.display().to_string();
    let local = Local::open_with_backend(backend(&draft, true)?, Expect::Nothing, &place, options)?;
    // What it holds is synced already; closing only spares the next opening a look at the whole file.
    drop(local);
    let settled = std::fs::rename(&draft, path).and_then(|()| settle(path));
    settled.map_err(|error| super::directory::fault(path, &error))
}

/// Sees to it that a file's name is on the disk.
fn settle(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(parent) if cfg!(unix) => std::fs::File::open(parent)?.sync_all(),
        Some(_) | None => Ok(()),
    }
}

/// The log's file, made if it is missing.
pub(super) fn log_backend(path: &Path) -> Result<FileBackend, Fault> {
    if path.exists() {
        return backend(path, false);
    }
    let made = backend(path, true)?;
    settle(path).map_err(|error| super::directory::fault(path, &error))?;
    Ok(made)
}

pub(super) fn backend(path: &Path, anew: bool) -> Result<FileBackend, Fault> {
    let mut open = std::fs::OpenOptions::new();
    open.read(true).write(true).create(anew).truncate(anew);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    let file = open.open(path).map_err(|error| super::directory::fault(path, &error))?;
    FileBackend::new(file).map_err(|error| trouble::fault(&path.display().to_string(), &error.into(), None))
}

pub(super) fn database<B: StorageBackend>(
    backend: Gauged<B>,
    place: &str,
    options: &Options,
) -> Result<Database, Trouble> {
    let length = backend.len().map_err(|error| Trouble::Database(redb::Error::Io(error)))?;
    let mut builder = Builder::new();
    builder.set_cache_size(options.cache_bytes);
    builder.set_check_integrity_on_open(length > 0 && length <= VERIFY_BYTES_MAX);
    if length > VERIFY_BYTES_MAX {
        let (notice, place) = (Arc::clone(&options.notice), place.to_owned());
        builder.set_repair_callback(move |repair| {
            let percent = (repair.progress() * 100.0) as u8;
            notice(&format!("the store `{place}` was not closed: checking it, {percent} % done"));
        });
    }
    Ok(builder.create_with_backend(backend)?)
}

/// All tables, the version they are of, and a name for the store.
pub(super) fn furnish(database: &Database) -> Result<Ledger, Trouble> {
    let transaction = database.begin_write()?;
    tables::Writable::new(&transaction).furnish()?;
    let ledger = name(&transaction)?;
    transaction.commit()?;
    Ok(ledger)
}

/// Gives a store its name and the newest version.
fn name(transaction: &WriteTransaction) -> Result<Ledger, Trouble> {
    let ledger = Ledger { id: System.entropy().to_be_bytes(), applied: 0, open: false };
    tables::mark(transaction, format::FILE_VERSION)?;
    tables::put_ledger(transaction, &ledger)?;
    Ok(ledger)
}

/// All tables are there, as full as they should be, and of a version that this wfhost knows. Gives what is said of the log.
pub(super) fn verify(database: &Database, place: &str) -> Result<Ledger, Trouble> {
    let reading = Readable(database.begin_read()?);
    let version =
        reading.meta()?.get_owned(tables::FORMAT)?.and_then(|row| row.value().try_into().ok().map(u32::from_be_bytes));
    let Some(version) = version else {
        return Err(Trouble::Fault(trouble::damaged(place, "its version is missing")));
    };
    if version > format::FILE_VERSION {
        let what = format!("the store `{place}`");
        return Err(Trouble::Fault(Fault::Newer { what, found: version, known: format::FILE_VERSION }));
    }
    let (heads, starts) = (reading.heads()?.len()?, reading.starts()?.len()?);
    if heads != starts {
        let reason = format!("it holds {heads} sessions, its index {starts}");
        return Err(Trouble::Fault(trouble::damaged(place, &reason)));
    }
    reading.lines()?;
    reading.memories()?;
    reading.blobs()?;
    reading.unfinished()?;
    reading.due()?;
    if version >= format::COUNTED_VERSION {
        reading.pins()?;
        reading.pruned()?;
    }
    let ledger = reading.meta()?.get_owned(tables::LEDGER)?.map(|record| record.value().to_vec());
    drop(reading);
    let ledger = ledger_of(database, place, (version, ledger))?;
    if version < format::COUNTED_VERSION {
        upkeep::count_pins(database)?;
    }
    Ok(ledger)
}

/// What the file says of its log; one of a time before there was a log gets a name.
fn ledger_of(database: &Database, place: &str, (version, kept): (u32, Option<Vec<u8>>)) -> Result<Ledger, Trouble> {
    if let Some(record) = kept {
        let body = format::unwrap(&record, &|| format!("what the store `{place}` says of its log"))?;
        return Ledger::read(body).map_err(|broken| trouble::damaged(place, &broken.to_string()).into());
    }
    if version >= format::LOGGED_VERSION {
        return Err(Trouble::Fault(trouble::damaged(place, "it does not say how far it has come")));
    }
    // Of a time before there was a log.
    let transaction = database.begin_write()?;
    let ledger = name(&transaction)?;
    transaction.commit()?;
    Ok(ledger)
}
