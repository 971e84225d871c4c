//! THE turn: route a call, hold the session, ask the plugin, commit, and only then reply. It waits for two things, its turn
//! at the session and the commit; what comes in between waits for nothing.

use super::caller::Caller;
use super::commit::Tried;
use super::fault::Fault;
use super::host::{Host, Pinned};
use super::line::NoteRow;
use super::turn::{BadAnswer, Draft};
use crate::catalogue::{Catalogue, Offered};
use crate::limits::{LINES_PER_SESSION_MAX, ROUNDS_PER_CALL_MAX};
use crate::plugin::contract::{self, Action, Input, Source};
use crate::session::model::{Digest, Head, OpenRequest, SessionId};
use crate::waiting::now;

/// What became of a call or a reply.
#[derive(Debug, Clone)]
pub struct Advanced {
    /// What the caller gets.
    pub output: contract::Output,
    /// The session that it was about.
    pub session: Option<SessionId>,
    /// Requests that this call opened, by its own turn or one before it: the host carries out what it can.
    pub opened: Vec<OpenRequest>,
    /// What its turn wants told while the call still runs, JSON texts.
    pub progress: Vec<String>,
    /// The session has ended, and another one waits for that.
    pub hands_up: bool,
}

impl Advanced {
    /// A reply about a session that it did not move.
    pub(crate) fn about(session: SessionId, output: contract::Output) -> Self {
        Self { session: Some(session), ..Self::only(output) }
    }

    pub(super) fn only(output: contract::Output) -> Self {
        Self { output, session: None, opened: Vec::new(), progress: Vec::new(), hands_up: false }
    }
}

/// What moves a session, without the host's stamp.
#[derive(Debug, Clone)]
pub(super) struct Incoming {
    pub(super) input: Input,
    pub(super) source: Source,
}

/// A call on its way: who calls, and what was looked up for it.
pub(super) struct Routed<'r> {
    pub(super) caller: &'r Caller,
    pub(super) offered: &'r Offered,
    pub(super) call: &'r contract::Call,
}

impl Host {
    /// A tool call of the agent. To be awaited to its end: dropped in between, what it has just committed is carried out by
    /// nobody before its lease is over.
    pub async fn call(&self, caller: &Caller, tool: &str, args: &str) -> Result<Advanced, Fault> {
        let catalogue = self.catalogue();
        let offered = owner(&catalogue, tool)?;
        let call = contract::Call { tool: tool.to_owned(), args: args.to_owned() };
        let routed = Routed { caller, offered, call: &call };
        let action = match offered.plugin.route(&call, &offered.ids)? {
            Ok(action) => action,
            // It concerns no session, so there is no journal to keep it in.
            Err(refusal) => return Ok(Advanced::only(refusal.reply)),
        };
        match action {
            Action::Catalogue(query) => self.look_up(&routed, query.as_ref()),
            Action::Start(workflow) => self.start(&routed, &workflow).await,
            Action::Answer(target) => self.answer(&routed, &target, &|_| Ok(Input::Call(routed.call.clone()))).await,
            Action::Recall(moment) => {
                let input = |head: &Head| {
                    let past = self.past(routed.caller, head, &moment)?;
                    Ok(Input::Recalled(contract::Recalled { call: routed.call.clone(), past }))
                };
                self.answer(&routed, &moment.target, &input).await
            }
            Action::Status(target) => self.status(&routed, &target),
            Action::Trace(page) => self.trace(&routed, &page),
            Action::Render(view) => self.render(&routed, &view),
        }
    }

    /// The answer to an open request. None if it is not open any more; a deadline that has passed closes it first.
    ///
    /// `asked` is the need that was put to whoever answers: an id may be used again, and an answer to one question closes no
    /// other.
    pub async fn reply(
        &self,
        caller: &Caller,
        (session, asked): (SessionId, &str),
        reply: &contract::Reply,
        source: Source,
    ) -> Result<Option<Advanced>, Fault> {
        let is_it = |r: &OpenRequest| r.id == reply.request && r.need == asked;
        self.moving(session, || {
            let Some(head) = self.visible(caller, session)? else { return Ok(Tried::Nothing(None)) };
            if !head.requests.iter().any(is_it) {
                return Ok(Tried::Nothing(None));
            }
            let pinned = self.pinned(&head)?;
            let mut draft = Draft::of(head);
            self.overdue(caller, &pinned, &mut draft)?;
            if !draft.head.requests.iter().any(is_it) {
                return Ok(Tried::moved(draft, None));
            }
            let incoming = Incoming { input: Input::Reply(reply.clone()), source };
            let advanced = self.event(caller, &pinned, &mut draft, incoming)?;
            Ok(Tried::moved(draft, Some(advanced)))
        })
        .await
    }

