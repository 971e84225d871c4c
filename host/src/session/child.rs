//! A session that another session asks for: how it begins, and how its outcome comes back.

use super::advance::{Advanced, Incoming};
use super::caller::Caller;
use super::commit::Tried;
use super::fault::Fault;
use super::host::Host;
use super::line::NoteRow;
use super::model::{Digest, Head, OpenRequest, Parent, SessionId, Standing};
use super::turn::Draft;
use super::wire::{self, NeedKind};
use crate::plugin::contract::{Failure, Input, Mishap, Output, Reply, Source};

/// The session that this asking begins: the same one however often it is looked up, and unknown to whoever does not know the
/// session that asks.
fn name(parent: SessionId, request: &OpenRequest) -> Option<SessionId> {
    let (Standing::Sent(sent) | Standing::Begun(sent)) = request.standing else { return None };
    let parts: [&[u8]; 3] = [&parent.to_bytes(), request.id.as_bytes(), &sent.nonce.to_be_bytes()];
    let digest = Digest::of_parts(&parts);
    digest.0.first_chunk::<16>().map(|bytes| SessionId::from_bytes(*bytes))
}

impl Host {
    /// Begins the session that a request asks for, or finds it begun. None: it asks for no session, or its end has come back
    /// and closed nothing.
    pub(super) async fn child(
        &self,
        caller: &Caller,
        parent: SessionId,
        request: &OpenRequest,
    ) -> Result<Option<Advanced>, Fault> {
        let Some(NeedKind::Workflow { interpreter, workflow, args }) = wire::need_kind(&request.need) else {
            return Ok(None);
        };
        let Some(session) = name(parent, request) else { return Ok(None) };
        if let Some(head) = self.store.head(session)? {
            self.begun(caller, parent, request, session).await?;
            return if head.outcome.is_some() { self.hand_up(caller, session).await } else { Ok(None) };
        }
        let Some(above) = self.store.head(parent)? else { return Ok(None) };
        let wanted = (interpreter.unwrap_or_else(|| above.interpreter.clone()), workflow);
        let link = Parent {
            session: parent,
            request: request.id.clone(),
            depth: above.parent.map_or(1, |p| p.depth.saturating_add(1)),
            told: false,
        };
        match self.started(caller, session, (&wanted.0, &wanted.1, &args), link).await {
            Ok(Ok(advanced)) => {
                self.begun(caller, parent, request, session).await?;
                if let Some(own) = &caller.own {
                    own.set(&wanted.0, &wanted.1, session);
                }
                Ok(Some(advanced))
            }
            Ok(Err(refused)) => self.came_to_nothing(caller, parent, request, words(&refused)).await,
            Err(fault @ (Fault::Store(_) | Fault::Busy(_))) => Err(fault),
            Err(fault) => self.came_to_nothing(caller, parent, request, fault.to_string()).await,
        }
    }

    async fn started(
        &self,
        caller: &Caller,
        session: SessionId,
        (interpreter, workflow, args): (&str, &str, &str),
        parent: Parent,
    ) -> Result<Result<Advanced, Output>, Fault> {
        let catalogue = self.catalogue();
        let Some(offered) = catalogue.of(interpreter) else {
            return Err(Fault::Arguments(format!("this host has no interpreter `{interpreter}`")));
        };
        let by = Caller {
            owner: caller.owner.clone(),
            channel: "workflow",
            client: Some(format!("{} {}", parent.session, parent.request)),
            own: None,
        };
        let (pinned, head) = self.fresh(&by, offered, workflow)?;
        let mut draft = Draft::of(Head { session, parent: Some(parent), ..head });
        let incoming = Incoming { input: Input::Open(args.to_owned()), source: Source::Host };
        let advanced = match self.begin(&by, &pinned, &mut draft, incoming)? {
            Ok(advanced) => advanced,
            Err(refused) => return Ok(Err(refused)),
        };
        self.keep(&pinned.plugin, &pinned.definition)?;
        // A conflict: another process has begun the very same session meanwhile.
        if !self.commit(&draft).await? {
            return Err(Fault::Busy(session));
        }
        Ok(Ok(advanced))
    }

