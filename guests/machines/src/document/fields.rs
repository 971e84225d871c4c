//! Fields of a mapping, each read by its type; what is wrong is told with its place and its action.

use std::borrow::Cow;

use wfhost_guest::diagnostic::{self, Finding};
use wfhost_guest::model::{Diagnostic, Span};
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::value::Value;
use wfhost_guest::yaml::{Data, Node, Pair};

use super::model::{Name, Text, Use};

/// Where findings go, and what the document's lines are.
#[derive(Debug)]
pub(crate) struct Desk<'d> {
    pub(crate) findings: Vec<Diagnostic>,
    pub(crate) lines: Vec<&'d str>,
    /// The file, if it is not that of the machine which is read from it.
    pub(crate) file: Option<String>,
}

impl<'d> Desk<'d> {
    pub(crate) fn new(bytes: &'d [u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let lines = text.trim_start_matches('\u{feff}').split('\n').collect();
        Self { findings: Vec::new(), lines, file: None }
    }

    pub(crate) fn tell(&mut self, finding: Finding, span: Span, subject: Option<&str>) {
        let finding = finding.at(span);
        let finding = if let Some(subject) = subject { finding.about(subject) } else { finding };
        self.findings.push(finding.done());
    }

    /// The lines from one place to another, without the indentation that all of them share.
    pub(crate) fn source(&self, from: Span, to: Span) -> String {
        let index = |line: u32| usize::try_from(line).unwrap_or(1).saturating_sub(1);
        let (first, mut last) = (index(from.start.line), index(to.end.line));
        if to.end.column == 1 && last > first {
            last -= 1;
        }
        let lines: Vec<&str> = self.lines.iter().take(last + 1).skip(first).map(|line| line.trim_end()).collect();
        let indent = |line: &&str| line.len() - line.trim_start().len();
        let shared = lines.iter().filter(|line| !line.is_empty()).map(indent).min().unwrap_or(0);
        let lines: Vec<&str> = lines.into_iter().map(|line| line.get(shared..).unwrap_or_default()).collect();
        lines.join("\n").trim_end().to_owned()
    }
}

/// What a value in this place may name, beyond state and tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sees {
    pub(crate) locals: Vec<String>,
    pub(crate) inputs: bool,
    pub(crate) reads: bool,
}

/// A mapping whose fields are being read.
pub(crate) struct Fields<'n, 'd, 's> {
    pub(crate) map: &'n Node,
    pub(crate) desk: &'s mut Desk<'d>,
    /// The action that it belongs to, if any.
    pub(crate) subject: Option<String>,
    /// Where it stands below that, such as `call.`.
    pub(crate) path: Cow<'static, str>,
    /// Texts that are evaluated.
    pub(crate) texts: Vec<Text>,
}

impl<'n, 'd, 's> Fields<'n, 'd, 's> {
    pub(crate) fn new(
        map: &'n Node,
        desk: &'s mut Desk<'d>,
        subject: Option<&str>,
        path: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { map, desk, subject: subject.map(str::to_owned), path: path.into(), texts: Vec::new() }
    }

    pub(crate) fn tell(&mut self, finding: Finding, span: Span) {
        self.desk.tell(finding, span, self.subject.clone().as_deref());
    }

    /// Where to point when a field is not there.
    pub(crate) fn place(&self) -> Span {
        Span { start: self.map.span.start, end: self.map.span.start }
    }

    pub(crate) fn wrong(&mut self, name: &str, wanted: &str, got: &Node) {
        let message = format!("`{}{name}` must be {wanted}, and is {}", self.path, got.kind());
        self.tell(diagnostic::error("machine-wrong-type", message), got.span);
    }

