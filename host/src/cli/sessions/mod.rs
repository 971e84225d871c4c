//! `wfhost sessions`: what the data folder holds, whether or not a server runs, and without any documents: a session carries
//! what it began with.

mod answer;
mod diff;
mod export;
mod fork;
mod list;
mod prune;
pub(super) mod show;
mod trace;
mod waits;
mod watch;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

pub(super) use answer::wants_text;
pub(super) use trace::joined;
pub(super) use waits::{choices, waits};

use super::signing::Signing;
use super::{Data, place, print};
use crate::session::Host;
use crate::session::model::{Head, SessionId};
use crate::store::{Listed, Query, Store};

/// What `sessions` is told.
#[derive(Debug, Args)]
pub(super) struct Sessions {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List sessions, newest first; unfinished ones unless told otherwise.
    List(list::List),
    /// Show a session: where it stands, and every line of its journal with what it changed.
    Show(show::Show),
    /// Print a session's trace in its dialect's own shape.
    Trace(trace::Trace),
    /// Answer what a session asks, as its operator. The journal says that it was you.
    Answer(answer::Answer),
    /// Begin a new session from the past of another, at any entry.
    Fork(fork::Fork),
    /// Take old or named sessions out of the store. A dry run unless told otherwise.
    Prune(prune::Prune),
    /// Compare two sessions: where their ways part, which answers differ, where they ended.
    Diff(diff::Diff),
    /// Show what happens as it happens, whichever process does it.
    Watch(watch::Watch),
    /// Write sessions down as JSON lines for another place, or as a walk for `wfhost test`.
    Export(export::Export),
    /// Take in what `export --jsonl` wrote, after it was verified.
    Import(export::Import),
}

impl Sessions {
    pub(super) fn run(self) -> Result<ExitCode> {
        match self.command {
            Command::List(command) => command.run(),
            Command::Show(command) => command.run(),
            Command::Trace(command) => command.run(),
            Command::Answer(command) => command.run(),
            Command::Fork(command) => command.run(),
            Command::Prune(command) => command.run(),
            Command::Diff(command) => command.run(),
            Command::Watch(command) => command.run(),
            Command::Export(command) => command.run(),
            Command::Import(command) => command.run(),
        }
    }
}

/// Which session, and where.
#[derive(Debug, Args)]
struct Named {
    /// The session's id, or its beginning.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    data: Data,
}

/// A session that was found, and the host to ask about it.
struct Found {
    host: Host,
    head: Head,
}

impl Named {
    fn find(&self) -> Result<Found> {
        let (store, head) = self.head()?;
        Ok(Found { host: place::bare_host(store, self.data.cache())?, head })
    }

    /// The same for a command that writes to it.
    fn find_to_write(&self, signing: &Signing) -> Result<Found> {
        let (store, head) = self.head()?;
        Ok(Found { host: place::writing_host(store, self.data.cache(), signing)?, head })
    }

    fn head(&self) -> Result<(Arc<dyn Store>, Head)> {
        let Some(store) = self.data.store_if_there()? else {
            bail!(
                "there is no session `{}`: the data folder `{}` does not exist",
                self.id,
                self.data.folder()?.display()
            );
        };
        let session = session(store.as_ref(), &self.id)?;
        let Some(head) = store.head(session)? else {
            bail!(
                "there is no session `{}` in `{}`; `wfhost sessions list --all` names them",
                self.id,
                self.data.folder()?.display()
            );
        };
        Ok((store, head))
    }
}

