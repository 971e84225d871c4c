//! An entry of `mcpServers`, as clients and documents write it: what is meant, and what is wrong with it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::policy::Globs;
use crate::limits::{UPSTREAM_TIME, UPSTREAM_TIME_MAX};

/// How a server is reached. Texts may hold `${VARIABLE}`, which is filled in when it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program that speaks on its standard input and output.
    Program {
        /// Its name or path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What it gets of the environment besides the usual.
        env: BTreeMap<String, String>,
        /// Where it is started; the host's own folder if none.
        cwd: Option<String>,
    },
    /// An address.
    Web {
        /// Where.
        url: String,
        /// What is sent with each request.
        headers: BTreeMap<String, String>,
        /// The HTTP+SSE transport of 2024-11-05 instead of streamable HTTP.
        legacy: bool,
    },
}

/// How the host shows a server of the web who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// A token that is known.
    Bearer(String),
    /// One that is fetched by OAuth's client-credentials grant (RFC 6749, section 4.4).
    ClientCredentials {
        /// The client's name.
        id: String,
        /// Its secret.
        secret: String,
        /// What is asked for.
        scope: Option<String>,
        /// Where tokens are given out; found by RFC 9728 and RFC 8414 if none.
        token_url: Option<String>,
    },
}

/// An upstream server, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// How it is reached.
    pub reach: Reach,
    /// Who the host is.
    pub auth: Option<Auth>,
    /// Whether it is kept between calls.
    pub keep_alive: bool,
    /// Not to be used.
    pub disabled: bool,
    /// How long one call may take.
    pub time: Duration,
    /// Its tools that may be called.
    pub tools: Globs,
    /// Keys that mean nothing here.
    pub unknown: Vec<String>,
}

/// What is wrong with an entry: where in it, and what.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}")]
pub struct SpecFault {
    /// A JSON pointer into the entry; empty for all of it.
    pub at: String,
    /// What is wrong and what would be right.
    pub what: String,
}

fn fault<T>(at: &str, what: impl Into<String>) -> Result<T, SpecFault> {
    let at = if at.is_empty() { "the entry".to_owned() } else { format!("`/{at}`") };
    Err(SpecFault { at, what: what.into() })
}

const PROGRAM: [&str; 4] = ["command", "args", "env", "cwd"];
const WEB: [&str; 3] = ["url", "headers", "auth"];
const BOTH: [&str; 7] = ["type", "transport", "keep_alive", "disabled", "timeout", "tools", "description"];

impl Spec {
    /// Reads an entry.
    pub fn read(value: &Value) -> Result<Self, SpecFault> {
        let Some(entry) = value.as_object() else { return fault("", "it should be an object") };
        let reach = reach(entry)?;
        let program = matches!(reach, Reach::Program { .. });
        let known: &[&str] = if program { &PROGRAM } else { &WEB };
        let other: &[&str] = if program { &WEB } else { &PROGRAM };
        if let Some(key) = entry.keys().find(|k| other.contains(&k.as_str()) && !entry[k.as_str()].is_null()) {
            let kind = if program { "a program" } else { "an address" };
            return fault(key, format!("it means nothing for {kind}: an entry has either `command` or `url`"));
        }
        let unknown = entry.keys().filter(|k| !known.contains(&k.as_str()) && !BOTH.contains(&k.as_str()));
        Ok(Self {
            reach,
            auth: auth(entry)?,
            keep_alive: flag(entry, "keep_alive")?.unwrap_or(true),
            disabled: flag(entry, "disabled")?.unwrap_or(false),
            time: time(entry)?,
            tools: Globs::read(entry.get("tools")).or_else(|what| fault("tools", what))?,
            unknown: unknown.cloned().collect(),
        })
    }
}

