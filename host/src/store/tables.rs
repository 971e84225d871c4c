//! The tables of the database and their keys. Keys are big-endian bytes of our own and values are records of our own, so
//! that no type encoding of the database crate becomes part of the file.

use redb::{ReadOnlyTable, ReadTransaction, Table, TableDefinition, TableError, WriteTransaction};

use super::format;
use super::log::Ledger;
use crate::session::model::{Millis, SessionId};

type Bytes = &'static [u8];
type Key<const N: usize> = &'static [u8; N];

/// session -> its row.
const HEADS: TableDefinition<'static, Key<16>, Bytes> = TableDefinition::new("heads");
/// session, line number -> line.
const LINES: TableDefinition<'static, Key<24>, Bytes> = TableDefinition::new("lines");
/// session, index -> memory.
const MEMORIES: TableDefinition<'static, Key<20>, Bytes> = TableDefinition::new("memories");
/// SHA-256 -> content.
const BLOBS: TableDefinition<'static, Key<32>, Bytes> = TableDefinition::new("blobs");
/// start, session -> label: every session.
const STARTS: TableDefinition<'static, Key<24>, Bytes> = TableDefinition::new("starts");
/// start, session -> label: those without an outcome.
const UNFINISHED: TableDefinition<'static, Key<24>, Bytes> = TableDefinition::new("unfinished");
/// due time, session.
const DUE: TableDefinition<'static, Key<24>, ()> = TableDefinition::new("due");
/// SHA-256 -> how many sessions are pinned to that content, eight bytes big-endian.
const PINS: TableDefinition<'static, Key<32>, Bytes> = TableDefinition::new("pins");
/// session -> what is kept of it after it was pruned.
const PRUNED: TableDefinition<'static, Key<16>, Bytes> = TableDefinition::new("pruned");
/// `format` -> version of the file, four bytes big-endian; `log` -> the ledger.
const META: TableDefinition<'static, &str, Bytes> = TableDefinition::new("meta");

/// The name of the file version's row.
pub(super) const FORMAT: &str = "format";
/// The name of the ledger's row.
pub(super) const LEDGER: &str = "log";

/// A journal line's key.
pub(super) fn line_key(session: SessionId, number: u64) -> [u8; 24] {
    let mut key = [0; 24];
    let parts = session.to_bytes().into_iter().chain(number.to_be_bytes());
    key.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
    key
}

/// A line's number from its key.
pub(super) fn line_number(key: &[u8; 24]) -> u64 {
    key.last_chunk::<8>().map_or(0, |number| u64::from_be_bytes(*number))
}

/// A memory's key.
pub(super) fn memory_key(session: SessionId, index: u32) -> [u8; 20] {
    let mut key = [0; 20];
    let parts = session.to_bytes().into_iter().chain(index.to_be_bytes());
    key.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
    key
}

/// A memory's index from its key.
pub(super) fn memory_index(key: &[u8; 20]) -> u32 {
    key.last_chunk::<4>().map_or(0, |index| u32::from_be_bytes(*index))
}

/// A key of the three indexes.
pub(super) fn time_key(time: Millis, session: SessionId) -> [u8; 24] {
    let mut key = [0; 24];
    let parts = time.to_be_bytes().into_iter().chain(session.to_bytes());
    key.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
    key
}

/// The session of an index key.
pub(super) fn time_session(key: &[u8; 24]) -> SessionId {
    SessionId::from_bytes(key.last_chunk::<16>().copied().unwrap_or_default())
}

/// The tables that a change touches, within one write transaction; each is opened when it is first wanted.
pub(super) struct Writable<'t> {
    transaction: &'t WriteTransaction,
    heads: Option<Table<'t, Key<16>, Bytes>>,
    lines: Option<Table<'t, Key<24>, Bytes>>,
    memories: Option<Table<'t, Key<20>, Bytes>>,
    blobs: Option<Table<'t, Key<32>, Bytes>>,
    starts: Option<Table<'t, Key<24>, Bytes>>,
    unfinished: Option<Table<'t, Key<24>, Bytes>>,
    due: Option<Table<'t, Key<24>, ()>>,
    pins: Option<Table<'t, Key<32>, Bytes>>,
    pruned: Option<Table<'t, Key<16>, Bytes>>,
}

