//! What the clock does to sessions: timers and deadlines that have passed, with and without a call, sessions that nobody moved
//! for too long, and what hosts that are gone have left behind.

use super::advance::{Advanced, Incoming};
use super::caller::Caller;
use super::commit::Tried;
use super::drive::Adrift;
use super::fault::Fault;
use super::host::{Host, Pinned};
use super::line::NoteRow;
use super::timers::is_timer;
use super::turn::{self, Draft};
use super::wire;
use crate::limits::{SWEEP_SESSIONS_MAX, TAKE_OVER_MAX};
use crate::plugin::contract::{self, Input, Source};
use crate::session::model::{Head, Millis, OpenRequest, SessionId, Standing};
use crate::waiting::now;

/// What the clock's events came to.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// The last of them.
    pub(super) last: Option<Advanced>,
    /// What broke.
    pub(super) broken: Option<Fault>,
}

fn clock() -> Caller {
    Caller { channel: "clock", ..Caller::default() }
}

impl Host {
    /// Hands every session whose timer or deadline has passed what it waited for. Returns how many moved, and what broke:
    /// one session's trouble is not another's.
    pub fn sweep(&self) -> Result<(usize, Vec<Fault>), Fault> {
        self.sweep_until(self.clock.now(), SWEEP_SESSIONS_MAX)
    }

    /// When a host starts: besides what is due, what hosts that are gone have left behind.
    pub fn take_up(&self) -> Result<(usize, Vec<Fault>), Fault> {
        self.sweep_until(Millis::MAX, TAKE_OVER_MAX)
    }

    fn sweep_until(&self, until: Millis, limit: usize) -> Result<(usize, Vec<Fault>), Fault> {
        let due = self.store.due(until, limit)?;
        let (mut moved, mut faults) = (0, Vec::new());
        for &session in &due {
            match now(self.sweep_one(session)) {
                Ok(true) => moved += 1,
                Ok(false) => {}
                Err(fault) => {
                    if fault.would_recur() {
                        faults.extend(now(self.let_rest(session, &fault)).err());
                    }
                    faults.push(fault);
                }
            }
        }
        Ok((moved, faults))
    }

    /// What broke on the clock's turn would break again at its next: it waits for a call instead.
    async fn let_rest(&self, session: SessionId, fault: &Fault) -> Result<(), Fault> {
        let clock = clock();
        self.moving(session, || {
            let Some(head) = self.store.head(session)? else { return Ok(Tried::Nothing(())) };
            let mut draft = Draft::of(head);
            let detail = serde_json::json!({"fault": fault.to_string()});
            let note = NoteRow { kind: "rests".into(), request: None, detail };
            draft.note(self.clock.now(), note, Some(clock.by())).map_err(|bad| Fault::Arguments(bad.0))?;
            draft.quieten();
            Ok(Tried::moved(draft, ()))
        })
        .await
    }

    /// Whether it moved.
    async fn sweep_one(&self, session: SessionId) -> Result<bool, Fault> {
        let clock = clock();
        let attempt = || {
            let Some(head) = self.store.head(session)?.filter(|head| !self.is_heard(head)) else {
                return Ok(Tried::Nothing(false));
            };
            let before = head.lines;
            let pinned = self.pinned(&head)?;
            let mut draft = Draft::of(head);
            if let Some(fault) = self.overdue(&clock, &pinned, &mut draft)?.broken {
                return Err(fault);
            }
            self.drop_idle(&clock, &pinned, &mut draft)?;
            let moved = draft.head.lines > before;
            Ok(Tried::moved(draft, moved))
        };
        let committed = |draft: &Draft| {
            self.look_after(&draft.head);
            self.set_adrift_what_began(&clock, draft);
        };
        self.moving_then(session, attempt, committed).await
    }