    /// Writes into the journal what the host did, without moving the session.
    pub async fn note(&self, caller: &Caller, session: SessionId, note: &NoteRow) -> Result<(), Fault> {
        self.moving(session, || {
            let Some(head) = self.visible(caller, session)? else { return Ok(Tried::Nothing(())) };
            let mut draft = Draft::of(head);
            draft.note(self.clock.now(), note.clone(), Some(caller.by())).map_err(|bad| Fault::Arguments(bad.0))?;
            Ok(Tried::moved(draft, ()))
        })
        .await
    }

    async fn start(&self, routed: &Routed<'_>, workflow: &str) -> Result<Advanced, Fault> {
        let (pinned, mut draft) = self.next_own(routed, workflow)?;
        let incoming = Incoming { input: Input::Call(routed.call.clone()), source: Source::Agent };
        let started = self.begin(routed.caller, &pinned, &mut draft, incoming)?;
        self.committed(routed, &pinned, &draft, started).await
    }

    /// A draft of the caller's next session, under the name that it was promised.
    fn next_own(&self, routed: &Routed<'_>, workflow: &str) -> Result<(Pinned, Draft), Fault> {
        let (pinned, mut head) = self.fresh(routed.caller, routed.offered, workflow)?;
        let promised = routed.caller.own.as_ref().and_then(|own| own.redeem(&head.interpreter, workflow));
        head.session = promised.unwrap_or(head.session);
        Ok((pinned, Draft::of(head)))
    }

    /// The caller's next session did not begin: its name is still the next one's.
    fn not_begun(routed: &Routed<'_>, head: &Head, refused: contract::Output) -> Advanced {
        if let Some(own) = &routed.caller.own {
            own.promise(&head.interpreter, &head.workflow, (head.session, head.started));
        }
        Advanced::only(refused)
    }

    /// A head for a session that begins, and what it is pinned to.
    pub(super) fn fresh(&self, caller: &Caller, offered: &Offered, workflow: &str) -> Result<(Pinned, Head), Fault> {
        let plugin = &offered.plugin;
        let definition = offered.definition(workflow).ok_or_else(|| {
            plugin.bad_answer("route", format!("it names the workflow `{workflow}`, which there is not"))
        })?;
        let now = self.clock.now();
        let head = Head {
            session: SessionId::from_bits(self.clock.entropy()),
            owner: caller.owner.clone(),
            interpreter: plugin.about.name.clone(),
            plugin: plugin.digest,
            definition: definition.digest,
            workflow: workflow.to_owned(),
            started: now,
            changed: now,
            human_only: self.options.human_only,
            lines: 0,
            chain: Digest::default(),
            entries: 0,
            memories: 0,
            window: 0,
            state: "null".into(),
            requests: Vec::new(),
            current: Vec::new(),
            outcome: None,
            parent: None,
            fork: None,
            seal: None,
        };
        Ok((Pinned { plugin: plugin.clone(), definition: definition.clone() }, head))
    }

    /// The first event of a session. A refusal leaves none.
    pub(super) fn begin(
        &self,
        caller: &Caller,
        pinned: &Pinned,
        draft: &mut Draft,
        incoming: Incoming,
    ) -> Result<Result<Advanced, contract::Output>, Fault> {
        let session = record(&draft.head);
        let event = self.stamp(&draft.head, incoming);
        match pinned.plugin.start(&pinned.definition.code, &session, &event)? {
            Ok(turn) => {
                draft.turn(&event, &turn, Some(caller.by())).map_err(|bad| bad.fault(pinned, "start"))?;
                let opened = draft.head.requests.clone();
                let session = Some(draft.head.session);
                let started =
                    Advanced { output: turn.reply, session, opened, progress: turn.progress, hands_up: false };
                self.unavailable(caller, pinned, draft, started).map(Ok)
            }
            Err(refusal) => Ok(Err(refusal.reply)),
        }
    }

    async fn committed(
        &self,
        routed: &Routed<'_>,
        pinned: &Pinned,
        draft: &Draft,
        started: Result<Advanced, contract::Output>,
    ) -> Result<Advanced, Fault> {
        let advanced = match started {
            Ok(advanced) => advanced,
            Err(refused) => return Ok(Self::not_begun(routed, &draft.head, refused)),
        };
        self.keep(&pinned.plugin, &pinned.definition)?;
        if !self.commit(draft).await? {
            // A fresh identifier that is taken: nobody's clock or entropy does that.
            return Err(Fault::Busy(draft.head.session));
        }
        if let Some(own) = &routed.caller.own {
            own.set(&draft.head.interpreter, &draft.head.workflow, draft.head.session);
        }
        // What has begun has begun: whatever hinders this is there again at the next start.
        let _ = self.keep_to_limit(routed.caller, pinned, &draft.head).await;
        Ok(advanced)
    }

