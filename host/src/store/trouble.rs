//! From the database crate's errors to faults with a place and a remedy. A fault of the file or the disk is remembered by
//! the store; a fault of one record is not.

use super::Fault;

/// What can go wrong inside an operation.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The database crate's own.
    Database(redb::Error),
    /// Already in the store's words.
    Fault(Fault),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

macro_rules! from_database {
    ($($error:ident)*) => {$(
        impl From<redb::$error> for Trouble {
            fn from(error: redb::$error) -> Self {
                Self::Database(error.into())
            }
        }
    )*};
}
from_database!(Error StorageError TableError TransactionError CommitError DatabaseError SetDurabilityError);

const RESTORE: &str = "move it and its log away to begin anew, or put a copy of both in their place";
const RESTORE_LOG: &str =
    "put the log and the store of one time in place; without its log a store lacks what was confirmed last";

/// The place is damaged: these words say how it shows.
pub(super) fn damaged(place: &str, reason: &str) -> Fault {
    Fault::Damaged { path: place.to_owned(), reason: format!("{reason}; {RESTORE}") }
}

/// The log of the store at this place is damaged.
pub(super) fn damaged_log(place: &str, reason: &str) -> Fault {
    Fault::Damaged { path: format!("{place}, its log"), reason: format!("{reason}; {RESTORE_LOG}") }
}

/// A panic of the database crate: it does that on pages that make no sense.
pub(super) fn panicked(place: &str) -> Fault {
    damaged(place, "a page makes no sense")
}

/// The fault that this error is. `words` are the system's for the first failure, if there was one.
pub(super) fn fault(place: &str, error: &redb::Error, words: Option<&String>) -> Fault {
    if let redb::Error::Corrupted(reason) = error {
        return damaged(place, reason);
    }
    if let redb::Error::Io(error) = error
        && matches!(error.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof)
    {
        return damaged(place, &error.to_string());
    }
    if let redb::Error::UpgradeRequired(found) = error {
        return damaged(place, &format!("its file format {found} is older than any wfhost wrote"));
    }
    if let redb::Error::TableDoesNotExist(name) = error {
        return damaged(place, &format!("its table `{name}` is missing"));
    }
    if let redb::Error::DatabaseAlreadyOpen = error {
        return Fault::Owner(format!(
            "`{place}` is open in another program; end it, or name another with `--data DIR`"
        ));
    }
    let words = words.cloned().unwrap_or_else(|| error.to_string());
    Fault::Io(format!(
        "`{place}`: {words}; all that was confirmed is kept: see to the disk (space, rights, health), then start again"
    ))
}
