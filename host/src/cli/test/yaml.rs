//! YAML of the JSON kind, for walks: the core schema's scalars, lists, mappings with text keys, and the line of each node.
//! Documents of dialects are no matter of this file: their interpreters read them.

use anyhow::{Result, anyhow, bail};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Value};

/// Levels that a value may be nested.
const DEPTH_MAX: usize = 128;

/// A node, and where it begins.
#[derive(Debug)]
pub(super) struct Node {
    /// Its line, from 1.
    pub(super) line: usize,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Scalar(Value),
    List(Vec<Node>),
    Mapping(Vec<(String, Node)>),
}

impl Node {
    /// A mapping's field.
    pub(super) fn field(&self, name: &str) -> Option<&Node> {
        match &self.content {
            Content::Mapping(fields) => fields.iter().find(|(key, _)| key == name).map(|(_, node)| node),
            Content::Scalar(_) | Content::List(_) => None,
        }
    }

    /// A list's items.
    pub(super) fn items(&self) -> &[Node] {
        match &self.content {
            Content::List(items) => items,
            Content::Scalar(_) | Content::Mapping(_) => &[],
        }
    }

    /// All of it as JSON.
    pub(super) fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => items.iter().map(Node::value).collect(),
            Content::Mapping(fields) => {
                Value::Object(fields.iter().map(|(name, node)| (name.clone(), node.value())).collect::<Map<_, _>>())
            }
        }
    }
}

/// The one document of a text.
pub(super) fn load(text: &str) -> Result<Node> {
    let mut parser = Parser::new_from_str(text);
    let mut next = || -> Result<(Event<'_>, Span)> {
        let event = parser.next().ok_or_else(|| anyhow!("the file ends too early"))?;
        event.map_err(|error| anyhow!("line {}: {}", error.marker().line(), error.info()))
    };
    loop {
        match next()? {
            (Event::StreamStart | Event::DocumentStart(_), _) => {}
            (Event::StreamEnd, _) => return Ok(Node { line: 1, content: Content::Scalar(Value::Null) }),
            (event, span) => return node(event, span, (&mut next, 0)),
        }
    }
}

type Next<'n, 't> = &'n mut dyn FnMut() -> Result<(Event<'t>, Span)>;

fn node<'t>(event: Event<'t>, span: Span, (next, depth): (Next<'_, 't>, usize)) -> Result<Node> {
    let line = span.start.line();
    if depth > DEPTH_MAX {
        bail!("line {line}: it is nested more than {DEPTH_MAX} levels deep");
    }
    let content = match event {
        Event::Scalar(text, style, _, _) => Content::Scalar(scalar(&text, style)),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            loop {
                match next()? {
                    (Event::SequenceEnd, _) => break,
                    (event, span) => items.push(node(event, span, (&mut *next, depth + 1))?),
                }
            }
            Content::List(items)
        }
        Event::MappingStart(..) => {
            let mut fields: Vec<(String, Node)> = Vec::new();
            loop {
                let key = match next()? {
                    (Event::MappingEnd, _) => break,
                    (Event::Scalar(text, ..), _) => text.into_owned(),
                    (_, span) => bail!("line {}: a key should be a text", span.start.line()),
                };
                if fields.iter().any(|(known, _)| *known == key) {
                    bail!("line {line}: the key `{key}` stands there twice");
                }
                let (event, span) = next()?;
                fields.push((key, node(event, span, (&mut *next, depth + 1))?));
            }
            Content::Mapping(fields)
        }
        Event::Alias(_) => bail!("line {line}: aliases are not used in walks"),
        Event::Nothing
        | Event::StreamStart
        | Event::StreamEnd
        | Event::DocumentStart(_)
        | Event::DocumentEnd
        | Event::SequenceEnd
        | Event::MappingEnd => bail!("line {line}: something other than a value stands there"),
    };
    Ok(Node { line, content })
}

/// A scalar by YAML 1.2's core schema; one in quotes or in a block is a text.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return text.into();
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        // A number as JSON has them; other forms are texts.
        _ => match serde_json::from_str::<Value>(text) {
            Ok(number @ Value::Number(_)) => number,
            Ok(_) | Err(_) => text.into(),
        },
    }
}
