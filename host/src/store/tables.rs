//! The tables of the database and their keys. Keys are big-endian bytes of our own and values are records of our own, so
//! that no type encoding of the database crate becomes part of the file.

use redb::{ReadOnlyTable, ReadTransaction, Table, TableDefinition, TableError, WriteTransaction};

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
/// `format` -> version of the file, four bytes big-endian.
const META: TableDefinition<'static, &str, Bytes> = TableDefinition::new("meta");

/// The name of the file version's row.
pub(super) const FORMAT: &str = "format";

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

/// The tables that a change touches, within one write transaction.
pub(super) struct Writable<'t> {
    pub(super) heads: Table<'t, Key<16>, Bytes>,
    pub(super) lines: Table<'t, Key<24>, Bytes>,
    pub(super) memories: Table<'t, Key<20>, Bytes>,
    pub(super) blobs: Table<'t, Key<32>, Bytes>,
    pub(super) starts: Table<'t, Key<24>, Bytes>,
    pub(super) unfinished: Table<'t, Key<24>, Bytes>,
    pub(super) due: Table<'t, Key<24>, ()>,
}

impl<'t> Writable<'t> {
    pub(super) fn open(transaction: &'t WriteTransaction) -> Result<Self, TableError> {
        Ok(Self {
            heads: transaction.open_table(HEADS)?,
            lines: transaction.open_table(LINES)?,
            memories: transaction.open_table(MEMORIES)?,
            blobs: transaction.open_table(BLOBS)?,
            starts: transaction.open_table(STARTS)?,
            unfinished: transaction.open_table(UNFINISHED)?,
            due: transaction.open_table(DUE)?,
        })
    }
}

/// Sets down the file's version.
pub(super) fn mark(transaction: &WriteTransaction, version: u32) -> Result<(), redb::Error> {
    transaction.open_table(META)?.insert(FORMAT, version.to_be_bytes().as_slice())?;
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

    pub(super) fn meta(&self) -> Result<ReadOnlyTable<&'static str, Bytes>, TableError> {
        self.0.open_table(META)
    }
}
