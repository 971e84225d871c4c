//! From the text of a diagram to its statements, each with its line.

use wfhost_guest::diagnostic;
use wfhost_guest::model::{Diagnostic, Span};

use super::line_span;

/// LIMIT: composites inside one another.
const DEPTH_MAX: usize = 50;

/// A diagram.
#[derive(Clone, Debug, Default)]
pub(super) struct Diagram {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) body: Vec<Statement>,
}

/// A statement and its place.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) what: What,
    pub(super) span: Span,
}

/// What a statement says.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// There is such a state, perhaps with words for it.
    State { id: String, about: Option<String>, kind: Kind },
    /// A state with a diagram inside.
    Composite { id: String, about: Option<String>, body: Vec<Statement> },
    /// An arrow. `[*]` is the beginning or the end of the diagram that it stands in.
    Arrow { from: String, to: String, label: Option<String> },
    /// A note beside a state.
    Note { id: String, text: String },
    /// What follows goes on beside what stands before.
    Divider,
}

/// What a state is besides a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Choice,
    Fork,
    Join,
}

/// What a line is before anything else is known of it.
const PICTURE: [&str; 12] = [
    "direction",
    "classdef",
    "class",
    "style",
    "click",
    "href",
    "link",
    "scale",
    "hide empty description",
    "acctitle",
    "linkstyle",
    "title",
];

/// The first line of the diagram proper, after comments, directives and a head.
pub(super) fn begins(text: &str) -> Option<usize> {
    let mut head = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line == "---" && (head || index == 0) {
            head = !head;
        } else if head || line.is_empty() || line.starts_with("%%") {
            continue;
        } else {
            let word = line.split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or_default();
            return matches!(word, "stateDiagram" | "stateDiagram-v2").then_some(index);
        }
    }
    None
}