macro_rules! opened_when_wanted {
    ($($name:ident: $definition:ident, $key:ty, $value:ty;)*) => {$(
        pub(super) fn $name(&mut self) -> Result<&mut Table<'t, $key, $value>, TableError> {
            if self.$name.is_none() {
                self.$name = Some(self.transaction.open_table($definition)?);
            }
            self.$name.as_mut().ok_or_else(|| TableError::TableDoesNotExist(stringify!($name).to_owned()))
        }
    )*};
}

impl<'t> Writable<'t> {
    pub(super) fn new(transaction: &'t WriteTransaction) -> Self {
        let (heads, lines, memories, blobs) = (None, None, None, None);
        let (starts, unfinished, due, pins, pruned) = (None, None, None, None, None);
        Self { transaction, heads, lines, memories, blobs, starts, unfinished, due, pins, pruned }
    }

    /// Opens all of them, so that they are there.
    pub(super) fn furnish(&mut self) -> Result<(), TableError> {
        self.heads()?;
        self.lines()?;
        self.memories()?;
        self.blobs()?;
        self.starts()?;
        self.unfinished()?;
        self.due()?;
        self.pins()?;
        self.pruned()?;
        Ok(())
    }

    opened_when_wanted! {
        heads: HEADS, Key<16>, Bytes;
        lines: LINES, Key<24>, Bytes;
        memories: MEMORIES, Key<20>, Bytes;
        blobs: BLOBS, Key<32>, Bytes;
        starts: STARTS, Key<24>, Bytes;
        unfinished: UNFINISHED, Key<24>, Bytes;
        due: DUE, Key<24>, ();
        pins: PINS, Key<32>, Bytes;
        pruned: PRUNED, Key<16>, Bytes;
    }
}

/// Sets down the file's version.
pub(super) fn mark(transaction: &WriteTransaction, version: u32) -> Result<(), redb::Error> {
    transaction.open_table(META)?.insert(FORMAT, version.to_be_bytes().as_slice())?;
    Ok(())
}

/// Sets down how far the database has come.
pub(super) fn put_ledger(transaction: &WriteTransaction, ledger: &Ledger) -> Result<(), redb::Error> {
    transaction.open_table(META)?.insert(LEDGER, format::wrap(&ledger.bytes()).as_slice())?;
    Ok(())
}

/// Takes the ledger out.
#[cfg(test)]
pub(super) fn drop_ledger(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(META)?.remove(LEDGER)?;
    Ok(())
}

/// A snapshot to read from.
pub(super) struct Readable(pub(super) ReadTransaction);

impl Readable {
    pub(super) fn heads(&self) -> Result<ReadOnlyTable<Key<16>, Bytes>, TableError> {
        self.0.open_table(HEADS)
    }

    pub(super) fn lines(&self) -> Result<ReadOnlyTable<Key<24>, Bytes>, TableError> {
        self.0.open_table(LINES)
    }

    pub(super) fn memories(&self) -> Result<ReadOnlyTable<Key<20>, Bytes>, TableError> {
        self.0.open_table(MEMORIES)
    }

    pub(super) fn blobs(&self) -> Result<ReadOnlyTable<Key<32>, Bytes>, TableError> {
        self.0.open_table(BLOBS)
    }

    pub(super) fn starts(&self) -> Result<ReadOnlyTable<Key<24>, Bytes>, TableError> {
        self.0.open_table(STARTS)
    }

    pub(super) fn unfinished(&self) -> Result<ReadOnlyTable<Key<24>, Bytes>, TableError> {
        self.0.open_table(UNFINISHED)
    }

    pub(super) fn due(&self) -> Result<ReadOnlyTable<Key<24>, ()>, TableError> {
        self.0.open_table(DUE)
    }

    pub(super) fn pins(&self) -> Result<ReadOnlyTable<Key<32>, Bytes>, TableError> {
        self.0.open_table(PINS)
    }

    pub(super) fn pruned(&self) -> Result<ReadOnlyTable<Key<16>, Bytes>, TableError> {
        self.0.open_table(PRUNED)
    }

    pub(super) fn meta(&self) -> Result<ReadOnlyTable<&'static str, Bytes>, TableError> {
        self.0.open_table(META)
    }
}