    /// Writes down which session a request has begun.
    async fn begun(
        &self,
        caller: &Caller,
        parent: SessionId,
        request: &OpenRequest,
        child: SessionId,
    ) -> Result<(), Fault> {
        self.moving(parent, || {
            let Some(head) = self.visible(caller, parent)? else { return Ok(Tried::Nothing(())) };
            let mut draft = Draft::of(head);
            let open = draft.head.requests.iter_mut().find(|r| r.id == request.id && r.standing == request.standing);
            let Some(Standing::Sent(sent)) = open.as_ref().map(|o| o.standing) else {
                return Ok(Tried::Nothing(()));
            };
            open.into_iter().for_each(|open| open.standing = Standing::Begun(sent));
            let detail = serde_json::json!({"session": child.to_string()});
            let note = NoteRow { kind: "begun".into(), request: Some(request.id.clone()), detail };
            draft.note(self.clock.now(), note, Some(caller.by())).map_err(|bad| Fault::Arguments(bad.0))?;
            Ok(Tried::moved(draft, ()))
        })
        .await
    }

    async fn came_to_nothing(
        &self,
        caller: &Caller,
        parent: SessionId,
        request: &OpenRequest,
        message: String,
    ) -> Result<Option<Advanced>, Fault> {
        let value = Err(Failure { kind: Mishap::Failed, message, detail: None });
        self.reply(caller, (parent, &request.need), &Reply { request: request.id.clone(), value }, Source::Host).await
    }

    /// Hands the outcome of a session to the one that asked for it, once. None if that waits for it no more.
    pub(super) async fn hand_up(&self, caller: &Caller, child: SessionId) -> Result<Option<Advanced>, Fault> {
        let Some(head) = self.store.head(child)? else { return Ok(None) };
        let (Some(parent), Some(outcome)) = (&head.parent, &head.outcome) else { return Ok(None) };
        if parent.told {
            return Ok(None);
        }
        let above = self.store.head(parent.session)?;
        let open = above.iter().flat_map(|h| &h.requests).find(|r| r.id == parent.request);
        let open = open.filter(|r| name(parent.session, r) == Some(child));
        let advanced = match open {
            Some(open) => {
                let reply = Reply { request: open.id.clone(), value: wire::outcome_of(outcome) };
                let own = Caller { own: caller.own.clone(), ..caller.clone() };
                self.reply(&own, (parent.session, &open.need), &reply, Source::Host).await
            }
            None => Ok(None),
        };
        let taken = matches!(&advanced, Ok(Some(_)));
        // What broke in the other session is told there; this one has done what it could.
        if !matches!(&advanced, Err(Fault::Store(_) | Fault::Busy(_))) {
            self.handed_up(caller, child, parent, taken).await?;
        }
        advanced
    }

    async fn handed_up(&self, caller: &Caller, child: SessionId, parent: &Parent, taken: bool) -> Result<(), Fault> {
        self.moving(child, || {
            let Some(mut head) = self.store.head(child)? else { return Ok(Tried::Nothing(())) };
            match &mut head.parent {
                Some(parent) if !parent.told => parent.told = true,
                _ => return Ok(Tried::Nothing(())),
            }
            let mut draft = Draft::of(head);
            let detail =
                serde_json::json!({"session": parent.session.to_string(), "request": parent.request, "taken": taken});
            let note = NoteRow { kind: "handed-up".into(), request: None, detail };
            draft.note(self.clock.now(), note, Some(caller.by())).map_err(|bad| Fault::Arguments(bad.0))?;
            Ok(Tried::moved(draft, ()))
        })
        .await
    }
}

/// A refusal's reply as one sentence for the session that asked.
fn words(output: &Output) -> String {
    let text = serde_json::from_str::<String>(&output.value).unwrap_or_else(|_| output.value.clone());
    format!("the workflow was not started: {text}")
}
