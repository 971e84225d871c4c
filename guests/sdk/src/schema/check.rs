//! A value against a schema: every place where it does not fit.

use std::cmp::Ordering;

use regex_lite::Regex;

use super::{DEPTH_MAX, equal, is_type, type_name};
use crate::value::{Map, Value};
use crate::{json, python};

/// A place where a value does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The way from the value to the place: names and numbers from zero.
    pub path: Vec<String>,
    /// The word of the schema that is not met.
    pub keyword: &'static str,
    /// What is wrong, for a reader.
    pub message: String,
}

/// All that does not fit, in the order of the schema; none if the value fits.
#[must_use]
pub fn problems(value: &Value, schema: &Value) -> Vec<Problem> {
    let mut check = Check { root: schema, path: Vec::new(), found: Vec::new() };
    check.schema(value, schema, 0);
    check.found
}

/// A word of the schema, how it reads, and whether a number that stands so to it is fine.
type Bound = (&'static str, &'static str, fn(Ordering) -> bool);

struct Check<'s> {
    root: &'s Value,
    path: Vec<String>,
    found: Vec<Problem>,
}

impl<'s> Check<'s> {
    fn tell(&mut self, keyword: &'static str, message: impl Into<String>) {
        self.found.push(Problem { path: self.path.clone(), keyword, message: message.into() });
    }

    fn below(&mut self, step: impl Into<String>, value: &Value, schema: &'s Value, depth: usize) {
        self.path.push(step.into());
        self.schema(value, schema, depth);
        self.path.pop();
    }

    /// Whether a value fits, without telling.
    fn fits(&self, value: &Value, schema: &'s Value, depth: usize) -> bool {
        let mut check = Check { root: self.root, path: Vec::new(), found: Vec::new() };
        check.schema(value, schema, depth);
        check.found.is_empty()
    }

