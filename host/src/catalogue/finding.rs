//! What is wrong or doubtful in documents, and names that are claimed twice.

use std::sync::Arc;

use crate::plugin::contract;

/// A finding about a document, with what is needed to show it.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The file, as messages show it.
    pub file: String,
    /// What is wrong or doubtful.
    pub diagnostic: contract::Diagnostic,
    /// The file's bytes, for an excerpt.
    pub bytes: Arc<[u8]>,
}

impl Finding {
    /// The finding for machines.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let d = &self.diagnostic;
        let at = |p: &contract::Position| serde_json::json!({"line": p.line, "column": p.column});
        let severity = match d.severity {
            contract::Severity::Error => "error",
            contract::Severity::Warning => "warning",
            contract::Severity::Note => "note",
        };
        serde_json::json!({
            "severity": severity,
            "code": d.code,
            "message": d.message,
            "help": d.help,
            "subject": d.subject,
            "file": self.file,
            "span": d.span.as_ref().map(|s| serde_json::json!({"start": at(&s.start), "end": at(&s.end)})),
        })
    }
}

/// Two things with one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// The name.
    pub name: String,
    /// Who had it first, and is served.
    pub first: String,
    /// Who has it too, and is not.
    pub second: String,
    /// Why it is not served, if not because another has it; then `first` is nobody.
    pub reason: Option<String>,
}
