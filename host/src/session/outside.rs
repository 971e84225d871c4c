//! What lies outside of this host, as the session sees it: upstream servers. Who really speaks with them is no matter of this
//! folder.

use std::fmt::Debug;
use std::sync::Arc;

use futures::channel::mpsc::UnboundedSender;
use futures::future::BoxFuture;

use crate::plugin::contract::{Failure, Mishap, Server};

/// The upstream servers that a document declares.
pub type Declared = Arc<[Server]>;

/// Where parts go that are told while a call runs, JSON texts.
pub type Told = UnboundedSender<String>;

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

/// A host without upstream servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Outside for Nobody {
    fn bound(&self, _tool: &str) -> Option<(String, String)> {
        None
    }

    fn refuses(&self, _declared: &Declared, server: &str, _tool: &str) -> Option<Failure> {
        Some(unavailable(&format!("this host has no upstream servers, so none named `{server}`")))
    }

    fn call(&self, _declared: &Declared, call: ToolCall, _told: Told) -> BoxFuture<'static, Result<String, Failure>> {
        let message = format!("this host has no upstream servers, so none named `{}`", call.server);
        Box::pin(std::future::ready(Err(unavailable(&message))))
    }

    fn list(&self, _declared: &Declared, servers: Vec<String>) -> BoxFuture<'static, String> {
        let failure = serde_json::json!({"kind": "unavailable", "message": "this host has no upstream servers"});
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
