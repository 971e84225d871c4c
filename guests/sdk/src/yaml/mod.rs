//! YAML documents as a tree that knows its positions. How scalars are typed, whether merge keys are merged and what a
//! repeated key means is chosen by the dialect. What the tree must look like is the dialect's.

mod date;
mod load;
mod scalar;
mod source;

pub use load::{Loaded, load};
pub use scalar::Schema;

use crate::model::{Severity, Span};
use crate::python;
use crate::value::{Int, Value};

/// LIMIT: bytes of one document.
pub const BYTES_MAX: usize = 8 << 20;
/// LIMIT: levels of lists and mappings in one another.
pub const DEPTH_MAX: usize = 200;
/// LIMIT: nodes of one document, aliases counted as what they stand for.
pub const NODES_MAX: usize = 500_000;

/// How a dialect reads YAML.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How plain scalars are typed.
    pub schema: Schema,
    /// Whether `<<` merges mappings.
    pub merge: bool,
    /// How grave a repeated key is. Unless it is an error, the last one counts.
    pub repeated_key: Severity,
}

impl Rules {
    /// As PyYAML's `safe_load` reads: YAML 1.1.
    pub const PYYAML: Self = Self { schema: Schema::PyYaml, merge: true, repeated_key: Severity::Warning };
    /// The core schema of YAML 1.2.
    pub const CORE: Self = Self { schema: Schema::Core, merge: false, repeated_key: Severity::Error };
    /// As js-yaml 4 reads.
    pub const JS_YAML: Self = Self { schema: Schema::JsYaml, merge: true, repeated_key: Severity::Error };
}

/// A node of the document.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub data: Data,
}

/// What a node holds.
#[derive(Clone, Debug)]
pub enum Data {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// An integer.
    Int(Int),
    /// A float.
    Float(f64),
    /// Text.
    Str(String),
    /// A date or a time that exists, as written. YAML 1.1 only.
    Date(String),
    /// The base64 text of `!!binary`.
    Binary(String),
    /// A `!!set`.
    Set(Vec<Pair>),
    /// A list.
    List(Vec<Node>),
    /// A mapping. Keys of the same meaning stand once.
    Map(Vec<Pair>),
}

/// A member of a mapping.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Its key, most often a text.
    pub key: Node,
    /// Its value.
    pub value: Node,
}

impl Node {
    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Data::Str(text) = &self.data { Some(text) } else { None }
    }

    /// The members, if it is a mapping.
    pub fn as_map(&self) -> Option<&[Pair]> {
        if let Data::Map(pairs) = &self.data { Some(pairs) } else { None }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        if let Data::List(items) = &self.data { Some(items) } else { None }
    }

    /// The member of that name, key and value.
    pub fn pair(&self, key: &str) -> Option<&Pair> {
        self.as_map()?.iter().find(|pair| pair.key.as_str() == Some(key))
    }

    /// The node as a value: dates and the like as text, keys of other types as Python would print them.
    pub fn value(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(flag) => Value::Bool(*flag),
            Data::Int(int) => Value::Int(int.clone()),
            Data::Float(float) => Value::Float(*float),
            Data::Str(text) | Data::Date(text) | Data::Binary(text) => Value::Str(text.clone()),
            Data::List(items) => Value::List(items.iter().map(Self::value).collect()),
            Data::Set(pairs) | Data::Map(pairs) => {
                let members = pairs.iter().map(|pair| (python::str(&pair.key.value()), pair.value.value()));
                Value::Map(members.collect())
            }
        }
    }

    /// What it is, in words.
    pub fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "nothing",
            Data::Bool(true) => "`true`",
            Data::Bool(false) => "`false`",
            Data::Int(_) | Data::Float(_) => "a number",
            Data::Str(_) => "a text",
            Data::Date(_) => "a date",
            Data::Binary(_) => "binary data",
            Data::Set(_) => "a set",
            Data::List(_) => "a list",
            Data::Map(_) => "a mapping",
        }
    }

    /// The value of the member of that name.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.pair(key).map(|pair| &pair.value)
    }
}

#[cfg(test)]
mod suite;
#[cfg(test)]
mod tests;
