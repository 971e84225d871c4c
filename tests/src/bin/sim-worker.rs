//! A process of the simulation: a host on a shared data folder that does what it is told on standard input, a JSON object
//! a line, each on a thread of its own, and answers on standard output.
//!
//! `sim-worker DATA DOCUMENTS CACHE PLANT`: with a plant other than `none` its store has a fault that the simulation must
//! find. The plants are in this file, so that no other program can have them.

#![allow(clippy::print_stdout, clippy::indexing_slicing, reason = "its output is its report; what JSON lacks is null")]

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use wfhost::catalogue::Plugins;
use wfhost::clock::System;
use wfhost::plugin::{Runtime, RuntimeOptions};
use wfhost::session::model::{Digest, Head, Line, Millis, Pruned, SessionId};
use wfhost::session::{Advanced, Caller, Host, HostOptions, Instead};
use wfhost::store::{
    self, Change, Changes, Committed, Committing, Fault, Limit, Listed, Mark, Options, Query, Report, Store,
};

const ALL: Limit = Limit { lines: 10_000, bytes: usize::MAX };

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plant {
    None,
    /// A commit is confirmed before it is made.
    EarlyReply,
    /// A change is written although the session has gone on meanwhile.
    LostCompare,
}

#[derive(Debug)]
struct Planted {
    inner: Arc<dyn Store>,
    plant: Plant,
}

impl Planted {
    fn early(&self, change: Change) -> Committed {
        let inner = Arc::clone(&self.inner);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(3));
            inner.commit(change)
        });
        Committed::Done
    }

    /// As a store does that looks at nothing: the change goes behind whatever is there.
    fn forced(&self, mut change: Change) -> Result<Committed, Fault> {
        loop {
            let before = self.inner.head(change.head.session)?.map_or((0, 0), |head| (head.lines, head.memories));
            change.head.memories = before.1 + u32::try_from(change.memories.len()).unwrap_or(0);
            change.head.lines = before.0 + change.lines.len() as u64;
            change.expected = before.0;
            if self.inner.commit(change.clone())? == Committed::Done {
                return Ok(Committed::Done);
            }
        }
    }
}

impl Store for Planted {
    fn host(&self) -> Result<u64, Fault> {
        self.inner.host()
    }

    fn alive(&self, host: u64) -> bool {
        self.inner.alive(host)
    }

    fn head(&self, session: SessionId) -> Result<Option<Head>, Fault> {
        self.inner.head(session)
    }
    fn lines(&self, session: SessionId, from: u64, limit: Limit) -> Result<Vec<Line>, Fault> {
        self.inner.lines(session, from, limit)
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
        match self.plant {
            Plant::None => self.inner.commit(change),
            Plant::EarlyReply => Ok(self.early(change)),
            Plant::LostCompare => self.forced(change),
        }
    }
    fn committing(&self, change: Change) -> Committing<'_> {
        match self.plant {
            Plant::None => self.inner.committing(change),
            Plant::EarlyReply | Plant::LostCompare => Box::pin(async move { self.commit(change) }),
        }
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

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, documents, cache, plant] = arguments.as_slice() else { bail!("DATA DOCUMENTS CACHE PLANT") };
    let plant = match plant.as_str() {
        "none" => Plant::None,
        "early-reply" => Plant::EarlyReply,
        "lost-compare" => Plant::LostCompare,
        other => bail!("there is no plant `{other}`"),
    };
    // A short log, so that it is full every few dozen steps.
    let options = Options { log_bytes: 512 << 10, ..Options::default() };
    let store = Arc::new(Planted { inner: store::open(&PathBuf::from(data), options)?, plant });
    let options = RuntimeOptions { cache: Some(PathBuf::from(cache)), ..RuntimeOptions::default() };
    let plugins = Plugins::choose(&Arc::new(Runtime::new(options)?), &["trees".to_owned()])?;
    let places = vec![PathBuf::from(documents)];
    let host = Arc::new(Host::new(store, Arc::new(System), (plugins, places), HostOptions::default())?);
    say(&json!({"ready": true}));
    for line in std::io::stdin().lock().lines() {
        let (order, host): (Value, _) = (serde_json::from_str(&line?)?, Arc::clone(&host));
        std::thread::spawn(move || {
            let answer = carry_out(&host, &order).unwrap_or_else(|error| json!({"fault": format!("{error:#}")}));
            say(&json!({"id": order["id"], "answer": answer}));
        });
    }
    Ok(())
}

fn say(value: &Value) {
    let mut out = std::io::stdout().lock();
    // Nobody listens any more: then there is nothing to tell.
    let _ = writeln!(out, "{value}").and_then(|()| out.flush());
}

fn carry_out(host: &Host, order: &Value) -> Result<Value> {
    let caller = Caller { channel: "simulation", ..Caller::default() };
    if let Some(tool) = order["tool"].as_str() {
        let advanced = host.blocking().call(&caller, tool, &order["args"].to_string())?;
        let uncommitted = uncommitted(host, &advanced)?;
        let value: Value = serde_json::from_str(&advanced.output.value)?;
        return Ok(json!({"value": value, "error": advanced.output.is_error, "uncommitted": uncommitted}));
    }
    let session: SessionId = order["look"].as_str().context("neither a tool nor a session")?.parse()?;
    let lines = host.store().lines(session, 1, ALL)?;
    let texts: Vec<String> = lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let damages = host.verify(&caller, session, None)?.damages;
    let replayed = match order["replay"].as_bool() {
        Some(true) => host.replay(&caller, session, &Instead::default())?.difference,
        Some(false) | None => None,
    };
    Ok(json!({"lines": texts, "damages": damages, "difference": replayed}))
}

/// Requests that are handed out to be carried out, and that no journal line asks for.
fn uncommitted(host: &Host, advanced: &Advanced) -> Result<u64> {
    let Some(session) = advanced.session.filter(|_| !advanced.opened.is_empty()) else { return Ok(0) };
    let lines = host.store().lines(session, 1, ALL)?;
    let asked = |id: &str| {
        let wanted = json!(id);
        lines.iter().filter_map(|line| serde_json::from_slice::<Value>(line).ok()).any(|line| {
            line["turn"]["requests"].as_array().is_some_and(|all| all.iter().any(|request| request["id"] == wanted))
        })
    };
    Ok(advanced.opened.iter().filter(|request| !asked(&request.id)).count() as u64)
}
