//! `wfhost sessions prune`: finished sessions that are old enough, or any that are named. A dry run unless told otherwise.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::{each_page, session, standing};
use crate::cli::signing::Signing;
use crate::cli::{Data, code, place, print, time};
use crate::clock::{Clock, System};
use crate::session::model::{Head, Millis};
use crate::store::{Listed, Query, Store};

const AFTER: &str = "\
Of each session that is taken out a record stays: when it ran, how many lines its journal had, and the hash of the newest one, so \
that `verify` says `pruned` and not `missing`. Forks of it carry their own copy of what they inherited. Documents and plugins go \
with the last session that needs them. The file shrinks with `wfhost compact`.";

/// What `sessions prune` is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Prune {
    /// Sessions by id or its beginning. Only these may be unfinished.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Finished sessions whose journal has not grown for so long: `30d`, `12h`, `90m`.
    #[arg(long, value_name = "SPAN", value_parser = time::read_span, conflicts_with = "ids", required_unless_present = "ids")]
    older_than: Option<Millis>,
    /// Only those that ended so.
    #[arg(long, value_name = "STATE", value_enum, default_value_t = State::Finished)]
    state: State,
    /// Only sessions of this workflow.
    #[arg(long, value_name = "ID")]
    workflow: Option<String>,
    /// Take them out. Without it nothing happens but a list.
    #[arg(long)]
    yes: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    signing: Signing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// All that have an outcome.
    Finished,
    /// Those that ended well.
    Succeeded,
    /// Those that ended with a failure.
    Failed,
}

/// Sessions that are taken out between two looks at the listing.
const AT_ONCE: usize = 512;

impl Prune {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Some(store) = self.data.store_if_there()? else {
            bail!("there are no sessions: the data folder `{}` does not exist", self.data.folder()?.display());
        };
        let chosen = if self.ids.is_empty() { self.old(store.as_ref())? } else { self.named(store.as_ref())? };
        let bytes_before = store.report()?.bytes;
        let mut taken = Vec::new();
        if self.yes {
            let _progress = print::Progress::of("taking sessions out");
            let host = place::writing_host(store, self.data.cache(), &self.signing)?;
            for some in chosen.chunks(AT_ONCE) {
                taken.extend(host.prune(some)?);
            }
        }
        if self.json {
            let ids = |heads: &[Head]| heads.iter().map(|head| head.session.to_string()).collect::<Vec<_>>();
            let taken: Vec<String> = taken.iter().map(ToString::to_string).collect();
            print::json(&json!({"chosen": ids(&chosen), "taken": taken, "dry_run": !self.yes, "bytes": bytes_before}));
            return Ok(code(!self.yes || taken.len() == chosen.len()));
        }
        let now = System.now();
        let rows: Vec<Vec<String>> = chosen.iter().map(|head| row(head, now)).collect();
        print::table(&rows).into_iter().for_each(print::line);
        if self.yes {
            let left = chosen.len() - taken.len();
            let went_on = if left > 0 { format!("; {left} went on meanwhile and were left") } else { String::new() };
            print::aside(format_args!("{} taken out{went_on}", counted(taken.len())));
        } else {
            print::aside(format_args!("{} would be taken out; `--yes` does it", counted(chosen.len())));
        }
        Ok(code(!self.yes || taken.len() == chosen.len()))
    }

    fn named(&self, store: &dyn Store) -> Result<Vec<Head>> {
        let mut chosen = Vec::new();
        for id in &self.ids {
            let session = session(store, id)?;
            let Some(head) = store.head(session)? else { bail!("there is no session `{id}`") };
            chosen.push(head);
        }
        Ok(chosen)
    }

    fn old(&self, store: &dyn Store) -> Result<Vec<Head>> {
        let before = System.now().saturating_sub(self.older_than.unwrap_or_default());
        let query = Query { workflow: self.workflow.clone(), ..Query::default() };
        let mut chosen = Vec::new();
        each_page(store, &query, &mut |page| {
            for listed in page {
                match listed {
                    Listed::Head(head) if head.changed < before && self.state.fits(head) && is_told(head) => {
                        chosen.push(Head::clone(head));
                    }
                    Listed::Head(_) => {}
                    Listed::Unreadable(session, why) => {
                        print::note(format_args!(
                            "session {session} cannot be read and is left: {}",
                            print::plain(why)
                        ));
                    }
                }
            }
            Ok(true)
        })?;
        Ok(chosen)
    }
}

/// Whether nobody waits to be told how it ended.
fn is_told(head: &Head) -> bool {
    head.parent.as_ref().is_none_or(|parent| parent.told)
}

impl State {
    fn fits(self, head: &Head) -> bool {
        match (&head.outcome, self) {
            (None, _) => false,
            (Some(_), Self::Finished) => true,
            (Some(outcome), Self::Succeeded) => outcome.is_ok(),
            (Some(outcome), Self::Failed) => outcome.is_err(),
        }
    }
}

fn row(head: &Head, now: Millis) -> Vec<String> {
    vec![
        head.session.to_string(),
        print::cut(&print::plain(&head.workflow), 32),
        time::span(now.saturating_sub(head.changed)),
        format!("{} lines", head.lines),
        standing(head),
    ]
}

fn counted(sessions: usize) -> String {
    crate::cli::findings::counted(sessions, "session")
}
