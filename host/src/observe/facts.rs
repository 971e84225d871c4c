//! The facts that observers are told.

use std::time::{Duration, SystemTime};

use crate::session::model::{Digest, Millis, SessionId};

/// Lines of a change, by what they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Events that moved the session.
    pub turns: u32,
    /// Events that were refused.
    pub refusals: u32,
    /// Events on which the plugin broke.
    pub faults: u32,
    /// What the host did meanwhile.
    pub notes: u32,
}

/// A change of a session that is durable.
#[derive(Debug, Clone, Copy)]
pub struct Committed<'a> {
    /// The session.
    pub session: SessionId,
    /// Its interpreter.
    pub interpreter: &'a str,
    /// Its workflow.
    pub workflow: &'a str,
    /// How many lines its journal has now.
    pub lines: u64,
    /// The hash of the newest one.
    pub chain: Digest,
    /// The lines that were added, by what they are.
    pub added: Tally,
    /// Whether the session began with it.
    pub began: bool,
    /// Whether the session ended with it, and how.
    pub ended: Option<Ended<'a>>,
    /// When the newest line was written.
    pub at: Millis,
    /// How long the store took to make it durable.
    pub took: Duration,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended<'a> {
    /// It came to its end.
    Done,
    /// It failed: in which way, in a word of the contract.
    Failed(&'a str),
}

impl<'a> Ended<'a> {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'a str {
        match self {
            Self::Done => "done",
            Self::Failed(kind) => kind,
        }
    }
}

/// A tool call that was answered.
#[derive(Debug, Clone, Copy)]
pub struct Called<'a> {
    /// The tool, if there is one of that name.
    pub tool: Option<&'a str>,
    /// The session that it was about.
    pub session: Option<SessionId>,
    /// `ok`, `error` (the dialect says that it is one), `fault` or `unknown`.
    pub outcome: &'static str,
    /// When it came.
    pub began: SystemTime,
    /// How long the answer took.
    pub took: Duration,
    /// The channel that it came through.
    pub channel: &'static str,
}
