//! What a check finds, and what it measured.

use crate::plugin::contract::Interpreter;
use crate::plugin::{CallFault, LoadFault, Spent};
use crate::session::model::Digest;

/// Something that an author should put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Stable; `guests/AUTHORS.md` explains each.
    pub code: &'static str,
    /// What it is about: a function, a document, a tool, a case.
    pub subject: String,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub cure: String,
}

/// What was looked at, and the most that one call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Documents that were compiled.
    pub documents: usize,
    /// Of them, those with errors.
    pub bad_documents: usize,
    /// Tools.
    pub tools: usize,
    /// Turns that were taken.
    pub turns: usize,
    /// Refusals that were given.
    pub refusals: usize,
    /// Cases that were run.
    pub cases: usize,
    /// The dearest call of a session.
    pub call: Spent,
    /// The dearest compilation.
    pub compile: Spent,
}

/// All that came of a check.
#[derive(Debug, Clone)]
pub struct Report {
    /// The file.
    pub plugin: String,
    /// Its SHA-256.
    pub digest: Digest,
    /// Its size, bytes.
    pub bytes: usize,
    /// The version of the contract that its type names.
    pub contract: Option<String>,
    /// What it says of itself, once it was loaded.
    pub about: Option<Interpreter>,
    /// What is wrong, in the order in which it was found; none twice.
    pub findings: Vec<Finding>,
    /// What could not be looked at, and why.
    pub left_out: Vec<String>,
    /// What was measured.
    pub figures: Figures,
    /// What the plugin is being sent, in words: an author wants to send it again.
    pub(super) sent: Option<String>,
}

/// Names in the backtrace of a plugin that asked for what lies outside.
const OUTSIDE: [&str; 6] = ["wall_clock", "monotonic_clock", "get_random", "preopens", "SystemTime", "time::Instant"];

impl Report {
    pub(super) fn of(plugin: &str, bytes: &[u8]) -> Self {
        Self {
            plugin: plugin.to_owned(),
            digest: Digest::of(bytes),
            bytes: bytes.len(),
            contract: None,
            about: None,
            findings: Vec::new(),
            left_out: Vec::new(),
            figures: Figures::default(),
            sent: None,
        }
    }

    /// One finding a code and subject: the first place tells enough.
    pub(super) fn find(
        &mut self,
        code: &'static str,
        subject: impl Into<String>,
        reason: impl Into<String>,
        cure: impl Into<String>,
    ) {
        let (subject, reason, cure) = (subject.into(), reason.into(), cure.into());
        let sent = self.sent.as_ref().map(|sent| format!("; it was sent {sent}"));
        let reason = reason + &sent.unwrap_or_default();
        if !self.findings.iter().any(|f| f.code == code && f.subject == subject) {
            self.findings.push(Finding { code, subject, reason, cure });
        }
    }

    pub(super) fn load_fault(&mut self, fault: &LoadFault) {
        let (code, cure) = match fault {
            LoadFault::NotAComponent { .. } | LoadFault::File { .. } => {
                ("not-a-component", "build it again; a core module is wrapped by `wfhost plugin pack`")
            }
            LoadFault::Imports { .. } => ("imports", "leave the outside out when building"),
            LoadFault::Contract { .. } => {
                ("contract", "build it against wit/engine.wit of a version that is spoken here")
            }
            LoadFault::Shape { .. } => {
                ("changed-export", "build it against wit/engine.wit as it is, without changing it")
            }
            LoadFault::Describe { .. } => ("describe", "`describe` takes nothing and must always answer"),
            LoadFault::Denied { .. } => ("denied", "add its digest to the policy"),
        };
        self.find(code, "component", fault.to_string(), cure);
    }

    /// A call that came to nothing. `trap` is the code for one that broke; one that hit a limit has its own.
    pub(super) fn call_fault(&mut self, trap: &'static str, subject: &str, fault: &CallFault) {
        let (code, cure) = match fault {
            CallFault::Trap { reason, .. } if OUTSIDE.iter().any(|name| reason.contains(name)) => (
                trap,
                "it asked for a clock, random bytes or files, which are not there: use `event.at` and `event.seed`",
            ),
            CallFault::Trap { .. } | CallFault::Answer { .. } => {
                (trap, "answer with a refusal or a diagnostic; nothing that comes from outside may break a plugin")
            }
            CallFault::Time { .. }
            | CallFault::Instructions { .. }
            | CallFault::Memory { .. }
            | CallFault::Output { .. } => ("limit", "do less in one call; `wfhost plugin inspect` prints the limits"),
        };
        self.find(code, subject, fault.to_string(), cure);
    }

    pub(super) fn dearest(now: &mut Spent, call: Spent) {
        now.fuel = now.fuel.max(call.fuel);
        now.memory_bytes = now.memory_bytes.max(call.memory_bytes);
        now.micros = now.micros.max(call.micros);
    }
}
