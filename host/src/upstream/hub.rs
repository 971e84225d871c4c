//! All upstream servers of a host: those of the operator's file, and those that documents declare.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, join_all};
use rmcp::model::Tool;
use serde_json::{Value, json};

use super::Environment;
use super::call::failure;
use super::config::{Reach, Spec};
use super::file::File;
use super::policy::Spawn;
use super::server::Server;
use crate::limits::UPSTREAM_END_TIME;
use crate::plugin::contract::{self, Failure, Mishap};
use crate::session::outside::{Declared, Outside, Told, ToolCall};
use crate::session::wire;

/// The operator's words.
#[derive(Clone)]
pub struct HubOptions {
    /// The operator's own servers and bindings.
    pub file: File,
    /// Whether documents may name programs to start.
    pub spawn: Spawn,
    /// Where variables are looked up.
    pub environment: Environment,
    /// Where a line goes when a program is first started for a document.
    pub notice: Arc<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for HubOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubOptions").field("file", &self.file).field("spawn", &self.spawn).finish_non_exhaustive()
    }
}

/// What a server offers, or why that is not known.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Its name.
    pub server: String,
    /// The protocol version that was agreed on.
    pub protocol: Option<String>,
    /// How long it took to start it and to list.
    pub took: Duration,
    /// Its tools, or the failure.
    pub tools: Result<Vec<Offer>, String>,
}

/// A tool of an upstream server.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// Whether the operator lets it be called.
    pub allowed: bool,
    /// All that the server says of it, MCP's Tool.
    pub tool: Value,
}

/// A server's name, and what is said of it.
type Entry = (String, String);

/// All upstream servers of a host.
#[derive(Debug)]
pub struct Hub {
    options: HubOptions,
    operator: BTreeMap<String, Arc<Server>>,
    /// Two documents that declare the same server in the same words share it.
    declared: Mutex<HashMap<Entry, Result<Arc<Server>, String>>>,
}

impl Hub {
    /// A hub; nothing is started yet.
    #[must_use]
    pub fn new(options: HubOptions) -> Self {
        let servers = options.file.servers.iter();
        let operator = servers.map(|(name, spec)| (name.clone(), Server::new(name.clone(), spec.clone()))).collect();
        Self { options, operator, declared: Mutex::default() }
    }

    /// Ends all servers, and waits for them a bounded time.
    pub async fn close(&self) {
        let declared: Vec<_> =
            self.declared.lock().unwrap_or_else(PoisonError::into_inner).values().flatten().cloned().collect();
        let all = self.operator.values().cloned().chain(declared);
        let ends = join_all(all.map(|server| async move { server.close().await }));
        let _ = tokio::time::timeout(UPSTREAM_END_TIME, ends).await;
    }

    /// What the operator's servers and these declared ones offer, each asked at the same time.
    pub async fn offers(&self, declared: &[contract::Server]) -> Vec<Listing> {
        let mut names: Vec<String> = self.operator.keys().cloned().collect();
        names.extend(declared.iter().map(|d| d.name.clone()).filter(|n| !self.operator.contains_key(n)));
        names.dedup();
        let declared: Declared = declared.into();
        join_all(names.into_iter().map(|name| self.offer(declared.clone(), name))).await
    }

    async fn offer(&self, declared: Declared, name: String) -> Listing {
        let begun = Instant::now();
        let listed = match self.server(&declared, &name) {
            Ok(server) => {
                let tools = server.tools(&self.options.environment).await;
                let tools = tools.map(|tools| tools.iter().map(|tool| offer(&server, tool)).collect());
                (server.protocol().await, tools.map_err(|failure| failure.message))
            }
            Err(failure) => (None, Err(failure.message)),
        };
        Listing { server: name, protocol: listed.0, took: begun.elapsed(), tools: listed.1 }
    }

    /// The server of that name: the operator's own, or one that the document declares and the operator allows.
    fn server(&self, declared: &[contract::Server], name: &str) -> Result<Arc<Server>, Failure> {
        if let Some(server) = self.operator.get(name) {
            return usable(server, name);
        }
        let Some(entry) = declared.iter().find(|d| d.name == name) else {
            let mut there: Vec<&str> = self.operator.keys().map(String::as_str).collect();
            there.extend(declared.iter().map(|d| d.name.as_str()));
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            let message = format!("there is no upstream server `{name}`; known are: {there}");
            return Err(failure(Mishap::Unavailable, message));
        };
        let server = self.declared_one(entry).map_err(|why| {
            failure(Mishap::Unavailable, format!("what the document says of the server `{name}` is wrong: {why}"))
        })?;
        if let Reach::Program { command, .. } = &server.spec().reach
            && !self.options.spawn.allows(command)
        {
            let message = format!(
                "the document wants the program `{command}` started as its server `{name}`, which the operator has not \
                 allowed: `--allow-spawn` does, or an entry of that name in the operator's own `--mcp` file"
            );
            return Err(failure(Mishap::Denied, message));
        }
        usable(&server, name)
    }

