//! Two sessions side by side: where their ways part, what was answered otherwise on the way they share, and where they stand.

use serde_json::Value;

use super::caller::Caller;
use super::fault::Fault;
use super::host::Host;
use super::line::LineRow;
use super::patch::{self, Patch};
use super::wire::EntryRow;
use crate::limits::PAGE_BYTES_MAX;
use crate::session::model::{Head, SessionId};
use crate::store::Limit;

/// What two sessions have in common, and what not.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Comparison {
    /// The sessions.
    pub sessions: [String; 2],
    /// Whether they run the same definition.
    pub same_definition: bool,
    /// Whether they run the same plugin.
    pub same_plugin: bool,
    /// Lines that both journals begin with, byte for byte: a fork and what it comes from share some.
    pub shared_lines: u64,
    /// Entries along which both go the same way.
    pub shared_entries: usize,
    /// The first entries in which they part; none of a session that ends before.
    pub parting: Option<Parting>,
    /// Entries on the shared way whose input or detail differs.
    pub answers: Vec<Answer>,
    /// Where each stands.
    pub current: [Vec<String>; 2],
    /// How each ended, JSON.
    pub outcome: [Value; 2],
    /// How many events of each were refused.
    pub refusals: [usize; 2],
    /// What must change for the first one's state to be the second one's; none if too much differs.
    pub state: Option<Patch>,
}

/// Where two ways part.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Parting {
    /// The entry's number in both.
    pub entry: usize,
    /// The first one's entry, JSON.
    pub first: Option<Value>,
    /// The second one's.
    pub second: Option<Value>,
}

/// An entry with another input or detail.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Answer {
    /// The entry's number in both.
    pub entry: usize,
    /// The node.
    pub node: String,
    /// What the first one's says.
    pub first: Value,
    /// What the second one's says.
    pub second: Value,
}

impl Comparison {
    /// Whether nothing but names and times differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.parting.is_none() && self.answers.is_empty() && self.outcome[0] == self.outcome[1]
    }
}

/// What a comparison needs of a session.
struct Side {
    head: Head,
    lines: Vec<String>,
    entries: Vec<EntryRow>,
    refusals: usize,
}

impl Host {
    /// Compares two sessions, of whichever dialects.
    pub fn compare(&self, caller: &Caller, [one, other]: [SessionId; 2]) -> Result<Comparison, Fault> {
        let [first, second] = [self.side(caller, one)?, self.side(caller, other)?];
        let way = |e: &EntryRow| (e.node.clone(), e.kind.clone(), e.branch.clone());
        let pairs = || first.entries.iter().zip(&second.entries);
        let shared = pairs().take_while(|(a, b)| way(a) == way(b)).count();
        let parts = shared < first.entries.len() || shared < second.entries.len();
        let json = |entry: &EntryRow| serde_json::to_value(entry).unwrap_or_default();
        let said = |entry: &EntryRow| {
            let value = json(entry);
            let part = |name: &str| value.get(name).cloned().unwrap_or_default();
            if entry.detail.is_none() { part("input") } else { Value::Array(vec![part("input"), part("detail")]) }
        };
        let differs = pairs().take(shared).enumerate().filter(|(_, (a, b))| said(a) != said(b));
        let answers =
            differs.map(|(n, (a, b))| Answer { entry: n + 1, node: a.node.clone(), first: said(a), second: said(b) });
        let state = |side: &Side| serde_json::from_str::<Value>(&side.head.state).unwrap_or_default();
        let sides = [&first, &second];
        Ok(Comparison {
            sessions: [one.to_string(), other.to_string()],
            same_definition: first.head.definition == second.head.definition,
            same_plugin: first.head.plugin == second.head.plugin,
            shared_lines: first.lines.iter().zip(&second.lines).take_while(|(a, b)| a == b).count() as u64,
            shared_entries: shared,
            answers: answers.collect(),
            parting: parts.then(|| Parting {
                entry: shared + 1,
                first: first.entries.get(shared).map(json),
                second: second.entries.get(shared).map(json),
            }),
            current: sides.map(|side| side.head.current.clone()),
            outcome: sides.map(outcome),
            refusals: sides.map(|side| side.refusals),
            state: patch::between(&state(&first), &state(&second)),
        })
    }

    fn side(&self, caller: &Caller, session: SessionId) -> Result<Side, Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        let mut side = Side { head, lines: Vec::new(), entries: Vec::new(), refusals: 0 };
        let mut next = 1;
        while next <= side.head.lines {
            let rows: Vec<LineRow> = self.lines(session, next, Limit { lines: 256, bytes: 4 * PAGE_BYTES_MAX })?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                next += 1;
                side.refusals += usize::from(row.refusal.is_some());
                side.entries.extend_from_slice(row.entries());
                // The chain before it tells a line from every other one.
                side.lines.push(row.prev);
            }
        }
        // A line is shared if the next one, or the head, names the same chain after it.
        side.lines.push(side.head.chain.to_string());
        side.lines = side.lines.split_off(1);
        Ok(side)
    }
}

fn outcome(side: &Side) -> Value {
    match &side.head.outcome {
        None => Value::Null,
        Some(Ok(value)) => serde_json::json!({"value": serde_json::from_str::<Value>(value).unwrap_or_default()}),
        Some(Err(failure)) => serde_json::json!({"failure": failure.kind, "message": failure.message}),
    }
}
