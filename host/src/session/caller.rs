//! Who calls: through which channel, as which client, with which sessions of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::line::By;
use crate::session::model::{Millis, SessionId};

/// The sessions that one connection opened without naming them, by interpreter and workflow.
#[derive(Debug, Clone, Default)]
pub struct OwnSessions(Arc<Mutex<Own>>);

#[derive(Debug, Default)]
struct Own {
    open: HashMap<Key, SessionId>,
    /// Names that were shown before their sessions began, and since when.
    promised: HashMap<Key, (SessionId, Millis)>,
}

type Key = (String, String);

fn key(interpreter: &str, workflow: &str) -> Key {
    (interpreter.to_owned(), workflow.to_owned())
}

impl OwnSessions {
    /// The connection's own session of a workflow.
    #[must_use]
    pub fn get(&self, interpreter: &str, workflow: &str) -> Option<SessionId> {
        self.all().open.get(&key(interpreter, workflow)).copied()
    }

    /// Makes a session the connection's own.
    pub fn set(&self, interpreter: &str, workflow: &str, session: SessionId) {
        self.all().open.insert(key(interpreter, workflow), session);
    }

    /// A session is the connection's own no more, if it was.
    pub fn release(&self, interpreter: &str, workflow: &str, session: SessionId) {
        let mut own = self.all();
        let key = key(interpreter, workflow);
        if own.open.get(&key) == Some(&session) {
            own.open.remove(&key);
        }
    }

    /// The name that the connection's next session of a workflow will bear, and when it was first shown: these, unless others
    /// were before.
    pub fn promise(&self, interpreter: &str, workflow: &str, fresh: (SessionId, Millis)) -> (SessionId, Millis) {
        *self.all().promised.entry(key(interpreter, workflow)).or_insert(fresh)
    }

    /// The promised name, for the session that now begins.
    pub fn redeem(&self, interpreter: &str, workflow: &str) -> Option<SessionId> {
        self.all().promised.remove(&key(interpreter, workflow)).map(|(session, _)| session)
    }

    fn all(&self) -> MutexGuard<'_, Own> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
