//! Personas: texts in which a model is to speak, filled from the session that asks for them.

use wfhost_guest::json;
use wfhost_guest::packed::Broken;
use wfhost_guest::python;
use wfhost_guest::value::Value;

use crate::code::Code;
use crate::engine::Now;
use crate::listing;

fn personas(code: Code<'_>) -> Result<Vec<Value>, Broken> {
    Ok(if let Value::List(personas) = code.beside("personas")? { personas } else { Vec::new() })
}

fn word<'v>(persona: &'v Value, key: &str) -> &'v str {
    persona.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// All personas, without their texts.
pub(crate) fn list(code: Code<'_>) -> Result<Value, Broken> {
    let one = |persona: &Value| {
        let of = |key: &str| (key.to_owned(), persona.get(key).cloned().unwrap_or_default());
        Value::Map(["name", "description", "voice", "metadata"].map(of).into_iter().collect())
    };
    let all = personas(code)?.iter().map(one).collect();
    Ok(Value::from([("personas", Value::List(all)), ("default", code.beside("default_persona")?)]))
}

/// The text of a persona, with its placeholders filled.
pub(crate) fn text(now: &Now<'_, '_>, name: &str) -> Result<Option<String>, Broken> {
    let personas = personas(now.code)?;
    let Some(persona) = personas.iter().find(|persona| word(persona, "name") == name) else {
        return Ok(None);
    };
    let body = filled(word(persona, "body"), &facts(now)?);
    Ok(Some(listing::persona(name, word(persona, "description"), word(persona, "voice"), &body)))
}

/// What placeholders can name.
fn facts(now: &Now<'_, '_>) -> Result<Value, Broken> {
    let ways = now.ways()?;
    let reachable = ways.iter().map(|way| way.action.name).collect::<Vec<_>>().join(", ");
    let name = match now.state.last {
        Some(last) => last.name,
        None => now.machine.action(now.machine.entry)?.name,
    };
    let all: Vec<&str> =
        now.machine.actions().take(1_000).map(|action| action.map(|action| action.name)).collect::<Result<_, _>>()?;
    Ok(Value::from([
        ("state", now.state.data.clone().into()),
        ("action", Value::from([("name", name.into()), ("reachable", reachable.into())])),
        ("graph", Value::from([("total_actions", now.machine.len().into()), ("all_actions", all.join(", ").into())])),
        ("session", Value::from([("session_id", now.session.id.as_str().into())])),
    ]))
}

/// A text with `{state.x}` and the like filled. What nothing provides is empty; braces around anything else stay.
fn filled(text: &str, facts: &Value) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match after.split_once('}').filter(|(inner, _)| is_path(inner)) {
            Some((path, tail)) => {
                out.push_str(&shown(path.split('.').try_fold(facts, |place, step| place.get(step))));
                rest = tail;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn is_path(text: &str) -> bool {
    let part = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
            && letters.all(|c| c.is_alphanumeric() || c == '_')
    };
    text.split('.').all(part)
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(value @ (Value::List(_) | Value::Map(_))) => json::text(value),
        Some(value) => python::str(value),
    }
}
