//! `wfhost sessions export` and `import`: sessions as JSON lines for another place, or as a walk for `wfhost test`.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;

use super::{every_session, session};
use crate::cli::redact::Redact;
use crate::cli::signing::Trusted;
use crate::cli::{Data, code, place, print, test};
use crate::session::model::SessionId;
use crate::session::{Against, Caller, ExportRow, Fault, Host, Intake, first_row};
use crate::store::{self, Committed, Store};

/// What `sessions export` is told.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// Sessions by id or its beginning.
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// All sessions.
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// As JSON lines with everything in them: `import` elsewhere, and `verify` there.
    #[arg(long)]
    jsonl: bool,
    /// As a walk that `wfhost test` runs again: keep it beside the documents as `NAME.walk.yaml`.
    #[arg(long, conflicts_with_all = ["jsonl", "all"])]
    as_test: bool,
    /// Where to; standard output if not said.
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    redact: Redact,
    #[command(flatten)]
    data: Data,
}

impl Export {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Some(store) = self.data.store_if_there()? else {
            bail!("there are no sessions: the data folder `{}` does not exist", self.data.folder()?.display());
        };
        let sessions = if self.all {
            every_session(store.as_ref())?
        } else {
            self.ids.iter().map(|id| session(store.as_ref(), id)).collect::<Result<Vec<_>>>()?
        };
        let host = place::bare_host(store, self.data.cache())?;
        if self.as_test {
            return self.walk(&host, &sessions);
        }
        let mut out: Box<dyn Write> = match &self.output {
            None => Box::new(std::io::stdout().lock()),
            Some(file) => {
                Box::new(BufWriter::new(File::create(file).with_context(|| format!("`{}`", file.display()))?))
            }
        };
        let written = self.rows(&host, &sessions, &mut *out);
        match written {
            // A reader that has gone away is no failure.
            Err(error) if is_broken_pipe(&error) => Ok(code(true)),
            other => other.map(|()| code(true)),
        }
    }

    fn walk(&self, host: &Host, sessions: &[SessionId]) -> Result<ExitCode> {
        let [one] = sessions else { bail!("a walk is made of one session; name one") };
        let mut walk = host.walk_of(&Caller::operator(), *one)?;
        if let Some(redact) = self.redact.patterns()? {
            for step in &mut walk.steps {
                step.expect = redact.object(std::mem::take(&mut step.expect));
            }
            print::note("what was redacted in a walk makes it come out otherwise; take those fields out of it");
        }
        let text = test::text(&walk)?;
        match &self.output {
            None => print::raw(text),
            Some(file) => std::fs::write(file, text).with_context(|| format!("`{}`", file.display()))?,
        }
        Ok(code(true))
    }

    fn rows(&self, host: &Host, sessions: &[SessionId], out: &mut dyn Write) -> Result<()> {
        let redact = self.redact.patterns()?;
        let mut known = HashSet::new();
        let first = match &redact {
            None => serde_json::to_value(first_row())?,
            // Nobody can check a journal from which something was taken: it says so in its first row.
            Some(_) => json!({"wfhost-redacted": 1}),
        };
        writeln!(out, "{first}")?;
        for session in sessions {
            let mut failed = None;
            let exported = host.export(&Caller::operator(), *session, &mut known, &mut |row| {
                let text = match &redact {
                    None => serde_json::to_string(row),
                    Some(_) if row.content.is_some() => return Ok(()),
                    Some(redact) => serde_json::to_value(row).map(|value| redact.value(value).to_string()),
                };
                let text = text.map_err(|error| Fault::Arguments(error.to_string()))?;
                writeln!(out, "{text}").map_err(|error| {
                    let fault = Fault::Arguments(error.to_string());
                    failed = Some(error);
                    fault
                })
            });
            if let Some(error) = failed {
                return Err(error).context("the export cannot be written");
            }
            exported?;
        }
        let last = ExportRow { sessions: Some(sessions.len() as u64), ..ExportRow::default() };
        writeln!(out, "{}", serde_json::to_string(&last)?).context("the export cannot be written")?;
        out.flush().context("the export cannot be written")
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// What `sessions import` is told.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// A file that `sessions export --jsonl` wrote; `-` for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    trusted: Trusted,
    /// Take in journals that are not whole as well, to look at them.
    #[arg(long)]
    damaged: bool,
    #[command(flatten)]
    data: Data,
}

impl Import {
    pub(super) fn run(self) -> Result<ExitCode> {
        let shown = self.file.display().to_string();
        let reader: Box<dyn Read> = if shown == "-" {
            Box::new(std::io::stdin().lock())
        } else {
            Box::new(File::open(&self.file).with_context(|| format!("`{shown}` cannot be read"))?)
        };
        let (store, cache) = (self.data.store()?, self.data.cache());
        // Looked at apart first: what is not whole never gets into the store.
        let apart = store::open_ephemeral()?;
        let host = place::bare_host(Arc::clone(&apart), cache)?;
        let mut intake = Intake::default();
        let (mut taken, mut known, mut bad) = (0, 0, 0);
        for line in BufReader::new(reader).lines() {
            let line = line.with_context(|| format!("`{shown}` cannot be read"))?;
            let change = intake.row(&line, apart.as_ref()).with_context(|| format!("`{shown}`"))?;
            let Some(change) = change else { continue };
            let session = change.head.session;
            apart.commit(change.clone())?;
            let damages = self.damages(&host, session)?;
            damages.iter().for_each(|damage| print::line(format_args!("FAIL {session}: {damage}")));
            if !damages.is_empty() && !self.damaged {
                bad += 1;
                continue;
            }
            match take(store.as_ref(), apart.as_ref(), change)? {
                Taken::New => taken += 1,
                Taken::Known => known += 1,
                Taken::Other => {
                    print::line(format_args!("FAIL {session}: it is here already, with another journal"));
                    bad += 1;
                }
            }
        }
        intake.end().with_context(|| format!("`{shown}`"))?;
        print::aside(format_args!("{taken} sessions taken in, {known} were here already, {bad} were not taken"));
        Ok(code(bad == 0))
    }

    fn damages(&self, host: &Host, session: SessionId) -> Result<Vec<String>> {
        let against = Against { exported: None, keys: self.trusted.keys()? };
        let verdict = host.verify_against(&Caller::operator(), session, &against)?;
        Ok(verdict.damages.iter().map(ToString::to_string).collect())
    }
}

enum Taken {
    New,
    Known,
    Other,
}

fn take(store: &dyn Store, apart: &dyn Store, change: store::Change) -> Result<Taken> {
    if let Some(head) = store.head(change.head.session)? {
        let same = (head.lines, head.chain) == (change.head.lines, change.head.chain);
        return Ok(if same { Taken::Known } else { Taken::Other });
    }
    for digest in [change.head.plugin, change.head.definition] {
        if let Some(bytes) = apart.blob(digest)? {
            store.keep(&bytes)?;
        }
    }
    Ok(if store.commit(change)? == Committed::Done { Taken::New } else { Taken::Other })
}
