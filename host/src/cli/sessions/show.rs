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
use crate::session::line::LineRow;
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
    match (&line.turn, &line.refusal, &line.note, &line.fault) {
        (Some(_), _, _, _) => "turn",
        (None, Some(_), _, _) => "refusal",
        (None, None, Some(_), _) => "note",
        (None, None, None, _) => "fault",
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
