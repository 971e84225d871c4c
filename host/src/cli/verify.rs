//! `wfhost verify`: whether journals are what they were.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::sessions::{every_session, session};
use super::signing::Trusted;
use super::{Data, code, place, print, time};
use crate::seal::PublicKey;
use crate::session::model::{Digest, Pruned, SessionId};
use crate::session::{Against, Caller, Host, Verdict, pruned_findings};
use crate::store::Store;

const AFTER: &str = "\
What a check proves: each line names the hash of the one before, and the head of a session, which is kept apart, names the \
last. So a line that was altered, put in, taken out, re-ordered or copied from elsewhere shows, and so does a tail that was \
cut. Whoever may write the data folder can write a whole new chain and a head to match: that shows only before a key that they \
do not have (`serve --signing-key`, `verify --public-key`), or against heads that were exported and kept where they could not \
reach (`--export-heads` now and then, `--heads` to compare).";

/// What `verify` is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Verify {
    /// The session, or the beginning of its id; none: all of them.
    #[arg(value_name = "SESSION")]
    id: Option<String>,
    #[command(flatten)]
    trusted: Trusted,
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
        let keys = self.trusted.keys()?;
        if let Some(id) = &self.id
            && let Ok(exact) = id.parse::<SessionId>()
            && let Some(record) = store.pruned(exact)?
        {
            return Ok(self.tell_pruned(&record, &keys));
        }
        let sessions = match &self.id {
            Some(id) => vec![session(store.as_ref(), id)?],
            None => every_session(store.as_ref())?,
        };
        if self.export_heads {
            return export(store.as_ref(), &sessions);
        }
        let heads = self.heads.as_deref().map(read_heads).transpose()?.unwrap_or_default();
        let host = place::bare_host(Arc::clone(&store), self.data.cache())?;
        let (verdicts, mut unreadable) = judge(&host, &sessions, (&heads, &keys));
        // A session whose head was exported and that is gone altogether.
        for (id, exported) in heads.iter().filter(|(id, _)| self.id.is_none() && !sessions.contains(id)) {
            unreadable.extend(gone(store.as_ref(), *id, *exported)?.map(|why| (*id, why)));
        }
        let pruned = if self.id.is_none() { pruned(store.as_ref(), &keys, &mut unreadable)? } else { 0 };
        unreadable.sort();
        let well = unreadable.is_empty() && verdicts.iter().all(|v| v.damages.is_empty());
        if self.json {
            let unreadable: Vec<_> =
                unreadable.iter().map(|(id, why)| json!({"session": id.to_string(), "reason": why})).collect();
            print::json(&json!({"ok": well, "sessions": verdicts, "unreadable": unreadable, "pruned": pruned}));
        } else {
            tell(&verdicts, &unreadable, self.id.is_some());
            if pruned > 0 {
                print::aside(format_args!("{pruned} more were pruned; `wfhost sessions list --pruned` names them"));
            }
        }
        Ok(code(well))
    }

    /// A session that is not there any more, and on record.
    fn tell_pruned(&self, record: &Pruned, keys: &[PublicKey]) -> ExitCode {
        let damage = pruned_findings(record, keys).map(|damage| damage.to_string());
        if self.json {
            let pruned = json!({"session": record.session.to_string(), "at": time::stamp(record.at), "lines": record.lines,
                "head": record.chain.to_string(), "damage": damage});
            print::json(&json!({"ok": damage.is_none(), "sessions": [], "unreadable": [], "pruned": pruned}));
            return code(damage.is_none());
        }
        let (word, what) = match &damage {
            None => ("GONE", String::new()),
            Some(damage) => ("FAIL", format!("; of that record: {damage}")),
        };
        print::line(format_args!(
            "{word} {}: pruned at {}; it had {} lines, head {}{what}",
            record.session,
            time::utc(record.at),
            record.lines,
            record.chain
        ));
        code(damage.is_none())
    }
}

/// Why a session that is gone, and whose head was exported, is a finding; none if it was pruned and had that head.
fn gone(store: &dyn Store, session: SessionId, (lines, chain): (u64, Digest)) -> Result<Option<String>> {
    Ok(match store.pruned(session)? {
        None => Some("the session is gone, and its head was exported".to_owned()),
        Some(record) if record.lines < lines || (record.lines == lines && record.chain != chain) => Some(format!(
            "the session was pruned with another journal than the one whose head with {lines} lines was exported"
        )),
        Some(_) => None,
    })
}

/// How many sessions were pruned; a record of one that nobody vouches for is a finding.
fn pruned(store: &dyn Store, keys: &[PublicKey], findings: &mut Unreadable) -> Result<usize> {
    let (mut count, mut after) = (0, None);
    loop {
        let records = store.pruned_after(after, PAGE)?;
        for record in &records {
            let damage = pruned_findings(record, keys);
            findings
                .extend(damage.map(|damage| (record.session, format!("of the record that it was pruned: {damage}"))));
        }
        count += records.len();
        after = records.last().map(|record| record.session);
        if records.len() < PAGE {
            return Ok(count);
        }
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

/// Records of pruned sessions that are read at once.
const PAGE: usize = 500;

type Unreadable = Vec<(SessionId, String)>;

type Heads = HashMap<SessionId, (u64, Digest)>;

fn judge(host: &Host, sessions: &[SessionId], (heads, keys): (&Heads, &[PublicKey])) -> (Vec<Verdict>, Unreadable) {
    let _progress = print::Progress::of("verifying");
    let (mut verdicts, mut unreadable) = (Vec::new(), Vec::new());
    for &session in sessions {
        let against = Against { exported: heads.get(&session).copied(), keys: keys.to_vec() };
        match host.verify_against(&Caller::operator(), session, &against) {
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
            let seal = verdict.key.as_ref().map(|key| format!(", sealed with {key}")).unwrap_or_default();
            print::line(format_args!("OK   {}: {} lines, head {}{seal}", verdict.session, verdict.lines, verdict.head));
        }
    }
    for (session, why) in unreadable {
        print::line(format_args!("FAIL {session}: {}", print::plain(why)));
    }
    let whole = verdicts.iter().filter(|v| v.damages.is_empty()).count();
    print::aside(format_args!("{whole} of {} sessions are whole", verdicts.len() + unreadable.len()));
}
