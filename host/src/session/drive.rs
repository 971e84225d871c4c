//! What a turn asked for is carried out, its result becomes the next event, until the session waits for someone who is not
//! here. Nothing is held while anything is waited for.

use std::collections::VecDeque;
use std::future::Future;
use std::time::{Duration, Instant};

use super::advance::Advanced;
use super::caller::Caller;
use super::fault::Fault;
use super::host::Host;
use super::line::NoteRow;
use super::wire::{self, NeedKind};
use crate::limits::{CALL_TIME_MAX, FORM_TIME, ROUNDS_PER_CALL_MAX};
use crate::plugin::contract::{Failure, Mishap, Reply, Source};
use crate::session::model::{OpenRequest, SessionId};

/// Something that the client can get for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The session that asks.
    pub session: SessionId,
    /// The request that the answer closes.
    pub request: String,
    /// What is asked, and of whom.
    pub what: Asked,
}

/// What is asked, and of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A value, of a person.
    Form {
        /// What is asked.
        prompt: String,
        /// JSON Schema of the value, JSON text.
        schema: String,
    },
    /// The next message, of a model.
    Completion {
        /// The parameters of `sampling/createMessage`, JSON text.
        params: String,
    },
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// A value, JSON text.
    Value(String),
    /// The person, or the client in its place, said no.
    Declined,
    /// Closed without an answer, or no answer in time, or the client failed: how.
    Unanswered(String),
    /// There is no way to ask now.
    Cannot,
    /// It is asked with the reply to this very call, and answered with the next one.
    Later,
}

/// What the edge can do for a session.
pub trait Effects: Sync {
    /// Asks through the client, and waits at most so long.
    fn ask(&self, ask: &Ask, time: Duration) -> impl Future<Output = Answered> + Send;
    /// Whether the client can be asked that at all.
    fn can(&self, ask: &Ask) -> bool;
    /// Tells the client what a turn wants told while the call still runs.
    fn tell(&self, parts: &[String]) -> impl Future<Output = ()> + Send;
}

/// The end of a call: what the caller gets, and what it must be asked with it.
#[derive(Debug)]
pub struct Driven {
    /// What became of it.
    pub advanced: Advanced,
    /// Questions to send with the reply.
    pub asks: Vec<Ask>,
    /// Whether a model was wanted and the client has none to offer.
    pub no_model: bool,
}

/// What is still to be carried out, and how it went so far.
struct Drive {
    advanced: Advanced,
    waiting: VecDeque<OpenRequest>,
    no_model: bool,
}

/// How one request ended.
enum Carried {
    Value(Result<String, Failure>, Source),
    Unanswered(String),
    NotNow,
    Later(Vec<Ask>),
}

impl Host {
    /// Carries out what a turn asked for, and hands back what it gave.
    pub async fn drive<E: Effects>(&self, caller: &Caller, first: Advanced, effects: &E) -> Result<Driven, Fault> {
        let until = Instant::now() + CALL_TIME_MAX;
        let mut drive = Drive { waiting: first.opened.iter().cloned().collect(), advanced: first, no_model: false };
        effects.tell(&drive.advanced.progress).await;
        for _ in 0..ROUNDS_PER_CALL_MAX {
            let (Some(session), Some(request)) = (drive.advanced.session, drive.waiting.pop_front()) else { break };
            let asked = Instant::now();
            let time = FORM_TIME.min(until.saturating_duration_since(asked));
            // Nobody is asked who could not answer any more: the question stays open.
            if time.is_zero() {
                break;
            }
            match drive.carry(session, &request, (effects, time)).await {
                Carried::Value(value, source) => {
                    let reply = Reply { request: request.id, value };
                    if !self.handed_over(caller, &mut drive, effects, (&request.need, &reply, source)).await? {
                        break;
                    }
                }
                Carried::Unanswered(how) => {
                    let note = unanswered(&request.id, &how, asked.elapsed());
                    self.note(caller, session, &note)?;
                    break;
                }
                Carried::NotNow => {}
                Carried::Later(asks) => return Ok(Driven { advanced: drive.advanced, asks, no_model: drive.no_model }),
            }
        }
        Ok(Driven { advanced: drive.advanced, asks: Vec::new(), no_model: drive.no_model })
    }

