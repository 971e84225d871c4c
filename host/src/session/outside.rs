//! What lies outside of this host, as the session sees it: upstream servers. Who really speaks with them is no matter of this
//! folder.

use std::fmt::Debug;
use std::sync::Arc;

use futures::channel::mpsc::UnboundedSender;
use futures::channel::oneshot;
use futures::future::BoxFuture;

use super::effects::Answered;
use super::model::SessionId;
use crate::plugin::contract::{Failure, Mishap, Server};

/// The upstream servers that a document declares.
pub type Declared = Arc<[Server]>;

/// What is heard of a call while it runs.
#[derive(Debug)]
pub enum Heard {
    /// A part to tell whoever waits, JSON text.
    Part(String),
    /// A question of the server's.
    Question(Question),
}

/// What a server asks the person for whom it is called, in the midst of the call.
#[derive(Debug)]
pub struct Question {
    /// The session that called.
    pub session: SessionId,
    /// The request that the call carries out.
    pub request: String,
    /// What is asked.
    pub prompt: String,
    /// JSON Schema of the answer, JSON text.
    pub schema: String,
    /// Where the answer goes.
    pub answer: oneshot::Sender<Answered>,
}

/// Where one call tells what is heard of it.
#[derive(Debug, Clone)]
pub struct Told {
    /// The session that called.
    pub session: SessionId,
    /// The request that the call carries out.
    pub request: String,
    /// Whoever waits for it.
    pub heard: UnboundedSender<Heard>,
}

impl Told {
    /// Tells a part. Nobody may listen any more.
    pub fn tell(&self, part: String) {
        let _ = self.heard.unbounded_send(Heard::Part(part));
    }

    /// Puts a question to the person behind the call.
    pub async fn ask(&self, prompt: String, schema: String) -> Answered {
        let (answer, answered) = oneshot::channel();
        let question = Question { session: self.session, request: self.request.clone(), prompt, schema, answer };
        match self.heard.unbounded_send(Heard::Question(question)) {
            Ok(()) => answered.await.unwrap_or(Answered::Cannot),
            Err(_) => Answered::Cannot,
        }
    }
}

/// A call of an upstream server's tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The server's name.
    pub server: String,
    /// Its tool.
    pub tool: String,
    /// The arguments, JSON text.
    pub args: String,
}

/// Those who can reach upstream servers. Dropping a future gives its call up, and the server is told.
pub trait Outside: Send + Sync + Debug {
    /// The upstream tool to which the operator has bound a tool that is the agent's otherwise: its server and its name.
    fn bound(&self, tool: &str) -> Option<(String, String)>;
    /// Why no such call will be made, if none will: no such server, or the operator forbids it. Asks nobody.
    fn refuses(&self, declared: &Declared, server: &str, tool: &str) -> Option<Failure>;
    /// Carries a call out. The value is MCP's CallToolResult, JSON text.
    fn call(&self, declared: &Declared, call: ToolCall, told: Told) -> BoxFuture<'static, Result<String, Failure>>;
    /// What these servers offer: `{SERVER: {"tools": [..]} or {"failure": {..}}}`, JSON text.
    fn list(&self, declared: &Declared, servers: Vec<String>) -> BoxFuture<'static, String>;
    /// Whether the server marks the tool as one that may be called twice: read-only or idempotent.
    fn repeatable(&self, declared: &Declared, server: String, tool: String) -> BoxFuture<'static, bool>;
}

/// A host that reaches no upstream server, and why.
#[derive(Debug, Clone, Copy)]
pub struct Nobody(pub &'static str);

impl Nobody {
    /// It has none.
    pub const THERE: Self = Self("this host has no upstream servers");
    /// What it does is not kept, so nothing outside may be touched for it.
    pub const TRIED: Self = Self(
        "a document that is only tried reaches no upstream server, for nothing of a trial is kept: save it and call its \
         tool, or try it with `wfhost run`",
    );

    fn without(self, server: &str) -> Failure {
        unavailable(&format!("there is no `{server}` here: {}", self.0))
    }
}

impl Outside for Nobody {
    fn bound(&self, _tool: &str) -> Option<(String, String)> {
        None
    }

    fn refuses(&self, _declared: &Declared, server: &str, _tool: &str) -> Option<Failure> {
        Some(self.without(server))
    }

    fn call(&self, _declared: &Declared, call: ToolCall, _told: Told) -> BoxFuture<'static, Result<String, Failure>> {
        Box::pin(std::future::ready(Err(self.without(&call.server))))
    }

    fn list(&self, _declared: &Declared, servers: Vec<String>) -> BoxFuture<'static, String> {
        let failure = serde_json::json!({"kind": "unavailable", "message": self.0});
        let of = |name: String| (name, serde_json::json!({ "failure": failure }));
        let all: serde_json::Map<_, _> = servers.into_iter().map(of).collect();
        Box::pin(std::future::ready(serde_json::Value::Object(all).to_string()))
    }

    fn repeatable(&self, _declared: &Declared, _server: String, _tool: String) -> BoxFuture<'static, bool> {
        Box::pin(std::future::ready(false))
    }
}

fn unavailable(message: &str) -> Failure {
    Failure { kind: Mishap::Unavailable, message: message.to_owned(), detail: None }
}