    fn schema(&mut self, value: &Value, schema: &'s Value, depth: usize) {
        if depth > DEPTH_MAX {
            self.tell("$ref", "the schema is nested or refers to itself too deeply");
            return;
        }
        let words = match schema {
            Value::Bool(true) => return,
            Value::Bool(false) => return self.tell("false", "nothing may stand here"),
            Value::Map(words) => words,
            Value::Null | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_) => return,
        };
        if let Some(to) = words.get("$ref").and_then(Value::as_str) {
            match target(self.root, to) {
                Some(schema) => self.schema(value, schema, depth + 1),
                None => self.tell("$ref", format!("the schema refers to `{to}`, which is not there")),
            }
        }
        self.any(value, words);
        match value {
            Value::Int(_) | Value::Float(_) => self.number(value, words),
            Value::Str(text) => self.text(text, words),
            Value::List(items) => self.list(items, words, depth),
            Value::Map(map) => self.map(map, words, depth),
            Value::Null | Value::Bool(_) => {}
        }
        self.combined(value, words, depth);
    }

    fn any(&mut self, value: &Value, words: &'s Map) {
        let names: Vec<&str> = match words.get("type") {
            Some(Value::Str(name)) => vec![name],
            Some(Value::List(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(_) | None => Vec::new(),
        };
        if !names.is_empty() && !names.iter().any(|name| is_type(value, name)) {
            self.tell("type", format!("must be {}, and is {}", names.join(" or "), type_name(value)));
        }
        if let Some(options) = words.get("enum").and_then(Value::as_list)
            && !options.iter().any(|option| equal(option, value))
        {
            let options: Vec<String> = options.iter().map(json::text).collect();
            self.tell("enum", format!("must be one of {}", options.join(", ")));
        }
        if let Some(wanted) = words.get("const")
            && !equal(wanted, value)
        {
            self.tell("const", format!("must be {}", json::text(wanted)));
        }
    }

    fn number(&mut self, value: &Value, words: &Map) {
        let bounds: [Bound; 4] = [
            ("minimum", "at least", Ordering::is_ge),
            ("maximum", "at most", Ordering::is_le),
            ("exclusiveMinimum", "more than", Ordering::is_gt),
            ("exclusiveMaximum", "less than", Ordering::is_lt),
        ];
        for (word, said, holds) in bounds {
            let Some(bound) = words.get(word).filter(|bound| is_type(bound, "number")) else { continue };
            if !python::order(value, bound).is_some_and(holds) {
                self.tell(word, format!("must be {said} {}", json::text(bound)));
            }
        }
        if let Some(unit) = words.get("multipleOf").filter(|unit| is_type(unit, "number"))
            && !is_multiple(value, unit)
        {
            self.tell("multipleOf", format!("must be a multiple of {}", json::text(unit)));
        }
    }

    fn text(&mut self, text: &str, words: &Map) {
        let letters = text.chars().count();
        self.size(words, ("minLength", "maxLength"), letters, "characters");
        if let Some(pattern) = words.get("pattern").and_then(Value::as_str)
            && Regex::new(pattern).is_ok_and(|regex| !regex.is_match(text))
        {
            self.tell("pattern", format!("must match {pattern}"));
        }
    }

    fn size(&mut self, words: &Map, (least, most): (&'static str, &'static str), size: usize, unit: &str) {
        let bound = |word| count(words.get(word));
        if bound(least).is_some_and(|bound| size < bound) {
            self.tell(least, format!("must have at least {} {unit}", bound(least).unwrap_or(0)));
        }
        if bound(most).is_some_and(|bound| size > bound) {
            self.tell(most, format!("must have at most {} {unit}", bound(most).unwrap_or(0)));
        }
    }

    fn list(&mut self, items: &[Value], words: &'s Map, depth: usize) {
        self.size(words, ("minItems", "maxItems"), items.len(), "items");
        let prefix = words.get("prefixItems").and_then(Value::as_list).unwrap_or_default();
        let rest = words.get("items");
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = prefix.get(index).or(rest) {
                self.below(index.to_string(), item, schema, depth + 1);
            }
        }
        if words.get("uniqueItems").is_some_and(|flag| matches!(flag, Value::Bool(true)))
            && items.iter().enumerate().any(|(at, item)| items.iter().take(at).any(|other| equal(item, other)))
        {
            self.tell("uniqueItems", "holds one item twice");
        }
        if let Some(schema) = words.get("contains") {
            let fitting = items.iter().filter(|item| self.fits(item, schema, depth + 1)).count();
            if fitting < count(words.get("minContains")).unwrap_or(1) {
                self.tell("contains", "holds too few items of the kind that it must contain");
            }
            if count(words.get("maxContains")).is_some_and(|most| fitting > most) {
                self.tell("maxContains", "holds too many items of the kind that it must contain");
            }
        }
    }

    fn map(&mut self, map: &Map, words: &'s Map, depth: usize) {
        self.size(words, ("minProperties", "maxProperties"), map.len(), "members");
        for name in words.get("required").and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_str)
        {
            self.needed(map, name, "required");
        }
        self.members(map, words, depth);
        if let Some(schema) = words.get("propertyNames") {
            for name in map.keys() {
                self.below(name, &name.into(), schema, depth + 1);
            }
        }
        for (name, needs) in words.get("dependentRequired").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
            let needs = needs.as_list().filter(|_| map.get(name).is_some()).unwrap_or_default();
            needs.iter().filter_map(Value::as_str).for_each(|name| self.needed(map, name, "dependentRequired"));
        }
        for (name, schema) in words.get("dependentSchemas").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
            if map.get(name).is_some() {
                self.schema(&Value::Map(map.clone()), schema, depth + 1);
            }
        }
    }

    fn needed(&mut self, map: &Map, name: &str, keyword: &'static str) {
        if map.get(name).is_none() {
            self.path.push(name.to_owned());
            self.tell(keyword, "is missing");
            self.path.pop();
        }
    }

    fn members(&mut self, map: &Map, words: &'s Map, depth: usize) {
        let properties = words.get("properties");
        let patterns: Vec<(Regex, &'s Value)> = words
            .get("patternProperties")
            .and_then(Value::as_map)
            .into_iter()
            .flat_map(Map::iter)
            .filter_map(|(pattern, schema)| Some((Regex::new(pattern).ok()?, schema)))
            .collect();
        for (name, item) in map.iter() {
            let own = properties.and_then(|properties| properties.get(name));
            let fitting = patterns.iter().filter(|(pattern, _)| pattern.is_match(name)).map(|(_, schema)| *schema);
            let schemas: Vec<&'s Value> = own.into_iter().chain(fitting).collect();
            match words.get("additionalProperties") {
                Some(Value::Bool(false)) if schemas.is_empty() => {
                    self.path.push(name.to_owned());
                    self.tell("additionalProperties", "is not known here");
                    self.path.pop();
                }
                Some(schema) if schemas.is_empty() => self.below(name, item, schema, depth + 1),
                Some(_) | None => schemas.into_iter().for_each(|schema| self.below(name, item, schema, depth + 1)),
            }
        }
    }

    fn combined(&mut self, value: &Value, words: &'s Map, depth: usize) {
        let list = |word| words.get(word).and_then(Value::as_list).unwrap_or_default();
        for schema in list("allOf") {
            self.schema(value, schema, depth + 1);
        }
        let either = list("anyOf");
        if !either.is_empty() && !either.iter().any(|schema| self.fits(value, schema, depth + 1)) {
            self.tell("anyOf", "fits none of the allowed forms");
        }
        let one = list("oneOf");
        let fitting = one.iter().filter(|schema| self.fits(value, schema, depth + 1)).count();
        if !one.is_empty() && fitting != 1 {
            self.tell("oneOf", format!("must fit exactly one of the allowed forms, and fits {fitting}"));
        }
        if words.get("not").is_some_and(|schema| self.fits(value, schema, depth + 1)) {
            self.tell("not", "has the form that is ruled out");
        }
        if let Some(condition) = words.get("if") {
            let word = if self.fits(value, condition, depth + 1) { "then" } else { "else" };
            if let Some(schema) = words.get(word) {
                self.schema(value, schema, depth + 1);
            }
        }
    }
}

fn count(bound: Option<&Value>) -> Option<usize> {
    match bound {
        Some(Value::Float(float)) if float.fract() == 0.0 => format!("{float:.0}").parse().ok(),
        bound => bound.and_then(Value::as_i64).and_then(|number| usize::try_from(number).ok()),
    }
}

fn is_multiple(value: &Value, unit: &Value) -> bool {
    if let (Some(value), Some(unit)) = (value.as_i64(), unit.as_i64()) {
        return unit != 0 && value.checked_rem(unit) == Some(0);
    }
    let float = |value: &Value| match value {
        Value::Int(int) => int.as_f64(),
        Value::Float(float) => *float,
        Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => f64::NAN,
    };
    let quotient = float(value) / float(unit);
    // Decimal units such as 0.1 have no exact form: what is a multiple to a reader counts.
    quotient.is_finite() && (quotient - quotient.round()).abs() <= 1e-9 * quotient.abs().max(1.0)
}

/// The part of a schema that a reference of the same document names.
pub(super) fn target<'s>(root: &'s Value, to: &str) -> Option<&'s Value> {
    let pointer = to.strip_prefix('#')?;
    if pointer.is_empty() {
        return Some(root);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(root, |place, step| {
        let step = step.replace("%25", "%").replace("~1", "/").replace("~0", "~");
        match place {
            Value::Map(map) => map.get(&step),
            Value::List(items) => items.get(step.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => None,
        }
    })
}
