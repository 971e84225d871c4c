//! A session that goes on from the past of another. Its journal begins with the other's lines, byte for byte, so that it can
//! be verified and run again without the other one; then a line says where it comes from.

use super::caller::Caller;
use super::fault::Fault;
use super::host::Host;
use super::line::{self, ForkRow, LineRow, TurnRow};
use super::{sealing, wire};
use crate::session::model::{Digest, Fork, Gap, Head, OpenRequest, SessionId, Standing};
use crate::session::turn;
use crate::store::{Change, Inherit};
use crate::waiting::now;

/// From where to fork, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkAt {
    /// The session.
    pub session: SessionId,
    /// After the event that wrote this entry; none: after the newest.
    pub seq: Option<u32>,
    /// Carry out anew what was open then: timers and deadlines run, and what only a host can get is asked for. Else it stays
    /// open until it is answered.
    pub sends: bool,
}

/// A session as it was after one of its lines.
struct Then {
    line: u64,
    chain: Digest,
    entries: u32,
    turn: TurnRow,
    state: String,
}

impl Host {
    /// Begins a session from the past of another, of whichever dialect. The journal up to there must be whole.
    pub fn fork(&self, caller: &Caller, at: ForkAt) -> Result<Head, Fault> {
        let unknown = || Fault::UnknownSession(at.session.to_string());
        let from = self.visible(caller, at.session)?.ok_or_else(unknown)?;
        let seq = at.seq.unwrap_or(from.entries);
        if seq == 0 || seq > from.entries {
            return Err(Fault::NoSuchEntry { session: at.session, seq, entries: from.entries });
        }
        let damages = self.verify(caller, at.session, None)?.damages;
        if let Some(damage) = damages.first() {
            return Err(Fault::NotWhole { session: at.session, damage: damage.to_string() });
        }
        let then = self.then(&from, seq)?;
        let mut head = self.forked(&from, &then, (seq, at.sends));
        let row = LineRow {
            fork: Some(ForkRow { from: from.session.to_string(), seq, started: head.started, sends: at.sends }),
            prev: then.chain.to_string(),
            n: then.line + 1,
            ..LineRow::after(&head, head.started, Some(caller.by()))
        };
        let bytes = row.encode().map_err(|error| Fault::Arguments(error.to_string()))?;
        head.chain = line::link(then.chain, &bytes);
        if let Some(signer) = &self.options.signer {
            head.seal = Some(sealing::seal_on(signer, &head, inherited_gaps(&from, then.line, signer.public().0)));
        }
        let due = if at.sends { head.requests.iter().filter_map(turn::due).min() } else { None };
        let inherit = Some(Inherit { from: from.session, lines: then.line, memories: head.memories });
        let change = Change { expected: 0, head: head.clone(), inherit, lines: vec![bytes], memories: Vec::new(), due };
        // What it inherits can only be gone because the session was pruned meanwhile.
        if now(self.committed_or_not(change))? { Ok(head) } else { Err(unknown()) }
    }

    /// A session after the event that wrote an entry.
    fn then(&self, head: &Head, seq: u32) -> Result<Then, Fault> {
        let line = self.line_of(head, seq)?;
        let row = self.line(head.session, line)?;
        let chain = if line == head.lines {
            head.chain
        } else {
            let next = self.line(head.session, line + 1)?;
            let reason = "it does not name the line before".to_owned();
            next.prev.parse().map_err(|_| Fault::Line { session: head.session, line: line + 1, reason })?
        };
        let entries = row.seq - 1 + u32::try_from(row.entries().len()).unwrap_or(u32::MAX);
        let (state, _) = self.state_after(head, line)?;
        let mut at = line;
        let turn = loop {
            if let Some(turn) = self.line(head.session, at)?.turn {
                break turn;
            }
            if at == 1 {
                let reason = "no turn comes before it".to_owned();
                return Err(Fault::Line { session: head.session, line, reason });
            }
            at -= 1;
        };
        Ok(Then { line, chain, entries, turn, state })
    }

    fn forked(&self, from: &Head, then: &Then, (seq, sends): (u32, bool)) -> Head {
        let now = self.clock.now();
        let standing = if sends { Standing::Waiting } else { OpenRequest::WITHHELD };
        let root = from.fork.map_or((from.session, from.started), |fork| (fork.root, fork.root_started));
        Head {
            session: SessionId::from_bits(self.clock.entropy()),
            started: now,
            changed: now,
            lines: then.line + 1,
            chain: then.chain,
            entries: then.entries,
            memories: then.turn.memories,
            window: then.turn.window,
            state: then.state.clone(),
            requests: then.turn.requests.iter().map(|row| wire::open_of(row, standing)).collect(),
            current: then.turn.current.clone(),
            outcome: then.turn.outcome.as_ref().map(wire::kept_outcome),
            fork: Some(Fork { from: from.session, seq, lines: then.line, root: root.0, root_started: root.1 }),
            // Whoever asked for the other one waits for the other one's outcome.
            parent: None,
            seal: None,
            ..from.clone()
        }
    }
}

/// Which of the inherited lines the other session's seal does not vouch for.
fn inherited_gaps(from: &Head, lines: u64, key: [u8; 32]) -> Vec<Gap> {
    let whole = Gap { from: 1, to: lines };
    let Some(seal) = from.seal.as_ref().filter(|seal| seal.key == key) else { return vec![whole] };
    let after = (seal.lines < lines).then_some(Gap { from: seal.lines + 1, to: lines });
    let gaps = seal.gaps.iter().copied().chain(after).filter(|gap| gap.from <= lines);
    gaps.map(|gap| Gap { to: gap.to.min(lines), ..gap }).collect()
}
