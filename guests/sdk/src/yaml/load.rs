//! From the parser's events to a tree of nodes: aliases, tags, merge keys, repeated keys, and the limits that keep a hostile
//! document small.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, StrInput, Tag};

use super::scalar::{Oddity, Schema};
use super::source::{Source, point};
use super::{DEPTH_MAX, Data, NODES_MAX, Node, Pair, Rules};
use crate::diagnostic::{self, Finding};
use crate::model::{Diagnostic, Span};
use crate::python;

/// LIMIT: findings of one document that are told.
const FINDINGS_MAX: usize = 200;

/// What a document holds.
#[derive(Debug)]
pub struct Loaded {
    /// The top node. None if it could not be read to the end; then there is an error among the findings.
    pub root: Option<Node>,
    /// What is wrong or doubtful.
    pub findings: Vec<Diagnostic>,
}

/// Reads a document.
pub fn load(bytes: &[u8], rules: Rules) -> Loaded {
    let mut source = match Source::new(bytes, rules.schema) {
        Ok(source) => source,
        Err(finding) => return Loaded { root: None, findings: vec![finding.done()] },
    };
    loop {
        let mut loader = Loader {
            parser: Parser::new_from_str(&source.text),
            source: &source,
            rules,
            anchors: BTreeMap::new(),
            nodes: 0,
            findings: Vec::new(),
        };
        let root = loader.document();
        let mut findings = loader.findings;
        match root {
            Ok(root) => return Loaded { root: Some(root), findings },
            Err(Stop { loosened: Some(loosened), .. }) => source = *loosened,
            Err(Stop { finding, loosened: None }) => {
                findings.push(finding.done());
                return Loaded { root: None, findings };
            }
        }
    }
}

/// A finding after which nothing can be read; or, with its indentation loosened, the document to read instead.
struct Stop {
    finding: Finding,
    loosened: Option<Box<Source<'static>>>,
}

fn stop(finding: Finding) -> Stop {
    Stop { finding, loosened: None }
}

type Step<T> = Result<T, Stop>;

enum Anchor {
    /// Its node is still being read.
    Open,
    Whole(Node, usize),
}

struct Loader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    source: &'a Source<'a>,
    rules: Rules,
    anchors: BTreeMap<usize, Anchor>,
    nodes: usize,
    findings: Vec<Diagnostic>,
}

/// Where a node stands: how deep, and whether inside brackets.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    flow: bool,
}

/// A scalar as the parser gave it.
struct Scalar<'a> {
    text: &'a str,
    style: ScalarStyle,
    tag: Option<&'a Tag>,
    span: Span,
}