    async fn answer(
        &self,
        routed: &Routed<'_>,
        target: &contract::Target,
        input: &(dyn Fn(&Head) -> Result<Input, Fault> + Sync),
    ) -> Result<Advanced, Fault> {
        let session = match self.named(routed, target) {
            Ok(Some(session)) => session,
            Ok(None) => return self.implicit(routed, target, input).await,
            Err(absent) => return Ok(Advanced::only(absent)),
        };
        let attempt = || {
            let Some(head) = self.of_dialect(routed, session)? else {
                return Ok(Tried::Nothing(Advanced::only(absent(target, &session.to_string()))));
            };
            let pinned = self.pinned(&head)?;
            let input = input(&head)?;
            let mut draft = Draft::of(head);
            self.overdue(routed.caller, &pinned, &mut draft)?;
            self.drop_idle(routed.caller, &pinned, &mut draft)?;
            let advanced = match self.turned_away(routed, target, &mut draft)? {
                Some(told) => told,
                None => {
                    let incoming = Incoming { input, source: Source::Agent };
                    self.event(routed.caller, &pinned, &mut draft, incoming)?
                }
            };
            Ok(Tried::moved(draft, advanced))
        };
        self.moving_then(session, attempt, |draft| self.look_after(&draft.head)).await
    }

    /// An answer without a session opens one, in the same transaction.
    async fn implicit(
        &self,
        routed: &Routed<'_>,
        target: &contract::Target,
        input: &(dyn Fn(&Head) -> Result<Input, Fault> + Sync),
    ) -> Result<Advanced, Fault> {
        let Some(workflow) = &target.workflow else { return Ok(Advanced::only(absent(target, ""))) };
        let (pinned, mut draft) = self.next_own(routed, workflow)?;
        let open = Incoming { input: Input::Open("{}".into()), source: Source::Agent };
        if let Err(refused) = self.begin(routed.caller, &pinned, &mut draft, open)? {
            return Ok(Self::not_begun(routed, &draft.head, refused));
        }
        let incoming = Incoming { input: input(&draft.head)?, source: Source::Agent };
        let advanced = self.event(routed.caller, &pinned, &mut draft, incoming)?;
        self.committed(routed, &pinned, &draft, Ok(advanced)).await
    }

    /// The session that a target means; none if it is for the caller to open one; or the words for there being none.
    pub(super) fn named(
        &self,
        routed: &Routed<'_>,
        target: &contract::Target,
    ) -> Result<Option<SessionId>, contract::Output> {
        match (&target.session, &target.workflow) {
            (Some(text), _) => text.parse().map(Some).map_err(|_| absent(target, text)),
            (None, Some(workflow)) => {
                let own = routed.caller.own.as_ref();
                Ok(own.and_then(|own| own.get(&routed.offered.plugin.about.name, workflow)))
            }
            (None, None) => Ok(None),
        }
    }

    /// One event, on a draft, and with it the answers to all that it asks of a host and that this one has not: no crash and
    /// no other question comes between.
    pub(super) fn event(
        &self,
        caller: &Caller,
        pinned: &Pinned,
        draft: &mut Draft,
        incoming: Incoming,
    ) -> Result<Advanced, Fault> {
        let advanced = self.one_event(caller, pinned, draft, incoming)?;
        self.unavailable(caller, pinned, draft, advanced)
    }

    fn unavailable(
        &self,
        caller: &Caller,
        pinned: &Pinned,
        draft: &mut Draft,
        mut advanced: Advanced,
    ) -> Result<Advanced, Fault> {
        let mut refused: Vec<OpenRequest> = Vec::new();
        for _ in 0..ROUNDS_PER_CALL_MAX {
            let is_refused = |r: &OpenRequest| refused.iter().any(|f| f.id == r.id && f.need == r.need);
            let opened = draft.opened().into_iter().filter(|r| !is_refused(r));
            let wanted = opened.filter_map(|r| self.beyond(pinned, &draft.head, &r).map(|failure| (r, failure))).next();
            let Some((request, failure)) = wanted else { break };
            let reply = contract::Reply { request: request.id.clone(), value: Err(failure) };
            let incoming = Incoming { input: Input::Reply(reply), source: Source::Host };
            let next = self.one_event(caller, pinned, draft, incoming)?;
            if draft.head.requests.iter().any(|r| r.id == request.id && r.need == request.need) {
                // It stays open and is not sent again, now or at a later event.
                refused.push(request);
                continue;
            }
            let mut progress = advanced.progress;
            progress.extend(next.progress);
            advanced = Advanced { progress, ..next };
        }
        self.mark(draft)?;
        let hands_up = draft.head.outcome.is_some() && draft.head.parent.as_ref().is_some_and(|p| !p.told);
        Ok(Advanced { opened: draft.opened(), hands_up, ..advanced })
    }

