//! What the operator allows: which documents may start programs, which tools of a server may be called.

use serde_json::Value;

/// Whether a document may name a program to start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Spawn {
    /// No: only the operator's own file may.
    #[default]
    Never,
    /// These programs, by name or path.
    Only(Vec<String>),
    /// Any.
    Any,
}

impl Spawn {
    /// Whether this program may be started for a document.
    #[must_use]
    pub fn allows(&self, command: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Only(names) => names.iter().any(|name| name == command),
            Self::Any => true,
        }
    }
}

/// Names that may be used: those that fit an allowed pattern, if there are any, and no denied one. `*` stands for any
/// characters, `?` for one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Globs {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl Globs {
    /// Reads `{"allow": [..], "deny": [..]}`, or a list of what is allowed.
    pub fn read(value: Option<&Value>) -> Result<Self, String> {
        let list = |value: Option<&Value>, of: &str| match value {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                let texts: Option<Vec<String>> = items.iter().map(|i| i.as_str().map(str::to_owned)).collect();
                texts.ok_or_else(|| format!("{of} should be a list of texts"))
            }
            Some(_) => Err(format!("{of} should be a list of texts")),
        };
        match value {
            Some(Value::Object(map)) => {
                if let Some(key) = map.keys().find(|k| !matches!(k.as_str(), "allow" | "deny")) {
                    return Err(format!("`{key}` means nothing here: it holds `allow` and `deny`"));
                }
                Ok(Self { allow: list(map.get("allow"), "`allow`")?, deny: list(map.get("deny"), "`deny`")? })
            }
            other => Ok(Self { allow: list(other, "it")?, deny: Vec::new() }),
        }
    }

    /// Whether a name may be used.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        let fits = |globs: &[String]| globs.iter().any(|glob| fits(glob, name));
        (self.allow.is_empty() || fits(&self.allow)) && !fits(&self.deny)
    }
}

fn fits(glob: &str, name: &str) -> bool {
    let mut rest = glob.chars();
    match rest.next() {
        None => name.is_empty(),
        Some('*') => {
            let tail = rest.as_str();
            fits(tail, name) || {
                let mut shorter = name.chars();
                shorter.next().is_some() && fits(glob, shorter.as_str())
            }
        }
        Some('?') => {
            let mut shorter = name.chars();
            shorter.next().is_some() && fits(rest.as_str(), shorter.as_str())
        }
        Some(one) => {
            let mut shorter = name.chars();
            shorter.next() == Some(one) && fits(rest.as_str(), shorter.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_one_reads_them() {
        for (glob, name, yes) in [
            ("*", "", true),
            ("read_*", "read_file", true),
            ("read_*", "write_file", false),
            ("*_file", "read_file", true),
            ("r?ad", "read", true),
            ("r?ad", "rad", false),
            ("a*b*c", "a1b2b3c", true),
            ("exact", "exactly", false),
        ] {
            assert_eq!(fits(glob, name), yes, "{glob} {name}");
        }
    }

    #[test]
    fn what_is_denied_is_denied_though_it_is_allowed() {
        let globs = Globs::read(Some(&serde_json::json!({"allow": ["*_file"], "deny": ["write_*"]}))).unwrap();
        assert!(globs.allows("read_file") && !globs.allows("write_file") && !globs.allows("list"));
        assert!(Globs::default().allows("anything"));
        assert!(Globs::read(Some(&serde_json::json!({"alow": []}))).unwrap_err().contains("alow"));
    }
}
