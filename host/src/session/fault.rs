//! What can go wrong with a session on the host's side. A refusal is not among it: that is an answer of the dialect.

use crate::catalogue::DefinitionFault;
use crate::plugin::{CallFault, LoadFault};
use crate::session::model::{Digest, SessionId};
use crate::store;

/// A call came to nothing, and it is no fault of the caller's.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The plugin trapped, ran too long, gave a bad answer. The session is where it was.
    #[error(transparent)]
    Call(#[from] CallFault),
    /// A plugin that a session is pinned to cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadFault),
    /// A definition that a session is pinned to cannot be read.
    #[error(transparent)]
    Definition(#[from] DefinitionFault),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] store::Fault),
    /// The store lost what a session is pinned to.
    #[error("session {session} is pinned to {what} {digest}, which the store does not hold")]
    Lost {
        /// The session.
        session: SessionId,
        /// `plugin` or `definition`.
        what: &'static str,
        /// Its digest.
        digest: Digest,
    },
    /// Other processes moved the session again and again.
    #[error("session {0} is being moved by other processes all the time: try again")]
    Busy(SessionId),
    /// The journal is as long as it may get.
    #[error("session {session} is full: its journal has the {limit} lines that it may have; start a new one")]
    Full {
        /// The session.
        session: SessionId,
        /// The limit.
        limit: u64,
    },
    /// A journal line cannot be read.
    #[error("line {line} of the journal of session {session} cannot be read: {reason}")]
    Line {
        /// The session.
        session: SessionId,
        /// The line's number.
        line: u64,
        /// Why.
        reason: String,
    },
    /// No tool of that name.
    #[error("unknown tool `{0}`")]
    UnknownTool(String),
    /// No session of that id, or not the caller's.
    #[error("unknown session `{0}`")]
    UnknownSession(String),
    /// No entry of that number.
    #[error("session {session} has the entries 1 to {entries}, and no entry {seq}")]
    NoSuchEntry {
        /// The session.
        session: SessionId,
        /// The entry that was named.
        seq: u32,
        /// How many there are.
        entries: u32,
    },
    /// A journal that is not what it was cannot be gone on from.
    #[error("the journal of session {session} is not whole: {damage}; `wfhost verify {session}` tells all of it")]
    NotWhole {
        /// The session.
        session: SessionId,
        /// The first thing that is wrong with it.
        damage: String,
    },
    /// An operator's answer that nothing waits for.
    #[error("session {session} waits for no answer{hint}")]
    NothingAsked {
        /// The session.
        session: SessionId,
        /// What it waits for instead.
        hint: String,
    },
    /// The arguments are no JSON object.
    #[error("{0}")]
    Arguments(String),
}

impl Fault {
    /// Whether the same event would break again: not what a busy machine, disk or neighbour did.
    pub(super) fn would_recur(&self) -> bool {
        match self {
            Self::Call(CallFault::Time { .. }) | Self::Store(_) | Self::Busy(_) => false,
            Self::Call(_)
            | Self::Load(_)
            | Self::Definition(_)
            | Self::Lost { .. }
            | Self::Full { .. }
            | Self::Line { .. }
            | Self::UnknownTool(_)
            | Self::UnknownSession(_)
            | Self::NoSuchEntry { .. }
            | Self::NotWhole { .. }
            | Self::NothingAsked { .. }
            | Self::Arguments(_) => true,
        }
    }
}