    /// Hands a reply to the session. False if it was refused: then nothing more is to be done.
    async fn handed_over<E: Effects>(
        &self,
        caller: &Caller,
        drive: &mut Drive,
        effects: &E,
        (asked, reply, source): (&str, &Reply, Source),
    ) -> Result<bool, Fault> {
        let Some(session) = drive.advanced.session else { return Ok(false) };
        // Closed meanwhile, by someone else or by the turn before.
        let Some(next) = self.reply(caller, (session, asked), reply, source)? else { return Ok(true) };
        effects.tell(&next.progress).await;
        let refused = next.opened.is_empty() && self.still_open(caller, session, &reply.request)?;
        drive.waiting.extend(next.opened.iter().cloned());
        // A refused value is told with its reason; a refused failure leaves what the turn before said.
        if reply.value.is_ok() || !refused {
            drive.advanced = next;
        }
        Ok(!refused)
    }

    /// Whether a request waits for its answer.
    pub fn still_open(&self, caller: &Caller, session: SessionId, request: &str) -> Result<bool, Fault> {
        let head = self.visible(caller, session)?;
        Ok(head.is_some_and(|h| h.requests.iter().any(|r| r.id == request)))
    }
}

impl Drive {
    async fn carry<E: Effects>(
        &mut self,
        session: SessionId,
        request: &OpenRequest,
        (effects, time): (&E, Duration),
    ) -> Carried {
        // What no part of this host can get was answered in the turn's own transaction.
        let Some(ask) = ask(session, request) else { return Carried::NotNow };
        let by_model = matches!(ask.what, Asked::Completion { .. });
        let source = if by_model { Source::Model } else { Source::Human };
        match effects.ask(&ask, time).await {
            Answered::Value(value) => Carried::Value(Ok(value), source),
            Answered::Declined => Carried::Value(Err(failure(Mishap::Declined, "the form was declined")), source),
            // Nobody else will give it, so the session must know; a person may still come.
            Answered::Unanswered(how) if by_model => Carried::Value(Err(failure(Mishap::Failed, &how)), source),
            Answered::Unanswered(how) => Carried::Unanswered(how),
            Answered::Cannot if by_model => {
                self.no_model = true;
                let message = "the client offers no model to carry out a `completion` request";
                Carried::Value(Err(failure(Mishap::Unavailable, message)), Source::Host)
            }
            Answered::Cannot => Carried::NotNow,
            Answered::Later => {
                let more = self.waiting.iter().filter_map(|r| self::ask(session, r)).filter(|ask| effects.can(ask));
                Carried::Later(std::iter::once(ask).chain(more).collect())
            }
        }
    }
}

/// What the client can be asked to close a request.
#[must_use]
pub fn ask(session: SessionId, request: &OpenRequest) -> Option<Ask> {
    let what = match wire::need_kind(&request.need)? {
        NeedKind::Answer { audience, .. } if audience == "agent" => return None,
        NeedKind::Answer { prompt, schema, .. } => Asked::Form { prompt, schema },
        NeedKind::Host { what: "completion" } => Asked::Completion { params: wire::completion(&request.need)? },
        NeedKind::AgentTool { .. } | NeedKind::Host { .. } | NeedKind::Timer(_) => return None,
    };
    Some(Ask { session, request: request.id.clone(), what })
}

fn failure(kind: Mishap, message: &str) -> Failure {
    Failure { kind, message: message.to_owned(), detail: None }
}

fn unanswered(request: &str, how: &str, waited: Duration) -> NoteRow {
    let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
    NoteRow {
        kind: "unanswered".into(),
        request: Some(request.to_owned()),
        detail: serde_json::json!({"how": how, "waited_ms": waited_ms}),
    }
}
