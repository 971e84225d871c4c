//! Findings about a document: a builder that keeps their making to one line. Codes are the dialect's.

use crate::model::{Diagnostic, Severity, Span};

/// A diagnostic under construction.
#[derive(Debug)]
#[must_use]
pub struct Finding(Diagnostic);

/// A finding that keeps the document from being served.
pub fn error(code: &str, message: impl Into<String>) -> Finding {
    Finding::of(Severity::Error, code, message.into())
}

/// A finding that its author should look at.
pub fn warning(code: &str, message: impl Into<String>) -> Finding {
    Finding::of(Severity::Warning, code, message.into())
}

/// A finding that is good to know.
pub fn note(code: &str, message: impl Into<String>) -> Finding {
    Finding::of(Severity::Note, code, message.into())
}

impl Finding {
    /// A finding of a severity that somebody else chose.
    pub fn of(severity: Severity, code: &str, message: String) -> Self {
        Self(Diagnostic { severity, code: code.to_owned(), message, help: None, subject: None, path: None, span: None })
    }

    /// Says what to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Says what to do about it, if anything is known.
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.0.help = help;
        self
    }

    /// Names the node that it is about.
    pub fn about(mut self, subject: &str) -> Self {
        self.0.subject = Some(subject.to_owned());
        self
    }

    /// Says where in the document.
    pub fn at(mut self, span: Span) -> Self {
        self.0.span = Some(span);
        self
    }

    /// The finished diagnostic.
    pub fn done(self) -> Diagnostic {
        self.0
    }
}

/// Whether these findings keep the document from being served.
pub fn refused(findings: &[Diagnostic]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}