impl<'a> Loader<'a> {
    fn next(&mut self) -> Step<(Event<'a>, saphyr_parser::Span)> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(fault)) => {
                let at = point(self.source.position(fault.marker()));
                if fault.info() == "recursion limit exceeded" {
                    return Err(too_deep(at));
                }
                let finding = diagnostic::error("yaml-syntax", format!("invalid YAML: {}", fault.info()));
                let finding = finding.at(at).maybe_help(hint(fault.info()));
                let loose = self.rules.schema == Schema::PyYaml;
                Err(Stop { finding, loosened: if loose { self.source.loosened(&fault).map(Box::new) } else { None } })
            }
            None => Ok((Event::StreamEnd, saphyr_parser::Span::empty(Marker::new(0, 1, 0)))),
        }
    }

    fn tell(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding.done());
        }
    }

    fn document(&mut self) -> Step<Node> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(_) if root.is_some() => {
                    let finding = diagnostic::error("yaml-documents", "a second document begins here")
                        .at(point(self.source.position(&span.start)));
                    return Err(stop(finding.help("one file holds one document; remove what follows `---`")));
                }
                Event::DocumentStart(_) => {
                    let (event, span) = self.next()?;
                    root = Some(self.node(event, span, Place { depth: 0, flow: false })?);
                }
                Event::Alias(_)
                | Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..)
                | Event::MappingEnd => {}
            }
        }
        Ok(root.unwrap_or(Node { span: point(self.source.position(&Marker::new(0, 1, 0))), data: Data::Null }))
    }

    fn count(&mut self, nodes: usize, span: Span) -> Step<()> {
        self.nodes += nodes;
        if self.nodes <= NODES_MAX {
            return Ok(());
        }
        let finding = diagnostic::error("yaml-size", format!("the document grows to more than {NODES_MAX} nodes here"));
        Err(stop(finding.at(span).help("aliases that repeat aliases multiply; write the content out")))
    }

    fn node(&mut self, event: Event<'a>, marks: saphyr_parser::Span, place: Place) -> Step<Node> {
        let span = Span { start: self.source.position(&marks.start), end: self.source.position(&marks.end) };
        self.count(1, span)?;
        if place.depth > DEPTH_MAX {
            return Err(too_deep(span));
        }
        let before = self.nodes;
        let (anchor, node) = match event {
            Event::Alias(id) => return self.alias(id, span),
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar { text: &text, style, tag: tag.as_deref(), span };
                (anchor, self.scalar(&scalar, place.flow))
            }
            Event::SequenceStart(anchor, tag) => {
                self.open(anchor);
                let inside = Place { depth: place.depth + 1, flow: place.flow || self.source.opens_flow(&marks.start) };
                let node = self.list(inside, span)?;
                (anchor, self.tagged_list(tag.as_deref(), node))
            }
            Event::MappingStart(anchor, tag) => {
                self.open(anchor);
                let inside = Place { depth: place.depth + 1, flow: place.flow || self.source.opens_flow(&marks.start) };
                let node = self.map(inside, span)?;
                (anchor, self.tagged_map(tag.as_deref(), node))
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => (0, Node { span, data: Data::Null }),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, Anchor::Whole(node.clone(), self.nodes - before + 1));
        }
        Ok(node)
    }

    /// Until its end an anchor names nothing. Zero is none.
    fn open(&mut self, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, Anchor::Open);
        }
    }

    fn alias(&mut self, id: usize, span: Span) -> Step<Node> {
        match self.anchors.get(&id) {
            Some(Anchor::Whole(_, nodes)) => {
                let nodes = *nodes;
                self.count(nodes, span)?;
                let Some(Anchor::Whole(node, _)) = self.anchors.get(&id) else {
                    return Ok(Node { span, data: Data::Null });
                };
                Ok(node.clone())
            }
            Some(Anchor::Open) => {
                let finding =
                    diagnostic::error("yaml-alias", "the alias stands inside what it names, which has no end");
                Err(stop(finding.at(span).help("write the content out instead of the alias")))
            }
            None => Err(stop(diagnostic::error("yaml-alias", "invalid YAML: the alias names nothing").at(span))),
        }
    }

    fn list(&mut self, place: Place, mut span: Span) -> Step<Node> {
        let mut items = Vec::new();
        loop {
            let (event, marks) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                span.end = self.source.position(&marks.end);
                return Ok(Node { span, data: Data::List(items) });
            }
            items.push(self.node(event, marks, place)?);
        }
    }

    fn map(&mut self, place: Place, mut span: Span) -> Step<Node> {
        let mut merged = Vec::new();
        let mut own = Vec::new();
        loop {
            let (event, marks) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                span.end = self.source.position(&marks.end);
                break;
            }
            let merge =
                self.rules.merge && matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = if merge {
                Node {
                    span: Span { start: self.source.position(&marks.start), end: self.source.position(&marks.end) },
                    data: Data::Null,
                }
            } else {
                self.node(event, marks, place)?
            };
            let (event, marks) = self.next()?;
            let value = self.node(event, marks, place)?;
            if merge {
                self.merge(value, &mut merged);
            } else {
                self.check_key(&key)?;
                own.push(Pair { key, value });
            }
        }
        Ok(Node { span, data: Data::Map(self.unique(merged, own)) })
    }

    /// What `<<` brings in: a mapping, or several of which the first counts most.
    fn merge(&mut self, value: Node, merged: &mut Vec<Pair>) {
        match value.data {
            Data::Map(pairs) => merged.extend(pairs),
            Data::List(items) if items.iter().all(|item| item.as_map().is_some()) => {
                let maps = items.into_iter().rev();
                merged.extend(maps.flat_map(|item| if let Data::Map(pairs) = item.data { pairs } else { Vec::new() }));
            }
            Data::Null
            | Data::Bool(_)
            | Data::Int(_)
            | Data::Float(_)
            | Data::Str(_)
            | Data::Date(_)
            | Data::Binary(_)
            | Data::Set(_)
            | Data::List(_) => {
                let finding =
                    diagnostic::error("yaml-merge", "invalid YAML: `<<` merges a mapping or a list of mappings");
                self.tell(finding.at(value.span).help("name a mapping: `<<: *base`"));
            }
        }
    }

    fn check_key(&self, key: &Node) -> Step<()> {
        if !matches!(key.data, Data::List(_) | Data::Map(_) | Data::Set(_)) {
            return Ok(());
        }
        let finding = diagnostic::error("yaml-key", "invalid YAML: a list or a mapping cannot be a key").at(key.span);
        Err(stop(finding.help("a text in braces or brackets needs quotes: `\"{{ name }}\"`")))
    }

    /// Merged members first, then the mapping's own; of several with one key the last, in the place of the first.
    fn unique(&mut self, merged: Vec<Pair>, own: Vec<Pair>) -> Vec<Pair> {
        if merged.is_empty() && are_distinct(&own) {
            return own;
        }
        let mut places: BTreeMap<String, (usize, bool)> = BTreeMap::new();
        let mut kept: Vec<Pair> = Vec::new();
        let merged = merged.into_iter().map(|pair| (false, pair));
        for (is_own, pair) in merged.chain(own.into_iter().map(|pair| (true, pair))) {
            let name = key_name(&pair.key);
            let Some((at, was_own)) = places.get_mut(&name) else {
                places.insert(name, (kept.len(), is_own));
                kept.push(pair);
                continue;
            };
            let Some(old) = kept.get_mut(*at) else { continue };
            if *was_own {
                let message = format!(
                    "the key `{}` stood already in line {}; the last one counts",
                    python::str(&pair.key.value()),
                    old.key.span.start.line
                );
                let finding = Finding::of(self.rules.repeated_key, "yaml-repeated-key", message);
                self.tell(finding.at(pair.key.span).help("remove one of the two"));
            }
            *was_own = is_own;
            old.value = pair.value;
            old.key = pair.key;
        }
        kept
    }

    fn scalar(&mut self, scalar: &Scalar<'_>, flow: bool) -> Node {
        let schema = self.rules.schema;
        let read = match scalar.tag {
            None if scalar.style == ScalarStyle::Plain => {
                if flow && schema == Schema::PyYaml && scalar.text.contains('?') {
                    let finding = diagnostic::error(
                        "yaml-question-mark",
                        "invalid YAML: an unquoted text inside brackets ends at `?`",
                    );
                    self.tell(finding.at(scalar.span).help("put the text in quotes"));
                }
                schema.plain(scalar.text)
            }
            None => Ok(Data::Str(scalar.text.to_owned())),
            Some(tag) => match standard(tag) {
                Some("") => Ok(Data::Str(scalar.text.to_owned())),
                Some(name) => schema.tagged(name, scalar.text).unwrap_or_else(|| {
                    self.unknown_tag(tag, scalar.span);
                    Ok(Data::Null)
                }),
                None => {
                    self.unknown_tag(tag, scalar.span);
                    Ok(Data::Null)
                }
            },
        };
        let data = read.unwrap_or_else(|oddity| {
            self.tell(oddity_finding(&oddity, scalar));
            Data::Str(scalar.text.to_owned())
        });
        Node { span: scalar.span, data }
    }

    fn tagged_list(&mut self, tag: Option<&Tag>, node: Node) -> Node {
        if let Some(tag) = tag.filter(|tag| !matches!(standard(tag), Some("seq" | ""))) {
            self.unknown_tag(tag, node.span);
        }
        node
    }

    fn tagged_map(&mut self, tag: Option<&Tag>, node: Node) -> Node {
        match (tag, tag.and_then(standard), node.data) {
            (Some(_), Some("set"), Data::Map(pairs)) => Node { span: node.span, data: Data::Set(pairs) },
            (None, _, data) | (Some(_), Some("map" | ""), data) => Node { span: node.span, data },
            (Some(tag), Some(_) | None, data) => {
                self.unknown_tag(tag, node.span);
                Node { span: node.span, data }
            }
        }
    }

    fn unknown_tag(&mut self, tag: &Tag, span: Span) {
        let message = format!("invalid YAML: the tag `{}{}` means nothing here", tag.handle, tag.suffix);
        self.tell(diagnostic::error("yaml-tag", message).at(span).help("remove the tag"));
    }
}

