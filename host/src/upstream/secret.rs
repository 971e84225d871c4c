//! Values from the environment that must not be seen: taken out of whatever is kept or shown.

/// Values shorter than this are not looked for: they would be found by chance.
const SHORTEST: usize = 6;

/// Values, and the names that are shown in their place.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<(String, String)>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Secrets {
    /// Remembers a value.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        if value.len() >= SHORTEST && !self.0.iter().any(|(_, known)| known == value) {
            self.0.push((name.to_owned(), value.to_owned()));
            // The longest first, so that one within another is hidden with it.
            self.0.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        }
    }

    /// The text without the values. A JSON text stays one: values are looked for as JSON writes them as well.
    pub(super) fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.0 {
            let quoted = serde_json::Value::from(value.as_str()).to_string();
            let escaped = quoted.trim_matches('"');
            for shown in [value.as_str(), escaped] {
                if text.contains(shown) {
                    text = text.replace(shown, &format!("${{{name}}}"));
                }
            }
        }
        text
    }
}
