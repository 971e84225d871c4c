//! What a way to reach a server must do. The runner knows nothing else of it.

use anyhow::Result;
use serde_json::Value;

use crate::corpus::{Change, Files, Setup};

/// A server that is reached in one way: natively, or as a process over stdio.
pub trait Driver {
    /// Starts a server on fresh sessions. False: it does not start, because of its documents.
    fn start(&mut self, setup: &Setup) -> Result<bool>;
    /// Stops it, changes files, and starts it on the same sessions.
    fn restart(&mut self, change: &Change) -> Result<()>;
    /// What upstream servers are asked in the next call, and what they say.
    fn upstream(&mut self, _recorded: &[Value]) {}
    /// Calls a tool. `replies` are what the person at the client says when asked, one after the other.
    fn call(&mut self, tool: &str, arguments: Option<&Value>, replies: &[Value]) -> Result<CallOutcome>;
    /// Goes on as another client of the same sessions. False: this driver has but one.
    fn as_client(&mut self, _name: &str) -> Result<bool> {
        Ok(false)
    }
    /// The text of a view of the caller's own session, by the part of its URI after the workflow's id.
    fn view(&mut self, _path: &str) -> Result<Option<String>> {
        Ok(None)
    }
    /// Whether servers of others can be canned.
    fn has_upstream(&self) -> bool {
        false
    }
    /// Looks once more at the sessions that the calls left: nothing may be amiss, and run again they give the same.
    fn look_back(&mut self) -> Result<()>;
    /// The tools, as `tools/list` gives them.
    fn list_tools(&mut self) -> Result<Value>;
    /// The result of `initialize`. None: this driver has no such thing.
    fn initialize(&mut self) -> Result<Option<Value>>;
    /// All findings about documents. None: this driver does not tell them one by one.
    fn findings(&mut self, _documents: &Files) -> Result<Option<Vec<Found>>> {
        Ok(None)
    }
    /// What there is to say about documents.
    fn validate(&mut self, documents: &Files) -> Result<Validation>;
    /// Runs a command line of the peer, in our own words for it. None: this driver has no such command.
    fn cli(&mut self, setup: &Setup, args: &[String]) -> Result<Option<CliOutcome>>;
}

/// What a tool call gave.
#[derive(Clone, Debug)]
pub struct CallOutcome {
    /// Whether it failed.
    pub is_error: bool,
    /// Its structured content, else the JSON of its text, else its text.
    pub value: Value,
    /// A text before the value, if there is one.
    pub headline: Option<String>,
    /// What the person at the client was asked meanwhile.
    pub elicited: Vec<Asked>,
}

/// A question that reached the person.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its text.
    pub message: String,
    /// The schema of its form.
    pub schema: Value,
}

/// What there is to say about documents.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    /// Whether they would be served.
    pub accepted: bool,
    /// Errors, each as one line that names file, node and field.
    pub errors: Vec<String>,
}

/// A finding about a document.
#[derive(Clone, Debug)]
pub struct Found {
    /// `error`, `warning` or `note`.
    pub level: String,
    /// Its code.
    pub code: String,
    /// The node it is about.
    pub subject: Option<String>,
    /// Its words.
    pub message: String,
}

/// What a command line gave.
#[derive(Clone, Debug)]
pub struct CliOutcome {
    /// Its exit status.
    pub exit: i64,
    /// Its standard output.
    pub stdout: String,
}
