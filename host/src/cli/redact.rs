//! `--redact`: patterns whose matches are blackened in what is handed out. What is kept is never touched: it drives branches.

use anyhow::{Context, Result};
use clap::Args;
use regex_lite::Regex;
use serde_json::{Map, Value};

/// What stands in the place of a match.
const BLACK: &str = "[redacted]";

/// Which texts to blacken.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Redact {
    /// Blacken what this regular expression matches, in names, values and messages alike. Repeatable.
    #[arg(long = "redact", value_name = "REGEX")]
    patterns: Vec<String>,
}

/// Patterns that are ready.
#[derive(Debug)]
pub(crate) struct Patterns(Vec<Regex>);

impl Redact {
    /// The patterns; none if none was named.
    pub(crate) fn patterns(&self) -> Result<Option<Patterns>> {
        let read = |text: &String| Regex::new(text).with_context(|| format!("`{text}` is no regular expression"));
        let patterns = self.patterns.iter().map(read).collect::<Result<Vec<_>>>()?;
        Ok((!patterns.is_empty()).then_some(Patterns(patterns)))
    }
}

impl Patterns {
    /// A text without what matches.
    pub(crate) fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, pattern| pattern.replace_all(&text, BLACK).into_owned())
    }

    /// A value without what matches, in its keys and in its numbers too.
    pub(crate) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => Value::Object(self.object(fields)),
            Value::Number(number) => {
                let text = number.to_string();
                let black = self.text(&text);
                if black == text { Value::Number(number) } else { black.into() }
            }
            Value::Null | Value::Bool(_) => value,
        }
    }

    /// The same for an object.
    pub(crate) fn object(&self, fields: Map<String, Value>) -> Map<String, Value> {
        fields.into_iter().map(|(name, value)| (self.text(&name), self.value(value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn matches_are_blackened_wherever_they_stand() {
        let redact = Redact { patterns: vec!["tok_[a-z]+".into(), r"\b\d{4}-\d{4}\b".into(), "4711".into()] };
        let patterns = redact.patterns().unwrap().unwrap();
        let value = json!({"tok_abc": ["a tok_xyz b", {"n": 4711, "card": "1234-5678"}], "ok": true, "m": 12});
        let expected =
            json!({"[redacted]": ["a [redacted] b", {"n": "[redacted]", "card": "[redacted]"}], "ok": true, "m": 12});
        assert_eq!(patterns.value(value), expected);
        assert!(Redact { patterns: vec!["(".into()] }.patterns().is_err());
        assert!(Redact::default().patterns().unwrap().is_none());
    }
}
