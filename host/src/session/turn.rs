//! From a plugin's answer to a change of the store: what is checked, what the journal line says, how the head moves.

use std::time::Duration;

use serde_json::Value;

use super::line::{self, By, LineRow, NoteRow, RefusalRow, TurnRow};
use super::{patch, wire};
use crate::limits::{CARRY_LEASE, SNAPSHOT_EVERY, STATE_BYTES_MAX};
use crate::observe::{Committed, Ended, Tally};
use crate::plugin::contract;
use crate::session::model::{Digest, Failure, Head, Line, Millis, OpenRequest, Sent, Standing};
use crate::store::Change;

/// A head on its way: lines, memories and what was open before, until all of it is committed at once.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) head: Head,
    expected: u64,
    chain: Digest,
    lines: Vec<Line>,
    memories: Vec<String>,
    before: Vec<OpenRequest>,
    quiet: bool,
    ended_before: bool,
    tally: Tally,
}

/// The plugin's answer breaks a rule of the contract: which one.
#[derive(Debug, Clone)]
pub(super) struct BadAnswer(pub(super) String);

impl From<serde_json::Error> for BadAnswer {
    fn from(error: serde_json::Error) -> Self {
        Self(format!("it holds a text that should be JSON and is not: {error}"))
    }
}

impl Draft {
    pub(super) fn of(head: Head) -> Self {
        let (before, ended_before) = (head.requests.clone(), head.outcome.is_some());
        Self {
            expected: head.lines,
            chain: line::chain_of(&head),
            head,
            lines: Vec::new(),
            memories: Vec::new(),
            before,
            quiet: false,
            ended_before,
            tally: Tally::default(),
        }
    }

    /// Requests that are open now and were not when it began: one that differs in any field is another.
    pub(super) fn opened(&self) -> Vec<OpenRequest> {
        self.head.requests.iter().filter(|now| !self.before.iter().any(|b| same(b, now))).cloned().collect()
    }

    /// Memories that are not yet in the store, oldest first.
    pub(super) fn new_memories(&self) -> &[String] {
        &self.memories
    }

    /// How many lines there were when it began, and the chain as far as they go.
    pub(super) fn start(&self) -> (u64, Digest) {
        (self.expected, self.chain)
    }

    /// Whether the session was there before this draft.
    pub(super) fn is_of_a_session(&self) -> bool {
        self.expected > 0
    }

    /// The newest line's turn, if it is one.
    pub(super) fn last_turn(&self) -> Option<TurnRow> {
        LineRow::decode(self.lines.last()?).ok()?.turn
    }

    /// An event that moved the session.
    pub(super) fn turn(
        &mut self,
        event: &contract::Event,
        turn: &contract::Turn,
        by: Option<By>,
    ) -> Result<(), BadAnswer> {
        let requests = checked_requests(turn)?;
        let state = wire::raw(&turn.state)?;
        if state.get().len() > STATE_BYTES_MAX {
            return Err(BadAnswer(format!(
                "its state has {} bytes, the limit is {STATE_BYTES_MAX}",
                state.get().len()
            )));
        }
        let outcome = turn.outcome.as_ref().map(wire::outcome).transpose()?;
        let remember: Vec<wire::Raw> = turn.remember.iter().map(|m| wire::raw(m)).collect::<Result<_, _>>()?;
        let mut row = LineRow::after(&self.head, event.at, by);
        let change = if row.n == 1 || event.seed.is_multiple_of(SNAPSHOT_EVERY) {
            None
        } else {
            change(&self.head.state, state.get())
        };
        let memories = self.head.memories + u32::try_from(remember.len()).unwrap_or(u32::MAX);
        let remembered: Vec<&[u8]> = remember.iter().map(|m| m.get().as_bytes()).collect();
        row.event = Some(wire::event(event)?);
        row.turn = Some(TurnRow {
            entries: turn.entries.iter().map(wire::entry).collect::<Result<_, _>>()?,
            state: change.is_none().then(|| state.clone()),
            change,
            state_hash: Digest::of(state.get().as_bytes()).to_string(),
            memories,
            remembered_hash: (!remember.is_empty()).then(|| Digest::of_parts(&remembered).to_string()),
            window: turn.window,
            requests: requests.iter().map(|(row, _)| row.clone()).collect(),
            current: turn.current.clone(),
            outcome: outcome.as_ref().map(|(row, _)| row.clone()),
            reply_hash: reply_hash(&turn.reply)?,
        });
        self.push(&row, turn.entries.len())?;
        self.tally.turns += 1;
        self.head.state = state.get().to_owned();
        self.head.memories = memories;
        self.memories.extend(remember.iter().map(|m| m.get().to_owned()));
        self.head.window = turn.window;
        self.head.requests = requests.into_iter().map(|(_, open)| going_on(&self.head.requests, open)).collect();
        self.head.current.clone_from(&turn.current);
        self.head.outcome = outcome.map(|(_, kept)| kept);
        Ok(())
    }

