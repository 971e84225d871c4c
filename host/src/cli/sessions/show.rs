//! `wfhost sessions show`: head, status, and the journal line by line with what each line changed.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::list::head_json;
use super::waits::waits;
use super::{Found, Named, parsed, standing};
use crate::cli::{code, outline, print, time};
use crate::clock::{Clock, System};
use crate::seal::PublicKey;
use crate::session::line::{LineRow, TurnRow};
use crate::session::model::Head;
use crate::session::patch::{self, Patch};
use crate::session::wire::{EntryRow, EventRow};
use crate::session::{Caller, Step};

/// What `sessions show` is told.
#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    named: Named,
    /// Print one JSON document, uncut.
    #[arg(long)]
    json: bool,
}

/// Characters of a value in the journal's lines.
const VALUE_MAX: usize = 96;

impl Show {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Found { host, head } = self.named.find()?;
        let caller = Caller::operator();
        // A plugin that breaks must not hide the journal.
        let status = host
            .show(&caller, head.session)
            .map(|shown| parsed(&shown.status.value))
            .map_err(|fault| fault.to_string());
        let steps = host.steps(&caller, head.session)?;
        let changes = changes(&steps);
        if self.json {
            print::json(&report(&head, &status, &steps, &changes));
            return Ok(code(status.is_ok()));
        }
        about(&head).into_iter().for_each(print::line);
        print::line("\nstatus");
        match &status {
            Ok(status) => outline::outline(status).into_iter().for_each(|line| print::line(format_args!("  {line}"))),
            Err(fault) => print::line(format_args!("  cannot be told: {}", print::plain(fault))),
        }
        print::line("\njournal");
        for (step, change) in steps.iter().zip(&changes) {
            journal_lines(&step.line, change).into_iter().for_each(print::line);
        }
        Ok(code(status.is_ok()))
    }
}

fn about(head: &Head) -> Vec<String> {
    let now = System.now();
    let ago = |at| format!("{} ({} ago)", time::utc(at), time::span(now.saturating_sub(at)));
    let mut rows: Vec<(&str, String)> = vec![
        ("session", head.session.to_string()),
        ("workflow", format!("{} ({})", print::plain(&head.workflow), head.interpreter)),
        ("started", ago(head.started)),
        ("changed", ago(head.changed)),
        ("at", print::plain(&head.current.join(", "))),
        ("state", standing(head)),
        ("journal", format!("{} entries on {} lines", head.entries, head.lines)),
        ("definition", head.definition.to_string()),
        ("plugin", head.plugin.to_string()),
    ];
    if let Some(fork) = head.fork {
        rows.push(("forked from", format!("{} after entry {}", fork.from, fork.seq)));
    }
    if let Some(seal) = &head.seal {
        rows.push(("sealed with", PublicKey(seal.key).to_string()));
    }
    if head.human_only {
        rows.push(("questions", "for a person only".into()));
    }
    if head.outcome.is_none() {
        rows.extend(waits(head).into_iter().map(|clause| ("waits for", clause)));
    }
    rows.into_iter().map(|(name, value)| format!("{name:<11} {value}")).collect()
}

/// What each line changed in the state; none for lines that did not.
fn changes(steps: &[Step]) -> Vec<Option<Patch>> {
    let mut before = Value::Null;
    steps
        .iter()
        .map(|step| {
            let after = step.state.as_ref()?;
            let patch = patch::between(&before, after).unwrap_or_else(|| Patch {
                set: [(String::new(), after.clone())].into_iter().collect(),
                unset: Vec::new(),
            });
            before.clone_from(after);
            Some(patch)
        })
        .collect()
}

fn journal_lines(line: &LineRow, change: &Option<Patch>) -> Vec<String> {
    let mut lines = vec![headline(line)];
    for (seq, entry) in (line.seq..).zip(line.entries()) {
        lines.push(format!("      {seq}. {}", entry_shown(entry)));
    }
    if let Some(outcome) = line.turn.as_ref().and_then(|t| t.outcome.as_ref()) {
        let outcome = serde_json::to_value(outcome).unwrap_or_default();
        lines.push(format!("      ended: {}", print::cut(&outline::inline(&outcome), VALUE_MAX)));
    }
    if let Some(patch) = change {
        for (pointer, value) in &patch.set {
            let place = if pointer.is_empty() { "(all)" } else { pointer };
            lines.push(format!("      + {} = {}", print::plain(place), print::cut(&outline::inline(value), VALUE_MAX)));
        }
        lines.extend(patch.unset.iter().map(|pointer| format!("      - {}", print::plain(pointer))));
    }
    lines
}