    /// Whether all that is due now are timers that calls wait for: their reply is those calls'.
    fn is_heard(&self, head: &Head) -> bool {
        let now = self.clock.now();
        let heard = |r: &OpenRequest| is_timer(r) && self.flights.has(head.session, &r.id);
        let mut due = head.requests.iter().filter(|r| turn::ends(r).is_some_and(|at| at <= now)).peekable();
        due.peek().is_some() && due.all(heard)
    }

    /// What the clock says to a session for which a call has waited. None: nothing was due any more.
    pub(super) async fn settle(&self, caller: &Caller, session: SessionId) -> Result<Option<Advanced>, Fault> {
        let clock = Caller { owner: caller.owner.clone(), ..clock() };
        self.moving(session, || {
            let Some(head) = self.visible(caller, session)? else { return Ok(Tried::Nothing(None)) };
            let pinned = self.pinned(&head)?;
            let mut draft = Draft::of(head);
            let due = self.overdue(&clock, &pinned, &mut draft)?;
            if let Some(fault) = due.broken {
                return Err(fault);
            }
            Ok(Tried::moved(draft, due.last))
        })
        .await
    }

    /// What the clock's turn asked of this host is carried out without a caller.
    fn set_adrift_what_began(&self, clock: &Caller, draft: &Draft) {
        let begun = draft.opened().into_iter().filter(|r| matches!(r.standing, Standing::Sent(_))).collect::<Vec<_>>();
        if !begun.is_empty() {
            let caller = Caller { owner: draft.head.owner.clone(), ..clock.clone() };
            self.set_adrift(Adrift::begun(caller, draft.head.session, begun));
        }
    }

    /// What a session waits for and nobody works on is left to whoever looks after sessions without a caller.
    pub(super) fn look_after(&self, head: &Head) {
        if self.outside.is_none() {
            return;
        }
        if head.requests.iter().any(|r| self.is_left(head.session, r)) {
            self.set_adrift(Adrift::Left(head.session));
        }
        if head.outcome.is_some() && head.parent.as_ref().is_some_and(|p| !p.told) {
            self.set_adrift(Adrift::Ended(head.session));
        }
    }

    /// Timers and deadlines that have passed come before anything else. One on which the plugin breaks stays open, is handed
    /// over again at the next call, and does not take this call with it; its fault is given back.
    pub(super) fn overdue(&self, caller: &Caller, pinned: &Pinned, draft: &mut Draft) -> Result<Due, Fault> {
        let now = self.clock.now();
        let mut due = Due::default();
        let mut overdue: Vec<OpenRequest> =
            draft.head.requests.iter().filter(|r| turn::ends(r).is_some_and(|at| at <= now)).cloned().collect();
        overdue.sort_by_key(|r| r.deadline);
        for request in overdue {
            // One that an earlier one of these closed is not open any more.
            if !draft.head.requests.contains(&request) {
                continue;
            }
            let reply = contract::Reply { request: request.id.clone(), value: at_its_end(&request) };
            match self.event(caller, pinned, draft, Incoming { input: Input::Reply(reply), source: Source::Clock }) {
                Ok(next) => {
                    let before = due.last.take().map(|last| last.progress).unwrap_or_default();
                    let progress = before.into_iter().chain(next.progress.iter().cloned()).collect();
                    due.last = Some(Advanced { progress, ..next });
                }
                Err(Fault::Call(fault)) => {
                    // Its line is committed with all before it; what comes now builds on that.
                    *draft = Draft::of(draft.head.clone());
                    due.broken.get_or_insert(Fault::Call(fault));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(due)
    }
}

/// What the clock says to a request: a timer fires unless its deadline came first, however late anybody looks.
fn at_its_end(request: &OpenRequest) -> Result<contract::Json, contract::Failure> {
    match wire::need_kind(&request.need) {
        Some(wire::NeedKind::Timer(at)) if request.deadline == Some(at) => Ok("null".to_owned()),
        Some(_) | None => {
            let message = "nobody answered before the deadline".to_owned();
            Err(contract::Failure { kind: contract::Mishap::TimedOut, message, detail: None })
        }
    }
}
