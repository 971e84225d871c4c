//! A way in for the fuzz targets of `tests/fuzz`: the readers of stored records, which nobody else outside needs.

use std::io;
use std::sync::Mutex;

use redb::StorageBackend;

use super::codec::Reader;
use super::log::Ledger;
use super::{Limit, Local, Query, Store as _, batch, format, protocol};
use crate::session::model::{Digest, SessionId};

/// Bytes to begin with: one of each kind of record, behind its kind.
#[must_use]
pub fn examples() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 3] = [b"{\"n\":1}", b"a memory", b"content"];
    let mut all: Vec<Vec<u8>> = (0..KINDS).map(|kind| [&[kind], format::wrap(b"a body").as_slice()].concat()).collect();
    all.extend(texts.iter().zip(2..).map(|(text, kind)| [&[kind], format::wrap(text).as_slice()].concat()));
    all.push([&[4], format::blob(b"content").as_slice()].concat());
    let label = format::Label { owner: "o", interpreter: "i", workflow: "w" };
    all.push([&[5], format::label(label).as_slice()].concat());
    all.push([&[6], Ledger { id: [7; 16], applied: 9, open: true }.bytes().as_slice()].concat());
    all.push([&[8], protocol::greeting().as_slice()].concat());
    all
}

const KINDS: u8 = 10;

/// Reads bytes as the record of the kind that the first byte names. A reading that needs a checksum is tried with the right
/// one as well, so that what is behind it is reached.
pub fn read(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    for record in [bytes.to_vec(), format::wrap(bytes)] {
        read_as(kind % KINDS, &record);
    }
}

fn read_as(kind: u8, record: &[u8]) {
    let session = SessionId::from_bits(7);
    match kind {
        0 => drop(format::read_row(record, session)),
        1 => drop(format::read_stub(record, session)),
        2 => drop(format::read_line(record, session, 1)),
        3 => drop(format::read_memory(record, session, 1)),
        4 => drop(format::read_blob(record, Digest::of(record))),
        5 => drop(format::read_label(record).is_some()),
        6 => drop(Ledger::read(record)),
        7 => drop(batch::read(record)),
        8 => drop((protocol::read_greeting(record).is_ok(), protocol::Call::read(record).is_ok())),
        _ => drop((protocol::read_outcome(record).is_ok(), format::take_head(&mut Reader(record)).is_ok())),
    }
}

/// A file in memory that holds these bytes.
#[must_use]
pub fn disk(bytes: Vec<u8>) -> impl StorageBackend {
    Disk(Mutex::new(bytes))
}

/// Asks a store all that it can be asked.
pub fn look(local: &Local) {
    let all = Limit { lines: usize::MAX, bytes: usize::MAX };
    let listed = local.list(&Query { limit: 99, ..Query::default() }).unwrap_or_default();
    for item in listed {
        let session = match item {
            super::Listed::Head(head) => head.session,
            super::Listed::Unreadable(session, _) => session,
        };
        drop((local.head(session), local.lines(session, 1, all), local.memories(session, 0, 99)));
    }
    drop((local.due(u64::MAX, 99), local.report()));
}

#[derive(Debug)]
struct Disk(Mutex<Vec<u8>>);

impl Disk {
    fn bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        super::queue::lock(&self.0)
    }
}

fn place(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes();
        let found = bytes.get(place(offset)..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        // A length that makes no sense is an error of the disk, not the end of this process's memory.
        if len > 1 << 30 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes().resize(place(len), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut bytes = self.bytes();
        let found = bytes.get_mut(place(offset)..).and_then(|rest| rest.get_mut(..data.len()));
        found.ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(data);
        Ok(())
    }
}