    /// An event that was refused.
    pub(super) fn refusal(
        &mut self,
        event: &contract::Event,
        refusal: &contract::Refusal,
        by: Option<By>,
    ) -> Result<(), BadAnswer> {
        let mut row = LineRow::after(&self.head, event.at, by);
        row.event = Some(wire::event(event)?);
        row.refusal = Some(refusal_row(refusal)?);
        self.push(&row, refusal.entries.len())?;
        self.tally.refusals += 1;
        // The clock, or the host, has said its word: what was not ended by it stays open, and is not answered so again.
        let by_host = matches!(
            event.source,
            contract::Source::Clock | contract::Source::Host | contract::Source::Upstream | contract::Source::Model
        );
        if let (contract::Input::Reply(reply), true) = (&event.input, by_host)
            && let Some(open) = self.head.requests.iter_mut().find(|r| r.id == reply.request)
        {
            open.standing = Standing::Refused(event.at);
        }
        Ok(())
    }

    /// An event on which the plugin broke.
    pub(super) fn fault(&mut self, event: &contract::Event, fault: &str, by: Option<By>) -> Result<(), BadAnswer> {
        let mut row = LineRow::after(&self.head, event.at, by);
        row.event = Some(wire::event(event)?);
        row.fault = Some(fault.to_owned());
        self.tally.faults += 1;
        self.push(&row, 0)
    }

    /// The clock looks at this session again only after a call: its plugin broke on what was due.
    pub(super) fn quieten(&mut self) {
        self.quiet = true;
    }

    /// Whether it does so.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Something that the host did.
    pub(super) fn note(&mut self, at: Millis, note: NoteRow, by: Option<By>) -> Result<(), BadAnswer> {
        let mut row = LineRow::after(&self.head, at, by);
        row.note = Some(note);
        self.tally.notes += 1;
        self.push(&row, 0)
    }

    /// The host ends the session: whatever it waits for is withdrawn, and nothing moves it any more.
    pub(super) fn drop_session(&mut self, at: Millis, message: String, by: Option<By>) -> Result<(), BadAnswer> {
        let detail = serde_json::json!({"message": message});
        self.note(at, NoteRow { kind: Failure::DROPPED.into(), request: None, detail }, by)?;
        self.head.requests.clear();
        self.head.outcome = Some(Err(Failure { kind: Failure::DROPPED.into(), message, detail: None }));
        Ok(())
    }

    fn push(&mut self, row: &LineRow, entries: usize) -> Result<(), BadAnswer> {
        let line = row.encode()?;
        self.head.chain = line::link(line::chain_of(&self.head), &line);
        self.head.lines += 1;
        self.head.entries += u32::try_from(entries).unwrap_or(u32::MAX);
        self.head.changed = row.at;
        self.lines.push(line);
        Ok(())
    }

    /// Requests that were open before and are not any more.
    pub(super) fn withdrawn(&self) -> impl Iterator<Item = &OpenRequest> {
        self.before.iter().filter(|b| !self.head.requests.iter().any(|now| same(b, now)))
    }

    fn due(&self) -> Option<Millis> {
        let waited_for = self.head.parent.as_ref().is_some_and(|p| !p.told) && self.head.outcome.is_some();
        let requests = self.head.requests.iter().filter_map(due);
        requests.chain(waited_for.then_some(self.head.changed)).min()
    }

