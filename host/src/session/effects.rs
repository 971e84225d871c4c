//! What the edge can do for a session: ask through the client, tell it what happens meanwhile, and say how long it waits.

use std::future::Future;
use std::time::Duration;

use super::wire::{self, NeedKind};
use crate::limits::CALL_TIME_MAX;
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
    /// Ends when the client gives its call up.
    fn given_up(&self) -> impl Future<Output = ()> + Send;
    /// Ends after this time.
    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send;
    /// How long whoever called waits for the reply; none: to the end, and then not for timers either.
    fn patience(&self) -> Option<Duration> {
        Some(CALL_TIME_MAX)
    }
}

/// Nobody called, or the one who did is gone: what goes on goes on alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unattended;

impl Effects for Unattended {
    async fn ask(&self, _ask: &Ask, _time: Duration) -> Answered {
        Answered::Cannot
    }

    fn can(&self, _ask: &Ask) -> bool {
        false
    }

    async fn tell(&self, _parts: &[String]) {}

    async fn given_up(&self) {
        std::future::pending::<()>().await;
    }

    async fn pause(&self, _time: Duration) {
        std::future::pending::<()>().await;
    }

    fn patience(&self) -> Option<Duration> {
        None
    }
}

/// What the client can be asked to close a request.
#[must_use]
pub fn ask(session: SessionId, request: &OpenRequest) -> Option<Ask> {
    let what = match wire::need_kind(&request.need)? {
        NeedKind::Answer { audience, .. } if audience == "agent" => return None,
        NeedKind::Answer { prompt, schema, .. } => Asked::Form { prompt, schema },
        NeedKind::Completion(params) => Asked::Completion { params },
        NeedKind::AgentTool { .. }
        | NeedKind::Tool { .. }
        | NeedKind::ToolList(_)
        | NeedKind::Workflow { .. }
        | NeedKind::Timer(_) => return None,
    };
    Some(Ask { session, request: request.id.clone(), what })
}
