//! Timers that a call waits for because its own step set them, and other moments at which the clock ends what it waits for.
//! Nothing is carried out here: the clock's word comes to the session as it does without a caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::stream::FuturesUnordered;

use super::fault::Fault;
use super::flights::Flight;
use super::host::Host;
use super::turn;
use super::wire::{self, NeedKind};
use crate::limits::{TIMER_WAIT_MAX, TIMERS_WAITED_FOR_MAX};
use crate::session::model::{Head, Millis, OpenRequest, SessionId};

/// What one call waits for of the clock.
#[derive(Debug)]
pub(super) struct Timers {
    /// Timers, each until it is given up: because its moment has come, or because it was closed.
    pub(super) running: FuturesUnordered<Flight>,
    ends: Vec<End>,
    until: Option<Instant>,
}

/// A request, and when the clock ends it.
#[derive(Debug)]
struct End {
    at: Millis,
    session: SessionId,
    request: OpenRequest,
}

/// How many calls of this host wait for timers.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting(Arc<AtomicUsize>);

/// A place among them.
#[derive(Debug)]
struct Place(Waiting);

impl Waiting {
    fn place(&self) -> Option<Place> {
        // The place is made first, so that it is given back in either case.
        let place = Place(self.clone());
        (self.0.fetch_add(1, Ordering::Relaxed) < TIMERS_WAITED_FOR_MAX).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether it is a timer.
pub(super) fn is_timer(request: &OpenRequest) -> bool {
    matches!(wire::need_kind(&request.need), Some(NeedKind::Timer(_)))
}

impl Timers {
    /// For a call whose caller waits so long for its reply; none: nobody does, or to the end.
    pub(super) fn within(patience: Option<Duration>) -> Self {
        let until = patience.map(|time| Instant::now() + time.min(TIMER_WAIT_MAX));
        Self { running: FuturesUnordered::new(), ends: Vec::new(), until }
    }

    /// Waits for a timer if it is near enough. False: it is none, or fires without the caller.
    pub(super) fn wait(&mut self, host: &Host, session: SessionId, request: &OpenRequest) -> bool {
        let Some(at) = turn::ends(request).filter(|_| is_timer(request)) else { return false };
        let left = Duration::from_millis(at.saturating_sub(host.clock.now()));
        let near = self.until.is_some_and(|until| left <= until.saturating_duration_since(Instant::now()));
        let Some(place) = near.then(|| host.waiting.place()).flatten() else { return false };
        let work = async move {
            let _place = place;
            std::future::pending().await
        };
        let Some(flight) = host.flights.begin(session, request.clone(), Box::pin(work)) else { return false };
        self.running.push(flight);
        self.note(session, request);
        true
    }

    /// Remembers when the clock ends a request that is under way.
    pub(super) fn note(&mut self, session: SessionId, request: &OpenRequest) {
        if self.until.is_some() {
            let end = |at| End { at, session, request: request.clone() };
            self.ends.extend(turn::ends(request).map(end));
        }
    }

    /// How long it is until the clock ends one of them.
    pub(super) fn next(&self, now: Millis) -> Option<Duration> {
        self.ends.iter().map(|end| Duration::from_millis(end.at.saturating_sub(now))).min()
    }

    /// Gives up what the clock has ended: each lands without a value, and its session is looked at.
    pub(super) fn ended(&self, host: &Host) {
        let now = host.clock.now();
        let ended = self.ends.iter().filter(|end| end.at <= now);
        ended.for_each(|end| host.flights.give_up(end.session, &end.request.id));
    }

    /// What the session itself has closed by a turn of this call is not waited for any more.
    pub(super) fn keep(&mut self, host: &Host, session: SessionId) -> Result<(), Fault> {
        if self.ends.iter().any(|end| end.session == session) {
            let open = host.store.head(session)?.map(|head| head.requests).unwrap_or_default();
            self.ends.retain(|end| end.session != session || open.iter().any(|r| same(r, &end.request)));
        }
        Ok(())
    }

    /// Whether somebody else has closed what is waited for.
    pub(super) fn are_closed(&self, head: &Head) -> bool {
        let closed = |end: &End| !head.requests.iter().any(|r| same(r, &end.request));
        self.ends.iter().any(|end| end.session == head.session && closed(end))
    }

    /// A request has landed: its id may be used again. False: it was not waited for any more.
    pub(super) fn forget(&mut self, session: SessionId, request: &OpenRequest) -> bool {
        let before = self.ends.len();
        self.ends.retain(|end| end.session != session || !same(&end.request, request));
        self.ends.len() < before
    }

    /// Waits for no timer any more, and says which those were. They stay open, and fire without the caller.
    pub(super) fn leave(&mut self) -> Vec<(SessionId, OpenRequest)> {
        self.running.clear();
        let timers = std::mem::take(&mut self.ends).into_iter().filter(|end| is_timer(&end.request));
        timers.map(|end| (end.session, end.request)).collect()
    }
}

fn same(one: &OpenRequest, other: &OpenRequest) -> bool {
    one.id == other.id && one.need == other.need
}
