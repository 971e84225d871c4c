//! `wfhost verify`: whether journals are what they were.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::sessions::{every_session, session};
use super::{Data, code, place, print};
use crate::session::model::{Digest, SessionId};
use crate::session::{Caller, Host, Verdict};
use crate::store::Store;

const AFTER: &str = "\
What a check proves: each line names the hash of the one before, and the head of a session, which is kept apart, names the \
last. So a line that was altered, put in, taken out, re-ordered or copied from elsewhere shows, and so does a tail that was \
cut. Whoever may write the data folder can write a whole new chain and a head to match: that shows only against heads that \
were exported and kept where they could not reach (`--export-heads` now and then, `--heads` to compare).";

/// What `verify` is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Verify {
    /// The session, or the beginning of its id; none: all of them.
    #[arg(value_name = "SESSION")]
    id: Option<String>,
    /// Compare with heads that were exported earlier.
    #[arg(long, value_name = "FILE")]
    heads: Option<PathBuf>,
    /// Print heads to keep elsewhere, a JSON line each, instead of a report.
    #[arg(long, conflicts_with = "heads")]
    export_heads: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

/// A head as it is kept elsewhere.
#[derive(Debug, Serialize, Deserialize)]
struct Exported {
    session: String,
    lines: u64,
    head: String,
}

impl Verify {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Some(store) = self.data.store_if_there()? else {
            bail!("there are no sessions: the data folder `{}` does not exist", self.data.folder()?.display());
        };
        let sessions = match &self.id {
            Some(id) => vec![session(store.as_ref(), id)?],
            None => every_session(store.as_ref())?,
        };
        if self.export_heads {
            return export(store.as_ref(), &sessions);
        }
        let heads = self.heads.as_deref().map(read_heads).transpose()?.unwrap_or_default();
        let host = place::bare_host(store, self.data.cache())?;
        let (verdicts, mut unreadable) = judge(&host, &sessions, &heads);
        // A session whose head was exported and that is gone altogether.
        let gone = heads.keys().filter(|id| self.id.is_none() && !sessions.contains(id));
        unreadable.extend(gone.map(|id| (*id, "the session is gone, and its head was exported".to_owned())));
        unreadable.sort();
        let well = unreadable.is_empty() && verdicts.iter().all(|v| v.damages.is_empty());
        if self.json {
            let unreadable: Vec<_> =
                unreadable.iter().map(|(id, why)| json!({"session": id.to_string(), "reason": why})).collect();
            print::json(&json!({"ok": well, "sessions": verdicts, "unreadable": unreadable}));
        } else {
            tell(&verdicts, &unreadable, self.id.is_some());
        }
        Ok(code(well))
    }
}

fn export(store: &dyn Store, sessions: &[SessionId]) -> Result<ExitCode> {
    for &session in sessions {
        if let Some(head) = store.head(session)? {
            let exported = Exported { session: session.to_string(), lines: head.lines, head: head.chain.to_string() };
            print::line(serde_json::to_string(&exported)?);
        }
    }
    Ok(code(true))
}

fn read_heads(file: &Path) -> Result<HashMap<SessionId, (u64, Digest)>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("`{}` cannot be read", file.display()))?;
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(n, line)| {
            let place =
                || format!("`{}` line {}: not a head that `verify --export-heads` printed", file.display(), n + 1);
            let exported: Exported = serde_json::from_str(line).with_context(place)?;
            let session = exported.session.parse().ok().with_context(place)?;
            let head = exported.head.parse().ok().with_context(place)?;
            Ok((session, (exported.lines, head)))
        })
        .collect()
}

type Unreadable = Vec<(SessionId, String)>;

fn judge(host: &Host, sessions: &[SessionId], heads: &HashMap<SessionId, (u64, Digest)>) -> (Vec<Verdict>, Unreadable) {
    let _progress = print::Progress::of("verifying");
    let (mut verdicts, mut unreadable) = (Vec::new(), Vec::new());
    for &session in sessions {
        match host.verify(&Caller::operator(), session, heads.get(&session).copied()) {
            Ok(verdict) => verdicts.push(verdict),
            Err(fault) => unreadable.push((session, fault.to_string())),
        }
    }
    (verdicts, unreadable)
}

fn tell(verdicts: &[Verdict], unreadable: &Unreadable, one: bool) {
    for verdict in verdicts {
        for damage in &verdict.damages {
            print::line(format_args!("FAIL {}: {damage}", verdict.session));
        }
        if one && verdict.damages.is_empty() {
            print::line(format_args!("OK   {}: {} lines, head {}", verdict.session, verdict.lines, verdict.head));
        }
    }
    for (session, why) in unreadable {
        print::line(format_args!("FAIL {session}: {}", print::plain(why)));
    }
    let whole = verdicts.iter().filter(|v| v.damages.is_empty()).count();
    print::aside(format_args!("{whole} of {} sessions are whole", verdicts.len() + unreadable.len()));
}
