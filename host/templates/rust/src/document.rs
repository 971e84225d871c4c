//! A checklist as text: what its lines mean, and what is wrong with them.
//!
//!     # Before a release
//!     - [ ] All tests pass
//!     - [?] The release manager agrees
//!
//! `- [ ]` is an item that the agent does and checks off, `- [?]` one that only a person can say.

use crate::contract::{Diagnostic, Position, Severity, Span};

/// A checklist that was read.
pub struct Checklist {
    pub title: String,
    pub items: Vec<Item>,
}

/// One line to be checked off.
pub struct Item {
    pub text: String,
    /// Only a person can say that it is done.
    pub person: bool,
}

/// Reads a document. What cannot be read is told with its line and leaves the rest to be read as well.
pub fn read(bytes: &[u8]) -> (Checklist, Vec<Diagnostic>) {
    let mut checklist = Checklist { title: String::new(), items: Vec::new() };
    let mut findings = Vec::new();
    let Ok(text) = std::str::from_utf8(bytes) else {
        findings.push(error("not-text", "the file is no UTF-8 text", "save it as UTF-8", None));
        return (checklist, findings);
    };
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        let place = Some(whole(index, line));
        if let Some(title) = line.strip_prefix("# ") {
            if checklist.title.is_empty() {
                checklist.title = title.trim().to_owned();
            } else {
                findings.push(error("second-title", "a checklist has one title", "make it a file of its own", place));
            }
        } else if let Some((person, text)) = item(line) {
            if text.is_empty() {
                findings.push(error("empty-item", "an item without words", "say what is to be done", place));
            }
            checklist.items.push(Item { text: text.to_owned(), person });
        } else if !line.is_empty() {
            let help = "write `# TITLE`, `- [ ] ITEM` for the agent or `- [?] ITEM` for a person";
            findings.push(error("unknown-line", "neither a title nor an item", help, place));
        }
    }
    if checklist.title.is_empty() {
        findings.push(error("no-title", "there is no title", "begin the file with `# TITLE`", None));
    }
    if checklist.items.is_empty() {
        findings.push(error("no-items", "there are no items", "add a line `- [ ] ITEM`", None));
    }
    (checklist, findings)
}

/// Whether the text reads like a checklist at all, right or wrong.
pub fn looks_like_one(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| text.lines().any(|line| item(line).is_some()))
}

fn item(line: &str) -> Option<(bool, &str)> {
    let agent = line.strip_prefix("- [ ]").map(|text| (false, text.trim()));
    agent.or_else(|| line.strip_prefix("- [?]").map(|text| (true, text.trim())))
}

/// Lines and columns count from 1, columns in characters.
fn whole(index: usize, line: &str) -> Span {
    let line_number = index as u32 + 1;
    let end = line.chars().count() as u32 + 1;
    Span { start: Position { line: line_number, column: 1 }, end: Position { line: line_number, column: end } }
}

fn error(code: &str, message: &str, help: &str, span: Option<Span>) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        code: code.to_owned(),
        message: message.to_owned(),
        help: Some(help.to_owned()),
        subject: None,
        path: None,
        span,
    }
}