/// Number, time, who, and what kind of line it is.
fn headline(line: &LineRow) -> String {
    let via = line.by.as_ref().map(|by| {
        let client = by.client.as_ref().map(|c| format!(" ({c})")).unwrap_or_default();
        print::plain(&format!(" via {}{client}", by.channel))
    });
    let source = line.event.as_ref().map(|e| e.source.as_str()).unwrap_or("host");
    let event = line.event.as_ref().map(event_shown).unwrap_or_default();
    if let Some(fork) = &line.fork {
        let (n, at, via) = (line.n, time::stamp(line.at), via.unwrap_or_default());
        let open = if fork.sends { ", what was open is carried out anew" } else { "" };
        return format!("#{n:<3} {at}  fork{via}  of {} after entry {}{open}", print::plain(&fork.from), fork.seq);
    }
    let what = match (&line.refusal, &line.note, &line.fault) {
        (Some(refusal), _, _) => format!(": {}", print::plain(&refusal.message)),
        (None, Some(note), _) => {
            let request = note.request.as_ref().map(|r| format!(" [{}]", print::plain(r))).unwrap_or_default();
            format!(": {}{request} {}", print::plain(&note.kind), outline::inline(&note.detail))
        }
        (None, None, Some(fault)) => format!(": {}", print::plain(fault)),
        (None, None, None) => String::new(),
    };
    let (n, at, via, kind) = (line.n, time::stamp(line.at), via.unwrap_or_default(), kind(line));
    format!("#{n:<3} {at}  {source}{via}  {event}{kind}{what}")
}

/// A line for a log: number, time, who, and what it was. Without values only names: tools, nodes, codes, kinds.
pub(in crate::cli) fn summary(line: &LineRow, values: bool) -> String {
    let (who, what) = who_and_what(line, values);
    format!("#{:<3} {}  {who}  {what}", line.n, time::stamp(line.at))
}

/// Who did what, in a few words.
pub(in crate::cli) fn who_and_what(line: &LineRow, values: bool) -> (String, String) {
    let source = line.event.as_ref().map_or("host", |event| event.source.as_str());
    let via = line.by.as_ref().map(|by| {
        let client = by.client.as_ref().map(|client| format!(" ({client})")).unwrap_or_default();
        format!(" via {}{client}", by.channel)
    });
    let who = print::plain(&format!("{source}{}", via.unwrap_or_default()));
    if let Some(fork) = &line.fork {
        return (who, print::plain(&format!("fork of {} after entry {}", fork.from, fork.seq)));
    }
    let came = line.event.as_ref().map(|event| if values { event_shown(event) } else { event_named(event) });
    let said = |text: &str| if values { format!(": {}", print::plain(text)) } else { String::new() };
    let became = match (&line.refusal, &line.note, &line.fault) {
        (Some(refusal), _, _) => format!("refused {}{}", print::plain(&refusal.code), said(&refusal.message)),
        (None, Some(note), _) => format!("{}{}", print::plain(&note.kind), said(&note.detail.to_string())),
        (None, None, Some(fault)) => format!("fault{}", said(fault)),
        (None, None, None) => line.turn.as_ref().map(|turn| went(turn, values)).unwrap_or_default(),
    };
    (who, format!("{}{became}", came.unwrap_or_default()))
}

/// Which way a turn went.
fn went(turn: &TurnRow, values: bool) -> String {
    let steps = turn.entries.iter().map(|entry| {
        let branch = entry.branch.as_ref().map(|branch| format!(" => {branch}")).unwrap_or_default();
        print::plain(&format!("{}{branch}", entry.node))
    });
    let mut text = steps.collect::<Vec<_>>().join(", ");
    if let Some(outcome) = &turn.outcome {
        let end = outcome.failure.as_ref().map_or("ended", |failure| failure.kind.as_str());
        let value =
            outcome.value.as_ref().filter(|_| values).map(|value| format!(": {}", super::value_shown(value.get())));
        text.push_str(&format!("; {}{}", print::plain(end), print::cut(&value.unwrap_or_default(), VALUE_MAX)));
    }
    text
}

