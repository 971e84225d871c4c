//! From a JSON value to a rule: a mapping with exactly one member is an operation, everything else stands for itself.

use wfhost_guest::value::{Map, Value};

use crate::fault::{Budget, Fault, Kind, RULE_DEPTH_MAX, pointer};
use crate::js::Js;
use crate::plain::Plain;
use crate::run;
use crate::scope::Lookup;

/// A rule, read once and evaluated as often as one likes.
#[derive(Debug)]
pub struct Rule(Node);

#[derive(Debug)]
pub(crate) enum Node {
    Literal(Js),
    List(Vec<Node>),
    Call(Box<Call>),
}

/// An operation with its values.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// None: json-logic-js knows no such operation.
    pub(crate) operation: Option<Operation>,
    /// `{"var": ["a"]}` rather than `{"var": "a"}`.
    pub(crate) listed: bool,
    pub(crate) values: Vec<Node>,
}

/// A name that is no operation, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The place of the mapping, as a JSON pointer into the rule.
    pub pointer: String,
    /// The name.
    pub name: String,
}

/// A `var` of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The place of the mapping, as a JSON pointer into the rule.
    pub pointer: String,
    /// Its path, if it stands in the rule as a text; a number, a list or a computed path is none.
    pub path: Option<String>,
    /// Written as a list: `["a.b", "otherwise"]`.
    pub listed: bool,
    /// It looks into an item of a list and not into the data of the rule: it stands in the second value of `map` or its kin.
    pub scoped: bool,
}

macro_rules! operations {
    ($($name:literal $operation:expr),+ $(,)?) => {
        /// The names of all operations.
        pub const OPERATIONS: [&str; 35] = [$($name),+];

        fn operation(name: &str) -> Option<Operation> {
            match name { $($name => Some($operation),)+ _ => None }
        }
    };
}

/// What an operation is: one over plain values, or one that decides itself what is evaluated, and over which data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Plain(Plain),
    If,
    And,
    Or,
    Filter,
    Map,
    Reduce,
    All,
    None,
    Some,
    Missing,
    MissingSome,
    Var,
}

operations! {
    "==" Operation::Plain(Plain::Equal), "===" Operation::Plain(Plain::Identical),
    "!=" Operation::Plain(Plain::Unequal), "!==" Operation::Plain(Plain::Different),
    ">" Operation::Plain(Plain::Greater), ">=" Operation::Plain(Plain::AtLeast),
    "<" Operation::Plain(Plain::Less), "<=" Operation::Plain(Plain::AtMost),
    "!!" Operation::Plain(Plain::Truth), "!" Operation::Plain(Plain::Not),
    "%" Operation::Plain(Plain::Remainder), "log" Operation::Plain(Plain::Log),
    "in" Operation::Plain(Plain::In), "cat" Operation::Plain(Plain::Cat),
    "substr" Operation::Plain(Plain::Substr), "+" Operation::Plain(Plain::Plus),
    "*" Operation::Plain(Plain::Times), "-" Operation::Plain(Plain::Minus),
    "/" Operation::Plain(Plain::Divided), "min" Operation::Plain(Plain::Min),
    "max" Operation::Plain(Plain::Max), "merge" Operation::Plain(Plain::Merge),
    "if" Operation::If, "?:" Operation::If, "and" Operation::And, "or" Operation::Or,
    "filter" Operation::Filter, "map" Operation::Map, "reduce" Operation::Reduce,
    "all" Operation::All, "none" Operation::None, "some" Operation::Some,
    "missing" Operation::Missing, "missing_some" Operation::MissingSome, "var" Operation::Var,
}

impl Operation {
    /// Whether its second value is evaluated with an item of its first as the data.
    fn scopes(self) -> bool {
        matches!(self, Self::Filter | Self::Map | Self::Reduce | Self::All | Self::None | Self::Some)
    }
}

impl Rule {
    /// Reads a rule. The only fault is one that is nested too deep: an unknown operation is a fault when it is reached, and
    /// `unknown` tells of it before.
    pub fn parse(value: &Value) -> Result<Self, Fault> {
        node(value, 0).map(Self)
    }

