//! `wfhost sessions watch`: what happens, as it happens, whichever process does it.

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use super::{each_page, session, show};
use crate::cli::{Data, code, print, time};
use crate::session::line::LineRow;
use crate::session::model::SessionId;
use crate::store::{Limit, Listed, Query, Store};

const AFTER: &str = "\
The process that owns the store tells who changed, so watching costs it next to nothing and shows a line as soon as it is durable. \
Values are left out unless `--values` asks for them.";

/// What `sessions watch` is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Watch {
    /// Only this session; none: all of them.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Begin with the lines that a session has already.
    #[arg(long, requires = "id")]
    from_start: bool,
    /// Show values too.
    #[arg(long)]
    values: bool,
    /// Print each line as JSON.
    #[arg(long)]
    json: bool,
    /// End after so many lines.
    #[arg(long, value_name = "N")]
    lines: Option<u64>,
    #[command(flatten)]
    data: Data,
}

/// How long one question for changes waits.
const WAIT: Duration = Duration::from_secs(1);

/// What was seen: how many lines of which session.
struct Seen<'w> {
    watch: &'w Watch,
    only: Option<SessionId>,
    lines: HashMap<SessionId, u64>,
    left: u64,
}

impl Watch {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Some(store) = self.data.store_if_there()? else {
            bail!("there are no sessions: the data folder `{}` does not exist", self.data.folder()?.display());
        };
        let store = store.as_ref();
        let only = self.id.as_ref().map(|id| session(store, id)).transpose()?;
        let mut mark = store.changes(None, Duration::ZERO)?.mark;
        let mut seen = Seen { watch: &self, only, lines: HashMap::new(), left: self.lines.unwrap_or(u64::MAX) };
        seen.look(store, self.from_start)?;
        while seen.left > 0 {
            let changes = store.changes(Some(mark), WAIT)?;
            mark = changes.mark;
            if changes.missed {
                // Another process owns the store by now, or too much happened: every session is looked at.
                seen.catch_up(store)?;
            }
            for session in changes.sessions {
                seen.tell(store, session)?;
            }
        }
        Ok(code(true))
    }
}

impl Seen<'_> {
    /// Where everything stands when the watch begins.
    fn look(&mut self, store: &dyn Store, from_start: bool) -> Result<()> {
        if let Some(session) = self.only {
            let lines = store.head(session)?.map_or(0, |head| head.lines);
            self.lines.insert(session, if from_start { 0 } else { lines });
            return self.tell(store, session);
        }
        each_page(store, &Query::default(), &mut |page| {
            self.lines.extend(heads(page));
            Ok(true)
        })
    }

    fn catch_up(&mut self, store: &dyn Store) -> Result<()> {
        let mut changed = Vec::new();
        each_page(store, &Query::default(), &mut |page| {
            changed.extend(heads(page).filter(|(id, lines)| self.lines.get(id).is_none_or(|seen| seen < lines)));
            Ok(true)
        })?;
        changed.into_iter().rev().try_for_each(|(session, _)| self.tell(store, session))
    }

    /// Tells the lines of a session that were not told yet.
    fn tell(&mut self, store: &dyn Store, session: SessionId) -> Result<()> {
        if self.only.is_some_and(|only| only != session) {
            return Ok(());
        }
        let seen = self.lines.get(&session).copied();
        if seen.is_some() && store.head(session)?.is_none() {
            if let Some(record) = store.pruned(session)? {
                print::line(format_args!("{session}  pruned at {}", time::utc(record.at)));
                self.lines.remove(&session);
            }
            return Ok(());
        }
        let mut next = seen.unwrap_or(0) + 1;
        while self.left > 0 {
            let lines = store.lines(session, next, Limit { lines: 64, bytes: 1 << 20 })?;
            if lines.is_empty() {
                break;
            }
            for line in lines {
                next += 1;
                if self.left > 0 {
                    self.show(session, &LineRow::decode(&line)?);
                    self.left -= 1;
                }
            }
        }
        self.lines.insert(session, next - 1);
        Ok(())
    }

    fn show(&self, session: SessionId, line: &LineRow) {
        if self.watch.json {
            let row = if self.watch.values { json!(line) } else { show::without_values(line) };
            return print::line(json!({"session": session.to_string(), "line": row}));
        }
        print::line(format_args!("{session}  {}", show::summary(line, self.watch.values)));
    }
}

fn heads(page: &[Listed]) -> impl Iterator<Item = (SessionId, u64)> {
    page.iter().filter_map(|listed| match listed {
        Listed::Head(head) => Some((head.session, head.lines)),
        Listed::Unreadable(..) => None,
    })
}
