//! What expressions and rules see, and their evaluation. Each text is read once a call.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use wfhost_guest::json;
use wfhost_guest::value::{Map, Value};
use wfhost_jsonata::{Data, Expression, Fields, Machine, Moment, Native};
use wfhost_jsonlogic::{Absent, Budget, Lookup, Rule, dotted};

use crate::past::{self, Shared};
use crate::trouble::Trouble;

/// LIMIT: steps of a rule.
const RULE_STEPS_MAX: u64 = 1_000_000;

/// Evaluates what stands in a tool.
#[derive(Debug)]
pub(crate) struct Scope<'c> {
    moment: Moment,
    past: Shared,
    /// The item of a `foreach` whose arguments are made, and its number.
    item: Rc<RefCell<(Data, usize)>>,
    machine: Option<Machine>,
    expressions: BTreeMap<String, Rc<Expression>>,
    rules: BTreeMap<&'c str, Rc<Rule>>,
}

impl<'c> Scope<'c> {
    pub(crate) fn new(moment: Moment, past: Shared) -> Self {
        Self {
            moment,
            past,
            item: Rc::new(RefCell::new((Data::nothing(), 0))),
            machine: None,
            expressions: BTreeMap::new(),
            rules: BTreeMap::new(),
        }
    }

    /// The value of an expression over a context.
    pub(crate) fn expression(&mut self, text: &str, context: &Data) -> Result<Data, Trouble> {
        let told = |fault: &_| Trouble::of_expression(fault, text);
        let read = match self.expressions.get(text) {
            Some(read) => Rc::clone(read),
            None => {
                let read = Rc::new(Expression::parse(text).map_err(|fault| told(&fault))?);
                self.expressions.insert(text.to_owned(), Rc::clone(&read));
                read
            }
        };
        self.machine().evaluate(&read, context).map_err(|fault| told(&fault))
    }

    fn machine(&mut self) -> &mut Machine {
        let (moment, past, item) = (self.moment, &self.past, &self.item);
        self.machine.get_or_insert_with(|| {
            let mut functions = past::functions(past);
            let (own, number) = (Rc::clone(item), Rc::clone(item));
            let item: Native = Box::new(move |_: &[Data]| Ok(own.borrow().0.clone()));
            let index: Native = Box::new(move |_: &[Data]| Ok(Data::count(number.borrow().1)));
            functions.extend([("item", "<:o>", item), ("index", "<:n>", index)]);
            Machine::new(moment, functions)
        })
    }

    /// Whether a rule holds, by JavaScript's `Boolean`.
    pub(crate) fn rule(&mut self, text: &'c str, context: &Data) -> Result<bool, Trouble> {
        let read = match self.rules.get(text) {
            Some(read) => Rc::clone(read),
            None => {
                let value = json::read(text).unwrap_or_default();
                let read = Rc::new(Rule::parse(&value).map_err(|fault| of_rule(&fault, text))?);
                self.rules.insert(text, Rc::clone(&read));
                read
            }
        };
        let mut budget = Budget::new(RULE_STEPS_MAX);
        let mut vars = Vars { scope: self, context, trouble: None };
        let value = read.evaluate(&mut vars, &mut budget);
        match (value, vars.trouble) {
            (Ok(value), _) => Ok(boolean(&value)),
            (Err(_), Some(trouble)) => Err(trouble.with("rule", json::read(text).unwrap_or_default())),
            (Err(fault), None) => Err(of_rule(&fault, text)),
        }
    }

    /// The arguments of a call, from their encoded form. Members without a value are left out, items without one are null.
    pub(crate) fn arguments(&mut self, args: &Value, context: &Data) -> Result<Value, Trouble> {
        Ok(self.argument(args, context)?.unwrap_or_default())
    }

    fn argument(&mut self, args: &Value, context: &Data) -> Result<Option<Value>, Trouble> {
        let map = match args {
            Value::List(items) => {
                let items = items.iter().map(|item| self.arguments(item, context));
                return items.collect::<Result<_, _>>().map(|items| Some(Value::List(items)));
            }
            Value::Map(map) => map,
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => return Ok(None),
        };
        if let Some(text) = map.get("$").and_then(Value::as_str) {
            return Ok(self.expression(text, context)?.value());
        }
        if let Some(members) = map.get("{").and_then(Value::as_map) {
            let mut made = Map::default();
            for (key, item) in members.iter() {
                if let Some(value) = self.argument(item, context)? {
                    made.set(key, value);
                }
            }
            return Ok(Some(made.into()));
        }
        if let Some(kind) = map.get("!").and_then(Value::as_str) {
            let message = format!("`expr` must be a text, and is a {kind}");
            return Err(Trouble::new("expression_failed", message));
        }
        // The way through JSONata's numbers is the same for all arguments.
        Ok(map.get("=").and_then(|value| Data::from(value).value()))
    }

    /// The same, for an item of a `foreach`: `$item` and `$index` are set.
    pub(crate) fn for_item(&mut self, args: &Value, context: &Data, item: (Data, usize)) -> Result<Value, Trouble> {
        *self.item.borrow_mut() = item;
        self.arguments(args, context)
    }
}

/// JavaScript's `Boolean`: unlike in JSON Logic, lists and mappings are true even when they are empty.
fn boolean(value: &Value) -> bool {
    matches!(value, Value::List(_)) || wfhost_jsonlogic::truthy(value)
}

fn of_rule(fault: &wfhost_jsonlogic::Fault, text: &str) -> Trouble {
    let message = format!("JSON Logic: {}", fault.kind);
    let trouble = Trouble::new("rule_failed", message).with("rule", json::read(text).unwrap_or_default());
    let pointer = fault.pointer();
    if pointer.is_empty() { trouble } else { trouble.with("at", pointer) }
}

/// `var` is JSONata over the context; `missing` looks at plain dotted paths.
struct Vars<'v, 'c> {
    scope: &'v mut Scope<'c>,
    context: &'v Data,
    trouble: Option<Trouble>,
}

impl Lookup for Vars<'_, '_> {
    fn value(&mut self, path: &str) -> Result<Option<Value>, String> {
        match self.scope.expression(path, self.context) {
            Ok(data) => Ok(data.value()),
            Err(trouble) => {
                let message = trouble.message.clone();
                self.trouble = Some(Trouble { error: "rule_failed".to_owned(), ..trouble });
                Err(message)
            }
        }
    }

    fn plain(&mut self, path: &str) -> Result<Option<Value>, String> {
        Ok(self.context.value().and_then(|context| dotted(&context, path)))
    }

    fn absent(&self) -> Absent {
        Absent::Undefined
    }
}

/// The context: the latest output of each node by its id, the one that ran last first.
pub(crate) fn context<'a>(outputs: impl Iterator<Item = (&'a str, Data)>) -> Data {
    let mut fields = Fields::default();
    outputs.for_each(|(id, output)| fields.push(id, output));
    fields.into()
}
