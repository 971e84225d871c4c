//! Why a run fails, for the agent, the trail, an error edge, and the workflow that called.

use wfhost_guest::json;
use wfhost_guest::model::{Failure, Mishap};
use wfhost_guest::value::{Map, Value};
use wfhost_jsonata::Fault;

/// Why a node, and with it a run, fails.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    /// One of the codes that README.md lists.
    pub(crate) error: String,
    /// What is wrong, in a sentence.
    pub(crate) message: String,
    /// What helps to find it: the expression, what the other side said.
    pub(crate) more: Map,
}

impl Trouble {
    pub(crate) fn new(error: &str, message: impl Into<String>) -> Self {
        Self { error: error.to_owned(), message: message.into(), more: Map::default() }
    }

    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.more.set(key, value.into());
        self
    }

    /// An expression that failed.
    pub(crate) fn of_expression(fault: &Fault, expression: &str) -> Self {
        let limit = matches!(fault.code.as_str(), "D2015" | "U1001" | "U1002");
        let error = if limit { "expression_limit" } else { "expression_failed" };
        let trouble = Self::new(error, format!("JSONata: {}", fault.message)).with("expression", expression);
        if fault.code.is_empty() { trouble } else { trouble.with("code", fault.code.as_str()) }
    }

    /// A call that came to nothing.
    pub(crate) fn of_failure(failure: &Failure) -> Self {
        let word = mishap(failure.kind);
        let detail = failure.detail.as_deref().and_then(|text| json::read(text).ok());
        let trouble = Self::new("call_failed", failure.message.clone()).with("kind", word);
        let Some(detail) = detail else { return trouble };
        let code = detail.get("code").cloned();
        let trouble = trouble.with("detail", detail);
        match code {
            Some(code) => trouble.with("code", code),
            None => trouble,
        }
    }

    /// All of it, as the agent reads it.
    pub(crate) fn value(&self) -> Value {
        let own = [("error", Value::from(self.error.as_str())), ("message", self.message.as_str().into())];
        let own = own.into_iter().map(|(key, value)| (key.to_owned(), value));
        Value::Map(own.chain(self.more.clone()).collect())
    }

    /// What the state kept of one.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let more = value.as_map()?.iter().filter(|(key, _)| !matches!(*key, "error" | "message"));
        let more = more.map(|(key, value)| (key.to_owned(), value.clone())).collect();
        Some(Self { error: text("error")?.to_owned(), message: text("message")?.to_owned(), more })
    }

    /// As the outcome of the session.
    pub(crate) fn failure(&self) -> Failure {
        Failure { kind: Mishap::Failed, message: self.message.clone(), detail: Some(json::text(&self.value())) }
    }
}

/// A mishap in a word.
pub(crate) fn mishap(kind: Mishap) -> &'static str {
    match kind {
        Mishap::Declined => "declined",
        Mishap::Cancelled => "cancelled",
        Mishap::TimedOut => "timed_out",
        Mishap::Denied => "denied",
        Mishap::Unavailable => "unavailable",
        Mishap::Failed => "failed",
        Mishap::Lost => "lost",
    }
}