    pub(crate) fn given(&self, name: &str) -> Option<&'n Node> {
        self.map.get(name).filter(|node| !matches!(node.data, Data::Null))
    }

    pub(crate) fn name(&mut self, name: &str) -> Option<Name> {
        let node = self.given(name)?;
        match node.as_str() {
            Some(text) if !text.trim().is_empty() => Some(Name { text: text.to_owned(), span: node.span }),
            _ => {
                self.wrong(name, "a text that is not blank", node);
                None
            }
        }
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        let node = self.given(name)?;
        if node.as_str().is_none() {
            self.wrong(name, "a text", node);
        }
        node.as_str().map(str::to_owned)
    }

    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        let node = self.given(name)?;
        if let Data::Bool(flag) = node.data {
            return Some(flag);
        }
        self.wrong(name, "true or false", node);
        None
    }

    /// A text, or a list of texts.
    pub(crate) fn names(&mut self, name: &str) -> Vec<Name> {
        let Some(node) = self.given(name) else { return Vec::new() };
        let one = |node: &Node| node.as_str().map(|text| Name { text: text.to_owned(), span: node.span });
        let items = node.as_list().unwrap_or(std::slice::from_ref(node));
        let names: Vec<Name> = items.iter().filter_map(one).collect();
        if names.len() != items.len() {
            self.wrong(name, "a text or a list of texts", node);
        }
        names
    }

    /// Members by name; a key that is no text is told.
    pub(crate) fn members(&mut self, name: &str) -> Vec<(Name, &'n Node)> {
        let Some(node) = self.given(name) else { return Vec::new() };
        let Some(pairs) = node.as_map() else {
            self.wrong(name, "a mapping", node);
            return Vec::new();
        };
        self.keyed(name, pairs)
    }

    pub(crate) fn keyed(&mut self, name: &str, pairs: &'n [Pair]) -> Vec<(Name, &'n Node)> {
        let mut members = Vec::new();
        for pair in pairs {
            match pair.key.as_str() {
                Some(text) => members.push((Name { text: text.to_owned(), span: pair.key.span }, &pair.value)),
                None => {
                    let message = format!("a name in `{}{name}` is {}", self.path, pair.key.kind());
                    let finding = diagnostic::error("machine-wrong-type", message).help("put it in quotes");
                    self.tell(finding, pair.key.span);
                }
            }
        }
        members
    }

    /// Milliseconds, from `250ms`, `30s`, `2m`, `1h` or a number of seconds.
    pub(crate) fn duration(&mut self, name: &str) -> Option<u32> {
        let node = self.given(name)?;
        let millis = duration(&node.value());
        if millis.is_none() {
            self.wrong(name, "a time such as `250ms`, `30s` or `2m`", node);
        }
        millis
    }

    /// A value, with the texts in it.
    pub(crate) fn value(&mut self, name: &str, sees: &Sees) -> Option<Value> {
        let node = self.map.get(name)?;
        self.collect(node, sees);
        Some(node.value())
    }

    /// Takes the texts of a value down.
    pub(crate) fn collect(&mut self, node: &Node, sees: &Sees) {
        match &node.data {
            Data::Str(source) => self.push(source, node.span, Use::Value, sees),
            Data::List(items) => items.iter().for_each(|item| self.collect(item, sees)),
            Data::Map(pairs) => {
                for pair in pairs {
                    if pair.key.as_str().is_none() {
                        let message = format!("a name in `{}` is {}", self.path.trim_end_matches('.'), pair.key.kind());
                        let finding = diagnostic::error("machine-wrong-type", message);
                        self.tell(finding.help("put it in quotes"), pair.key.span);
                    }
                    self.collect(&pair.value, sees);
                }
            }
            Data::Null
            | Data::Bool(_)
            | Data::Int(_)
            | Data::Float(_)
            | Data::Date(_)
            | Data::Binary(_)
            | Data::Set(_) => {}
        }
    }

    pub(crate) fn push(&mut self, source: &str, span: Span, kind: Use, sees: &Sees) {
        self.texts.push(Text {
            source: source.to_owned(),
            span,
            kind,
            locals: sees.locals.clone(),
            inputs: sees.inputs,
            reads: sees.reads,
            file: self.desk.file.clone(),
        });
    }

    /// A bare expression: a text, or true or false.
    pub(crate) fn expression(&mut self, name: &str, sees: &Sees) -> Option<&'n Node> {
        let node = self.given(name)?;
        match &node.data {
            Data::Str(source) => self.push(source, node.span, Use::Expression, sees),
            Data::Bool(_) => {}
            Data::Null
            | Data::Int(_)
            | Data::Float(_)
            | Data::Date(_)
            | Data::Binary(_)
            | Data::Set(_)
            | Data::List(_)
            | Data::Map(_) => self.wrong(name, "an expression, or true or false", node),
        }
        Some(node)
    }

    /// Fields that nobody reads. A name that begins with `x-` is the author's own.
    pub(crate) fn unknown(&mut self, known: &[&str]) {
        for pair in self.map.as_map().unwrap_or_default() {
            let name = pair.key.as_str().unwrap_or_default();
            if known.contains(&name) || name.starts_with("x-") {
                continue;
            }
            let shown = if name.is_empty() { pair.key.kind().to_owned() } else { format!("`{}{name}`", self.path) };
            let cure = did_you_mean(name, known.iter().copied())
                .unwrap_or_else(|| format!("fields here: {}; a name that begins with `x-` is yours", known.join(", ")));
            let finding = diagnostic::error("machine-unknown-field", format!("there is no field {shown}"));
            self.tell(finding.help(cure), pair.key.span);
        }
    }
}

/// A time as milliseconds.
pub(crate) fn duration(value: &Value) -> Option<u32> {
    let millis = match value {
        Value::Int(int) => int.as_f64() * 1000.0,
        Value::Float(seconds) => seconds * 1000.0,
        Value::Str(text) => {
            let text = text.trim();
            let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
            let (number, unit) = (text.get(..split)?.trim(), text.get(split..)?.trim());
            let factor = match unit {
                "ms" => 1.0,
                "s" | "" => 1000.0,
                "m" | "min" => 60_000.0,
                "h" => 3_600_000.0,
                _ => return None,
            };
            number.parse::<f64>().ok()? * factor
        }
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => return None,
    };
    // A time from 0 on that fits; what is finer than a millisecond is rounded up.
    (millis >= 0.0 && millis <= f64::from(u32::MAX)).then(|| format!("{:.0}", millis.ceil()).parse().ok())?
}
