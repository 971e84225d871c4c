//! Requests that the host itself carries out: which ones they are, how they begin, and what becomes of those that a host which
//! is gone has left behind.

use futures::channel::mpsc::UnboundedSender;
use futures::future::BoxFuture;

use super::caller::Caller;
use super::commit::Tried;
use super::fault::Fault;
use super::flights::Flight;
use super::host::{Host, Pinned};
use super::line::NoteRow;
use super::model::{Head, OpenRequest, Sent, SessionId, Standing};
use super::outside::{Declared, Heard, Told, ToolCall};
use super::turn::Draft;
use super::wire::{self, NeedKind};
use crate::limits::WORKFLOW_DEPTH_MAX;
use crate::plugin::contract::{Failure, Mishap, Reply, Source};

impl Host {
    /// Why a request comes to nothing at once, if nobody can carry it out.
    pub(super) fn beyond(&self, pinned: &Pinned, head: &Head, request: &OpenRequest) -> Option<Failure> {
        let outside = self.outside.as_ref()?;
        match wire::need_kind(&request.need)? {
            NeedKind::Tool { server, tool, .. } => outside.refuses(&pinned.definition.servers, &server, &tool),
            NeedKind::Workflow { interpreter, workflow, .. } => {
                let interpreter = interpreter.unwrap_or_else(|| head.interpreter.clone());
                if head.parent.as_ref().is_some_and(|p| p.depth >= WORKFLOW_DEPTH_MAX) {
                    let message = format!("workflows that call workflows are more than {WORKFLOW_DEPTH_MAX} deep");
                    return Some(failure(Mishap::Failed, message));
                }
                let there = self.catalogue().workflow(&interpreter, &workflow).is_some();
                let message = format!("this host serves no workflow `{workflow}` of `{interpreter}`");
                (!there).then(|| failure(Mishap::Unavailable, message))
            }
            NeedKind::Answer { .. }
            | NeedKind::AgentTool { .. }
            | NeedKind::Completion(_)
            | NeedKind::ToolList(_)
            | NeedKind::Timer(_) => None,
        }
    }

    /// Whether this host carries such a request out.
    pub(super) fn carries(&self, request: &OpenRequest) -> bool {
        let Some(outside) = &self.outside else { return false };
        match wire::need_kind(&request.need) {
            Some(NeedKind::Tool { .. } | NeedKind::ToolList(_) | NeedKind::Workflow { .. }) => true,
            Some(NeedKind::AgentTool { tool, .. }) => outside.bound(&tool).is_some(),
            Some(NeedKind::Answer { .. } | NeedKind::Completion(_) | NeedKind::Timer(_)) | None => false,
        }
    }

    /// Writes down, with the turn that asked, that this host now carries its requests out.
    pub(super) fn mark(&self, draft: &mut Draft) -> Result<(), Fault> {
        if self.outside.is_none() {
            return Ok(());
        }
        let at = self.clock.now();
        for request in &mut draft.head.requests {
            if request.standing == Standing::Waiting && self.carries(request) {
                let nonce = (self.clock.entropy() >> 64) as u64;
                request.standing = Standing::Sent(Sent { at, by: self.store.host()?, nonce });
            }
        }
        Ok(())
    }

    /// Begins on a request of an upstream server. None: it is not of that kind, or under way already.
    pub(super) fn launch(
        &self,
        session: SessionId,
        request: &OpenRequest,
        heard: &UnboundedSender<Heard>,
    ) -> Result<Option<Flight>, Fault> {
        if !matches!(request.standing, Standing::Sent(_)) {
            return Ok(None);
        }
        let Some(head) = self.store.head(session)? else { return Ok(None) };
        let declared = self.pinned(&head)?.definition.servers.clone();
        let told = Told { session, request: request.id.clone(), heard: heard.clone() };
        let Some(work) = self.work(&declared, request, told) else { return Ok(None) };
        Ok(self.flights.begin(session, request.clone(), work))
    }

