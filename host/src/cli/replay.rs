//! `wfhost replay`: sessions once more, through what they are pinned to or through something else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::sessions::{every_session, session};
use super::{Data, code, place, print};
use crate::catalogue::{Catalogue, Definition, Plugins};
use crate::plugin::{Plugin, builtins};
use crate::session::model::SessionId;
use crate::session::{Caller, Difference, Instead, Replayed};
use crate::store::Store;

const AFTER: &str = "\
Interpreters are pure, so a session that is run again through its own plugin and document gives every entry, reply and state to \
the byte; anything else is a finding. With `--with` it is the regression test of who edits a procedure: which past runs would go \
another way, and where. A run whose way is the same is no finding then, though the words on it may be others.";

/// What `replay` is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Replay {
    /// The session, or the beginning of its id; none: all of them.
    #[arg(value_name = "SESSION")]
    id: Option<String>,
    /// Run it through another version: a plugin (a component's file, or the name of a built-in one) or the workflow of the same
    /// id in a document or a folder of them. Repeatable, for a plugin and documents together.
    #[arg(long = "with", value_name = "PLUGIN|DOCUMENT")]
    with: Vec<String>,
    /// The same, for a plugin only.
    #[arg(long = "with-plugin", value_name = "FILE|NAME", hide = true)]
    plugin: Option<String>,
    /// The same, for a document only.
    #[arg(long = "with-document", value_name = "FILE", hide = true)]
    document: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

/// What sessions are run through instead: a plugin for those of its interpreter, definitions by interpreter and workflow.
#[derive(Debug, Default)]
struct Others {
    plugin: Option<Arc<Plugin>>,
    definitions: Vec<(String, Arc<Definition>)>,
}

impl Replay {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Some(store) = self.data.store_if_there()? else {
            bail!("there are no sessions: the data folder `{}` does not exist", self.data.folder()?.display());
        };
        let others = self.others()?;
        let sessions = match &self.id {
            Some(id) => vec![session(store.as_ref(), id)?],
            None => every_session(store.as_ref())?,
        };
        let host = place::bare_host(Arc::clone(&store), self.data.cache())?;
        let progress = print::Progress::of("running sessions again");
        let mut rows = Vec::new();
        for session in sessions {
            if let Some(instead) = self.instead(store.as_ref(), session, &others)? {
                rows.push((session, host.replay(&Caller::operator(), session, &instead).map_err(|f| f.to_string())));
            }
        }
        drop(progress);
        let tally = Tally::of(&rows, others.are_there());
        if self.json {
            let sessions: Vec<_> = rows.iter().map(|(session, row)| row_json(*session, row)).collect();
            print::json(&json!({"ok": tally.well(), "summary": tally, "sessions": sessions}));
        } else {
            tell(&rows, &tally, self.id.is_some());
        }
        Ok(code(tally.well()))
    }

    fn others(&self) -> Result<Others> {
        let is_plugin = |named: &&String| {
            builtins().iter().any(|b| b.name == **named)
                || std::fs::read(named).is_ok_and(|bytes| bytes.starts_with(b"\0asm"))
        };
        let (plugins, documents): (Vec<&String>, Vec<&String>) = self.with.iter().partition(is_plugin);
        let plugins: Vec<String> = plugins.into_iter().chain(&self.plugin).cloned().collect();
        let documents: Vec<PathBuf> = documents.into_iter().map(PathBuf::from).chain(self.document.clone()).collect();
        if plugins.len() > 1 {
            bail!("more than one plugin was named; a session is run through one");
        }
        let chosen = Plugins::choose(&place::runtime(self.data.cache())?, &plugins)?;
        let mut others = Others::default();
        if !plugins.is_empty() {
            others.plugin = Some(chosen.load(chosen.chosen.first().context("a plugin was named")?)?);
        }
        if documents.is_empty() {
            return Ok(others);
        }
        let catalogue = Catalogue::load(&chosen, &documents, None)?;
        place::findings(&catalogue).iter().for_each(print::note);
        for file in &catalogue.files {
            let interpreter = file.plugin.clone().unwrap_or_default();
            others.definitions.extend(file.definitions.iter().map(|d| (interpreter.clone(), Arc::clone(d))));
        }
        if others.definitions.is_empty() {
            bail!("{} holds no workflow that could be run", place::shown(&documents));
        }
        Ok(others)
    }

    /// What this session is run through; none if what was named is not for it.
    fn instead(&self, store: &dyn Store, session: SessionId, others: &Others) -> Result<Option<Instead>> {
        let Some(head) = store.head(session)? else { return Ok(Some(Instead::default())) };
        let plugin = others.plugin.clone().filter(|p| p.about.name == head.interpreter);
        let fits = |(interpreter, d): &&(String, Arc<Definition>)| {
            *interpreter == head.interpreter && d.about.id == head.workflow
        };
        let definition = others.definitions.iter().find(fits).map(|(_, d)| Arc::clone(d));
        let for_it =
            (others.plugin.is_none() || plugin.is_some()) && (others.definitions.is_empty() || definition.is_some());
        if !for_it && self.id.is_some() {
            bail!("session {session} runs `{}` of {}: what was named is not for it", head.workflow, head.interpreter);
        }
        Ok(for_it.then_some(Instead { plugin, definition }))
    }
}