    fn declared_one(&self, entry: &contract::Server) -> Result<Arc<Server>, String> {
        let key = (entry.name.clone(), entry.spec.clone());
        let mut declared = self.declared.lock().unwrap_or_else(PoisonError::into_inner);
        let made = declared.entry(key).or_insert_with(|| {
            let value: Value = serde_json::from_str(&entry.spec).map_err(|error| error.to_string())?;
            let spec = Spec::read(&value).map_err(|fault| fault.to_string())?;
            if let Reach::Program { command, args, .. } = &spec.reach
                && self.options.spawn.allows(command)
            {
                let name = &entry.name;
                (self.options.notice)(&format!("documents may start `{}` as the server `{name}`", line(command, args)));
            }
            Ok(Server::new(entry.name.clone(), spec))
        });
        made.clone()
    }
}

fn line(command: &str, args: &[String]) -> String {
    std::iter::once(command).chain(args.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

fn usable(server: &Arc<Server>, name: &str) -> Result<Arc<Server>, Failure> {
    if server.spec().disabled {
        return Err(failure(Mishap::Denied, format!("the server `{name}` is disabled in its entry")));
    }
    Ok(Arc::clone(server))
}

fn offer(server: &Server, tool: &Tool) -> Offer {
    Offer {
        name: tool.name.to_string(),
        allowed: server.spec().tools.allows(&tool.name),
        tool: serde_json::to_value(tool).unwrap_or_default(),
    }
}

/// Whether a server says of its tool that calling it twice does no harm.
fn may_repeat(tool: &Tool) -> bool {
    let says = tool.annotations.as_ref();
    says.is_some_and(|a| a.read_only_hint == Some(true) || a.idempotent_hint == Some(true))
}

impl Outside for Hub {
    fn bound(&self, tool: &str) -> Option<(String, String)> {
        self.options.file.bindings.get(tool).cloned()
    }

    fn refuses(&self, declared: &Declared, server: &str, tool: &str) -> Option<Failure> {
        match self.server(declared, server) {
            Err(failure) => Some(failure),
            Ok(found) if found.spec().tools.allows(tool) => None,
            Ok(_) => {
                let message = format!("the operator does not let `{tool}` of `{server}` be called");
                Some(failure(Mishap::Denied, message))
            }
        }
    }

    fn call(&self, declared: &Declared, call: ToolCall, told: Told) -> BoxFuture<'static, Result<String, Failure>> {
        if let Some(failure) = self.refuses(declared, &call.server, &call.tool) {
            return Box::pin(std::future::ready(Err(failure)));
        }
        match self.server(declared, &call.server) {
            Ok(server) => Box::pin(server.call(self.options.environment.clone(), call, told)),
            Err(failure) => Box::pin(std::future::ready(Err(failure))),
        }
    }

    fn list(&self, declared: &Declared, servers: Vec<String>) -> BoxFuture<'static, String> {
        let environment = self.options.environment.clone();
        let found: Vec<_> = servers.into_iter().map(|name| (self.server(declared, &name), name)).collect();
        Box::pin(async move {
            let one = |(server, name): (Result<Arc<Server>, Failure>, String)| {
                let environment = environment.clone();
                async move {
                    let tools = match &server {
                        Ok(server) => server.tools(&environment).await.map(|tools| {
                            tools.iter().filter(|t| server.spec().tools.allows(&t.name)).cloned().collect::<Vec<_>>()
                        }),
                        Err(failure) => Err(failure.clone()),
                    };
                    let listed = match tools {
                        Ok(tools) => json!({ "tools": tools }),
                        Err(f) => json!({"failure": {"kind": wire::mishap(f.kind), "message": f.message}}),
                    };
                    (name, listed)
                }
            };
            let all: serde_json::Map<_, _> = join_all(found.into_iter().map(one)).await.into_iter().collect();
            Value::Object(all).to_string()
        })
    }

    fn repeatable(&self, declared: &Declared, server: String, tool: String) -> BoxFuture<'static, bool> {
        let (found, environment) = (self.server(declared, &server), self.options.environment.clone());
        Box::pin(async move {
            let Ok(server) = found else { return false };
            let Ok(tools) = server.tools(&environment).await else { return false };
            tools.iter().find(|t| t.name == tool).is_some_and(may_repeat)
        })
    }
}
