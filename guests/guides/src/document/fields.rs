//! Fields of a mapping, each read by its type; what is wrong is told with its place and its node. Texts may be written
//! without quotes: `1`, `007`, `1e5` and `true` mean what stands in the document.

use std::collections::BTreeSet;

use wfhost_guest::diagnostic::{self, Finding};
use wfhost_guest::model::{Diagnostic, Span};
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::python;
use wfhost_guest::yaml::{Data, Node, Pair};

use super::model::Name;

/// The document's lines, from which scalars are read as they were written.
#[derive(Clone, Debug)]
pub(super) struct Lines<'a>(Vec<&'a str>);

impl<'a> Lines<'a> {
    /// The lines of a document; none if it is no text.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        Self(text.trim_start_matches('\u{feff}').split('\n').collect())
    }

    /// A scalar as text. None: it is a list, a mapping, or nothing at all.
    fn text(&self, node: &Node) -> Option<String> {
        match &node.data {
            Data::Str(text) | Data::Date(text) | Data::Binary(text) => Some(text.clone()),
            Data::Bool(_) | Data::Int(_) | Data::Float(_) => {
                Some(self.written(node).unwrap_or_else(|| python::str(&node.value())))
            }
            Data::Null | Data::Set(_) | Data::List(_) | Data::Map(_) => None,
        }
    }

    /// A key as text. Here even `null` is a word.
    fn key(&self, node: &Node) -> Option<String> {
        match node.data {
            Data::Null => self.written(node),
            Data::Bool(_) | Data::Int(_) | Data::Float(_) | Data::Str(_) | Data::Date(_) | Data::Binary(_) => {
                self.text(node)
            }
            Data::Set(_) | Data::List(_) | Data::Map(_) => None,
        }
    }

    fn written(&self, node: &Node) -> Option<String> {
        let Span { start, end } = node.span;
        let index = |number: u32| usize::try_from(number).ok()?.checked_sub(1);
        let (from, to) = (index(start.column)?, index(end.column)?);
        let line = self.0.get(index(start.line)?).filter(|_| start.line == end.line)?;
        let text: String = line.chars().take(to).skip(from).collect();
        let text = text.trim();
        // An alias stands for what is written elsewhere.
        (!text.is_empty() && !text.starts_with(['*', '&', '!', '"', '\''])).then(|| text.to_owned())
    }
}

/// A mapping whose fields are being read.
pub(super) struct Fields<'a, 'f> {
    /// The mapping.
    pub(super) map: &'a Node,
    /// The node it belongs to; none for the top level.
    pub(super) subject: Option<String>,
    /// Its path inside that node, such as `slots.email.`; empty for the node itself.
    pub(super) path: String,
    /// The document as it was written.
    pub(super) lines: &'f Lines<'f>,
    /// Where findings go.
    pub(super) findings: &'f mut Vec<Diagnostic>,
}

impl<'a> Fields<'a, '_> {
    /// Tells a finding about this node.
    pub(super) fn tell(&mut self, finding: Finding, span: Span) {
        let finding = finding.at(span);
        let finding = if let Some(subject) = &self.subject { finding.about(subject) } else { finding };
        self.findings.push(finding.done());
    }

    /// Where to point when a field is not there: at the beginning of the mapping.
    pub(super) fn place(&self) -> Span {
        Span { start: self.map.span.start, end: self.map.span.start }
    }

    pub(super) fn missing(&mut self, name: &str, help: &str) {
        let message = format!("the field `{}{name}` is missing", self.path);
        self.tell(diagnostic::error("guide-missing", message).help(help), self.place());
    }

    /// Tells that a field is not of its type.
    pub(super) fn wrong(&mut self, name: &str, wanted: &str, got: &Node) {
        let message = format!("`{}{name}` must be {wanted}, and is {}", self.path, got.kind());
        self.tell(diagnostic::error("guide-type", message), got.span);
    }

    /// A field that is there and not empty.
    pub(super) fn given(&self, name: &str) -> Option<&'a Node> {
        self.map.get(name).filter(|node| !matches!(node.data, Data::Null))
    }

    /// A text that must be there.
    pub(super) fn text(&mut self, name: &str, help: &str) -> Option<Name> {
        if self.given(name).is_none() {
            self.missing(name, help);
            return None;
        }
        self.optional_text(name)
    }

    /// A text that may be there.
    pub(super) fn optional_text(&mut self, name: &str) -> Option<Name> {
        let node = self.given(name)?;
        let text = self.lines.text(node);
        if text.is_none() {
            self.wrong(name, "a text", node);
        }
        text.map(|text| Name { text, span: node.span })
    }

    /// The text of a member's value.
    pub(super) fn member_text(&mut self, name: &str, node: &Node) -> String {
        let text = self.lines.text(node);
        if text.is_none() {
            self.wrong(name, "a text", node);
        }
        text.unwrap_or_default()
    }

    /// A flag that may be there.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let Some(node) = self.given(name) else { return false };
        if let Data::Bool(flag) = node.data {
            return flag;
        }
        let message = format!("`{}{name}` must be true or false, and is {}", self.path, node.kind());
        self.tell(diagnostic::error("guide-type", message).help("write `true` or `false`, without quotes"), node.span);
        false
    }

    /// A mapping that must be there and hold something, with its keys as texts.
    pub(super) fn members(&mut self, name: &str, help: &str) -> Vec<(Name, &'a Pair)> {
        let Some(node) = self.given(name) else {
            self.missing(name, help);
            return Vec::new();
        };
        let Some(pairs) = node.as_map() else {
            self.wrong(name, "a mapping", node);
            return Vec::new();
        };
        if pairs.is_empty() {
            let message = format!("`{}{name}` is empty", self.path);
            self.tell(diagnostic::error("guide-empty", message).help(help), node.span);
        }
        let (mut members, mut seen) = (Vec::new(), BTreeSet::new());
        for pair in pairs {
            match self.lines.key(&pair.key) {
                // Names that differ to YAML and not to a reader: `1` and `"1"`.
                Some(text) if !seen.insert(text.clone()) => {
                    let message = format!("the name `{text}` stands twice in `{}{name}`", self.path);
                    self.tell(diagnostic::error("guide-repeated-name", message), pair.key.span);
                }
                Some(text) if text.trim().is_empty() => {
                    let message = format!("a name in `{}{name}` is blank", self.path);
                    self.tell(diagnostic::error("guide-empty", message), pair.key.span);
                }
                Some(text) => members.push((Name { text, span: pair.key.span }, pair)),
                None => self.wrong(name, "a mapping whose names are texts", &pair.key),
            }
        }
        members
    }

    /// Fields that nobody reads. A name that begins with `x-` is the author's own.
    pub(super) fn unknown(&mut self, known: &[&str]) {
        for pair in self.map.as_map().unwrap_or_default() {
            let name = self.lines.key(&pair.key).unwrap_or_else(|| pair.key.kind().to_owned());
            if known.contains(&name.as_str()) || name.starts_with("x-") {
                continue;
            }
            let cure = did_you_mean(&name, known.iter().copied());
            let cure = cure
                .unwrap_or_else(|| format!("fields here: {}; a name that begins with `x-` is yours", known.join(", ")));
            let message = format!("there is no field `{}{name}`", self.path);
            self.tell(diagnostic::error("guide-unknown-key", message).help(cure), pair.key.span);
        }
    }
}
