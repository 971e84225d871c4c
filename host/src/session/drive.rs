//! What a turn asked for is carried out, its result becomes the next event, until the session waits for someone who is not
//! here. Nothing is held while anything is waited for.

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

/// A question for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The session that asks.
    pub session: SessionId,
    /// The request that the answer closes.
    pub request: String,
    /// What is asked.
    pub prompt: String,
    /// JSON Schema of the value, JSON text.
    pub schema: String,
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
    /// Asks a person through the client, and waits at most so long.
    fn ask(&self, form: &Form, time: Duration) -> impl Future<Output = Answered> + Send;
    /// Runs work that may block.
    fn blocking<T>(&self, work: impl FnOnce() -> T) -> T;
}

/// The end of a call: what the caller gets, and what it must be asked with it.
#[derive(Debug)]
pub struct Driven {
    /// What became of it.
    pub advanced: Advanced,
    /// A question to send with the reply.
    pub asks: Option<Form>,
}

impl Host {
    /// Carries out what a turn asked for, and hands back what it gave.
    pub async fn drive<E: Effects>(&self, caller: &Caller, first: Advanced, effects: &E) -> Result<Driven, Fault> {
        let until = Instant::now() + CALL_TIME_MAX;
        let mut advanced = first;
        for _ in 0..ROUNDS_PER_CALL_MAX {
            let Some(session) = advanced.session else { break };
            let Some((request, kind)) = advanced.opened.iter().find_map(for_the_host) else { break };
            let (id, asked) = (request.id.clone(), Instant::now());
            let (value, source) = match kind {
                NeedKind::Answer { prompt, schema, .. } => {
                    let form = Form { session, request: id.clone(), prompt, schema };
                    let time = FORM_TIME.min(until.saturating_duration_since(asked));
                    match effects.ask(&form, time).await {
                        Answered::Value(value) => (Ok(value), Source::Human),
                        Answered::Declined => (Err(failure(Mishap::Declined, "the form was declined")), Source::Human),
                        Answered::Unanswered(how) => {
                            let note = unanswered(&id, &how, asked.elapsed());
                            effects.blocking(|| self.note(caller, session, &note))?;
                            break;
                        }
                        Answered::Cannot => break,
                        Answered::Later => return Ok(Driven { advanced, asks: Some(form) }),
                    }
                }
                NeedKind::Host { what } => {
                    let message = format!("this host has nobody to carry out a `{what}` request");
                    (Err(failure(Mishap::Unavailable, &message)), Source::Host)
                }
                NeedKind::AgentTool { .. } | NeedKind::Timer(_) => break,
            };
            let answered = value.is_ok();
            let reply = Reply { request: id, value };
            let Some(next) = effects.blocking(|| self.reply(caller, session, &reply, source))? else { break };
            let refused = next.opened.is_empty() && self.still_open(caller, session, &reply.request)?;
            // A refused value is told with its reason; a refused failure leaves what the turn before said.
            if answered || !refused {
                advanced = next;
            }
            if refused {
                break;
            }
        }
        Ok(Driven { advanced, asks: None })
    }

    /// Whether a request waits for its answer.
    pub fn still_open(&self, caller: &Caller, session: SessionId, request: &str) -> Result<bool, Fault> {
        let head = self.visible(caller, session)?;
        Ok(head.is_some_and(|h| h.requests.iter().any(|r| r.id == request)))
    }
}

/// A request that someone at the edge, or nobody, can carry out for the session.
fn for_the_host(request: &OpenRequest) -> Option<(&OpenRequest, NeedKind)> {
    match wire::need_kind(&request.need)? {
        NeedKind::Answer { audience, .. } if audience == "agent" => None,
        NeedKind::AgentTool { .. } | NeedKind::Timer(_) => None,
        kind @ (NeedKind::Answer { .. } | NeedKind::Host { .. }) => Some((request, kind)),
    }
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
