//! A process that uses a store, for the tests that need several of them. It is told by its arguments what to do, and
//! tells on standard output what was confirmed, a line each.
//!
//! `store-worker DIR race SESSION ROUNDS NAME`: adds lines to one session in competition with others.
//! `store-worker DIR stream FIRST THREADS`: adds numbered lines to sessions of its own until standard input ends.

#![allow(clippy::print_stdout, reason = "its output is its report")]

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use wfhost::session::model::{Digest, Head, Line, SessionId};
use wfhost::store::{self, Change, Committed, Options, Store};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, verb, rest @ ..] = arguments.as_slice() else { return Err("no arguments".into()) };
    let notice = Arc::new(|line: &str| say(&format!("notice {line}")));
    let store = store::open(Path::new(directory), Options { notice, ..Options::default() })?;
    say(&format!("open {}", store.report()?.role));
    match (verb.as_str(), rest) {
        ("race", [session, rounds, name]) => race(&*store, session.parse()?, rounds.parse()?, name),
        ("stream", [first, threads]) => stream(&*store, first.parse()?, threads.parse()?),
        _ => Err("not something to do".into()),
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody listens any more: then there is nothing to tell.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn begin(session: SessionId) -> Head {
    Head {
        session,
        owner: String::new(),
        interpreter: "none".to_owned(),
        plugin: Digest::default(),
        definition: Digest::default(),
        workflow: "test".to_owned(),
        started: 1,
        changed: 1,
        human_only: false,
        lines: 0,
        chain: Digest::default(),
        entries: 0,
        memories: 0,
        window: 0,
        state: "x".repeat(600),
        requests: Vec::new(),
        current: Vec::new(),
        outcome: None,
        parent: None,
        fork: None,
        seal: None,
    }
}

fn next(before: &Head, text: &str) -> Change {
    let line: Line = Arc::from(text.as_bytes());
    let mut head = before.clone();
    head.lines += 1;
    head.memories += 1;
    head.chain = Digest::of_parts(&[&before.chain.0, &line]);
    Change {
        expected: before.lines,
        head,
        inherit: None,
        lines: vec![line],
        memories: vec![text.to_owned()],
        due: None,
    }
}

fn current(store: &dyn Store, session: SessionId) -> Outcome<Head> {
    Ok(store.head(session)?.unwrap_or_else(|| begin(session)))
}

/// Prints `accepted N` for every line number that was this process's to write.
fn race(store: &dyn Store, session: SessionId, rounds: u64, name: &str) -> Outcome<()> {
    loop {
        let head = current(store, session)?;
        if head.lines >= rounds {
            return Ok(());
        }
        let number = head.lines + 1;
        if store.commit(next(&head, &format!("{number} by {name}")))? == Committed::Done {
            say(&format!("accepted {number}"));
        }
    }
}

/// Prints `acked SESSION N MICROSECONDS` for every line that was confirmed.
fn stream(store: &dyn Store, first: u64, threads: u64) -> Outcome<()> {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (first..first + threads)
            .map(|number| {
                let ended = &ended;
                scope.spawn(move || write(store, SessionId::from_bits(u128::from(number)), ended))
            })
            .collect();
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ended.store(true, Ordering::Relaxed);
        writers.into_iter().try_for_each(|writer| writer.join().map_err(|_| "a writer panicked")?)
    })
}

fn write(store: &dyn Store, session: SessionId, ended: &AtomicBool) -> Outcome<()> {
    let mut head = current(store, session)?;
    while !ended.load(Ordering::Relaxed) {
        let change = next(&head, &format!("line {}", head.lines + 1));
        head = change.head.clone();
        let begun = Instant::now();
        match store.commit(change) {
            Ok(Committed::Done) => say(&format!("acked {session} {} {}", head.lines, begun.elapsed().as_micros())),
            Ok(Committed::Conflict | Committed::Dropped) => say(&format!("conflict {session} {}", head.lines)),
            Err(fault) => say(&format!("fault {fault}")),
        }
        let stored = current(store, session)?;
        if stored != head {
            say(&format!("differs {session} {} {}", head.lines, stored.lines));
            head = stored;
        }
    }
    Ok(())
}