fn reach(entry: &Map<String, Value>) -> Result<Reach, SpecFault> {
    let kind = match (text(entry, "type")?, text(entry, "transport")?) {
        (Some(one), Some(other)) if one != other => {
            return fault("transport", format!("`type` says `{one}` and `transport` says `{other}`: leave one out"));
        }
        (one, other) => one.or(other),
    };
    let (command, url) = (text(entry, "command")?, text(entry, "url")?);
    let web = |legacy| match &url {
        Some(url) => Ok(Reach::Web { url: url.clone(), headers: texts(entry, "headers")?, legacy }),
        None => fault("url", "it is missing: where is the server?"),
    };
    match kind.as_deref() {
        Some("stdio") => program(entry, command),
        Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => web(false),
        Some("sse") => web(true),
        Some(other) => fault("type", format!("`{other}` is none of `stdio`, `http` and `sse`")),
        None if url.is_some() => web(false),
        None => program(entry, command),
    }
}

fn program(entry: &Map<String, Value>, command: Option<String>) -> Result<Reach, SpecFault> {
    let Some(command) = command.filter(|c| !c.is_empty()) else {
        return fault("command", "it is missing: which program is the server, or at which `url` is it?");
    };
    let args = match entry.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(args)) => {
            let text = |(n, arg): (usize, &Value)| match arg.as_str() {
                Some(arg) => Ok(arg.to_owned()),
                None => fault(&format!("args/{n}"), "it should be a text; put numbers in quotes"),
            };
            args.iter().enumerate().map(text).collect::<Result<_, _>>()?
        }
        Some(_) => return fault("args", "it should be a list of texts"),
    };
    Ok(Reach::Program { command, args, env: texts(entry, "env")?, cwd: text(entry, "cwd")? })
}

fn auth(entry: &Map<String, Value>) -> Result<Option<Auth>, SpecFault> {
    match entry.get("auth") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(token)) if token == "oauth" => {
            fault("auth", "say as which client: `{\"type\": \"oauth\", \"client_id\": .., \"client_secret\": ..}`")
        }
        Some(Value::String(token)) => Ok(Some(Auth::Bearer(token.clone()))),
        Some(Value::Object(auth)) => match text(auth, "type").or_else(|f| fault("auth/type", f.what))?.as_deref() {
            Some("bearer") => needed(auth, "token").map(|token| Some(Auth::Bearer(token))),
            Some("oauth") => Ok(Some(Auth::ClientCredentials {
                id: needed(auth, "client_id")?,
                secret: needed(auth, "client_secret")?,
                scope: text(auth, "scope").or_else(|f| fault("auth/scope", f.what))?,
                token_url: text(auth, "token_url").or_else(|f| fault("auth/token_url", f.what))?,
            })),
            _ => fault("auth/type", "it is either `bearer` or `oauth`"),
        },
        Some(_) => fault("auth", "it should be a token, or an object with a `type`"),
    }
}

fn needed(auth: &Map<String, Value>, key: &str) -> Result<String, SpecFault> {
    match auth.get(key).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => fault(&format!("auth/{key}"), "it is missing, or no text; `${VARIABLE}` takes it from the environment"),
    }
}

fn time(entry: &Map<String, Value>) -> Result<Duration, SpecFault> {
    match entry.get("timeout") {
        None | Some(Value::Null) => Ok(UPSTREAM_TIME),
        Some(value) => match value.as_u64().map(Duration::from_millis) {
            Some(time) if !time.is_zero() && time <= UPSTREAM_TIME_MAX => Ok(time),
            _ => fault(
                "timeout",
                format!("it is a whole number of milliseconds, at most {}", UPSTREAM_TIME_MAX.as_millis()),
            ),
        },
    }
}

fn text(entry: &Map<String, Value>, key: &str) -> Result<Option<String>, SpecFault> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => fault(key, "it should be a text"),
    }
}

fn flag(entry: &Map<String, Value>, key: &str) -> Result<Option<bool>, SpecFault> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => fault(key, "it should be `true` or `false`"),
    }
}

fn texts(entry: &Map<String, Value>, key: &str) -> Result<BTreeMap<String, String>, SpecFault> {
    let one = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        Value::Number(number) => Ok((name.clone(), number.to_string())),
        Value::Bool(flag) => Ok((name.clone(), flag.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => fault(&format!("{key}/{name}"), "it should be a text"),
    };
    match entry.get(key) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(map)) => map.iter().map(one).collect(),
        Some(_) => fault(key, "it should be an object of texts"),
    }
}
