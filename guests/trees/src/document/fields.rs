//! Fields of a mapping, each read by its type; what is wrong is told with its place and its node.

use wfhost_guest::diagnostic::{self, Finding};
use wfhost_guest::model::{Diagnostic, Span};
use wfhost_guest::nearest::{did_you_mean, nearest};
use wfhost_guest::yaml::{Data, Node};

use super::model::Name;

/// Names that authors use for their own notes. They are no slips.
const NOTES: [&str; 14] = [
    "title",
    "description",
    "note",
    "notes",
    "comment",
    "comments",
    "label",
    "labels",
    "tags",
    "owner",
    "author",
    "link",
    "links",
    "docs",
];

/// A mapping whose fields are being read.
pub(super) struct Fields<'a> {
    /// The mapping.
    pub(super) map: &'a Node,
    /// The node it belongs to; none for the top level.
    pub(super) subject: Option<&'a str>,
    /// Its path inside that node, such as `options[1].`; empty for the node itself.
    pub(super) path: String,
    /// Where findings go.
    pub(super) findings: &'a mut Vec<Diagnostic>,
}

impl<'a> Fields<'a> {
    /// Tells a finding about this node.
    pub(super) fn tell(&mut self, finding: Finding, span: Span) {
        let finding = finding.at(span);
        let finding = if let Some(subject) = self.subject { finding.about(subject) } else { finding };
        self.findings.push(finding.done());
    }

    /// Where to point when a field is not there: at the beginning of the mapping.
    pub(super) fn place(&self) -> Span {
        Span { start: self.map.span.start, end: self.map.span.start }
    }

    pub(super) fn missing(&mut self, name: &str) {
        let message = format!("the field `{}{name}` is missing", self.path);
        self.tell(diagnostic::error("tree-missing-field", message), self.place());
    }

    /// Tells that a field is not of its type.
    pub(super) fn wrong(&mut self, name: &str, wanted: &str, got: &Node) {
        let message = format!("`{}{name}` must be {wanted}, and is {}", self.path, got.kind());
        let quotes = wanted == "a text" && !matches!(got.data, Data::Map(_) | Data::List(_) | Data::Null);
        let finding =
            diagnostic::error("tree-field-type", message).maybe_help(quotes.then(|| "put it in quotes".to_owned()));
        self.tell(finding, got.span);
    }

    /// A text that must be there.
    pub(super) fn text(&mut self, name: &str) -> Option<Name> {
        let Some(node) = self.map.get(name) else {
            self.missing(name);
            return None;
        };
        self.as_text(name, node)
    }

    /// A text that may be there; null is as good as nothing.
    pub(super) fn optional_text(&mut self, name: &str) -> Option<Name> {
        let node = self.map.get(name).filter(|node| !matches!(node.data, Data::Null))?;
        self.as_text(name, node)
    }

    fn as_text(&mut self, name: &str, node: &Node) -> Option<Name> {
        let text = node.as_str();
        if text.is_none() {
            self.wrong(name, "a text", node);
        }
        text.map(|text| Name { text: text.to_owned(), span: node.span })
    }

    /// A flag that may be there; null is none.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        match self.map.get(name) {
            None => false,
            Some(Node { data: Data::Bool(flag), .. }) => *flag,
            Some(other) => {
                self.wrong(name, "`true` or `false`, a boolean", other);
                false
            }
        }
    }

    /// A mapping that may be there; null is none.
    pub(super) fn mapping(&mut self, name: &str) -> Option<&'a Node> {
        let node = self.map.get(name)?;
        if node.as_map().is_none() {
            self.wrong(name, "a mapping", node);
            return None;
        }
        Some(node)
    }

    /// A list that must not be empty. `of` says of what.
    pub(super) fn list(&mut self, name: &str, of: &str) -> &'a [Node] {
        let Some(node) = self.map.get(name) else {
            self.missing(name);
            return &[];
        };
        match node.as_list() {
            Some([]) => {
                let message = format!("`{}{name}` is empty and must be a non-empty list of {of}", self.path);
                self.tell(diagnostic::error("tree-empty-list", message), node.span);
                &[]
            }
            Some(items) => items,
            None => {
                self.wrong(name, &format!("a non-empty list of {of}"), node);
                &[]
            }
        }
    }

    /// The fields of a list's item, which must be a mapping.
    pub(super) fn item<'b>(&'b mut self, name: &str, index: usize, item: &'b Node) -> Option<Fields<'b>> {
        if item.as_map().is_none() {
            self.wrong(&format!("{name}[{index}]"), "a mapping", item);
            return None;
        }
        let path = format!("{}{name}[{index}].", self.path);
        Some(Fields { map: item, subject: self.subject, path, findings: self.findings })
    }

    /// Doubts about fields that nobody reads. A slip of the pen and a stranger among a node's fields are told; what is
    /// plainly an author's own note is not.
    pub(super) fn unknown(&mut self, known: &[&str]) {
        for pair in self.map.as_map().unwrap_or_default() {
            let Some(name) = pair.key.as_str() else { continue };
            if known.contains(&name) || name.starts_with("x-") || name.starts_with("x_") {
                continue;
            }
            let similar = nearest(name, known.iter().copied()).is_some();
            if !similar && (self.subject.is_none() || NOTES.contains(&name)) {
                continue;
            }
            let cure = did_you_mean(name, known.iter().copied());
            let cure = cure
                .unwrap_or_else(|| format!("fields here: {}; a name that begins with `x-` is yours", known.join(", ")));
            let message = format!("the field `{}{name}` is not read", self.path);
            self.tell(diagnostic::warning("tree-unknown-field", message).help(cure), pair.key.span);
        }
    }
}
