//! Values that must not be seen, from the environment or fetched with them: taken out of whatever is kept or shown.

use std::sync::{Arc, PoisonError, RwLock};

/// Values shorter than this are not looked for: they would be found by chance.
const SHORTEST: usize = 6;

/// Values, and the names that are shown in their place. Clones know what any of them is told.
#[derive(Clone, Default)]
pub(super) struct Secrets(Arc<RwLock<Vec<(String, String)>>>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values = self.0.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_list().entries(values.iter().map(|(name, _)| name)).finish()
    }
}

impl Secrets {
    /// Remembers a value.
    pub(super) fn add(&self, name: &str, value: &str) {
        let mut values = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if value.len() >= SHORTEST && !values.iter().any(|(_, known)| known == value) {
            values.push((name.to_owned(), value.to_owned()));
            // The longest first, so that one within another is hidden with it.
            values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        }
    }

    /// The text without the values. A JSON text stays one: values are looked for as JSON writes them as well.
    pub(super) fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in self.0.read().unwrap_or_else(PoisonError::into_inner).iter() {
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
