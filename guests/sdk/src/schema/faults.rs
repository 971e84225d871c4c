//! A schema itself: what of it is no JSON Schema, and what is not checked here.

use regex_lite::Regex;

use super::DEPTH_MAX;
use super::check::target;
use crate::nearest::did_you_mean;
use crate::value::Value;

/// Something in a schema that would not be checked as its author thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The way to the place in the schema.
    pub path: Vec<String>,
    /// What is wrong.
    pub message: String,
    /// What to do, if anything is known.
    pub help: Option<String>,
}

/// All that is wrong with a schema.
#[must_use]
pub fn faults(schema: &Value) -> Vec<Fault> {
    let mut look = Look { root: schema, path: Vec::new(), found: Vec::new() };
    look.schema(schema, 0);
    look.found
}

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
const ANNOTATIONS: [&str; 14] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
    "contentMediaType",
    "$comment",
    "$schema",
    "$id",
    "$anchor",
];
/// Words whose value is a schema.
const ONE: [&str; 8] = ["items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"];
/// Words whose value is a list of schemas.
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Words whose value maps names to schemas.
const NAMED: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/// Words whose value is a number, and whether it is a count.
const NUMBERS: [(&str, bool); 13] = [
    ("minimum", false),
    ("maximum", false),
    ("exclusiveMinimum", false),
    ("exclusiveMaximum", false),
    ("multipleOf", false),
    ("minLength", true),
    ("maxLength", true),
    ("minItems", true),
    ("maxItems", true),
    ("minProperties", true),
    ("maxProperties", true),
    ("minContains", true),
    ("maxContains", true),
];
const OTHERS: [&str; 8] = ["type", "enum", "const", "pattern", "required", "uniqueItems", "dependentRequired", "$ref"];

struct Look<'s> {
    root: &'s Value,
    path: Vec<String>,
    found: Vec<Fault>,
}

impl<'s> Look<'s> {
    fn tell(&mut self, message: impl Into<String>, help: Option<String>) {
        self.found.push(Fault { path: self.path.clone(), message: message.into(), help });
    }

    fn schema(&mut self, schema: &'s Value, depth: usize) {
        if depth > DEPTH_MAX {
            return self.tell("is nested too deeply", None);
        }
        let words = match schema {
            Value::Bool(_) => return,
            Value::Map(words) => words,
            Value::Null | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_) => {
                return self.tell("a schema is a mapping, or true or false", None);
            }
        };
        for (word, value) in words.iter() {
            self.path.push(word.to_owned());
            self.word(word, value, depth);
            self.path.pop();
        }
    }

    fn word(&mut self, word: &str, value: &'s Value, depth: usize) {
        if NAMED.contains(&word) {
            self.named(word, value, depth);
        } else if ONE.contains(&word) {
            self.schema(value, depth + 1);
        } else if LIST.contains(&word) {
            match value.as_list() {
                Some(items) if !items.is_empty() => self.items(items, depth),
                Some(_) | None => self.tell("must be a list of schemas that is not empty", None),
            }
        } else if let Some((_, counted)) = NUMBERS.iter().find(|(name, _)| *name == word) {
            let fits = match value {
                Value::Int(int) => !counted || !int.to_string().starts_with('-'),
                Value::Float(float) => !counted || (float.fract() == 0.0 && *float >= 0.0),
                Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => false,
            };
            if !fits {
                self.tell(
                    if *counted { "must be a number from 0 on, without a fraction" } else { "must be a number" },
                    None,
                );
            }
        } else if OTHERS.contains(&word) {
            self.other(word, value);
        } else if !ANNOTATIONS.contains(&word) && !word.starts_with("x-") {
            let known = NUMBERS.iter().map(|(name, _)| *name).chain(ONE).chain(LIST).chain(NAMED).chain(OTHERS);
            self.tell("is a word that is not checked", did_you_mean(word, known));
        }
    }

    fn items(&mut self, items: &'s [Value], depth: usize) {
        for (index, schema) in items.iter().enumerate() {
            self.path.push(index.to_string());
            self.schema(schema, depth + 1);
            self.path.pop();
        }
    }

    fn named(&mut self, word: &str, value: &'s Value, depth: usize) {
        let Some(map) = value.as_map() else { return self.tell("must map names to schemas", None) };
        for (name, schema) in map.iter() {
            self.path.push(name.to_owned());
            if word == "patternProperties" {
                self.regex(name);
            }
            self.schema(schema, depth + 1);
            self.path.pop();
        }
    }

    fn regex(&mut self, pattern: &str) {
        if let Err(fault) = Regex::new(pattern) {
            self.tell(format!("is no regular expression that is known here: {fault}"), None);
        }
    }

    fn other(&mut self, word: &str, value: &Value) {
        match (word, value) {
            ("type", Value::Str(name)) => self.typed(name),
            ("type", Value::List(names)) if !names.is_empty() && names.iter().all(|name| name.as_str().is_some()) => {
                names.iter().filter_map(Value::as_str).for_each(|name| self.typed(name));
            }
            ("type", _) => self.tell("must be the name of a type, or a list of them", None),
            ("enum", Value::List(items)) if !items.is_empty() => {}
            ("enum", _) => self.tell("must be a list that is not empty", None),
            ("pattern", Value::Str(pattern)) => self.regex(pattern),
            ("pattern", _) => self.tell("must be a text", None),
            ("required", Value::List(names)) if names.iter().all(|name| name.as_str().is_some()) => {}
            ("required", _) => self.tell("must be a list of names", None),
            ("uniqueItems", Value::Bool(_)) => {}
            ("uniqueItems", _) => self.tell("must be true or false", None),
            ("dependentRequired", Value::Map(map)) if map.iter().all(names) => {}
            ("dependentRequired", _) => self.tell("must map names to lists of names", None),
            ("$ref", Value::Str(to)) if target(self.root, to).is_some() => {}
            ("$ref", _) => self.tell("must be a place of this same schema, as `#/$defs/name`", None),
            (_, _) => {}
        }
    }

    fn typed(&mut self, name: &str) {
        if !TYPES.contains(&name) {
            let help = did_you_mean(name, TYPES).unwrap_or_else(|| format!("types: {}", TYPES.join(", ")));
            self.tell(format!("there is no type `{name}`"), Some(help));
        }
    }
}

fn names((_, list): (&str, &Value)) -> bool {
    list.as_list().is_some_and(|names| names.iter().all(|name| name.as_str().is_some()))
}
