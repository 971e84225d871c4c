//! A session once more: the recorded events through the plugin and the definition that it is pinned to, or through others,
//! and every entry, reply and state compared.

use std::sync::Arc;

use super::caller::Caller;
use super::fault::Fault;
use super::host::Host;
use super::line::{LineRow, RefusalRow, TurnRow};
use super::turn::{Draft, reply_hash};
use super::wire::{self, EntryRow};
use crate::catalogue::Definition;
use crate::limits::PAGE_BYTES_MAX;
use crate::plugin::{Plugin, contract};
use crate::session::model::{Digest, Head, SessionId};
use crate::store::Limit;

/// What to run a session through instead of what it is pinned to.
#[derive(Debug, Clone, Default)]
pub struct Instead {
    /// Another plugin.
    pub plugin: Option<Arc<Plugin>>,
    /// Another definition.
    pub definition: Option<Arc<Definition>>,
}

/// Where a replay went another way.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// The journal line.
    pub line: u64,
    /// What differs: `turn`, `entries`, `state`, `reply`, ...
    pub field: String,
    /// What the journal says.
    pub expected: String,
    /// What came now.
    pub got: String,
}

/// What a replay showed.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Replayed {
    /// The session.
    pub session: String,
    /// Events that were run again.
    pub events: u64,
    /// The first difference, if there is any.
    pub difference: Option<Difference>,
}

/// A session as far as it has been run again.
struct Rerun<'r> {
    plugin: &'r Plugin,
    definition: &'r Definition,
    session: contract::Session,
    draft: Draft,
    memories: Vec<String>,
    begun: bool,
}

impl Host {
    /// Runs a session again. The journal and the store are left as they are.
    pub fn replay(&self, caller: &Caller, session: SessionId, instead: &Instead) -> Result<Replayed, Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        let pinned = self.pinned(&head)?;
        let plugin = instead.plugin.as_ref().unwrap_or(&pinned.plugin);
        let definition = instead.definition.as_ref().unwrap_or(&pinned.definition);
        let mut rerun = Rerun {
            plugin,
            definition,
            session: super::advance::record(&head),
            draft: Draft::of(beginning(&head)),
            memories: Vec::new(),
            begun: false,
        };
        let mut replayed = Replayed { session: session.to_string(), events: 0, difference: None };
        let mut next = 1;
        while next <= head.lines {
            let lines = self.lines(session, next, Limit { lines: 256, bytes: 4 * PAGE_BYTES_MAX })?;
            if lines.is_empty() {
                break;
            }
            for line in lines {
                next += 1;
                if line.event.is_some() {
                    replayed.events += 1;
                    replayed.difference = rerun.step(&line);
                }
                if replayed.difference.is_some() {
                    return Ok(replayed);
                }
            }
        }
        Ok(replayed)
    }
}

/// The head before the first line.
fn beginning(head: &Head) -> Head {
    Head {
        changed: head.started,
        lines: 0,
        chain: Digest::default(),
        entries: 0,
        memories: 0,
        window: 0,
        state: "null".into(),
        requests: Vec::new(),
        current: Vec::new(),
        outcome: None,
        ..head.clone()
    }
}

impl Rerun<'_> {
    fn step(&mut self, line: &LineRow) -> Option<Difference> {
        let event = line.event.as_ref().and_then(|row| wire::event_of(row, line.at));
        let Some(event) = event else { return differs(line, "event", "an event", "a row that is none") };
        // A fault moved nothing, and may have been the machine's: it is not asked to come again.
        if line.fault.is_some() {
            return None;
        }
        let code = &self.definition.code;
        let answered = if self.begun {
            let memory = self.memory();
            let state = (self.draft.head.state.as_str(), &memory);
            self.plugin.answer(code, &self.session, state, &event)
        } else {
            self.plugin.start(code, &self.session, &event)
        };
        match (answered, &line.turn, &line.refusal) {
            (Ok(Ok(turn)), Some(row), _) => self.same_turn(line, row, &event, &turn),
            (Ok(Err(refusal)), _, Some(row)) => same_refusal(line, row, &refusal),
            (got, _, _) => differs(line, "kind", kind_of(line), &kind(&got)),
        }
    }

    fn memory(&self) -> contract::Memory {
        let window = usize::try_from(self.draft.head.window).unwrap_or(usize::MAX);
        let items = self.memories.iter().skip(self.memories.len().saturating_sub(window)).cloned().collect();
        contract::Memory { total: self.draft.head.memories, items }
    }

    fn same_turn(
        &mut self,
        line: &LineRow,
        row: &TurnRow,
        event: &contract::Event,
        turn: &contract::Turn,
    ) -> Option<Difference> {
        let known = self.draft.new_memories().len();
        if let Err(bad) = self.draft.turn(event, turn, None) {
            return differs(line, "turn", "a turn that keeps the rules", &bad.0);
        }
        self.begun = true;
        self.memories.extend(self.draft.new_memories().iter().skip(known).cloned());
        let now = self.draft.last_turn()?;
        let text = |row: &TurnRow, field: &str| {
            let value = serde_json::to_value(row).unwrap_or_default();
            value.get(field).map(ToString::to_string).unwrap_or_default()
        };
        let fields = [
            "entries",
            "state_hash",
            "memories",
            "remembered_hash",
            "window",
            "requests",
            "current",
            "outcome",
            "reply_hash",
        ];
        fields.into_iter().find_map(|field| {
            let (expected, got) = (text(row, field), text(&now, field));
            if expected == got { None } else { differs(line, field, &expected, &got) }
        })
    }
}

fn same_refusal(line: &LineRow, row: &RefusalRow, refusal: &contract::Refusal) -> Option<Difference> {
    let hash = reply_hash(&refusal.reply).unwrap_or_default();
    let text = |rows: &[EntryRow]| serde_json::to_string(rows).unwrap_or_default();
    let now: Vec<EntryRow> = refusal.entries.iter().map(wire::entry).collect::<Result<_, _>>().unwrap_or_default();
    let (then, now) = (text(&row.entries), text(&now));
    [
        ("code", &row.code, &refusal.code),
        ("message", &row.message, &refusal.message),
        ("entries", &then, &now),
        ("reply_hash", &row.reply_hash, &hash),
    ]
    .into_iter()
    .find_map(|(field, expected, got)| if expected == got { None } else { differs(line, field, expected, got) })
}

fn differs(line: &LineRow, field: &str, expected: &str, got: &str) -> Option<Difference> {
    Some(Difference { line: line.n, field: field.into(), expected: expected.into(), got: got.into() })
}

fn kind_of(line: &LineRow) -> &'static str {
    match (&line.turn, &line.refusal) {
        (Some(_), _) => "a turn",
        (None, Some(_)) => "a refusal",
        (None, None) => "a fault",
    }
}

fn kind<F: std::fmt::Display>(got: &Result<Result<contract::Turn, contract::Refusal>, F>) -> String {
    match got {
        Ok(Ok(_)) => "a turn".into(),
        Ok(Err(refusal)) => format!("a refusal: {}", refusal.message),
        Err(fault) => format!("a fault: {fault}"),
    }
}