impl Others {
    fn are_there(&self) -> bool {
        self.plugin.is_some() || !self.definitions.is_empty()
    }
}

type Row = Result<Replayed, String>;

/// How many sessions came out how.
#[derive(Debug, Serialize)]
struct Tally {
    /// The same to the byte.
    same: usize,
    /// The same way with other words or values.
    words: usize,
    /// Another way.
    another_way: usize,
    /// Could not be run again.
    failed: usize,
    #[serde(skip)]
    with_others: bool,
}

impl Tally {
    fn of(rows: &[(SessionId, Row)], with_others: bool) -> Self {
        let mut tally = Self { same: 0, words: 0, another_way: 0, failed: 0, with_others };
        for (_, row) in rows {
            match row {
                Err(_) => tally.failed += 1,
                Ok(replayed) if replayed.difference.is_none() => tally.same += 1,
                Ok(replayed) if replayed.same_way() => tally.words += 1,
                Ok(_) => tally.another_way += 1,
            }
        }
        tally
    }

    fn all(&self) -> usize {
        self.same + self.words + self.another_way + self.failed
    }

    /// Through something else other words are what was wanted.
    fn well(&self) -> bool {
        self.another_way == 0 && self.failed == 0 && (self.words == 0 || self.with_others)
    }
}

fn row_json(session: SessionId, row: &Row) -> Value {
    match row {
        Ok(replayed) => json!(replayed),
        Err(fault) => json!({"session": session.to_string(), "fault": fault}),
    }
}

fn tell(rows: &[(SessionId, Row)], tally: &Tally, one: bool) {
    for (session, row) in rows {
        match row {
            Ok(replayed) => tell_one(*session, replayed, (tally.with_others, one)),
            Err(fault) => print::line(format_args!("FAIL {session}: {}", print::plain(fault))),
        }
    }
    let all = tally.all();
    if !tally.with_others {
        return print::aside(format_args!("{} of {all} sessions go the same way", tally.same));
    }
    let by_workflow = print::table(&workflows(rows));
    by_workflow.into_iter().for_each(print::aside);
    print::aside(format_args!(
        "{} of {all} sessions would go another way; {} the same way with other words or values, {} the same to the byte",
        tally.another_way, tally.words, tally.same
    ));
}

fn tell_one(session: SessionId, replayed: &Replayed, (with_others, one): (bool, bool)) {
    let events = replayed.events;
    match &replayed.difference {
        None if one => print::line(format_args!("OK   {session}: {events} events, the same to the byte")),
        None => {}
        Some(difference) if difference.way || !with_others => differs("DIFF", session, difference),
        Some(difference) if one => differs("OK   the same way, other words:", session, difference),
        Some(_) => {}
    }
}

/// A line a workflow: of how many of its sessions the way is another one.
fn workflows(rows: &[(SessionId, Row)]) -> Vec<Vec<String>> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for replayed in rows.iter().filter_map(|(_, row)| row.as_ref().ok()) {
        let count = counts.entry(&replayed.workflow).or_default();
        count.0 += usize::from(!replayed.same_way());
        count.1 += 1;
    }
    counts
        .into_iter()
        .map(|(workflow, (other, all))| vec![print::plain(workflow), format!("{other} of {all}")])
        .collect()
}

fn differs(word: &str, session: SessionId, difference: &Difference) {
    print::line(format_args!("{word} {session}: line {}, {}", difference.line, difference.field));
    print::line(format_args!("       expected {}", print::cut(&print::plain(&difference.expected), 300)));
    print::line(format_args!("       got      {}", print::cut(&print::plain(&difference.got), 300)));
}
