//! The journal's lines: what each says, how it is chained to the one before, how it is read back.

use serde::{Deserialize, Serialize};

use super::patch::Patch;
use super::wire::{EntryRow, EventRow, OutcomeRow, Raw, RequestRow};
use crate::session::model::{Digest, Head, Line};

/// A line. Exactly one of `turn`, `refusal`, `note`, `fault` and `fork` is there; `event` with the first two and a fault.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LineRow {
    /// Its number in the session's journal, from 1.
    pub n: u64,
    /// The session, so that a line copied elsewhere shows.
    pub session: String,
    /// The chain before it: the hash of the line before, so that an altered line is found where it is.
    pub prev: String,
    /// When it was written.
    pub at: u64,
    /// The number of the next interpreter's entry before this line.
    pub seq: u32,
    /// By whom, and through which channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// What moved the session, or tried to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventRow>,
    /// What it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnRow>,
    /// Why it did nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalRow>,
    /// What the host did meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<NoteRow>,
    /// What broke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Where the session goes on from: all lines before this one are those of another session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<ForkRow>,
}

/// A session that goes on from the past of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkRow {
    /// The session that the line before was written for.
    pub from: String,
    /// After which entry.
    pub seq: u32,
    /// When the new session began.
    pub started: u64,
    /// Whether what was open is carried out anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sends: bool,
}

/// Who, and through which channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct By {
    /// `stdio`, `http`, `cli`, `clock`, ...
    pub channel: String,
    /// What the client calls itself. Testimony, not proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// What an event did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TurnRow {
    /// The entries, numbered from the line's `seq`.
    pub entries: Vec<EntryRow>,
    /// The whole state after it, on some lines.
    #[serde(default, deserialize_with = "super::wire::present", skip_serializing_if = "Option::is_none")]
    pub state: Option<Raw>,
    /// What changed in the state, on the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Patch>,
    /// SHA-256 of the state's text.
    pub state_hash: String,
    /// How many memories there are after it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memories: u32,
    /// SHA-256 of those that it added, one text after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered_hash: Option<String>,
    /// How many the next event is handed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub window: u32,
    /// All open requests after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestRow>,
    /// Where the session stands.
    pub current: Vec<String>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeRow>,
    /// SHA-256 of the reply's text.
    pub reply_hash: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Why an event did nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RefusalRow {
    /// The dialect's reason.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// The entries that are kept all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryRow>,
    /// SHA-256 of the reply's text.
    pub reply_hash: String,
}

/// What the host did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NoteRow {
    /// `unanswered`, `asked`, ...
    pub kind: String,
    /// The request that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// In words or figures.
    pub detail: serde_json::Value,
}

impl LineRow {
    /// An empty line that follows this head.
    #[must_use]
    pub fn after(head: &Head, at: u64, by: Option<By>) -> Self {
        Self {
            n: head.lines + 1,
            session: head.session.to_string(),
            prev: chain_of(head).to_string(),
            at,
            seq: head.entries + 1,
            by,
            event: None,
            turn: None,
            refusal: None,
            note: None,
            fault: None,
            fork: None,
        }
    }

    /// The entries on this line.
    #[must_use]
    pub fn entries(&self) -> &[EntryRow] {
        match (&self.turn, &self.refusal) {
            (Some(turn), _) => &turn.entries,
            (None, Some(refusal)) => &refusal.entries,
            (None, None) => &[],
        }
    }

    /// The line's bytes.
    pub fn encode(&self) -> Result<Line, serde_json::Error> {
        Ok(serde_json::to_vec(self)?.into())
    }

    /// The line that these bytes say.
    pub fn decode(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

/// The chain before the first line: bound to the session that this was written for, its plugin, its definition and its start.
#[must_use]
pub fn genesis(head: &Head) -> Digest {
    let (session, started) = head.fork.map_or((head.session, head.started), |fork| (fork.root, fork.root_started));
    Digest::of_parts(&[
        b"wfhost journal 1\0",
        &session.to_bytes(),
        &head.plugin.0,
        &head.definition.0,
        &started.to_be_bytes(),
        &[u8::from(head.human_only)],
        head.owner.as_bytes(),
    ])
}

/// The chain as far as this head goes.
#[must_use]
pub fn chain_of(head: &Head) -> Digest {
    if head.lines == 0 { genesis(head) } else { head.chain }
}

/// The chain after a line.
#[must_use]
pub fn link(before: Digest, line: &[u8]) -> Digest {
    Digest::of_parts(&[&before.0, line])
}