/// The statements of a diagram; what is none is told.
pub(super) fn parse(text: &str, findings: &mut Vec<Diagnostic>) -> Diagram {
    let mut diagram = Diagram { title: title(text), ..Diagram::default() };
    let Some(first) = begins(text) else {
        let finding = diagnostic::error("machine-diagram", "this is no state diagram");
        findings.push(finding.help("its first word must be `stateDiagram-v2`").done());
        return diagram;
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut reader = Reader { lines, at: first + 1, findings, open: Vec::new(), diagram: &mut diagram };
    let body = reader.all();
    diagram.body = body;
    diagram
}

/// The title in the head between two lines `---`.
fn title(text: &str) -> Option<String> {
    let mut lines = text.lines();
    if lines.next()?.trim() != "---" {
        return None;
    }
    let title = lines.take_while(|line| line.trim() != "---").find_map(|line| line.trim().strip_prefix("title:"))?;
    Some(title.trim().trim_matches('"').to_owned())
}

/// A composite that is still open.
struct Open {
    id: String,
    about: Option<String>,
    span: Span,
    before: Vec<Statement>,
}

struct Reader<'t, 'f> {
    lines: Vec<&'t str>,
    at: usize,
    findings: &'f mut Vec<Diagnostic>,
    open: Vec<Open>,
    diagram: &'f mut Diagram,
}

impl<'t> Reader<'t, '_> {
    fn refuse(&mut self, message: impl Into<String>, help: &str, span: Span) {
        self.findings.push(diagnostic::error("machine-diagram", message).help(help).at(span).done());
    }

    fn all(&mut self) -> Vec<Statement> {
        let mut body = Vec::new();
        while let Some(&line) = self.lines.get(self.at) {
            let span = line_span(u32::try_from(self.at).unwrap_or(u32::MAX).saturating_add(1), line);
            self.at += 1;
            let plain = uncommented(line).trim().trim_end_matches(';').trim();
            if !plain.is_empty() {
                self.line(plain, span, &mut body);
            }
        }
        while let Some(open) = self.open.pop() {
            self.refuse(format!("the composite `{}` is never closed", open.id), "close it with `}`", open.span);
            body = open.before;
        }
        body
    }

    fn line(&mut self, line: &str, span: Span, body: &mut Vec<Statement>) {
        if line == "}" {
            return self.close(span, body);
        }
        if line == "--" {
            return body.push(Statement { what: What::Divider, span });
        }
        // Statements may share a line with the brace that opens or closes a composite.
        if let Some(before) = line.strip_suffix('}').filter(|before| !before.trim().is_empty() && !before.contains("{"))
        {
            self.line(before.trim(), span, body);
            return self.close(span, body);
        }
        let lower = line.to_lowercase();
        if lower.starts_with("accdescr") {
            return self.described(line, span);
        }
        if PICTURE.iter().any(|word| is_word(&lower, word)) {
            return;
        }
        if is_word(&lower, "note") {
            return self.note(line.get(4..).unwrap_or_default().trim(), span, body);
        }
        if is_word(&lower, "state") && !line.contains("-->") {
            return self.state(line.get(5..).unwrap_or_default().trim(), span, body);
        }
        match line.split_once("-->") {
            Some((from, rest)) => self.arrow(from, rest, span, body),
            None => self.plain(line, span, body),
        }
    }

    fn close(&mut self, span: Span, body: &mut Vec<Statement>) {
        match self.open.pop() {
            Some(open) => {
                let inner = std::mem::replace(body, open.before);
                let what = What::Composite { id: open.id, about: open.about, body: inner };
                body.push(Statement { what, span: open.span });
            }
            None => self.refuse("a `}` closes nothing", "remove it", span),
        }
    }

    /// `accDescr: text`, or `accDescr {` over several lines.
    fn described(&mut self, line: &str, span: Span) {
        let rest = line.get("accDescr".len()..).unwrap_or_default().trim();
        if let Some(text) = rest.strip_prefix(':') {
            self.diagram.description = Some(text.trim().to_owned());
            return;
        }
        let Some(text) = rest.strip_prefix('{') else {
            return self.refuse(format!("`{line}` cannot be read"), "write `accDescr: text`", span);
        };
        let mut words = vec![text.trim().to_owned()];
        let mut ended = text.contains('}');
        while !ended {
            let Some(&line) = self.lines.get(self.at) else {
                return self.refuse("the description is never closed", "close it with `}`", span);
            };
            self.at += 1;
            ended = line.contains('}');
            words.push(line.trim().to_owned());
        }
        let text = words.join(" ");
        let text = text.split('}').next().unwrap_or_default().trim().to_owned();
        self.diagram.description = Some(text);
    }

    /// `left of A : text`, `right of A` with lines to `end note`, `"text" as A`.
    fn note(&mut self, rest: &str, span: Span, body: &mut Vec<Statement>) {
        if let Some(floating) = rest.strip_prefix('"') {
            let text = floating.split_once('"').map(|(text, _)| text);
            if text.is_none() {
                self.refuse("the note has no second quote", "write `note \"text\" as name`", span);
            }
            // It belongs to no state.
            return;
        }
        let lower = rest.to_lowercase();
        let side = ["left of", "right of", "over"].into_iter().find(|side| lower.starts_with(side));
        let Some(side) = side else {
            return self.refuse("a note stands beside a state", "write `note right of NAME : text`", span);
        };
        let rest = rest.get(side.len()..).unwrap_or_default().trim();
        let (id, text) = rest.split_once(':').map_or((rest, None), |(id, text)| (id, Some(text)));
        let id = name(id);
        let text = match text {
            Some(text) => text.trim().to_owned(),
            None => {
                let mut words = Vec::new();
                loop {
                    let Some(&line) = self.lines.get(self.at) else {
                        return self.refuse("the note is never ended", "end it with `end note`", span);
                    };
                    self.at += 1;
                    if line.trim().eq_ignore_ascii_case("end note") {
                        break;
                    }
                    words.push(line.trim());
                }
                words.join("\n").trim().to_owned()
            }
        };
        if id.is_empty() {
            return self.refuse("the note names no state", "write `note right of NAME : text`", span);
        }
        body.push(Statement { what: What::Note { id, text }, span });
    }

    /// After `state`: `NAME`, `"words" as NAME`, `NAME <<choice>>`, and each with `{`.
    fn state(&mut self, rest: &str, span: Span, body: &mut Vec<Statement>) {
        let (rest, opens) = match rest.split_once('{') {
            Some((head, tail)) => (head.trim(), Some(tail.trim())),
            None => (rest, None),
        };
        let (mut about, mut id) = (None, rest.to_owned());
        if let Some(quoted) = rest.strip_prefix('"') {
            let Some((words, tail)) = quoted.split_once('"') else {
                return self.refuse("the name has no second quote", "write `state \"words\" as NAME`", span);
            };
            id = match tail.trim().strip_prefix("as ") {
                Some(id) => id.trim().to_owned(),
                None if tail.trim().is_empty() => words.trim().to_owned(),
                None => {
                    return self.refuse(
                        format!("`{}` cannot be read", tail.trim()),
                        "write `state \"words\" as NAME`",
                        span,
                    );
                }
            };
            about = Some(words.trim().to_owned());
        }
        let mut kind = Kind::Plain;
        for (mark, marked) in [("choice", Kind::Choice), ("fork", Kind::Fork), ("join", Kind::Join)] {
            for mark in [format!("<<{mark}>>"), format!("[[{mark}]]")] {
                if let Some(head) = strip_end(&id, &mark) {
                    (id, kind) = (head, marked);
                }
            }
        }
        if let Some((head, words)) = id.clone().split_once(':').filter(|(_, words)| !words.starts_with(':')) {
            about = Some(words.trim().to_owned());
            id = head.to_owned();
        }
        let id = name(&id);
        if id.is_empty() || id.contains("<<") || (id.contains(char::is_whitespace) && about.is_none()) {
            return self.refuse(
                format!("`{rest}` names no state"),
                "write `state NAME`, or `state \"words\" as NAME`",
                span,
            );
        }
        let Some(inner) = opens else {
            return body.push(Statement { what: What::State { id, about, kind }, span });
        };
        if self.open.len() >= DEPTH_MAX {
            return self.refuse("composites are nested too deeply", "flatten the diagram", span);
        }
        self.open.push(Open { id, about, span, before: std::mem::take(body) });
        if !inner.is_empty() {
            self.line(inner, span, body);
        }
    }

    fn arrow(&mut self, from: &str, rest: &str, span: Span, body: &mut Vec<Statement>) {
        let (to, label) = labelled(rest);
        let (from, to) = (name(from), name(to));
        if from.is_empty() || to.is_empty() || to.contains("-->") {
            return self.refuse(
                "an arrow leads from one state to another",
                "write `A --> B` or `A --> B : label`",
                span,
            );
        }
        for end in [&from, &to] {
            if end.contains(char::is_whitespace) || end.contains(['{', '}', '"']) {
                let message = format!("`{end}` is no name of a state");
                return self.refuse(message, "write `state \"words\" as NAME` and use the name", span);
            }
        }
        body.push(Statement { what: What::Arrow { from, to, label }, span });
    }

    /// `NAME`, or `NAME : words`.
    fn plain(&mut self, line: &str, span: Span, body: &mut Vec<Statement>) {
        let (id, about) = labelled(line);
        let id = name(id);
        let odd = id.is_empty()
            || id.contains(char::is_whitespace)
            || id.contains(['{', '}', '"', '<', '>', '(', ')'])
            || id == "[*]";
        if odd || id.contains("--") || id.contains("->") {
            return self.refuse(format!("`{line}` cannot be read"), "an arrow is written `A --> B : label`", span);
        }
        body.push(Statement { what: What::State { id, about, kind: Kind::Plain }, span });
    }
}

