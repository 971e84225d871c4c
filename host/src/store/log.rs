//! The log in front of the database: a file that every batch is appended to, in one piece, and synced once. The database
//! has the batch as well, but only in memory, until a checkpoint makes it durable there and the log begins anew. After a
//! crash the batches that the database lost are read from here.
//!
//! The first block says which store the log is of. Each record begins on a block of its own, so that no block with a
//! confirmed record is ever written again before the checkpoint: its length, its batch's number, a checksum over both and
//! the store, the batch. Numbers go up by one, so what an earlier lap left behind is told by its number.

use redb::StorageBackend;

use super::Fault;
use super::codec::{Broken, Reader, Writer};
use super::limits::{LOG_RECORD_BYTES_MAX, LOG_STEP_BYTES};
use super::trouble::{self, Trouble};
use crate::session::model::Digest;

/// Records begin at multiples of so many bytes: the page of a disk and of the system's cache.
const BLOCK: usize = 4096;
const BLOCK_BYTES: u64 = 4096;
/// Length, number, checksum.
const FRONT: usize = 4 + 8 + SUM;
const SUM: usize = 16;
const MAGIC: &[u8; 10] = b"wfhost-log";
const VERSION: u64 = 1;

/// The name of a store, which its log bears as well.
pub(super) type StoreId = [u8; 16];

/// What the database says of its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ledger {
    /// The store's name.
    pub(super) id: StoreId,
    /// The newest batch that the database holds.
    pub(super) applied: u64,
    /// Whether the log may hold newer ones: from the first batch after opening until the store is closed.
    pub(super) open: bool,
}

impl Ledger {
    /// Its record's body.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.exact(&self.id);
        writer.number(self.applied);
        writer.flag(self.open);
        writer.0
    }

    /// From its record's body.
    pub(super) fn read(body: &[u8]) -> Result<Self, Broken> {
        let mut reader = Reader(body);
        let ledger = Self { id: reader.exact()?, applied: reader.number()?, open: reader.flag()? };
        reader.end()?;
        Ok(ledger)
    }
}

/// The log's file.
#[derive(Debug)]
pub(super) struct Log {
    backend: Box<dyn StorageBackend>,
    id: StoreId,
    /// How long the file may get.
    most: u64,
    /// How long the file is; all of it has been written.
    length: u64,
    /// Where the next record goes.
    end: u64,
}

/// A batch as it was logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) number: u64,
    pub(super) body: Vec<u8>,
}

fn io(error: std::io::Error) -> Trouble {
    Trouble::Database(redb::Error::Io(error))
}

impl Log {
    /// The log of this store on a backend; an empty one is begun, unless the database says that there must be something.
    pub(super) fn on(
        (backend, most): (Box<dyn StorageBackend>, u64),
        ledger: &Ledger,
        place: &str,
    ) -> Result<Self, Trouble> {
        let length = backend.len().map_err(io)?;
        let mut log = Self { backend, id: ledger.id, most, length, end: BLOCK_BYTES };
        let damaged = |reason: &str| Trouble::Fault(trouble::damaged_log(place, reason));
        match log.owner()? {
            Some(id) if id == ledger.id => Ok(log),
            Some(_) => Err(damaged("it is the log of another store")),
            None if ledger.open && length == 0 => Err(damaged("it is missing, and may hold what was confirmed last")),
            None if ledger.open => {
                Err(damaged("its beginning cannot be read, and it may hold what was confirmed last"))
            }
            None => {
                log.begin()?;
                Ok(log)
            }
        }
    }

    /// Which store the file says it is of; none if it does not say.
    fn owner(&self) -> Result<Option<StoreId>, Trouble> {
        if self.length < BLOCK_BYTES {
            return Ok(None);
        }
        let mut block = vec![0; BLOCK];
        self.backend.read(0, &mut block).map_err(io)?;
        let mut reader = Reader(&block);
        let (magic, version, id) = (reader.exact::<10>(), reader.number(), reader.exact::<16>());
        let (Ok(magic), Ok(version), Ok(id), Ok(sum)) = (magic, version, id, reader.exact::<SUM>()) else {
            return Ok(None);
        };
        if magic != *MAGIC || sum != header_sum(version, &id) {
            return Ok(None);
        }
        if version > VERSION {
            let (found, known) = (u32::try_from(version).unwrap_or(u32::MAX), 1);
            return Err(Trouble::Fault(Fault::Newer { what: "the store's log".to_owned(), found, known }));
        }
        Ok(Some(id))
    }

    fn begin(&mut self) -> Result<(), Trouble> {
        let mut writer = Writer::default();
        writer.exact(MAGIC);
        writer.number(VERSION);
        writer.exact(&self.id);
        writer.exact(&header_sum(VERSION, &self.id));
        writer.0.resize(BLOCK, 0);
        self.backend.set_len(0).map_err(io)?;
        self.length = 0;
        self.reach(BLOCK_BYTES)?;
        self.backend.write(0, &writer.0).map_err(io)?;
        self.backend.sync_data().map_err(io)
    }

