//! From a draft to the store: sealed, committed once, tried again where another process was faster. And what the store
//! remembers for the next turn.

use std::time::Instant;

use super::fault::Fault;
use super::host::Host;
use super::turn::Draft;
use crate::limits::CONFLICT_RETRIES_MAX;
use crate::plugin::contract;
use crate::session::model::SessionId;
use crate::store::{self, Committed};
use crate::waiting::waits;

impl Host {
    /// The newest memories, as many as the turn before asked for.
    pub(super) fn memory(&self, draft: &Draft) -> Result<contract::Memory, Fault> {
        let head = &draft.head;
        let window = head.window.min(head.memories);
        let fresh = draft.new_memories();
        let stored = head.memories - u32::try_from(fresh.len()).unwrap_or(u32::MAX);
        let first = head.memories - window;
        let (mut items, mut next) = (Vec::new(), first);
        while next < stored {
            // The store gives as many at once as it can carry.
            let more = self.store.memories(head.session, next, stored - next)?;
            if more.is_empty() {
                let what = format!("memory {next} of the session {}", head.session);
                return Err(store::Fault::Unreadable { what, reason: "it is missing".into() }.into());
            }
            next = next.saturating_add(u32::try_from(more.len()).unwrap_or(u32::MAX));
            items.extend(more);
        }
        let skip = usize::try_from(first.saturating_sub(stored)).unwrap_or(usize::MAX);
        items.extend(fresh.iter().skip(skip).take(usize::try_from(window).unwrap_or(usize::MAX)).cloned());
        Ok(contract::Memory { total: head.memories, items })
    }

    /// Moves a session: holds it, and tries again while other processes are faster. The plugin is pure, and sees each time
    /// where the session stands.
    pub(super) async fn moving<T>(
        &self,
        session: SessionId,
        attempt: impl FnMut() -> Result<Tried<T>, Fault>,
    ) -> Result<T, Fault> {
        self.moving_then(session, attempt, |_| ()).await
    }

    /// The same, and something for the draft that was committed.
    pub(super) async fn moving_then<T>(
        &self,
        session: SessionId,
        mut attempt: impl FnMut() -> Result<Tried<T>, Fault>,
        committed: impl Fn(&Draft),
    ) -> Result<T, Fault> {
        let _held = self.locks.hold(session).await;
        for _ in 0..CONFLICT_RETRIES_MAX {
            match attempt()? {
                Tried::Nothing(value) => return Ok(value),
                Tried::Moved(draft, value) => {
                    if self.commit(&draft).await? {
                        committed(&draft);
                        return Ok(value);
                    }
                }
            }
        }
        Err(Fault::Busy(session))
    }

    /// Whether the draft is now the truth. A draft without lines changes nothing.
    pub(super) async fn commit(&self, draft: &Draft) -> Result<bool, Fault> {
        let mut change = draft.change();
        if change.lines.is_empty() {
            return Ok(true);
        }
        if !draft.is_quiet() {
            change.due = change.due.into_iter().chain(self.idle_due(&change.head)).min();
        }
        self.seal(draft.start(), &mut change.head)?;
        let began = Instant::now();
        if !self.committed_or_not(change).await? {
            return Ok(false);
        }
        if let Some(observers) = self.observers.get() {
            observers.committed(&draft.fact(began.elapsed()));
        }
        let session = draft.head.session;
        draft.withdrawn().for_each(|request| self.flights.give_up(session, &request.id));
        Ok(true)
    }

    /// Commits a change. Content that was dropped meanwhile is kept once more: only what begins can miss it.
    pub(super) async fn committed_or_not(&self, change: store::Change) -> Result<bool, Fault> {
        let _waiting = waits();
        let begins = (change.expected == 0).then(|| change.clone());
        match (self.store.committing(change).await?, begins) {
            (Committed::Done, _) => Ok(true),
            (Committed::Dropped, Some(change)) => {
                self.keep_again(&change.head)?;
                Ok(self.store.committing(change).await? == Committed::Done)
            }
            (Committed::Conflict | Committed::Dropped, _) => Ok(false),
        }
    }
}

/// What a try at moving a session came to.
#[derive(Debug)]
pub(super) enum Tried<T> {
    /// There is nothing to move.
    Nothing(T),
    /// This is to be committed.
    Moved(Box<Draft>, T),
}

impl<T> Tried<T> {
    pub(super) fn moved(draft: Draft, value: T) -> Self {
        Self::Moved(Box::new(draft), value)
    }
}
