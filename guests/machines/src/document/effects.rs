//! What an action asks of others: waiting, a person, a model, other machines, tools. In this order, whatever the order in
//! the document.

use wfhost_guest::diagnostic;
use wfhost_guest::value::{Map, Value};
use wfhost_guest::yaml::{Data, Node};

use super::action::check_schema;
use super::fields::{Fields, Sees};
use super::machine::reserved;
use super::model::{Name, Use};
use crate::expr;

const ASK: [&str; 5] = ["message", "choices", "schema", "timeout", "into"];
const ASK_MODEL: [&str; 5] = ["prompt", "system", "max_tokens", "timeout", "into"];
const RUN: [&str; 10] =
    ["machine", "workflow", "interpreter", "label", "with", "inputs", "halt", "for", "when", "into"];
const CALL: [&str; 9] = ["server", "tool", "arguments", "timeout", "classify", "expect", "when", "into", "label"];
const EXPECT: [&str; 5] = ["any", "text", "list", "dict", "rows"];

/// The effects of an action in order. What they bring is seen by what comes after.
pub(super) fn effects(fields: &mut Fields<'_, '_, '_>, sees: &mut Sees) -> Vec<Value> {
    let mut effects = Vec::new();
    if fields.given("wait").is_some()
        && let Some(seconds) = fields.value("wait", sees)
    {
        effects.push(effect("wait", Map::from_iter([("seconds".to_owned(), seconds)]), true));
    }
    for (kind, known) in [("ask", ASK.as_slice()), ("ask_model", &ASK_MODEL), ("run", &RUN), ("call", &CALL)] {
        let Some(node) = fields.given(kind) else { continue };
        let single = matches!(kind, "ask" | "ask_model");
        let items =
            if single { std::slice::from_ref(node) } else { node.as_list().unwrap_or(std::slice::from_ref(node)) };
        let mut brought: Vec<String> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let subject = fields.subject.clone();
            let mut inner = Fields::new(item, fields.desk, subject.as_deref(), format!("{kind}."));
            if item.as_map().is_none() {
                inner.wrong("", "a mapping", item);
                continue;
            }
            inner.unknown(known);
            let (map, into) = one(kind, &mut inner, sees);
            // It waits for those before it in the list only if it names something that one of them brings.
            let names = |text: &super::model::Text| brought.iter().any(|name| mentions(&text.source, name));
            let join = index == 0 || inner.texts.iter().any(names);
            fields.texts.append(&mut inner.texts);
            if let Some(into) = into {
                reserved(fields, &into);
                brought.push(into.text.clone());
                sees.locals.push(into.text);
            }
            effects.push(effect(kind, map, join));
        }
    }
    effects
}

fn effect(kind: &str, mut map: Map, join: bool) -> Value {
    map.set("kind", kind.into());
    if join {
        map.set("join", true.into());
    }
    Value::Map(map)
}

/// Whether a text holds a word.
fn mentions(source: &str, word: &str) -> bool {
    source.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

fn one(kind: &str, fields: &mut Fields<'_, '_, '_>, sees: &Sees) -> (Map, Option<Name>) {
    let mut map = Map::default();
    let into = fields.name("into");
    let mut inner = sees.clone();
    if kind == "run"
        && let Some((name, list)) = each(fields, sees)
    {
        map.set("each", name.as_str().into());
        map.set("for", list);
        inner.locals.push(name);
    }
    let needed: &[&str] = match kind {
        "ask" => &["message"],
        "ask_model" => &["prompt"],
        "call" => &["server", "tool"],
        _ => &[],
    };
    for key in needed {
        if fields.given(key).is_none() {
            let finding = diagnostic::error("machine-wrong-type", format!("`{}{key}` is missing", fields.path));
            let place = fields.place();
            fields.tell(finding, place);
        }
    }
    for pair in fields.map.as_map().unwrap_or_default() {
        let Some(key) = pair.key.as_str() else { continue };
        let value = match key {
            "into" | "for" => continue,
            "when" => fields.expression(key, &inner).map(Node::value),
            "schema" => {
                check_schema(fields, "ask.schema", &pair.value);
                Some(pair.value.value())
            }
            "machine" | "workflow" | "interpreter" | "classify" => fields.name(key).map(|name| name.text.into()),
            _ => fields.value(key, &inner),
        };
        if let Some(value) = value {
            map.set(key, value);
        }
    }
    if let Some(into) = &into {
        map.set("into", into.text.as_str().into());
    }
    kinds(kind, fields, &map);
    (map, into)
}

fn kinds(kind: &str, fields: &mut Fields<'_, '_, '_>, map: &Map) {
    if kind == "run" && map.get("machine").is_some() == map.get("workflow").is_some() {
        let finding = diagnostic::error("machine-wrong-type", "`run` needs either `machine` or `workflow`");
        let finding = finding.help("`machine` is one of this document, `workflow` any other that is served here");
        let place = fields.place();
        fields.tell(finding, place);
    }
    if kind == "ask" && map.get("choices").is_some() && map.get("schema").is_some() {
        let finding =
            diagnostic::error("machine-wrong-type", "`ask` has `choices` and `schema`: one of them is enough");
        let place = fields.place();
        fields.tell(finding, place);
    }
    if let Some(node) = fields.given("expect")
        && let Some(word) = node.as_str()
        && !word.contains("{{")
        && !EXPECT.contains(&word)
    {
        let message = format!("`expect: {word}` is not known and expects anything");
        let finding = diagnostic::warning("machine-unknown-expect", message);
        fields.tell(finding.help(format!("known: {}", EXPECT.join(", "))), node.span);
    }
}

/// `for: NAME in EXPRESSION`.
fn each(fields: &mut Fields<'_, '_, '_>, sees: &Sees) -> Option<(String, Value)> {
    let node: &Node = fields.given("for")?;
    let Data::Str(text) = &node.data else {
        fields.wrong("for", "`NAME in EXPRESSION`", node);
        return None;
    };
    let Some((name, list)) = text.split_once(" in ").filter(|(name, _)| is_name(name.trim())) else {
        let finding = diagnostic::error("machine-bad-expression", format!("`for: {text}` is not `NAME in EXPRESSION`"));
        fields.tell(finding, node.span);
        return None;
    };
    fields.push(list, node.span, Use::Expression, sees);
    let name = name.trim().to_owned();
    if expr::FUNCTIONS.contains(&name.as_str()) {
        reserved(fields, &Name { text: name.clone(), span: node.span });
    }
    Some((name, list.into()))
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|c| c.is_alphabetic() || c == '_') && letters.all(|c| c.is_alphanumeric() || c == '_')
}
