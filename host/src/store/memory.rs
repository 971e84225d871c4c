//! Sessions in this process's memory only, for `--ephemeral`: no database, nothing that a commit waits for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::news::News;
use super::{Change, Changes, Committed, Fault, Limit, Listed, Mark, Query, Report, Store};
use crate::session::model::{Digest, Head, Line, Millis, Pruned, SessionId};

/// A store that ends with its process.
#[derive(Debug, Default)]
pub(super) struct Memory {
    kept: Mutex<Kept>,
    news: News,
}

#[derive(Debug, Default)]
struct Kept {
    sessions: HashMap<SessionId, Session>,
    by_start: BTreeSet<(Millis, SessionId)>,
    unfinished: BTreeSet<(Millis, SessionId)>,
    due: BTreeSet<(Millis, SessionId)>,
    content: HashMap<Digest, Arc<[u8]>>,
    pruned: BTreeMap<SessionId, Pruned>,
}

#[derive(Debug)]
struct Session {
    head: Head,
    lines: Vec<Line>,
    memories: Vec<String>,
    due: Option<Millis>,
}

impl Memory {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn host(&self) -> Result<u64, Fault> {
        Ok(1)
    }

    fn alive(&self, host: u64) -> bool {
        host == 1
    }

    fn head(&self, session: SessionId) -> Result<Option<Head>, Fault> {
        Ok(self.kept().sessions.get(&session).map(|s| s.head.clone()))
    }

    fn lines(&self, session: SessionId, from: u64, limit: Limit) -> Result<Vec<Line>, Fault> {
        let kept = self.kept();
        let all = kept.sessions.get(&session).map(|s| s.lines.as_slice()).unwrap_or_default();
        let skip = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let mut found = Vec::new();
        for line in all.iter().skip(skip) {
            if !found.is_empty() && (found.len() >= limit.lines || bytes >= limit.bytes) {
                break;
            }
            bytes += line.len();
            found.push(Arc::clone(line));
        }
        Ok(found)
    }

