//! `wfhost replay`: sessions once more, through what they are pinned to or through something else.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;

use super::sessions::{every_session, session};
use super::{Data, code, place, print};
use crate::catalogue::{Catalogue, Definition, Plugins};
use crate::plugin::Plugin;
use crate::session::model::SessionId;
use crate::session::{Caller, Difference, Instead, Replayed};
use crate::store::Store;

const AFTER: &str = "\
Interpreters are pure, so a session that is run again through its own plugin and document gives every entry, reply and state to \
the byte; anything else is a finding. With `--plugin` or `--document` it is the regression test of who edits a procedure: which \
past runs would go another way, and where.";

/// What `replay` is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Replay {
    /// The session, or the beginning of its id; none: all of them.
    #[arg(value_name = "SESSION")]
    id: Option<String>,
    /// Run it through this plugin: a file, or the name of a built-in one.
    #[arg(long = "with-plugin", value_name = "FILE|NAME")]
    plugin: Option<String>,
    /// Run it through the workflow of the same id in this document.
    #[arg(long = "with-document", value_name = "FILE")]
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
        let _progress = print::Progress::of("running sessions again");
        let mut rows = Vec::new();
        for session in sessions {
            if let Some(instead) = self.instead(store.as_ref(), session, &others)? {
                rows.push((session, host.replay(&Caller::operator(), session, &instead).map_err(|f| f.to_string())));
            }
        }
        let well = rows.iter().all(|(_, row)| row.as_ref().is_ok_and(|r| r.difference.is_none()));
        if self.json {
            let rows: Vec<_> = rows
                .iter()
                .map(|(session, row)| match row {
                    Ok(replayed) => json!(replayed),
                    Err(fault) => json!({"session": session.to_string(), "fault": fault}),
                })
                .collect();
            print::json(&json!({"ok": well, "sessions": rows}));
        } else {
            tell(&rows, self.id.is_some());
        }
        Ok(code(well))
    }

    fn others(&self) -> Result<Others> {
        let named: Vec<String> = self.plugin.iter().cloned().collect();
        let plugins = Plugins::choose(&place::runtime(self.data.cache())?, &named)?;
        let mut others = Others::default();
        if self.plugin.is_some() {
            let chosen = plugins.chosen.first().context("a plugin was named")?;
            others.plugin = Some(plugins.load(chosen)?);
        }
        if let Some(document) = &self.document {
            let catalogue = Catalogue::load(&plugins, std::slice::from_ref(document), None)?;
            place::findings(&catalogue).iter().for_each(print::note);
            for file in &catalogue.files {
                let interpreter = file.plugin.clone().unwrap_or_default();
                others.definitions.extend(file.definitions.iter().map(|d| (interpreter.clone(), Arc::clone(d))));
            }
            if others.definitions.is_empty() {
                bail!("`{}` holds no workflow that could be run", document.display());
            }
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

fn tell(rows: &[(SessionId, Result<Replayed, String>)], one: bool) {
    for (session, row) in rows {
        match row {
            Ok(Replayed { difference: Some(difference), .. }) => differs(*session, difference),
            Ok(Replayed { events, difference: None, .. }) if one => {
                print::line(format_args!("OK   {session}: {events} events, the same to the byte"));
            }
            Ok(_) => {}
            Err(fault) => print::line(format_args!("FAIL {session}: {}", print::plain(fault))),
        }
    }
    let same = rows.iter().filter(|(_, row)| row.as_ref().is_ok_and(|r| r.difference.is_none())).count();
    print::aside(format_args!("{same} of {} sessions go the same way", rows.len()));
}

fn differs(session: SessionId, difference: &Difference) {
    print::line(format_args!("DIFF {session}: line {}, {}", difference.line, difference.field));
    print::line(format_args!("       expected {}", print::cut(&print::plain(&difference.expected), 300)));
    print::line(format_args!("       got      {}", print::cut(&print::plain(&difference.got), 300)));
}
