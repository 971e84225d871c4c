//! State diagrams of Mermaid (stateDiagram and stateDiagram-v2), the whole grammar, as machines that can be walked.
//!
//! - `parse`: statements and their lines; `look`: the same by state; `chart`: composites and choices put in one another's
//!   places; `parts`: what stands side by side; `lift`: to a machine
//! - `sidecar`: inputs, data and guards that a file beside the diagram gives
//!
//! What the picture is made of (direction, classes, styles, links, titles, scale) means nothing here and is passed over.
//! Anything that is neither known to Mermaid nor to us is refused with its line.

mod chart;
mod lift;
mod look;
mod parse;
mod parts;
mod sidecar;

pub(crate) use parts::KEY;

use wfhost_guest::model::{Bundle, Diagnostic, Position, Span};
use wfhost_guest::{diagnostic, yaml};

use crate::document;
use crate::document::model::Book;

/// Whether a document is a state diagram: its first word, after comments and a head, is `stateDiagram`.
pub(crate) fn is_diagram(path: &str, bytes: &[u8]) -> bool {
    let named = [".mmd", ".mermaid"].iter().any(|ending| path.ends_with(ending));
    named && std::str::from_utf8(bytes).is_ok_and(|text| parse::begins(text).is_some())
}

/// The file beside a diagram that says what a drawing cannot: `order.mmd.yaml` for `order.mmd`.
pub(crate) fn companion(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    format!("{name}.yaml")
}

/// The machine of a diagram. None: it cannot be read, and the findings say why.
pub(crate) fn read(bundle: &Bundle, findings: &mut Vec<Diagnostic>) -> Option<Book> {
    let path = &bundle.main.path;
    let Ok(text) = std::str::from_utf8(&bundle.main.bytes) else {
        findings.push(
            diagnostic::error("machine-diagram", "the diagram is not UTF-8 text").help("save it as UTF-8").done(),
        );
        return None;
    };
    let parsed = parse::parse(text.trim_start_matches('\u{feff}'), findings);
    if diagnostic::refused(findings) {
        return None;
    }
    let chart = chart::chart(&parsed, findings)?;
    let beside = companion(path);
    let beside = bundle.companions.iter().find(|one| one.path.rsplit('/').next() == Some(beside.as_str()));
    let sidecar = beside.map(|file| {
        let loaded = yaml::load(&file.bytes, document::RULES);
        findings
            .extend(loaded.findings.into_iter().map(|finding| Diagnostic { path: Some(file.path.clone()), ..finding }));
        (loaded.root, file)
    });
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let mut machine = lift::machine(name, &parsed, &chart, findings)?;
    let mut book = Book::default();
    if let Some((Some(root), file)) = &sidecar {
        sidecar::apply(root, file, &mut machine, &mut book, findings);
    }
    book.served.push(0);
    book.machines.insert(0, machine);
    (!diagnostic::refused(findings)).then_some(book)
}

/// A whole line of a diagram.
fn line_span(line: u32, text: &str) -> Span {
    let column = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
    let indent = text.chars().take_while(|c| c.is_whitespace()).count();
    Span {
        start: Position { line, column: column(indent) },
        end: Position { line, column: column(text.trim_end().chars().count()) },
    }
}
