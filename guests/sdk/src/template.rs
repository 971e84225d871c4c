//! `{{ name.path }}` in texts, filled from facts, and the dotted paths that name a value inside them.

use crate::python::{self, Layout};
use crate::value::{Map, Value};

/// The value at a dotted path. Only mappings are entered; a missing step is none.
pub fn lookup<'a>(facts: &'a Map, path: &str) -> Option<&'a Value> {
    let mut steps = path.split('.');
    let first = facts.get(steps.next()?)?;
    steps.try_fold(first, |value, step| value.get(step))
}

/// A text with its placeholders filled. One that is a single placeholder becomes the value itself.
pub fn fill(text: &str, facts: &Map) -> Value {
    if let Some(placeholder) = whole(text) {
        return lookup(facts, placeholder.path).cloned().unwrap_or_else(|| text.into());
    }
    fill_text(text, facts).into()
}

/// A text with its placeholders filled by text, also where it is a single one.
pub fn fill_text(text: &str, facts: &Map) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(placeholder) = first(rest) {
        let (head, tail) = rest.split_at(placeholder.start);
        out.push_str(head);
        let (written, tail) = tail.split_at(placeholder.len);
        match lookup(facts, placeholder.path) {
            Some(Value::Str(text)) => out.push_str(text),
            Some(value) => out.push_str(&python::dumps(value, Layout::COMPACT)),
            None => out.push_str(written),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// All texts of a value filled; keys stay as they are.
pub fn fill_value(value: &Value, facts: &Map) -> Value {
    match value {
        Value::Str(text) => fill(text, facts),
        Value::List(items) => Value::List(items.iter().map(|item| fill_value(item, facts)).collect()),
        Value::Map(map) => {
            Value::Map(map.iter().map(|(key, item)| (key.to_owned(), fill_value(item, facts))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => value.clone(),
    }
}

/// A placeholder found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placeholder<'a> {
    /// The byte at which its braces begin.
    pub start: usize,
    /// Its bytes, braces included.
    pub len: usize,
    /// The path between the braces.
    pub path: &'a str,
}

/// All placeholders of a text, in order.
pub fn placeholders(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut found = first(text.get(at..)?)?;
        found.start += at;
        at = found.start + found.len;
        Some(found)
    })
}

fn whole(text: &str) -> Option<Placeholder<'_>> {
    let trimmed = text.trim_matches(is_blank);
    first(trimmed).filter(|found| found.start == 0 && found.len == trimmed.len())
}

fn first(text: &str) -> Option<Placeholder<'_>> {
    let mut from = 0;
    loop {
        let start = from + text.get(from..)?.find("{{")?;
        if let Some(found) = at(text, start) {
            return Some(found);
        }
        from = start + 1;
    }
}

/// The placeholder that begins at this byte: braces, blanks, a path of words, blanks, braces.
fn at(text: &str, start: usize) -> Option<Placeholder<'_>> {
    let inner = text.get(start + 2..)?.trim_start_matches(is_blank);
    let end = inner.find(|c| !is_word(c) && c != '.').unwrap_or(inner.len());
    let (path, rest) = inner.split_at(end);
    let rest = rest.trim_start_matches(is_blank).strip_prefix("}}")?;
    let named =
        path.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && path.split('.').all(|step| !step.is_empty());
    named.then(|| Placeholder { start, len: text.len() - start - rest.len(), path })
}

/// A letter, digit or underscore of any script.
fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// What Python takes for a blank: Unicode's, and four separators of ASCII.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn check(text: &str, want: &str) {
        let facts = json::read(r#"{"f":{"i":1,"é":"x"},"s":"a","n":null,"b":1e22}"#).unwrap();
        assert_eq!(json::text(&fill(text, facts.as_map().unwrap())), want, "{text}");
    }

    #[test]
    fn a_lone_placeholder_keeps_its_type() {
        check("{{ f }}", r#"{"i":1,"é":"x"}"#);
        check(" \t{{f.i}}\n", "1");
        check("{{ n }}", "null");
        check("{{ gone }} ", r#""{{ gone }} ""#);
    }

    #[test]
    fn embedded_values_are_compact_ascii_json() {
        check("x {{ f }} {{ s }}{{ b }}", r#""x {\"i\":1,\"\\u00e9\":\"x\"} a1e+22""#);
        check("{{{ s }}}", r#""{a}""#);
        check("{{ s }}{{ s }}", r#""aa""#);
        check("{{ f.é }}!", r#""x!""#);
    }

    #[test]
    fn what_is_no_placeholder_stays() {
        for text in [
            "{{ f-x }}",
            "{{ 0f }}",
            "{{ }}",
            "{{ f. }}",
            "{{ f|x }}",
            "{{ f . i }}",
            "{{ f[0] }}",
            "{{ é }}",
            "{{",
            "{{ f }",
            "{{ f..i }}",
        ] {
            check(text, &json::quoted(text));
        }
    }

    #[test]
    fn placeholders_are_listed_in_order() {
        let found: Vec<_> =
            placeholders("a {{ f.i }}{{s}} {{ - }}").map(|one| (one.start, one.len, one.path)).collect();
        assert_eq!(found, [(2, 9, "f.i"), (11, 5, "s")]);
    }
}