/// Whether a few texts are keys and no two of them are the same: so it is with most mappings.
fn are_distinct(pairs: &[Pair]) -> bool {
    let is_new = |at: usize, text: &str| !pairs.iter().take(at).any(|other| other.key.as_str() == Some(text));
    let mut keys = pairs.iter().map(|pair| pair.key.as_str()).enumerate();
    pairs.len() < 9 && keys.all(|(at, key)| key.is_some_and(|text| is_new(at, text)))
}

fn too_deep(span: Span) -> Stop {
    let finding = diagnostic::error("yaml-depth", format!("nested deeper than {DEPTH_MAX} levels"));
    stop(finding.at(span).help("flatten the document"))
}

/// The name of a tag of YAML's standard repository; empty for the tag `!`.
fn standard(tag: &Tag) -> Option<&str> {
    match (tag.handle.as_str(), tag.suffix.as_str()) {
        ("", "!") | ("!", "") => Some(""),
        ("tag:yaml.org,2002:", name) => Some(name),
        ("", name) => name.strip_prefix("tag:yaml.org,2002:"),
        (_, _) => None,
    }
}

fn oddity_finding(oddity: &Oddity, scalar: &Scalar<'_>) -> Finding {
    let text: String = scalar.text.chars().take(40).collect();
    let (code, message, help) = match oddity {
        Oddity::Number => {
            ("yaml-number", format!("`{text}` looks like a number and is none"), "put it in quotes if it is a text")
        }
        Oddity::LongNumber => ("yaml-number", "a number of more than 4300 digits".to_owned(), "put it in quotes"),
        Oddity::Date => {
            ("yaml-date", format!("there is no such date or time: `{text}`"), "correct it, and put it in quotes")
        }
        Oddity::Reserved => (
            "yaml-reserved",
            format!("invalid YAML: `{text}` alone has a meaning of its own in YAML"),
            "put it in quotes",
        ),
        Oddity::NotOfTag => ("yaml-tag", format!("`{text}` is not what its tag says"), "remove the tag"),
    };
    diagnostic::error(code, message).at(scalar.span).help(help)
}

/// Keys of one name are one key. Numbers and booleans are compared as Python compares them, texts apart from them.
fn key_name(key: &Node) -> String {
    match &key.data {
        Data::Str(text) => format!("={text}"),
        Data::Null => "null".to_owned(),
        Data::Bool(flag) => u8::from(*flag).to_string(),
        Data::Int(int) => int.to_string(),
        Data::Float(float) if float.fract() == 0.0 => format!("{float:.0}"),
        Data::Float(float) => float.to_string(),
        Data::Date(text) => format!("date {text}"),
        Data::Binary(text) => format!("binary {text}"),
        Data::Set(_) | Data::List(_) | Data::Map(_) => String::new(),
    }
}

/// What most often lies behind a complaint of the parser.
fn hint(info: &str) -> Option<String> {
    let info = info.to_ascii_lowercase();
    let help = if info.contains("tab") {
        "indent with blanks"
    } else if info.contains("anchor") {
        "an alias `*name` needs an anchor `&name` before it"
    } else if info.contains("mapping values are not allowed") {
        "a text with `: ` in it needs quotes"
    } else if info.contains("start any token") {
        "a text that starts with this character needs quotes"
    } else {
        return None;
    };
    Some(help.to_owned())
}