    fn memories(&self, session: SessionId, from: u32, count: u32) -> Result<Vec<String>, Fault> {
        let kept = self.kept();
        let all = kept.sessions.get(&session).map(|s| s.memories.as_slice()).unwrap_or_default();
        let [skip, take] = [from, count].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        Ok(all.iter().skip(skip).take(take).cloned().collect())
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, Fault> {
        let kept = self.kept();
        let index = if query.unfinished { &kept.unfinished } else { &kept.by_start };
        let end = query.after.map_or(Bound::Unbounded, Bound::Excluded);
        let heads =
            index.range((Bound::Unbounded, end)).rev().filter_map(|(_, id)| kept.sessions.get(id)).map(|s| &s.head);
        let fitting = heads.filter(|head| fits(query, head)).take(query.limit);
        Ok(fitting.map(|head| Listed::Head(Box::new(Head { state: String::new(), ..head.clone() }))).collect())
    }

    fn due(&self, now: Millis, limit: usize) -> Result<Vec<SessionId>, Fault> {
        Ok(self.kept().due.iter().take_while(|(at, _)| *at <= now).take(limit).map(|(_, id)| *id).collect())
    }

    fn blob(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, Fault> {
        Ok(self.kept().content.get(&digest).map(Arc::clone))
    }

    fn keep(&self, bytes: &[u8]) -> Result<Digest, Fault> {
        let digest = Digest::of(bytes);
        self.kept().content.entry(digest).or_insert_with(|| bytes.into());
        Ok(digest)
    }

    fn commit(&self, change: Change) -> Result<Committed, Fault> {
        let mut kept = self.kept();
        let before = kept.sessions.get(&change.head.session);
        if before.map_or(0, |s| s.head.lines) != change.expected {
            let sent_before = before.is_some_and(|s| s.holds(&change));
            return Ok(if sent_before { Committed::Done } else { Committed::Conflict });
        }
        let inherited = change.inherit.map(|inherit| kept.beginning(inherit.from, inherit.lines, inherit.memories));
        let inherited = match inherited {
            Some(None) => return Ok(Committed::Conflict),
            found => found.flatten().unwrap_or_default(),
        };
        let session = change.head.session;
        kept.apply(change, inherited);
        drop(kept);
        self.news.tell([session]);
        Ok(Committed::Done)
    }

    fn prune(&self, records: &[Pruned]) -> Result<Vec<SessionId>, Fault> {
        let mut kept = self.kept();
        let fitting = |kept: &Kept, record: &&Pruned| {
            kept.sessions.get(&record.session).is_some_and(|s| s.head.lines == record.lines)
        };
        let records: Vec<&Pruned> = records.iter().filter(|record| fitting(&kept, record)).collect();
        records.iter().for_each(|record| kept.take(record));
        let taken: Vec<SessionId> = records.iter().map(|record| record.session).collect();
        drop(kept);
        self.news.tell(taken.iter().copied());
        Ok(taken)
    }

    fn pruned(&self, session: SessionId) -> Result<Option<Pruned>, Fault> {
        Ok(self.kept().pruned.get(&session).cloned())
    }

    fn pruned_after(&self, after: Option<SessionId>, limit: usize) -> Result<Vec<Pruned>, Fault> {
        let first = after.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(self.kept().pruned.range((first, Bound::Unbounded)).take(limit).map(|(_, record)| record.clone()).collect())
    }

    fn changes(&self, after: Option<Mark>, wait: Duration) -> Result<Changes, Fault> {
        Ok(self.news.after(after, wait))
    }

    fn report(&self) -> Result<Report, Fault> {
        let kept = self.kept();
        Ok(Report {
            place: "memory".into(),
            role: "memory".into(),
            bytes: 0,
            sessions: kept.sessions.len() as u64,
            unfinished: kept.unfinished.len() as u64,
            lines: kept.sessions.values().map(|session| session.head.lines).sum(),
            contents: kept.content.len() as u64,
            pruned: kept.pruned.len() as u64,
        })
    }
}

fn fits(query: &Query, head: &Head) -> bool {
    let wanted = |asked: &Option<String>, has: &str| asked.as_ref().is_none_or(|asked| asked == has);
    wanted(&query.owner, &head.owner)
        && wanted(&query.interpreter, &head.interpreter)
        && wanted(&query.workflow, &head.workflow)
}

impl Session {
    /// Whether this very change was committed before.
    fn holds(&self, change: &Change) -> bool {
        let from = change.expected + change.inherit.map_or(0, |inherit| inherit.lines);
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        !change.lines.is_empty() && self.lines.get(from..).is_some_and(|rest| rest.starts_with(&change.lines))
    }
}

impl Kept {
    /// The beginning of a session that is there.
    fn beginning(&self, from: SessionId, lines: u64, memories: u32) -> Option<(Vec<Line>, Vec<String>)> {
        let from = self.sessions.get(&from)?;
        let lines = from.lines.get(..usize::try_from(lines).ok()?)?.to_vec();
        Some((lines, from.memories.get(..usize::try_from(memories).ok()?)?.to_vec()))
    }

    /// Takes a session out. What it is pinned to goes with the process.
    fn take(&mut self, record: &Pruned) {
        if let Some(session) = self.sessions.remove(&record.session) {
            let at = (session.head.started, record.session);
            self.by_start.remove(&at);
            self.unfinished.remove(&at);
            if let Some(due) = session.due {
                self.due.remove(&(due, record.session));
            }
        }
        self.pruned.insert(record.session, record.clone());
    }

    fn apply(&mut self, change: Change, (begun, remembered): (Vec<Line>, Vec<String>)) {
        let Change { head, lines, memories, due, .. } = change;
        let id = head.session;
        let at = (head.started, id);
        self.by_start.insert(at);
        if head.outcome.is_none() {
            self.unfinished.insert(at);
        } else {
            self.unfinished.remove(&at);
        }
        let session = self.sessions.entry(id).or_insert_with(|| Session {
            head: head.clone(),
            lines: begun,
            memories: remembered,
            due: None,
        });
        if session.due != due {
            self.due.extend(due.map(|at| (at, id)));
            if let Some(before) = session.due {
                self.due.remove(&(before, id));
            }
        }
        session.head = head;
        session.lines.extend(lines);
        session.memories.extend(memories);
        session.due = due;
    }
}
