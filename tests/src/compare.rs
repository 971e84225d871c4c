//! What counts as equal: values deeply, with placeholders that bind; of the peer's own sentences only what a program could
//! read in them, that is prefixes, numbers, lists and names in quotes.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

/// Where a result is not what was recorded.
pub type Mismatch = String;

/// Placeholders that stand for any one text.
const ANY: [&str; 6] = ["<timestamp>", "<hash>", "<duration>", "<uuid>", "<path>", "<nan>"];

/// What placeholders of a case are bound to so far.
#[derive(Clone, Debug, Default)]
pub struct Bound(BTreeMap<String, String>);

/// How leniently.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Whether more members than recorded are fine.
    pub subset: bool,
    /// Members that are not compared.
    pub loose: &'a [String],
}

impl Bound {
    /// A value with its placeholders filled.
    pub fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.0.get(text).map_or_else(|| value.clone(), |bound| Value::String(bound.clone())),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.fill(item)).collect()),
            Value::Object(map) => Value::Object(map.iter().map(|(key, item)| (key.clone(), self.fill(item))).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Compares a result.
    pub fn compare(&mut self, want: &Value, got: &Value, rules: Rules<'_>, at: &str) -> Result<(), Mismatch> {
        match (want, got) {
            (Value::String(text), _) if ANY.contains(&text.as_str()) => Ok(()),
            (Value::String(text), Value::String(got)) if binds(text) => self.bind(text, got, at),
            (Value::Object(want), Value::Object(got)) => self.objects(want, got, rules, at),
            (Value::Array(want), Value::Array(got)) if want.len() == got.len() => {
                let mut pairs = want.iter().zip(got).enumerate();
                pairs.try_for_each(|(index, (want, got))| self.compare(want, got, rules, &format!("{at}[{index}]")))
            }
            (Value::Number(a), Value::Number(b)) if same(a, b) => Ok(()),
            (want, got) if want == got => Ok(()),
            (want, got) => Err(format!("{at}: want {}, got {}", short(want), short(got))),
        }
    }

    fn bind(&mut self, name: &str, got: &str, at: &str) -> Result<(), Mismatch> {
        match self.0.get(name) {
            Some(bound) if bound == got => Ok(()),
            Some(bound) => Err(format!("{at}: {got} is not the earlier {name}, {bound}")),
            None if self.0.values().any(|bound| bound == got) => Err(format!("{at}: {got} stands for two of them")),
            None => {
                self.0.insert(name.to_owned(), got.to_owned());
                Ok(())
            }
        }
    }

    fn objects(
        &mut self,
        want: &Map<String, Value>,
        got: &Map<String, Value>,
        rules: Rules<'_>,
        at: &str,
    ) -> Result<(), Mismatch> {
        let envelope = ["state", "expects", "instruction"].iter().all(|key| want.contains_key(*key));
        for (key, value) in want.iter().filter(|(key, _)| !rules.loose.contains(key)) {
            let here = format!("{at}.{key}");
            let Some(found) = got.get(key) else {
                if rules.subset && value.is_null() {
                    continue;
                }
                return Err(format!("{here}: missing"));
            };
            match (key.as_str(), value, found) {
                ("error", Value::String(want), Value::String(got)) if envelope => said(want, got, &here)?,
                ("instruction", Value::String(text), Value::String(got))
                    if envelope && want.get("state") == Some(&"awaiting_tool_result".into()) =>
                {
                    named(text, got, &here)?
                }
                (_, value, found) => self.compare(value, found, rules, &here)?,
            }
        }
        match got.keys().find(|key| !want.contains_key(*key)) {
            Some(extra) if !rules.subset => Err(format!("{at}.{extra}: unexpected")),
            Some(_) | None => Ok(()),
        }
    }
}

fn binds(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or_default();
    let stem = inner.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['_', ':']);
    matches!(stem, "session_id" | "app_id" | "run_id")
}

/// Numbers by value; an integer is no float, and no digit of a big one is lost.
fn same(a: &Number, b: &Number) -> bool {
    let (a, b) = (a.to_string(), b.to_string());
    let float = |text: &str| text.contains(['.', 'e', 'E']);
    if float(&a) && float(&b) { a.parse::<f64>().ok() == b.parse::<f64>().ok() } else { a == b }
}

/// A refusal in an envelope: its code word, and the numbers and lists of its text.
fn said(want: &str, got: &str, at: &str) -> Result<(), Mismatch> {
    let (code, rest) = want.split_once(':').unwrap_or((want, ""));
    let lists = rest.find('[').map(|start| rest.get(start..).unwrap_or_default());
    let numbers = rest.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let fits = got.split(':').next() == Some(code)
        && lists.is_none_or(|list| got.contains(list))
        && numbers.clone().all(|digits| got.contains(digits));
    if fits { Ok(()) } else { Err(format!("{at}: want {want:?}, got {got:?}")) }
}

/// The tool's name in an instruction.
fn named(want: &str, got: &str, at: &str) -> Result<(), Mismatch> {
    let name = want.split('`').nth(1).unwrap_or_default();
    if got.contains(&format!("`{name}`")) { Ok(()) } else { Err(format!("{at}: `{name}` is not named in {got:?}")) }
}

/// Names in single quotes, which a message of ours must hold as well.
pub fn quoted(text: &str) -> Vec<&str> {
    text.split('\'').skip(1).step_by(2).filter(|name| !name.is_empty()).collect()
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 200 { format!("{}...", text.chars().take(200).collect::<String>()) } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(want: Value, got: Value) -> bool {
        Bound::default().compare(&want, &got, Rules { subset: false, loose: &[] }, "$").is_ok()
    }

    #[test]
    fn placeholders_bind_and_differ() {
        assert!(check(json!(["<session_id>", "<session_id_2>", "<session_id>"]), json!(["a", "b", "a"])));
        assert!(!check(json!(["<session_id>", "<session_id_2>"]), json!(["a", "a"])));
        assert!(!check(json!(["<session_id>", "<session_id>"]), json!(["a", "b"])));
    }

    #[test]
    fn numbers_keep_their_kind() {
        assert!(check(json!(1.0), serde_json::from_str("1.00").unwrap_or_default()));
        assert!(!check(json!(1), json!(1.0)));
        assert!(!check(json!({"a": 1}), json!({"a": 1, "b": 2})));
    }

    #[test]
    fn of_sentences_the_readable_parts_count() {
        assert!(said("step_mismatch: expected step 2, got 1", "step_mismatch: it is 2, you said 1", "$").is_ok());
        assert!(said("step_mismatch: expected step 2, got 1", "step_mismatch: sorry", "$").is_err());
        assert!(said("invalid_option: expected one of ['a']", "invalid_option: ['a'] it must be", "$").is_ok());
        assert_eq!(quoted("node 'a': field 'id' must"), ["a", "id"]);
    }
}
