//! Work on a whole file: an older one becomes one of this version, and room that nothing uses goes back to the disk.

use std::path::Path;
use std::sync::atomic::Ordering;

use redb::Database;

use super::local::Local;
use super::queue::lock;
use super::trouble::{self, Trouble};
use super::{Fault, Options, format, prune, tables};

/// Counts who is pinned to what in a file in which nobody did, and makes it one of this version.
pub(super) fn count_pins(database: &Database) -> Result<(), Trouble> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    let mut tables = tables::Writable::new(&transaction);
    tables.furnish()?;
    prune::count_pins(&mut tables)?;
    drop(tables);
    tables::mark(&transaction, format::FILE_VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// Gives the room that nothing uses back to the disk. Returns the file's size before and after.
pub(super) fn compact(path: &Path, options: &Options) -> Result<(u64, u64), Fault> {
    let mut local = Local::open(path, options)?;
    let before = local.gauge.length.load(Ordering::Relaxed);
    // From here on the database stands alone: the log says nothing that it does not hold.
    local.guarded(|| lock(&local.desk).close(&local.database))?;
    local.guarded(|| {
        let mut transaction = local.database.begin_write()?;
        transaction.set_quick_repair(true);
        prune::drop_idle(&mut tables::Writable::new(&transaction))?;
        Ok(transaction.commit()?)
    })?;
    let failed = |local: &Local, error: redb::CompactionError| {
        if let redb::CompactionError::Storage(error) = error {
            return trouble::fault(&local.place, &error.into(), local.words());
        }
        Fault::Io(format!("`{}` cannot be compacted: {error}", local.place))
    };
    loop {
        match local.database.compact() {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return Err(failed(&local, error)),
        }
    }
    Ok((before, local.gauge.length.load(Ordering::Relaxed)))
}
