//! The difference between two states, so that a journal line need not hold all of a state to tell what changed. Objects are
//! compared key by key, everything else as a whole; applied to the older state it gives the newer one, key order too.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::CHANGED_KEYS_MAX;

/// What changed, by RFC 6901 pointer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// New or other values.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
    /// What is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
}

/// The patch from one state to another; none if it could not restore the newer one exactly (the keys' order differs), or if
/// too much has changed.
#[must_use]
#[expect(clippy::cmp_owned, reason = "the texts are compared, in which the order of keys counts")]
pub fn between(old: &Value, new: &Value) -> Option<Patch> {
    let mut patch = Patch::default();
    walk(old, new, &mut String::new(), &mut patch);
    if patch.set.len() + patch.unset.len() > CHANGED_KEYS_MAX {
        return None;
    }
    let mut check = old.clone();
    apply(&mut check, &patch);
    (check.to_string() == new.to_string()).then_some(patch)
}

fn walk(old: &Value, new: &Value, at: &mut String, patch: &mut Patch) {
    if patch.set.len() + patch.unset.len() > CHANGED_KEYS_MAX || old == new {
        return;
    }
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        patch.set.insert(at.clone(), new.clone());
        return;
    };
    let length = at.len();
    for key in before.keys().filter(|k| !after.contains_key(*k)) {
        push(at, key);
        patch.unset.push(at.clone());
        at.truncate(length);
    }
    for (key, value) in after {
        push(at, key);
        match before.get(key) {
            Some(was) => walk(was, value, at, patch),
            None => {
                patch.set.insert(at.clone(), value.clone());
            }
        }
        at.truncate(length);
    }
}

fn push(pointer: &mut String, key: &str) {
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
}

/// Makes the newer state out of the older one.
pub fn apply(state: &mut Value, patch: &Patch) {
    for pointer in &patch.unset {
        if let Some((parent, key)) = parent(state, pointer) {
            parent.shift_remove(&key);
        }
    }
    for (pointer, value) in &patch.set {
        if pointer.is_empty() {
            *state = value.clone();
        } else if let Some((parent, key)) = parent(state, pointer) {
            parent.insert(key, value.clone());
        }
    }
}

fn parent<'s>(state: &'s mut Value, pointer: &str) -> Option<(&'s mut Map<String, Value>, String)> {
    let (above, key) = pointer.rsplit_once('/')?;
    let parent = state.pointer_mut(above)?.as_object_mut()?;
    Some((parent, key.replace("~1", "/").replace("~0", "~")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str) {
        let (old, new): (Value, Value) = (serde_json::from_str(old).unwrap(), serde_json::from_str(new).unwrap());
        if let Some(patch) = between(&old, &new) {
            let text = serde_json::to_string(&patch).unwrap();
            let mut state = old;
            apply(&mut state, &serde_json::from_str(&text).unwrap());
            assert_eq!(state.to_string(), new.to_string(), "{text}");
        }
    }

    #[test]
    fn a_patch_restores_the_newer_state_exactly() {
        check("{}", "{}");
        check(r#"{"a":1}"#, r#"{"a":null}"#);
        check(r#"{"a":null,"b":{"c":[1,2]}}"#, r#"{"b":{"c":[2],"":{"/":1,"~":2}}}"#);
        check(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#);
        check("1", r#"{"a":12345678901234567890123}"#);
        check(r#"{"n":1.0}"#, r#"{"n":1}"#);
    }

    #[test]
    fn a_state_that_is_all_new_is_no_patch() {
        let state = |from: usize| Value::Object((from..from + 1_000).map(|n| (n.to_string(), Value::Null)).collect());
        assert_eq!(between(&state(0), &state(1_000)), None);
    }

    #[test]
    fn a_small_change_is_a_small_patch() {
        let old = serde_json::json!({"node": "a", "facts": {"x": [1, 2, 3]}});
        let new = serde_json::json!({"node": "b", "facts": {"x": [1, 2, 3], "y": 4}});
        let patch = between(&old, &new).unwrap();
        assert_eq!(serde_json::to_string(&patch).unwrap(), r#"{"set":{"/node":"b","/facts/y":4}}"#);
    }
}
