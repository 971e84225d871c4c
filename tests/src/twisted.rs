//! A store between which and its reader somebody sits.

use std::sync::Arc;
use std::time::Duration;

use wfhost::session::model::{Digest, Head, Line, Millis, Pruned, SessionId};
use wfhost::store::{Change, Changes, Committed, Fault, Limit, Listed, Mark, Query, Report, Store};

/// What is done to a session before a reader sees it.
pub type Twist = Box<dyn Fn(&mut Head, &mut Vec<Line>) + Send + Sync>;

const ALL: Limit = Limit { lines: 10_000, bytes: usize::MAX };

/// The store.
pub struct Twisted {
    inner: Arc<dyn Store>,
    twist: Twist,
}

impl std::fmt::Debug for Twisted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Twisted")
    }
}

impl Twisted {
    /// This store, and this somebody.
    pub fn new(inner: Arc<dyn Store>, twist: Twist) -> Self {
        Self { inner, twist }
    }

    /// What the store itself holds.
    #[must_use]
    pub fn lines_as_they_are(&self, session: SessionId) -> Vec<Line> {
        self.inner.lines(session, 1, ALL).unwrap_or_default()
    }

    fn read(&self, session: SessionId) -> Result<Option<(Head, Vec<Line>)>, Fault> {
        let Some(mut head) = self.inner.head(session)? else { return Ok(None) };
        let mut lines = self.inner.lines(session, 1, ALL)?;
        (self.twist)(&mut head, &mut lines);
        Ok(Some((head, lines)))
    }
}

impl Store for Twisted {
    fn head(&self, session: SessionId) -> Result<Option<Head>, Fault> {
        Ok(self.read(session)?.map(|(head, _)| head))
    }
    fn lines(&self, session: SessionId, from: u64, limit: Limit) -> Result<Vec<Line>, Fault> {
        let lines = self.read(session)?.map(|(_, lines)| lines).unwrap_or_default();
        let skip = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
        Ok(lines.into_iter().skip(skip).take(limit.lines).collect())
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
        self.inner.host()
    }
    fn alive(&self, host: u64) -> bool {
        self.inner.alive(host)
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