/// The session of an id, or the only one whose id begins so.
pub(super) fn session(store: &dyn Store, text: &str) -> Result<SessionId> {
    if let Ok(exact) = text.parse() {
        return Ok(exact);
    }
    let digits = text.strip_prefix(SessionId::PREFIX).unwrap_or(text);
    let possible = (1..32).contains(&digits.len()) && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !possible {
        bail!("`{text}` is no session id: that is `{}` and 32 hex digits, or the beginning of it", SessionId::PREFIX);
    }
    let beginning = format!("{}{digits}", SessionId::PREFIX);
    let mut fitting: Vec<SessionId> = Vec::new();
    each_page(store, &Query::default(), &mut |page| {
        fitting.extend(page.iter().map(id).filter(|id| id.to_string().starts_with(&beginning)));
        Ok(true)
    })?;
    match fitting.as_slice() {
        [only] => Ok(*only),
        [] => bail!("no session's id begins with `{beginning}`; `wfhost sessions list --all` names them"),
        several => {
            let names = several.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join(", ");
            bail!(
                "{} sessions begin with `{beginning}`: {names}{}",
                several.len(),
                if several.len() > 5 { ", …" } else { "" }
            )
        }
    }
}

/// Every session, newest first. One that cannot be read is among them.
pub(super) fn every_session(store: &dyn Store) -> Result<Vec<SessionId>> {
    let mut all = Vec::new();
    each_page(store, &Query::default(), &mut |page| {
        all.extend(page.iter().map(id));
        Ok(true)
    })?;
    Ok(all)
}

/// LIMIT: sessions of one page of a listing.
const PAGE: usize = 500;

/// A listing page by page, however long it is, until there is no more or `see` has enough.
pub(super) fn each_page(
    store: &dyn Store,
    query: &Query,
    see: &mut dyn FnMut(&[Listed]) -> Result<bool>,
) -> Result<()> {
    let mut query = Query { limit: PAGE, ..query.clone() };
    // One that cannot be read tells no time to go on from, and so may come again on the next page.
    let mut unreadable: Vec<SessionId> = Vec::new();
    loop {
        let mut page = store.list(&query)?;
        let more = page.len() >= query.limit;
        page.retain(|listed| matches!(listed, Listed::Head(_)) || !unreadable.contains(&id(listed)));
        if !see(&page)? || !more {
            return Ok(());
        }
        let last = page.iter().rev().find_map(|listed| match listed {
            Listed::Head(head) => Some((head.started, head.session)),
            Listed::Unreadable(..) => None,
        });
        unreadable.extend(page.iter().filter(|listed| matches!(listed, Listed::Unreadable(..))).map(id));
        match last {
            Some(last) => query.after = Some(last),
            None => query.limit = query.limit.saturating_mul(4),
        }
    }
}

fn id(listed: &Listed) -> SessionId {
    match listed {
        Listed::Head(head) => head.session,
        Listed::Unreadable(session, _) => *session,
    }
}

/// How a session stands, in a word or two.
pub(super) fn standing(head: &Head) -> String {
    match &head.outcome {
        None => "open".into(),
        Some(Ok(value)) => format!("ended: {}", print::cut(&outcome_shown(value), 60)),
        Some(Err(failure)) => format!("{}: {}", failure.kind, print::cut(&print::plain(&failure.message), 40)),
    }
}

/// An outcome on one line; of an object its values, since their names are the dialect's.
fn outcome_shown(text: &str) -> String {
    let value = parsed(text);
    match value.as_object() {
        Some(fields) => fields.values().map(super::outline::inline).collect::<Vec<_>>().join(", "),
        None => super::outline::inline(&value),
    }
}

/// A JSON text on one line.
fn value_shown(text: &str) -> String {
    serde_json::from_str(text).map_or_else(|_| print::plain(text), |value| super::outline::inline(&value))
}

/// A head for tests of what is shown.
#[cfg(test)]
pub(super) fn tests_head() -> Head {
    use crate::session::model::Digest;
    Head {
        session: SessionId::from_bits(7),
        owner: String::new(),
        interpreter: "i".into(),
        plugin: Digest::default(),
        definition: Digest::default(),
        workflow: "w".into(),
        started: 1,
        changed: 1,
        human_only: false,
        lines: 0,
        chain: Digest::default(),
        entries: 0,
        memories: 0,
        window: 0,
        state: "null".into(),
        requests: Vec::new(),
        current: Vec::new(),
        outcome: None,
        parent: None,
        fork: None,
        seal: None,
    }
}

/// A JSON text as a value; what is none is kept as text.
fn parsed(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}