    /// The rule's value. `lookup` is asked for each `var` outside of `map` and its kin when evaluation comes to it. What
    /// JavaScript calls undefined is null.
    pub fn evaluate(&self, lookup: &mut dyn Lookup, budget: &mut Budget) -> Result<Value, Fault> {
        run::evaluate(&self.0, lookup, budget)
    }

    /// The rule's value over this data, exactly as `jsonLogic.apply(rule, data)`.
    pub fn apply(&self, data: &Value, budget: &mut Budget) -> Result<Value, Fault> {
        run::apply(&self.0, data, budget)
    }

    /// Operations that do not exist, in the order of the text. They are faults only where evaluation reaches them.
    #[must_use]
    pub fn unknown(&self) -> Vec<Unknown> {
        let mut found = Vec::new();
        let mut note = |call: &Call, way: &[String], _| {
            if call.operation.is_none() {
                found.push(Unknown { pointer: pointer(way.iter()), name: call.name.clone() });
            }
        };
        visit(&self.0, &mut Vec::new(), false, &mut note);
        found
    }

    /// Every `var`, in the order of the text.
    #[must_use]
    pub fn references(&self) -> Vec<Reference> {
        let mut found = Vec::new();
        let mut note = |call: &Call, way: &[String], scoped| {
            if call.operation == Some(Operation::Var) {
                let path = match call.values.first() {
                    Some(Node::Literal(Js::Text(text))) => Some(text.to_string()),
                    Some(_) | None => None,
                };
                found.push(Reference { pointer: pointer(way.iter()), path, listed: call.listed, scoped });
            }
        };
        visit(&self.0, &mut Vec::new(), false, &mut note);
        found
    }
}

fn node(value: &Value, depth: u32) -> Result<Node, Fault> {
    if depth > RULE_DEPTH_MAX {
        return Err(Kind::TooDeep.into());
    }
    match value {
        Value::List(items) => nodes(items, depth).map(Node::List),
        Value::Map(map) => match single(map) {
            Some((name, values)) => call(name, values, depth).map_err(|fault| fault.within(name)),
            None => Js::from_value(value).map(Node::Literal),
        },
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {
            Js::from_value(value).map(Node::Literal)
        }
    }
}

fn single(map: &Map) -> Option<(&str, &Value)> {
    map.iter().next().filter(|_| map.len() == 1)
}

fn nodes(items: &[Value], depth: u32) -> Result<Vec<Node>, Fault> {
    let one = |(index, item)| node(item, depth + 1).map_err(|fault| fault.within(index));
    items.iter().enumerate().map(one).collect()
}

fn call(name: &str, values: &Value, depth: u32) -> Result<Node, Fault> {
    let listed = matches!(values, Value::List(_));
    let values = if let Value::List(items) = values { nodes(items, depth)? } else { vec![node(values, depth + 1)?] };
    Ok(Node::Call(Box::new(Call { name: name.to_owned(), operation: operation(name), listed, values })))
}

type Note<'a> = &'a mut dyn FnMut(&Call, &[String], bool);

/// Shows every operation with its place, and whether it is evaluated over an item.
fn visit(node: &Node, way: &mut Vec<String>, scoped: bool, note: Note<'_>) {
    match node {
        Node::Literal(_) => {}
        Node::List(items) => {
            for (index, item) in items.iter().enumerate() {
                way.push(index.to_string());
                visit(item, way, scoped, note);
                way.pop();
            }
        }
        Node::Call(call) => {
            note(call, way, scoped);
            way.push(call.name.clone());
            for (index, value) in call.values.iter().enumerate() {
                let scoped = scoped || index == 1 && call.operation.is_some_and(Operation::scopes);
                if call.listed {
                    way.push(index.to_string());
                }
                visit(value, way, scoped, note);
                if call.listed {
                    way.pop();
                }
            }
            way.pop();
        }
    }
}
