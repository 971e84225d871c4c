//! Recorded events once more, one after the other, through a plugin and a definition: what comes of each, and where that
//! differs from what came of it then. Nothing is read or written here.

use super::line::{ForkRow, LineRow, RefusalRow, TurnRow};
use super::turn::{BadAnswer, Draft, refusal_row};
use super::wire::EntryRow;
use crate::catalogue::Definition;
use crate::plugin::{Plugin, contract};
use crate::session::model::{Digest, Head};

/// Where a session that is run again goes another way, or says something else.
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
    /// Whether it goes another way: other nodes, branches, refusals, requests or another end. Else only words or values differ.
    pub way: bool,
}

/// A session as far as it has been run again.
pub(super) struct Rerun<'r> {
    plugin: &'r Plugin,
    definition: &'r Definition,
    session: contract::Session,
    draft: Draft,
    memories: Vec<String>,
    begun: bool,
}

/// What came of an event.
pub(super) enum Ran {
    Turn(Box<TurnRow>, contract::Output),
    Refusal(RefusalRow, contract::Output),
    Broken(String),
}

impl<'r> Rerun<'r> {
    /// Before the first event of a session with this head.
    pub(super) fn new(head: &Head, plugin: &'r Plugin, definition: &'r Definition) -> Self {
        let mut session = super::advance::record(head);
        if let Some(fork) = head.fork {
            (session.id, session.started) = (fork.root.to_string(), fork.root_started);
        }
        Self { plugin, definition, session, draft: Draft::of(beginning(head)), memories: Vec::new(), begun: false }
    }

    /// From here on it is another session that goes on.
    pub(super) fn fork(&mut self, session: &str, row: &ForkRow) {
        (self.session.id, self.session.started) = (session.to_owned(), row.started);
    }

    /// Runs an event.
    pub(super) fn run(&mut self, event: &contract::Event) -> Ran {
        let code = &self.definition.code;
        let answered = if self.begun {
            let memory = self.memory();
            let state = (self.draft.head.state.as_str(), &memory);
            self.plugin.answer(code, &self.session, state, event)
        } else {
            self.plugin.start(code, &self.session, event)
        };
        let ran = match answered {
            Ok(Ok(turn)) => self.turn(event, &turn).map(|row| Ran::Turn(Box::new(row), turn.reply)),
            Ok(Err(refusal)) => refusal_row(&refusal).map(|row| Ran::Refusal(row, refusal.reply)),
            Err(fault) => Ok(Ran::Broken(fault.to_string())),
        };
        ran.unwrap_or_else(|bad| Ran::Broken(bad.0))
    }

    fn memory(&self) -> contract::Memory {
        let window = usize::try_from(self.draft.head.window).unwrap_or(usize::MAX);
        let items = self.memories.iter().skip(self.memories.len().saturating_sub(window)).cloned().collect();
        contract::Memory { total: self.draft.head.memories, items }
    }

    fn turn(&mut self, event: &contract::Event, turn: &contract::Turn) -> Result<TurnRow, BadAnswer> {
        // Each event on a draft of its own: nothing but the head and the memories is needed of those before.
        let mut draft = Draft::of(self.draft.head.clone());
        draft.turn(event, turn, None)?;
        self.memories.extend(draft.new_memories().iter().cloned());
        let row = draft.last_turn().ok_or_else(|| BadAnswer("its turn cannot be read back".into()))?;
        self.draft = draft;
        self.begun = true;
        Ok(row)
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
        fork: None,
        seal: None,
        ..head.clone()
    }
}

/// What differs between a line and what came of its event now, that which changes the way first.
pub(super) fn differences(line: &LineRow, ran: &Ran) -> Vec<Difference> {
    match (ran, &line.turn, &line.refusal) {
        (Ran::Turn(now, _), Some(then), _) => of_turns(line.n, then, now),
        (Ran::Refusal(now, _), None, Some(then)) => of_refusals(line.n, then, now),
        (got, _, _) => vec![differs(line.n, "kind", (kind_of(line), &kind(got)), true)],
    }
}

/// A field of a turn, as text, and whether it says which way a session goes.
type Field = (&'static str, fn(&TurnRow) -> String, bool);

fn of_turns(line: u64, then: &TurnRow, now: &TurnRow) -> Vec<Difference> {
    let fields: [Field; 12] = [
        ("entries", |t| path(&t.entries), true),
        ("current", |t| text(&t.current), true),
        ("outcome", |t| ending(t), true),
        ("requests", |t| text(&t.requests.iter().map(|r| &r.id).collect::<Vec<_>>()), true),
        ("entries", |t| text(&t.entries), false),
        ("outcome", |t| text(&t.outcome), false),
        ("requests", |t| text(&t.requests), false),
        ("state_hash", |t| t.state_hash.clone(), false),
        ("memories", |t| t.memories.to_string(), false),
        ("remembered_hash", |t| text(&t.remembered_hash), false),
        ("window", |t| t.window.to_string(), false),
        ("reply_hash", |t| t.reply_hash.clone(), false),
    ];
    let whole = |turn: &TurnRow, field: &str, short: String| match field {
        // A person is helped by all of it, not by what was compared.
        "entries" => text(&turn.entries),
        "outcome" => text(&turn.outcome),
        _ => short,
    };
    fields
        .into_iter()
        .filter_map(|(field, of, way)| {
            let (expected, got) = (of(then), of(now));
            let differ = expected != got;
            differ.then(|| differs(line, field, (&whole(then, field, expected), &whole(now, field, got)), way))
        })
        .collect()
}

fn of_refusals(line: u64, then: &RefusalRow, now: &RefusalRow) -> Vec<Difference> {
    [
        ("code", then.code.clone(), now.code.clone(), true),
        ("message", then.message.clone(), now.message.clone(), false),
        ("entries", text(&then.entries), text(&now.entries), false),
        ("reply_hash", then.reply_hash.clone(), now.reply_hash.clone(), false),
    ]
    .into_iter()
    .filter(|(_, expected, got, _)| expected != got)
    .map(|(field, expected, got, way)| differs(line, field, (&expected, &got), way))
    .collect()
}

fn text<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Where entries lead, without what was said on the way.
fn path(entries: &[EntryRow]) -> String {
    text(&entries.iter().map(|e| (&e.node, &e.kind, &e.branch)).collect::<Vec<_>>())
}

/// How a turn ends, without the words.
fn ending(turn: &TurnRow) -> String {
    match &turn.outcome {
        None => "goes on".into(),
        Some(outcome) => outcome.failure.as_ref().map_or_else(|| "ends".into(), |failure| failure.kind.clone()),
    }
}

pub(super) fn differs(line: u64, field: &str, (expected, got): (&str, &str), way: bool) -> Difference {
    Difference { line, field: field.into(), expected: expected.into(), got: got.into(), way }
}

fn kind_of(line: &LineRow) -> &'static str {
    match (&line.turn, &line.refusal) {
        (Some(_), _) => "a turn",
        (None, Some(_)) => "a refusal",
        (None, None) => "a fault",
    }
}

fn kind(ran: &Ran) -> String {
    match ran {
        Ran::Turn(..) => "a turn".into(),
        Ran::Refusal(refusal, _) => format!("a refusal: {}", refusal.message),
        Ran::Broken(fault) => format!("a fault: {fault}"),
    }
}