    /// Appends a batch and syncs it. False if there is no room for it: then nothing was written.
    pub(super) fn append(&mut self, number: u64, body: &[u8]) -> Result<bool, Trouble> {
        let Ok(length) = u32::try_from(body.len()) else { return Ok(false) };
        let padded = (FRONT + body.len()).next_multiple_of(BLOCK);
        let after = self.end + padded as u64;
        if body.len() > LOG_RECORD_BYTES_MAX || after > self.most {
            return Ok(false);
        }
        let mut record = Vec::with_capacity(padded);
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&number.to_le_bytes());
        record.extend_from_slice(&sum(&self.id, number, body));
        record.extend_from_slice(body);
        record.resize(padded, 0);
        self.reach(after)?;
        self.backend.write(self.end, &record).map_err(io)?;
        self.backend.sync_data().map_err(io)?;
        self.end = after;
        Ok(true)
    }

    /// Sees to it that the file is so long, some steps ahead: a write into what is there already spares the system the
    /// notes about a longer file.
    fn reach(&mut self, length: u64) -> Result<(), Trouble> {
        if length <= self.length {
            return Ok(());
        }
        let longer = length.next_multiple_of(LOG_STEP_BYTES).min(self.most).max(length);
        let zeros = vec![0; usize::try_from(longer - self.length).unwrap_or(0)];
        self.backend.set_len(longer).map_err(io)?;
        self.backend.write(self.length, &zeros).map_err(io)?;
        self.length = longer;
        Ok(())
    }

    /// The next batch is written over the first one: the database holds them all.
    pub(super) fn rewind(&mut self) {
        self.end = BLOCK_BYTES;
    }

    /// The batches after this one, in their order. A record that was not finished ends them; one that cannot be read and
    /// is followed by newer ones was damaged.
    pub(super) fn after(&self, applied: u64, place: &str) -> Result<Vec<Record>, Trouble> {
        let mut found: Vec<Record> = Vec::new();
        let mut at = BLOCK_BYTES;
        let mut last: Option<u64> = None;
        while let Some(record) = self.record(at)? {
            if last.is_some_and(|last| record.number != last + 1) {
                break;
            }
            at += (FRONT + record.body.len()).next_multiple_of(BLOCK) as u64;
            last = Some(record.number);
            if record.number > applied {
                found.push(record);
            }
        }
        let begins = found.first().map_or(applied + 1, |first| first.number);
        if begins != applied + 1 {
            let reason = format!("it goes on with batch {begins}, and the store ends with {applied}");
            return Err(Trouble::Fault(trouble::damaged_log(place, &reason)));
        }
        let newest = last.map_or(applied, |last| last.max(applied));
        if let Some(stray) = self.newer_from(at, newest)? {
            let reason = format!("batch {} cannot be read, and {stray} after it can", newest + 1);
            return Err(Trouble::Fault(trouble::damaged_log(place, &reason)));
        }
        Ok(found)
    }

    /// The number of a whole record, at any block from here on, that is newer than this batch.
    fn newer_from(&self, mut at: u64, newest: u64) -> Result<Option<u64>, Trouble> {
        while at < self.length {
            let front = self.front(at)?;
            if front.is_some_and(|(_, number, _)| number > newest)
                && let Some(record) = self.record(at)?
            {
                return Ok(Some(record.number));
            }
            at += BLOCK_BYTES;
        }
        Ok(None)
    }

    /// Length, number and checksum that stand at this place, if they can be those of a record.
    fn front(&self, at: u64) -> Result<Option<(usize, u64, [u8; SUM])>, Trouble> {
        if at + BLOCK_BYTES > self.length {
            return Ok(None);
        }
        let mut front = [0; FRONT];
        self.backend.read(at, &mut front).map_err(io)?;
        let mut reader = Reader(&front);
        let (Ok(length), Ok(number), Ok(sum)) = (reader.exact::<4>(), reader.exact::<8>(), reader.exact::<SUM>())
        else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        let fits = length <= LOG_RECORD_BYTES_MAX && at + (FRONT + length) as u64 <= self.length;
        Ok(fits.then_some((length, u64::from_le_bytes(number), sum)))
    }

    /// The record at this place, if there is a whole one.
    fn record(&self, at: u64) -> Result<Option<Record>, Trouble> {
        let Some((length, number, written)) = self.front(at)? else { return Ok(None) };
        let mut body = vec![0; length];
        self.backend.read(at + FRONT as u64, &mut body).map_err(io)?;
        let whole = number > 0 && written == sum(&self.id, number, &body);
        Ok(whole.then_some(Record { number, body }))
    }
}

fn sum(id: &StoreId, number: u64, body: &[u8]) -> [u8; SUM] {
    short(Digest::of_parts(&[b"record", id, &number.to_le_bytes(), body]))
}

fn header_sum(version: u64, id: &StoreId) -> [u8; SUM] {
    short(Digest::of_parts(&[MAGIC, &version.to_le_bytes(), id]))
}

fn short(digest: Digest) -> [u8; SUM] {
    digest.0.first_chunk::<SUM>().copied().unwrap_or_default()
}
