//! How many sessions of a workflow are kept open, and how long one that nobody moves: what its document says. One that is not
//! kept is ended by the host, with a line that says so; its journal stays, and whoever calls it is told.

use super::advance::{Advanced, Routed};
use super::caller::Caller;
use super::fault::Fault;
use super::host::{Host, Pinned};
use super::line::NoteRow;
use super::timers::is_timer;
use super::turn::Draft;
use super::wire;
use crate::limits::{DROPPED_AT_ONCE_MAX, KEPT_PAGE};
use crate::plugin::contract;
use crate::session::model::{Failure, Head, Millis, Standing};
use crate::store::{Listed, Query};

impl Host {
    /// When the clock is to look whether a session has been idle for too long.
    pub(super) fn idle_due(&self, head: &Head) -> Option<Millis> {
        // What a session is pinned to is in memory while it is worked on.
        self.definition(head).ok().and_then(|definition| idle_at(&definition.keeping, head))
    }

    /// Ends a session that has been idle for too long.
    pub(super) fn drop_idle(&self, caller: &Caller, pinned: &Pinned, draft: &mut Draft) -> Result<(), Fault> {
        let now = self.clock.now();
        let keeping = &pinned.definition.keeping;
        let (Some(at), Some(seconds)) = (idle_at(keeping, &draft.head), keeping.idle_seconds) else { return Ok(()) };
        if at > now {
            return Ok(());
        }
        let workflow = &draft.head.workflow;
        let message = format!("nobody had moved it for {seconds} s, which is as long as `{workflow}` keeps one");
        draft.drop_session(now, message, Some(caller.by())).map_err(|bad| Fault::Arguments(bad.0))
    }

    /// A session has begun. If more of its workflow are open now than its document lets be, those are ended that have moved
    /// least recently.
    pub(super) async fn keep_to_limit(&self, caller: &Caller, pinned: &Pinned, begun: &Head) -> Result<(), Fault> {
        let Some(limit) = pinned.definition.keeping.limit else { return Ok(()) };
        let limit = usize::try_from(limit.max(1)).unwrap_or(usize::MAX);
        let mut open = self.open_beside(begun)?;
        let more = (open.len() + 1).saturating_sub(limit);
        open.retain(is_free);
        open.sort_by_key(|head| (head.changed, head.session));
        for head in open.into_iter().take(more.min(DROPPED_AT_ONCE_MAX)) {
            let many = if limit == 1 { "session" } else { "sessions" };
            let message =
                format!("`{}` keeps {limit} {many} open, and this one had moved least recently", head.workflow);
            self.drop_if_unmoved(caller, &head, &message).await?;
        }
        Ok(())
    }

    /// The other open sessions of the same workflow and owner, but for those that a session waits for: they are its own matter.
    fn open_beside(&self, begun: &Head) -> Result<Vec<Head>, Fault> {
        let mut query = Query {
            owner: Some(begun.owner.clone()),
            interpreter: Some(begun.interpreter.clone()),
            workflow: Some(begun.workflow.clone()),
            unfinished: true,
            after: None,
            limit: KEPT_PAGE,
        };
        let mut open = Vec::new();
        loop {
            let page = self.store.list(&query)?;
            let full = page.len() >= query.limit;
            let heads = page.into_iter().filter_map(|listed| match listed {
                Listed::Head(head) => Some(*head),
                Listed::Unreadable(..) => None,
            });
            let before = open.len();
            open.extend(heads);
            // A page of records that nobody can read tells no place to go on from.
            let Some(last) = open.last().filter(|_: &&Head| full && open.len() > before) else { break };
            query.after = Some((last.started, last.session));
        }
        open.retain(|head| head.session != begun.session && !is_asked_for(head));
        Ok(open)
    }

    async fn drop_if_unmoved(&self, caller: &Caller, listed: &Head, message: &str) -> Result<(), Fault> {
        let _held = self.locks.hold(listed.session).await;
        let Some(head) = self.store.head(listed.session)? else { return Ok(()) };
        if head.lines != listed.lines || head.outcome.is_some() {
            return Ok(());
        }
        let mut draft = Draft::of(head);
        draft
            .drop_session(self.clock.now(), message.to_owned(), Some(caller.by()))
            .map_err(|bad| Fault::Arguments(bad.0))?;
        // A conflict: it has moved meanwhile, and is not the one that moved least recently.
        self.commit(&draft).await.map(|_| ())
    }

    /// What a caller gets who calls a session that the host has ended, and a line about it.
    pub(super) fn turned_away(
        &self,
        routed: &Routed<'_>,
        target: &contract::Target,
        draft: &mut Draft,
    ) -> Result<Option<Advanced>, Fault> {
        let Some(output) = turned_away(&draft.head) else { return Ok(None) };
        let detail = serde_json::json!({"tool": routed.call.tool});
        let note = NoteRow { kind: "turned-away".into(), request: None, detail };
        draft.note(self.clock.now(), note, Some(routed.caller.by())).map_err(|bad| Fault::Arguments(bad.0))?;
        if let (None, Some(own)) = (&target.session, &routed.caller.own) {
            own.release(&draft.head.interpreter, &draft.head.workflow, draft.head.session);
        }
        Ok(Some(Advanced::about(draft.head.session, output)))
    }
}

/// From when on a session has been idle for too long; none: never, or as long as the clock or a host has to do with it.
fn idle_at(keeping: &contract::Keeping, head: &Head) -> Option<Millis> {
    let seconds = keeping.idle_seconds?;
    let waits = head.requests.iter().any(is_timer);
    let idle = head.outcome.is_none() && !waits && is_free(head) && !is_asked_for(head);
    idle.then(|| head.changed.saturating_add(u64::from(seconds).saturating_mul(1_000)))
}

/// Why the host has ended a session, if it has.
fn dropped(head: &Head) -> Option<&Failure> {
    head.outcome.as_ref().and_then(|outcome| outcome.as_ref().err()).filter(|failure| failure.kind == Failure::DROPPED)
}

/// How a session ended, as an interpreter lists it: to that, an end of the host's is a kind of `cancelled`.
pub(super) fn listed_outcome(head: &Head) -> Option<Result<String, contract::Failure>> {
    let outcome = head.outcome.as_ref().map(wire::outcome_of)?;
    let kind = |failure: &contract::Failure| match dropped(head) {
        Some(_) => contract::Mishap::Cancelled,
        None => failure.kind,
    };
    Some(outcome.map_err(|failure| contract::Failure { kind: kind(&failure), ..failure }))
}

/// Why the host has ended a session, for whoever calls or looks at it.
pub(super) fn told_dropped(head: &Head) -> Option<String> {
    let failure = dropped(head)?;
    Some(format!(
        "This session was ended by the host: {}. Its journal is kept. Leave the session out to begin a new one.",
        failure.message
    ))
}

fn turned_away(head: &Head) -> Option<contract::Output> {
    let value = serde_json::json!({
        "error": "session_dropped",
        "session": head.session.to_string(),
        "workflow": head.workflow,
        "message": told_dropped(head)?,
    });
    Some(contract::Output { headline: None, value: value.to_string(), content: None, is_error: true })
}

/// Whether no host is at work for it, and none left it in doubt.
fn is_free(head: &Head) -> bool {
    head.requests.iter().all(|request| match request.standing {
        Standing::Waiting | Standing::Refused(_) => true,
        Standing::Sent(_) | Standing::Begun(_) | Standing::Doubtful(_) => false,
    })
}

/// Whether another session waits for its end.
fn is_asked_for(head: &Head) -> bool {
    head.parent.as_ref().is_some_and(|parent| !parent.told)
}
