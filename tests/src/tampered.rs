//! A store between which and its reader somebody sits, who may write what is kept.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wfhost::session::line::{LineRow, genesis, link};
use wfhost::session::model::{Digest, Head, Line, Millis, Pruned, SessionId};
use wfhost::store::{Change, Changes, Committed, Fault, Limit, Listed, Mark, Query, Report, Store};

/// What somebody does to a head and its lines.
pub type Tamper = Box<dyn Fn(&mut Head, &mut Vec<Line>) + Send>;

/// A store between which and its reader somebody sits.
#[allow(missing_debug_implementations, reason = "it holds a closure")]
pub struct Tampered {
    /// What is really there.
    pub inner: Arc<dyn Store>,
    /// What is done to it on the way.
    pub how: Mutex<Option<Tamper>>,
}

impl std::fmt::Debug for Tampered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tampered")
    }
}

impl Tampered {
    /// Nobody sits there yet.
    #[must_use]
    pub fn over(inner: Arc<dyn Store>) -> Self {
        Self { inner, how: Mutex::new(None) }
    }

    fn read(&self, session: SessionId) -> Result<Option<(Head, Vec<Line>)>, Fault> {
        let Some(mut head) = self.inner.head(session)? else { return Ok(None) };
        let mut lines = self.inner.lines(session, 1, Limit { lines: 10_000, bytes: usize::MAX })?;
        if let Some(how) = &*self.how.lock().unwrap_or_else(PoisonError::into_inner) {
            how(&mut head, &mut lines);
        }
        Ok(Some((head, lines)))
    }
}

impl Store for Tampered {
    fn head(&self, session: SessionId) -> Result<Option<Head>, Fault> {
        Ok(self.read(session)?.map(|(head, _)| head))
    }
    fn lines(&self, session: SessionId, from: u64, limit: Limit) -> Result<Vec<Line>, Fault> {
        let lines = self.read(session)?.map(|(_, lines)| lines).unwrap_or_default();
        Ok(lines.into_iter().skip(usize::try_from(from).unwrap_or(usize::MAX) - 1).take(limit.lines).collect())
    }
    fn memories(&self, session: SessionId, from: u32, count: u32) -> Result<Vec<String>, Fault> {
        self.inner.memories(session, from, count)
    }
    fn list(&self, query: &Query) -> Result<Vec<Listed>, Fault> {
        self.inner.list(query)
    }
    fn due(&self, now: Millis, limit: usize) -> Result<Vec<SessionId>, Fault> {
        self.inner.due(now, limit)
    }
    fn blob(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, Fault> {
        self.inner.blob(digest)
    }
    fn keep(&self, bytes: &[u8]) -> Result<Digest, Fault> {
        self.inner.keep(bytes)
    }
    fn commit(&self, change: Change) -> Result<Committed, Fault> {
        self.inner.commit(change)
    }
    fn host(&self) -> Result<u64, Fault> {
        Ok(1)
    }
    fn alive(&self, host: u64) -> bool {
        host == 1
    }
    fn prune(&self, records: &[Pruned]) -> Result<Vec<SessionId>, Fault> {
        self.inner.prune(records)
    }
    fn pruned(&self, session: SessionId) -> Result<Option<Pruned>, Fault> {
        self.inner.pruned(session)
    }
    fn pruned_after(&self, after: Option<SessionId>, limit: usize) -> Result<Vec<Pruned>, Fault> {
        self.inner.pruned_after(after, limit)
    }
    fn changes(&self, after: Option<Mark>, wait: Duration) -> Result<Changes, Fault> {
        self.inner.changes(after, wait)
    }
    fn report(&self) -> Result<Report, Fault> {
        self.inner.report()
    }
}

/// Writes the whole chain anew over lines that were tampered with, as one can who may write the store.
pub fn remint(head: &mut Head, lines: &mut [Line]) {
    let mut chain = genesis(head);
    for (index, line) in lines.iter_mut().enumerate() {
        let Ok(mut row) = LineRow::decode(line) else { continue };
        row.n = index as u64 + 1;
        row.prev = chain.to_string();
        if let Ok(bytes) = row.encode() {
            *line = bytes;
        }
        chain = link(chain, line);
    }
    head.lines = lines.len() as u64;
    head.chain = chain;
}