    /// One event alone. A plugin that breaks leaves a line that says so, and the session where it was.
    fn one_event(
        &self,
        caller: &Caller,
        pinned: &Pinned,
        draft: &mut Draft,
        incoming: Incoming,
    ) -> Result<Advanced, Fault> {
        let session = draft.head.session;
        if draft.head.lines >= LINES_PER_SESSION_MAX {
            return Err(Fault::Full { session, limit: LINES_PER_SESSION_MAX });
        }
        let event = self.stamp(&draft.head, incoming);
        let memory = self.memory(draft)?;
        let state = (draft.head.state.as_str(), &memory);
        let by = Some(caller.by());
        let answered = pinned.plugin.answer(&pinned.definition.code, &record(&draft.head), state, &event);
        let broken = match answered {
            Ok(Ok(turn)) => match draft.turn(&event, &turn, by.clone()) {
                Ok(()) => {
                    let (opened, progress) = (draft.opened(), turn.progress);
                    let output = turn.reply;
                    return Ok(Advanced { output, session: Some(session), opened, progress, hands_up: false });
                }
                Err(bad) => bad.fault(pinned, "answer"),
            },
            Ok(Err(refusal)) => match draft.refusal(&event, &refusal, by.clone()) {
                Ok(()) => {
                    return Ok(Advanced { opened: draft.opened(), ..Advanced::about(session, refusal.reply) });
                }
                Err(bad) => bad.fault(pinned, "answer"),
            },
            Err(fault) => fault.into(),
        };
        // The line is worth keeping, and losing it to a conflict changes nothing. A session that does not begin has none.
        if draft.is_of_a_session() && draft.fault(&event, &broken.to_string(), by).is_ok() {
            let _ = now(self.commit(draft));
        }
        Err(broken)
    }

    pub(super) fn stamp(&self, head: &Head, incoming: Incoming) -> contract::Event {
        let [low, high] = [0, 64].map(|shift| (self.clock.entropy() >> shift) as u64);
        contract::Event {
            input: incoming.input,
            source: incoming.source,
            at: self.clock.now(),
            seed: low ^ high.rotate_left(32),
            seq: head.entries + 1,
        }
    }

    /// The session's head, if the caller may see it.
    pub(super) fn visible(&self, caller: &Caller, session: SessionId) -> Result<Option<Head>, Fault> {
        let head = self.store.head(session)?;
        Ok(head.filter(|h| h.owner == caller.owner || caller.channel == "cli"))
    }

    /// The session's head, if the caller may see it and the tool that was called is of its own dialect.
    pub(super) fn of_dialect(&self, routed: &Routed<'_>, session: SessionId) -> Result<Option<Head>, Fault> {
        let head = self.visible(routed.caller, session)?;
        Ok(head.filter(|h| h.interpreter == routed.offered.plugin.about.name))
    }
}

fn owner<'c>(catalogue: &'c Catalogue, tool: &str) -> Result<&'c Offered, Fault> {
    let published = catalogue.tools.get(tool).ok_or_else(|| Fault::UnknownTool(tool.to_owned()))?;
    catalogue.offered.get(published.owner).ok_or_else(|| Fault::UnknownTool(tool.to_owned()))
}

/// A session as the contract names it.
pub(super) fn record(head: &Head) -> contract::Session {
    contract::Session {
        id: head.session.to_string(),
        started: head.started,
        definition_hash: head.definition.to_string(),
        human_only: head.human_only,
    }
}

/// The dialect's words for there being no such session, or ours.
pub(super) fn absent(target: &contract::Target, named: &str) -> contract::Output {
    target.absent.clone().unwrap_or_else(|| contract::Output {
        headline: None,
        value: serde_json::Value::from(format!("unknown session '{named}'")).to_string(),
        content: None,
        is_error: true,
    })
}

impl BadAnswer {
    pub(super) fn fault(self, pinned: &Pinned, function: &'static str) -> Fault {
        pinned.plugin.bad_answer(function, self.0).into()
    }
}