    fn work(
        &self,
        declared: &Declared,
        request: &OpenRequest,
        told: Told,
    ) -> Option<BoxFuture<'static, Result<String, Failure>>> {
        let outside = self.outside.as_ref()?;
        let need = wire::need_kind(&request.need)?;
        if let NeedKind::ToolList(servers) = need {
            let listing = outside.list(declared, servers);
            return Some(Box::pin(async move { Ok(listing.await) }));
        }
        Some(outside.call(declared, tool_call(outside.as_ref(), need)?, told))
    }

    /// Requests that nobody carries out any more, of a host that is gone or of none: taken over where that can do no harm.
    /// Returns those that this host carries out now.
    pub(super) async fn take_over(&self, caller: &Caller, session: SessionId) -> Result<Vec<OpenRequest>, Fault> {
        let Some(head) = self.store.head(session)? else { return Ok(Vec::new()) };
        let declared = self.pinned(&head)?.definition.servers.clone();
        let mut again = Vec::new();
        for request in head.requests.iter().filter(|r| self.is_left(session, r)) {
            let sent = matches!(request.standing, Standing::Sent(_));
            let once = sent && !self.may_repeat(&declared, request).await;
            again.push((request.clone(), once));
        }
        self.taken_over(caller, session, &again).await
    }

    /// Leaves a request whose result nobody knows to the next host that looks. False: it is not in doubt.
    pub async fn send_again(&self, caller: &Caller, session: SessionId, request: &OpenRequest) -> Result<bool, Fault> {
        self.moving(session, || {
            let Some(head) = self.visible(caller, session)? else { return Ok(Tried::Nothing(false)) };
            let mut draft = Draft::of(head);
            let open = draft.head.requests.iter_mut().find(|r| r.id == request.id && r.need == request.need);
            let Some(open) = open.filter(|r| matches!(r.standing, Standing::Doubtful(_))) else {
                return Ok(Tried::Nothing(false));
            };
            open.standing = Standing::Waiting;
            let note =
                NoteRow { kind: "send-again".into(), request: Some(request.id.clone()), detail: serde_json::json!({}) };
            draft.note(self.clock.now(), note, Some(caller.by())).map_err(|bad| Fault::Arguments(bad.0))?;
            Ok(Tried::moved(draft, true))
        })
        .await
    }

    /// Whether a request of this host's kind is carried out by nobody.
    pub(super) fn is_left(&self, session: SessionId, request: &OpenRequest) -> bool {
        let gone = match request.standing {
            Standing::Waiting => true,
            Standing::Sent(sent) => {
                !self.runs(sent.by) || super::turn::lease_end(sent).is_some_and(|end| end <= self.clock.now())
            }
            Standing::Begun(_) | Standing::Doubtful(_) | Standing::Refused(_) => false,
        };
        gone && self.carries(request) && !self.flights.has(session, &request.id)
    }

    fn runs(&self, host: u64) -> bool {
        self.store.host().is_ok_and(|here| here == host) || self.store.alive(host)
    }

    async fn may_repeat(&self, declared: &Declared, request: &OpenRequest) -> bool {
        let Some(outside) = &self.outside else { return false };
        match wire::need_kind(&request.need) {
            Some(NeedKind::ToolList(_) | NeedKind::Workflow { .. }) => true,
            Some(need) => match tool_call(outside.as_ref(), need) {
                Some(call) => outside.repeatable(declared, call.server, call.tool).await,
                None => false,
            },
            None => false,
        }
    }

    async fn taken_over(
        &self,
        caller: &Caller,
        session: SessionId,
        left: &[(OpenRequest, bool)],
    ) -> Result<Vec<OpenRequest>, Fault> {
        if left.is_empty() {
            return Ok(Vec::new());
        }
        self.moving(session, || {
            let Some(head) = self.store.head(session)? else { return Ok(Tried::Nothing(Vec::new())) };
            let pinned = self.pinned(&head)?;
            let mut draft = Draft::of(head);
            for (request, once) in left {
                // Someone else was faster.
                if draft.head.requests.contains(request) {
                    self.taken(caller, &pinned, &mut draft, (request, *once))?;
                }
            }
            let mine = draft.head.requests.iter().filter(|r| left.iter().any(|(l, _)| l.id == r.id));
            let mine = mine.filter(|r| matches!(r.standing, Standing::Sent(_))).cloned().collect();
            Ok(Tried::moved(draft, mine))
        })
        .await
    }

    fn taken(
        &self,
        caller: &Caller,
        pinned: &Pinned,
        draft: &mut Draft,
        (request, once): (&OpenRequest, bool),
    ) -> Result<(), Fault> {
        if let Some(failure) = self.beyond(pinned, &draft.head, request) {
            let reply = Reply { request: request.id.clone(), value: Err(failure) };
            let incoming =
                super::advance::Incoming { input: crate::plugin::contract::Input::Reply(reply), source: Source::Host };
            return self.event(caller, pinned, draft, incoming).map(|_| ());
        }
        let before = if let Standing::Sent(sent) = request.standing { Some(sent) } else { None };
        let (standing, kind) = match before {
            Some(sent) if once => (Standing::Doubtful(sent), "in-doubt"),
            _ => {
                let nonce = before.map_or_else(|| (self.clock.entropy() >> 64) as u64, |sent| sent.nonce);
                let sent = Sent { at: self.clock.now(), by: self.store.host()?, nonce };
                (Standing::Sent(sent), if before.is_some() { "sent-again" } else { "taken-up" })
            }
        };
        if let Some(open) = draft.head.requests.iter_mut().find(|r| r.id == request.id) {
            open.standing = standing;
        }
        let note = NoteRow { kind: kind.into(), request: Some(request.id.clone()), detail: serde_json::json!({}) };
        draft.note(self.clock.now(), note, Some(caller.by())).map_err(|bad| Fault::Arguments(bad.0))
    }
}

/// The upstream call that a need is, if it is one.
fn tool_call(outside: &dyn super::outside::Outside, need: NeedKind) -> Option<ToolCall> {
    match need {
        NeedKind::Tool { server, tool, args } => Some(ToolCall { server, tool, args }),
        NeedKind::AgentTool { tool, args } => {
            let (server, tool) = outside.bound(&tool)?;
            Some(ToolCall { server, tool, args })
        }
        NeedKind::Answer { .. }
        | NeedKind::Completion(_)
        | NeedKind::ToolList(_)
        | NeedKind::Workflow { .. }
        | NeedKind::Timer(_) => None,
    }
}

fn failure(kind: Mishap, message: String) -> Failure {
    Failure { kind, message, detail: None }
}
