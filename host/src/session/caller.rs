//! Who calls: through which channel, as which client, with which sessions of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::line::By;
use crate::session::model::SessionId;

/// The sessions that one connection opened without naming them, by interpreter and workflow.
#[derive(Debug, Clone, Default)]
pub struct OwnSessions(Arc<Mutex<HashMap<(String, String), SessionId>>>);

impl OwnSessions {
    /// The connection's own session of a workflow.
    #[must_use]
    pub fn get(&self, interpreter: &str, workflow: &str) -> Option<SessionId> {
        let own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        own.get(&(interpreter.to_owned(), workflow.to_owned())).copied()
    }

    /// Makes a session the connection's own.
    pub fn set(&self, interpreter: &str, workflow: &str, session: SessionId) {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        own.insert((interpreter.to_owned(), workflow.to_owned()), session);
    }

    /// A session is the connection's own no more, if it was.
    pub fn release(&self, interpreter: &str, workflow: &str, session: SessionId) {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (interpreter.to_owned(), workflow.to_owned());
        if own.get(&key) == Some(&session) {
            own.remove(&key);
        }
    }
}

/// Who calls.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Whose sessions it may see; empty in a host without tenants.
    pub owner: String,
    /// `stdio`, `http`, `cli`, ...
    pub channel: &'static str,
    /// What the client calls itself.
    pub client: Option<String>,
    /// Sessions of its connection; none where there are no connections.
    pub own: Option<OwnSessions>,
}

impl Caller {
    /// The operator, at the command line.
    #[must_use]
    pub fn operator() -> Self {
        Self { channel: "cli", ..Self::default() }
    }

    /// As the journal names it.
    #[must_use]
    pub fn by(&self) -> By {
        By { channel: self.channel.to_owned(), client: self.client.clone() }
    }
}