/// A line without its comment.
fn uncommented(line: &str) -> &str {
    let end = line.match_indices("%%").map(|(at, _)| at).next().unwrap_or(line.len());
    let line = line.get(..end).unwrap_or(line);
    if line.trim_start().starts_with('#') { "" } else { line }
}

/// What stands before a colon, and the words after it. Two more colons name a class.
fn labelled(text: &str) -> (&str, Option<String>) {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(':')).map(|at| from + at) {
        if text.get(at..).is_some_and(|rest| rest.starts_with(":::")) {
            from = at + 3;
            continue;
        }
        let words = text.get(at + 1..).unwrap_or_default().trim();
        let words = words.strip_prefix('"').and_then(|words| words.strip_suffix('"')).unwrap_or(words);
        let label = (!words.is_empty()).then(|| words.to_owned());
        return (text.get(..at).unwrap_or_default(), label);
    }
    (text, None)
}

/// A name, without the class that may hang on it.
fn name(text: &str) -> String {
    text.split(":::").next().unwrap_or_default().trim().to_owned()
}

fn strip_end(text: &str, end: &str) -> Option<String> {
    let at = text.len().checked_sub(end.len())?;
    let tail = text.get(at..)?;
    tail.eq_ignore_ascii_case(end).then(|| text.get(..at).unwrap_or_default().trim().to_owned())
}

fn is_word(line: &str, word: &str) -> bool {
    line.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', ':']))
}