/// What came in, by name alone.
fn event_named(event: &EventRow) -> String {
    let call = event.input.call.as_ref().or_else(|| event.input.recalled.as_ref().map(|r| &r.call));
    let name = match (call, &event.input.reply) {
        (Some(call), _) => call.tool.clone(),
        (None, Some(reply)) => format!("reply [{}]", reply.request),
        (None, None) => "open".to_owned(),
    };
    format!("{} -> ", print::cut(&print::plain(&name), VALUE_MAX))
}

/// How a session stands, without what it ended with.
pub(in crate::cli) fn bare_standing(head: &Head) -> String {
    match &head.outcome {
        None => "open".into(),
        Some(Ok(_)) => "ended".into(),
        Some(Err(failure)) => failure.kind.clone(),
    }
}

/// A line as JSON with names and codes only.
pub(in crate::cli) fn without_values(line: &LineRow) -> Value {
    let (_, what) = who_and_what(line, false);
    let entries = line.entries().iter().map(|e| json!({"node": e.node, "kind": e.kind, "branch": e.branch}));
    json!({
        "n": line.n,
        "at": time::stamp(line.at),
        "kind": kind(line),
        "source": line.event.as_ref().map(|event| event.source.clone()),
        "by": line.by,
        "what": what,
        "code": line.refusal.as_ref().map(|refusal| refusal.code.clone()),
        "entries": entries.collect::<Vec<_>>(),
    })
}

/// What came in, shortly, and an arrow to what became of it.
fn event_shown(event: &EventRow) -> String {
    let call = event.input.call.as_ref().or_else(|| event.input.recalled.as_ref().map(|r| &r.call));
    let shown = match (call, &event.input.reply, &event.input.open) {
        (Some(call), _, _) => format!("{} {}", call.tool, call.args.get()),
        (None, Some(reply), _) => {
            let value = reply.value.as_ref().map(|v| v.get().to_owned());
            let failure = reply.failure.as_ref().map(|f| format!("{}: {}", f.kind, f.message));
            format!("reply [{}] {}", reply.request, value.or(failure).unwrap_or_default())
        }
        (None, None, Some(args)) => format!("open {}", args.get()),
        (None, None, None) => String::new(),
    };
    format!("{} -> ", print::cut(&print::plain(&shown), VALUE_MAX))
}

fn kind(line: &LineRow) -> &'static str {
    match (&line.turn, &line.refusal, &line.note, &line.fork) {
        (Some(_), _, _, _) => "turn",
        (None, Some(_), _, _) => "refusal",
        (None, None, Some(_), _) => "note",
        (None, None, None, Some(_)) => "fork",
        (None, None, None, None) => "fault",
    }
}

fn entry_shown(entry: &EntryRow) -> String {
    let mut text = format!("{} {}", print::plain(&entry.node), print::plain(&entry.kind));
    if let Some(input) = &entry.input {
        text.push_str(&format!(" {}", print::cut(&super::value_shown(input.get()), VALUE_MAX)));
    }
    if let Some(branch) = &entry.branch {
        text.push_str(&format!(" => {}", print::plain(branch)));
    }
    if let Some(detail) = &entry.detail {
        text.push_str(&format!("  {}", print::cut(&super::value_shown(detail.get()), VALUE_MAX)));
    }
    text
}

fn report(head: &Head, status: &Result<Value, String>, steps: &[Step], changes: &[Option<Patch>]) -> Value {
    let lines = steps.iter().zip(changes).map(|(step, change)| {
        json!({
            "kind": kind(&step.line),
            "time": time::stamp(step.line.at),
            "line": serde_json::to_value(&step.line).unwrap_or_default(),
            "state": step.state,
            "change": change,
        })
    });
    json!({
        "head": head_json(head),
        "status": status.as_ref().ok(),
        "fault": status.as_ref().err(),
        "journal": lines.collect::<Vec<_>>(),
    })
}
