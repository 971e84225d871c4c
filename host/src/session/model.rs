//! The plain data that a session is made of: identifiers, digests, the head and the journal lines. No foreign crate but
//! serde_json's text lives here, and nothing that does I/O.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Milliseconds since the Unix epoch.
pub type Millis = u64;

/// A session's name: `ses_` and 32 lower-case hex digits, 128 random bits. Accepted only in exactly that form, so that
/// nothing a caller sends can name anything else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(u128);

impl SessionId {
    /// What every identifier begins with; the peers' prompts know it.
    pub const PREFIX: &'static str = "ses_";

    /// An identifier from fresh random bits.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// The bits, big-endian: the store's key.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The identifier whose key this is.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:032x}", Self::PREFIX, self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The text is not a session identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a session identifier")]
pub struct NotASessionId;

impl FromStr for SessionId {
    type Err = NotASessionId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(Self::PREFIX).ok_or(NotASessionId)?;
        let exact = digits.len() == 32 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !exact {
            return Err(NotASessionId);
        }
        u128::from_str_radix(digits, 16).map(Self).map_err(|_| NotASessionId)
    }
}

/// A SHA-256: names a plugin, a definition, a link of the journal's chain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The digest of these parts, one after the other.
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        use sha2::Digest as _;
        let mut hasher = sha2::Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(NotADigest);
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| NotADigest)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NotADigest)?;
        }
        Ok(Self(bytes))
    }
}

/// The text is not a SHA-256 in hex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256 in hex")]
pub struct NotADigest;

/// How a session, or a request, came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One of the contract's mishaps, by its name: `declined`, `timed-out`, ...
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// What the other side said, JSON text.
    pub detail: Option<String>,
}

impl Failure {
    /// The kind of an end that the host has set, because the document lets no more sessions, or no longer idle ones, be open.
    pub const DROPPED: &'static str = "dropped";
}

/// How a session ended: a JSON text, or a failure.
pub type Outcome = Result<String, Failure>;

/// Where a session stands: all that the next turn, a listing or a status needs. One stored row, written anew each turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The session.
    pub session: SessionId,
    /// Who it belongs to; empty in a host without tenants. Of another owner nothing exists.
    pub owner: String,
    /// The interpreter's name, such as a listing shows it.
    pub interpreter: String,
    /// The plugin that the session began with, kept in the store by content.
    pub plugin: Digest,
    /// The compiled definition that the session began with, kept in the store by content.
    pub definition: Digest,
    /// The workflow's id within its interpreter.
    pub workflow: String,
    /// When it began.
    pub started: Millis,
    /// When its journal last grew.
    pub changed: Millis,
    /// The operator's word at the start: questions that a person can answer are for a person only.
    pub human_only: bool,
    /// How many lines its journal has. Also the version that a change must name (compare-and-set).
    pub lines: u64,
    /// The hash of its newest journal line.
    pub chain: Digest,
    /// How many interpreter's entries it has.
    pub entries: u32,
    /// How many memories it has.
    pub memories: u32,
    /// How many of the newest memories the next event is to be handed.
    pub window: u32,
    /// The interpreter's state, JSON text.
    pub state: String,
    /// The open requests.
    pub requests: Vec<OpenRequest>,
    /// The nodes of the drawing where it stands.
    pub current: Vec<String>,
    /// How it ended, if it has.
    pub outcome: Option<Outcome>,
    /// Who asked for it, if another session did.
    pub parent: Option<Parent>,
    /// The session that it was forked from, if it was.
    pub fork: Option<Fork>,
    /// Who vouches for its journal, if a host with a key has written to it.
    pub seal: Option<Seal>,
}

/// Where a fork comes from. Its journal begins with the lines of that session, as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fork {
    /// The session that it was forked from.
    pub from: SessionId,
    /// After which entry.
    pub seq: u32,
    /// How many of its lines are inherited.
    pub lines: u64,
    /// The session that the first line was written for: a fork may come from a fork.
    pub root: SessionId,
    /// When that session began.
    pub root_started: Millis,
}

/// A signature over a head: that the holder of a key wrote this journal, but for the gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// The Ed25519 public key.
    pub key: [u8; 32],
    /// How many lines it covers; later ones were written without a key.
    pub lines: u64,
    /// Lines among them that bore no good seal when the holder of the key went on after them. In order.
    pub gaps: Vec<Gap>,
    /// The Ed25519 signature.
    pub signature: [u8; 64],
}

/// A run of lines, both ends among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first line.
    pub from: u64,
    /// The last line.
    pub to: u64,
}

/// What is kept of a session that was pruned: that it was there, and enough to know its journal again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// The session.
    pub session: SessionId,
    /// Who it belonged to.
    pub owner: String,
    /// The interpreter's name.
    pub interpreter: String,
    /// The workflow's id.
    pub workflow: String,
    /// When it began.
    pub started: Millis,
    /// When its journal last grew.
    pub changed: Millis,
    /// How it stood: `ended`, `open`, or the kind of the failure that it ended with.
    pub standing: String,
    /// How many lines its journal had.
    pub lines: u64,
    /// The hash of its newest line.
    pub chain: Digest,
    /// When it was pruned.
    pub at: Millis,
    /// Who vouches for this record, if a key was at hand. It covers `lines` of no journal: the record itself.
    pub seal: Option<Seal>,
}

/// A request that waits for its reply. The need is JSON text of the host's own form (see `session::wire`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRequest {
    /// Unique among the open ones.
    pub id: String,
    /// What is needed, JSON text.
    pub need: String,
    /// When the clock answers it: a timer's moment, or the end of the wait for anything else.
    pub deadline: Option<Millis>,
    /// How far it is.
    pub standing: Standing,
}

/// How far an open request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    /// Nobody has begun to carry it out, or nobody can tell: it is for a person or the agent.
    #[default]
    Waiting,
    /// A host carries it out.
    Sent(Sent),
    /// The session that it asked for has begun, and will hand up its outcome.
    Begun(Sent),
    /// The host that carried it out has ended, and sending it again could do it twice: an operator's matter.
    Doubtful(Sent),
    /// What the host or the clock answered was refused, then: it is not answered by them again.
    Refused(Millis),
}

/// Who began to carry a request out, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub at: Millis,
    /// Which running host, by the number that its store gave it.
    pub by: u64,
    /// Fresh entropy: tells this request from one of the same words.
    pub nonce: u64,
}

/// The request of another session whose answer is this session's outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// The session that asked for this one.
    pub session: SessionId,
    /// The request.
    pub request: String,
    /// How many sessions stand above this one.
    pub depth: u32,
    /// Whether the outcome has been handed up.
    pub told: bool,
}

impl OpenRequest {
    /// What a fork inherits and nobody is to carry out, neither a host nor the clock: as if they had been refused for ever.
    pub const WITHHELD: Standing = Standing::Refused(Millis::MAX);
}

/// A line of the journal, as bytes that the chain covers: the store keeps them and never looks inside.
pub type Line = Arc<[u8]>;
