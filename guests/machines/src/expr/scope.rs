//! What an expression can name: locals before inputs before state before tables, and `state`, `inputs`, `tables` as maps.

use std::sync::Arc;

use minijinja::value::{Object, Value as Jinja};
use wfhost_guest::value::{Map, Value};

use super::convert;

/// When it is, and what chance gives: both from the event, so that a replay has the same.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// Milliseconds since the epoch.
    pub(crate) at: u64,
    /// What makes identifiers of this place unlike those of any other.
    pub(crate) seed: String,
}

/// The names of one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) locals: Map,
    /// Inputs with their defaults; none where inputs cannot be named.
    pub(crate) inputs: Option<Inputs>,
    pub(crate) state: Arc<Map>,
    pub(crate) tables: Arc<Map>,
}

/// What an action was called with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    /// What was sent, as it was.
    pub(crate) sent: Map,
    /// What counts: with defaults, and of what was sent only what is declared.
    pub(crate) taken: Map,
    /// All names that the action declares.
    pub(crate) declared: Vec<String>,
}

impl Scope {
    /// The scope as the engine takes it.
    pub(super) fn value(&self) -> Jinja {
        Jinja::from_object(self.clone())
    }

    /// A name, or a dotted path below it, unchanged.
    pub(super) fn path(&self, path: &[&str]) -> Option<Value> {
        let (first, rest) = path.split_first()?;
        let mut place = self.name(first)?;
        for step in rest {
            place = place.get(step)?.clone();
        }
        Some(place)
    }

    fn name(&self, name: &str) -> Option<Value> {
        if let Some(local) = self.locals.get(name) {
            return Some(local.clone());
        }
        if let Some(inputs) = &self.inputs {
            if name == "inputs" {
                return Some(Value::Map(inputs.sent.clone()));
            }
            // A declared input never falls through to what has its name elsewhere.
            if inputs.declared.iter().any(|declared| declared == name) {
                return inputs.taken.get(name).cloned();
            }
        }
        match name {
            "state" => Some(Value::Map(self.state.as_ref().clone())),
            "tables" => Some(Value::Map(self.tables.as_ref().clone())),
            _ => self.state.get(name).or_else(|| self.tables.get(name)).cloned(),
        }
    }
}

impl Object for Scope {
    fn get_value(self: &Arc<Self>, key: &Jinja) -> Option<Jinja> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Jinja> {
        match key {
            "state" => Some(convert::map_into(&self.state)),
            "tables" => Some(convert::map_into(&self.tables)),
            _ => self.name(key).map(|value| convert::into(&value)),
        }
    }
}

/// An identifier in the form of a random UUID, from a seed and a number.
pub(crate) fn uuid(seed: &str, number: u32) -> String {
    let half = |salt: u8| {
        let start = 0xcbf2_9ce4_8422_2325_u64 ^ u64::from(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bytes = seed.bytes().chain(number.to_le_bytes()).chain([salt]);
        mixed(bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
    };
    let (high, low) = (half(1), half(2));
    let digits = format!("{high:016x}{low:016x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    let variant = (low >> 60) & 0x3 | 0x8;
    format!("{}-{}-4{}-{variant:x}{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// The finaliser of SplitMix64: every bit of the input reaches every bit of the output.
fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