    /// What observers are told once it is committed.
    pub(super) fn fact(&self, took: Duration) -> Committed<'_> {
        let head = &self.head;
        let ended = head.outcome.as_ref().filter(|_| !self.ended_before);
        Committed {
            session: head.session,
            interpreter: &head.interpreter,
            workflow: &head.workflow,
            lines: head.lines,
            chain: head.chain,
            added: self.tally,
            began: self.expected == 0,
            ended: ended
                .map(|ended| ended.as_ref().map_or_else(|failure| Ended::Failed(&failure.kind), |_| Ended::Done)),
            at: head.changed,
            took,
        }
    }

    /// What the store is asked for.
    pub(super) fn change(&self) -> Change {
        Change {
            expected: self.expected,
            head: self.head.clone(),
            inherit: None,
            lines: self.lines.clone(),
            memories: self.memories.clone(),
            due: if self.quiet { None } else { self.due() },
        }
    }
}

/// A refusal as a line says it.
pub(super) fn refusal_row(refusal: &contract::Refusal) -> Result<RefusalRow, BadAnswer> {
    Ok(RefusalRow {
        code: refusal.code.clone(),
        message: refusal.message.clone(),
        entries: refusal.entries.iter().map(wire::entry).collect::<Result<_, _>>()?,
        reply_hash: reply_hash(&refusal.reply)?,
    })
}

fn checked_requests(turn: &contract::Turn) -> Result<Vec<(wire::RequestRow, OpenRequest)>, BadAnswer> {
    if turn.outcome.is_some() && !turn.requests.is_empty() {
        return Err(BadAnswer("it ends the session and leaves requests open".into()));
    }
    let mut ids: Vec<&str> = turn.requests.iter().map(|r| r.id.as_str()).collect();
    ids.sort_unstable();
    if let Some(pair) = ids.windows(2).find(|pair| pair.first() == pair.last()) {
        return Err(BadAnswer(format!("two of its requests have the id `{}`", pair.concat())));
    }
    Ok(wire::requests(&turn.requests)?)
}

/// A request that was open and is equal goes on: it is not carried out again.
fn going_on(before: &[OpenRequest], now: OpenRequest) -> OpenRequest {
    before.iter().find(|b| same(b, &now)).cloned().unwrap_or(now)
}

fn same(one: &OpenRequest, other: &OpenRequest) -> bool {
    one.id == other.id && one.need == other.need && one.deadline == other.deadline
}

/// When the clock ends a request; none if it never does, or has tried and was refused.
pub(super) fn ends(request: &OpenRequest) -> Option<Millis> {
    let tried = |deadline: &Millis| matches!(request.standing, Standing::Refused(at) if at >= *deadline);
    request.deadline.filter(|deadline| !tried(deadline))
}

/// When a session must be looked at for a request's sake although nobody calls.
pub(super) fn due(request: &OpenRequest) -> Option<Millis> {
    let by_host = match request.standing {
        Standing::Waiting => wire::for_a_host(&request.need).then_some(0),
        Standing::Sent(sent) => lease_end(sent),
        Standing::Begun(_) | Standing::Doubtful(_) | Standing::Refused(_) => None,
    };
    by_host.into_iter().chain(ends(request)).min()
}

/// When a host that has not handed over a result by then has lost it.
pub(super) fn lease_end(sent: Sent) -> Option<Millis> {
    sent.at.checked_add(u64::try_from(CARRY_LEASE.as_millis()).ok()?)
}

#[expect(clippy::cmp_owned, reason = "the texts are compared, not the values")]
fn change(old: &str, new: &str) -> Option<patch::Patch> {
    let (old, new_value): (Value, Value) = (serde_json::from_str(old).ok()?, serde_json::from_str(new).ok()?);
    // A state that is written otherwise than this crate would write it is kept whole.
    (new_value.to_string() == new).then(|| patch::between(&old, &new_value)).flatten()
}

/// The reply's text, as the chain covers it.
pub(super) fn reply_hash(reply: &contract::Output) -> Result<String, BadAnswer> {
    wire::raw(&reply.value)?;
    if let Some(content) = &reply.content {
        wire::raw(content)?;
    }
    let flag: &[u8] = if reply.is_error { b"!" } else { b"." };
    let [content, headline] = [&reply.content, &reply.headline].map(|part| part.as_deref().unwrap_or_default());
    let parts = [flag, reply.value.as_bytes(), b"\0", content.as_bytes(), b"\0", headline.as_bytes()];
    Ok(Digest::of_parts(&parts).to_string())
}
