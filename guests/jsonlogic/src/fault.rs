//! What can go wrong with a rule, and where in it; the budget that ends every evaluation.

use std::fmt;

/// How deep a rule may be nested, as deep as the JSON reader goes.
pub const RULE_DEPTH_MAX: u32 = 256;
/// How deep a value may be nested that a rule makes.
pub const VALUE_DEPTH_MAX: u32 = 512;

/// Why a rule has no value, and at which place of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What is wrong.
    pub kind: Kind,
    /// The way to the place, innermost first.
    way: Vec<String>,
}

/// What is wrong with a rule, or with its evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{"frobnicate": 1}`: told when it is reached, as in json-logic-js.
    UnknownOperation(String),
    /// A rule that is nested deeper than `RULE_DEPTH_MAX`, or that makes a value deeper than `VALUE_DEPTH_MAX`.
    TooDeep,
    /// More work than the budget allows, such as `reduce` over a list with an accumulator that doubles.
    TooManySteps(u64),
    /// A mapping with a member `toString`, where JavaScript needs a text or a number of it.
    NoPrimitive,
    /// `{"*": []}`: a product of nothing.
    EmptyProduct,
    /// `{"missing_some": [1]}`: no list of names to look for.
    NoNames,
    /// Whoever resolves `var` could not: their words.
    Lookup(String),
}

impl Fault {
    /// The place in the rule as a JSON pointer (RFC 6901); the empty one is the whole rule.
    #[must_use]
    pub fn pointer(&self) -> String {
        pointer(self.way.iter().rev())
    }

    /// The steps to the place, outermost first: names of operations and indices of lists.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.way.iter().rev().map(String::as_str)
    }

    /// A stable word for the kind.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.kind {
            Kind::UnknownOperation(_) => "logic-unknown-operation",
            Kind::TooDeep => "logic-too-deep",
            Kind::TooManySteps(_) => "logic-too-many-steps",
            Kind::NoPrimitive => "logic-no-primitive",
            Kind::EmptyProduct => "logic-empty-product",
            Kind::NoNames => "logic-no-names",
            Kind::Lookup(_) => "logic-lookup",
        }
    }

    pub(crate) fn within(mut self, step: impl ToString) -> Self {
        self.way.push(step.to_string());
        self
    }
}

impl From<Kind> for Fault {
    fn from(kind: Kind) -> Self {
        Self { kind, way: Vec::new() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownOperation(name) => write!(f, "there is no operation `{name}`"),
            Self::TooDeep => f.write_str("nested too deep"),
            Self::TooManySteps(max) => write!(f, "not done after {max} steps"),
            Self::NoPrimitive => f.write_str("a mapping with a member `toString` is no text and no number"),
            Self::EmptyProduct => f.write_str("`*` needs at least one value"),
            Self::NoNames => f.write_str("`missing_some` needs a list of names as its second value"),
            Self::Lookup(words) => f.write_str(words),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer() {
            whole if whole.is_empty() => self.kind.fmt(f),
            place => write!(f, "{} (at {place})", self.kind),
        }
    }
}

impl std::error::Error for Fault {}

/// Steps of a way as a JSON pointer.
pub(crate) fn pointer<'a>(steps: impl Iterator<Item = &'a String>) -> String {
    steps.map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect()
}

/// How much work an evaluation may still do. A step is an operation, a literal, an item looked at, or 16 bytes of text; so
/// the memory that an evaluation needs is bounded too. One budget can serve many rules.
#[derive(Clone, Debug)]
pub struct Budget {
    left: u64,
    max: u64,
}

impl Budget {
    /// So many steps.
    #[must_use]
    pub fn new(steps: u64) -> Self {
        Self { left: steps, max: steps }
    }

    pub(crate) fn spend(&mut self, steps: u64) -> Result<(), Fault> {
        match self.left.checked_sub(steps) {
            Some(left) => self.left = left,
            None => {
                self.left = 0;
                return Err(Kind::TooManySteps(self.max).into());
            }
        }
        Ok(())
    }

    pub(crate) fn spend_text(&mut self, bytes: usize) -> Result<(), Fault> {
        self.spend(u64::try_from(bytes / 16).unwrap_or(u64::MAX))
    }
}

impl Default for Budget {
    /// A million steps, some tenths of a second at most.
    fn default() -> Self {
        Self::new(1_000_000)
    }
}
