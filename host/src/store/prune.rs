//! Taking sessions out, and content that none of the others needs. How many sessions are pinned to a content is counted; one
//! that was dropped keeps its count's row, so that a host that believes it kept is told otherwise.

use redb::ReadableTable;

use super::codec::{Broken, Reader, Writer};
use super::format;
use super::provenance;
use super::tables::{self, Writable};
use super::trouble::Trouble;
use crate::session::model::{Digest, Pruned, SessionId};

/// The count of content that was dropped.
const GONE: u64 = u64::MAX;

/// A session that is to be taken out.
#[derive(Debug)]
pub(super) struct Taking {
    session: SessionId,
    lines: u64,
    record: Vec<u8>,
}

impl Taking {
    pub(super) fn of(pruned: &Pruned) -> Self {
        Self { session: pruned.session, lines: pruned.lines, record: provenance::pruned(pruned) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.record.len()
    }

    /// As a part of a log's record.
    pub(super) fn put(writer: &mut Writer, taking: &Self) {
        writer.exact(&taking.session.to_bytes());
        writer.number(taking.lines);
        writer.bytes(&taking.record);
    }

    /// From a part of a log's record.
    pub(super) fn take(reader: &mut Reader<'_>) -> Result<Self, Broken> {
        let session = SessionId::from_bytes(reader.exact()?);
        Ok(Self { session, lines: reader.number()?, record: reader.bytes()?.to_vec() })
    }
}

/// The counts of who is pinned to what.
pub(super) struct Pins<'p, 't>(pub(super) &'p mut Writable<'t>);

fn count(record: &[u8]) -> u64 {
    record.try_into().map_or(0, u64::from_be_bytes)
}

impl Pins<'_, '_> {
    fn get(&mut self, digest: Digest) -> Result<Option<u64>, Trouble> {
        Ok(self.0.pins()?.get(&digest.0)?.map(|record| count(record.value())))
    }

    pub(super) fn set(&mut self, digest: Digest, count: u64) -> Result<(), Trouble> {
        self.0.pins()?.insert(&digest.0, count.to_be_bytes().as_slice())?;
        Ok(())
    }

    /// The content is there. Whether that was news.
    pub(super) fn keep(&mut self, digest: Digest) -> Result<bool, Trouble> {
        let news = self.get(digest)?.is_none_or(|count| count == GONE);
        if news {
            self.set(digest, 0)?;
        }
        Ok(news)
    }

    /// One session more is pinned to it.
    pub(super) fn pin(&mut self, digest: Digest) -> Result<(), Trouble> {
        let count = self.get(digest)?.filter(|count| *count != GONE).unwrap_or(0);
        self.set(digest, count + 1)
    }

    /// One session less is pinned to it; the last one takes it along.
    fn unpin(&mut self, digest: Digest) -> Result<(), Trouble> {
        match self.get(digest)? {
            None | Some(GONE) => Ok(()),
            Some(0 | 1) => self.drop_content(digest),
            Some(count) => self.set(digest, count - 1),
        }
    }

    fn drop_content(&mut self, digest: Digest) -> Result<(), Trouble> {
        self.0.blobs()?.remove(&digest.0)?;
        self.set(digest, GONE)
    }
}

/// Whether any of these was dropped.
pub(super) fn is_dropped(tables: &mut Writable<'_>, digests: &[Digest]) -> Result<bool, Trouble> {
    for digest in digests {
        if tables.pins()?.get(&digest.0)?.is_some_and(|record| count(record.value()) == GONE) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes out the sessions that still stand where their record says. Returns which.
pub(super) fn take(tables: &mut Writable<'_>, takings: &[Taking]) -> Result<Vec<SessionId>, Trouble> {
    let mut taken = Vec::new();
    for taking in takings {
        let session = taking.session;
        // A head that cannot be read is left: what it is pinned to is not known.
        let row = match tables.heads()?.get(&session.to_bytes())? {
            Some(record) => format::read_row(record.value(), session).ok(),
            None => None,
        };
        let Some(row) = row.filter(|row| row.head.lines == taking.lines) else { continue };
        let start = tables::time_key(row.head.started, session);
        tables.starts()?.remove(&start)?;
        tables.unfinished()?.remove(&start)?;
        if let Some(due) = row.due {
            tables.due()?.remove(&tables::time_key(due, session))?;
        }
        let (first, last) = (tables::line_key(session, 0), tables::line_key(session, u64::MAX));
        tables.lines()?.retain_in::<&[u8; 24], _>(&first..=&last, |_, _| false)?;
        let (first, last) = (tables::memory_key(session, 0), tables::memory_key(session, u32::MAX));
        tables.memories()?.retain_in::<&[u8; 20], _>(&first..=&last, |_, _| false)?;
        tables.heads()?.remove(&session.to_bytes())?;
        tables.pruned()?.insert(&session.to_bytes(), taking.record.as_slice())?;
        let mut pins = Pins(tables);
        pins.unpin(row.head.plugin)?;
        pins.unpin(row.head.definition)?;
        taken.push(session);
    }
    Ok(taken)
}

/// Counts anew who is pinned to what: for a file in which nobody counted.
pub(super) fn count_pins(tables: &mut Writable<'_>) -> Result<(), Trouble> {
    let mut pinned = Vec::new();
    let mut unreadable = 0;
    for entry in tables.heads()?.iter()? {
        let (key, record) = entry?;
        match format::read_row(record.value(), SessionId::from_bytes(*key.value())) {
            Ok(row) => pinned.extend([row.head.plugin, row.head.definition]),
            Err(_) => unreadable += 1,
        }
    }
    let mut contents = Vec::new();
    for entry in tables.blobs()?.iter()? {
        contents.push(Digest(*entry?.0.value()));
    }
    let mut pins = Pins(tables);
    // A session that cannot be read may be pinned to any of them.
    contents.into_iter().try_for_each(|digest| pins.set(digest, unreadable))?;
    pinned.into_iter().try_for_each(|digest| pins.pin(digest))
}

/// Drops content that no session is pinned to: kept for a session that never began.
pub(super) fn drop_idle(tables: &mut Writable<'_>) -> Result<(), Trouble> {
    let mut idle = Vec::new();
    for entry in tables.pins()?.iter()? {
        let (key, record) = entry?;
        if count(record.value()) == 0 {
            idle.push(Digest(*key.value()));
        }
    }
    let mut pins = Pins(tables);
    idle.into_iter().try_for_each(|digest| pins.drop_content(digest))
}
