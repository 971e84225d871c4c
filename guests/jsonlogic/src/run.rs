//! The evaluation of a rule: the operations that decide what is evaluated, and what `var` and `missing` find.

use std::rc::Rc;

use wfhost_guest::value::Value;

use crate::coerce::{self, truthy};
use crate::fault::{Budget, Fault, Kind};
use crate::js::{Js, List};
use crate::plain;
use crate::rule::{Call, Node, Operation};
use crate::scope::{self, Absent, Lookup, Scope};

pub(crate) fn evaluate(node: &Node, lookup: &mut dyn Lookup, budget: &mut Budget) -> Result<Value, Fault> {
    Run { lookup, budget }.value(node, Scope::Outer)?.into_value(budget)
}

pub(crate) fn apply(node: &Node, data: &Value, budget: &mut Budget) -> Result<Value, Fault> {
    let data = Js::from_value(data)?;
    // Every scope is an item, so nothing is ever looked up.
    let mut lookup = |_: &str| None;
    Run { lookup: &mut lookup, budget }.value(node, Scope::Item(&data))?.into_value(budget)
}

struct Run<'a> {
    lookup: &'a mut dyn Lookup,
    budget: &'a mut Budget,
}

impl Run<'_> {
    fn value(&mut self, node: &Node, scope: Scope<'_>) -> Result<Js, Fault> {
        self.budget.spend(1)?;
        match node {
            Node::Literal(value) => Ok(value.clone()),
            Node::List(items) => {
                let one = |(index, item)| self.value(item, scope).map_err(|fault| fault.within(index));
                Js::list(items.iter().enumerate().map(one).collect::<Result<_, _>>()?)
            }
            Node::Call(call) => self.call(call, scope).map_err(|fault| fault.within(&call.name)),
        }
    }

    fn call(&mut self, call: &Call, scope: Scope<'_>) -> Result<Js, Fault> {
        let Some(operation) = call.operation else {
            self.all(call, scope)?;
            return Err(Kind::UnknownOperation(call.name.clone()).into());
        };
        match operation {
            Operation::If => self.branch(call, scope),
            Operation::And => self.first(call, scope, false),
            Operation::Or => self.first(call, scope, true),
            Operation::Map => self.map(call, scope),
            Operation::Filter => self.filter(call, scope),
            Operation::Reduce => self.reduce(call, scope),
            Operation::All => Ok(Js::Bool(self.holds(call, scope, false)? == Some(false))),
            Operation::None => Ok(Js::Bool(self.holds(call, scope, true)?.is_none_or(|found| !found))),
            Operation::Some => Ok(Js::Bool(self.holds(call, scope, true)? == Some(true))),
            Operation::Var => {
                let values = self.all(call, scope)?;
                self.var(values.first(), values.get(1), scope)
            }
            Operation::Missing => {
                let values = self.all(call, scope)?;
                Js::list(self.missing(values, scope)?)
            }
            Operation::MissingSome => self.missing_some(call, scope),
            Operation::Plain(plain) => plain::apply(plain, &self.all(call, scope)?, self.budget),
        }
    }

    fn all(&mut self, call: &Call, scope: Scope<'_>) -> Result<Vec<Js>, Fault> {
        (0..call.values.len()).map(|index| self.at(call, index, scope)).collect()
    }

    /// The value of a call's so-manieth value; undefined if it has not so many.
    fn at(&mut self, call: &Call, index: usize, scope: Scope<'_>) -> Result<Js, Fault> {
        let Some(node) = call.values.get(index) else { return Ok(Js::Undefined) };
        self.value(node, scope).map_err(|fault| if call.listed { fault.within(index) } else { fault })
    }

    fn branch(&mut self, call: &Call, scope: Scope<'_>) -> Result<Js, Fault> {
        let count = call.values.len();
        let mut index = 0;
        while index + 1 < count {
            if truthy(&self.at(call, index, scope)?) {
                return self.at(call, index + 1, scope);
            }
            index += 2;
        }
        if index < count { self.at(call, index, scope) } else { Ok(Js::Null) }
    }

    /// The first value whose truth is this, else the last.
    fn first(&mut self, call: &Call, scope: Scope<'_>, wanted: bool) -> Result<Js, Fault> {
        let mut current = Js::Undefined;
        for index in 0..call.values.len() {
            current = self.at(call, index, scope)?;
            if truthy(&current) == wanted {
                break;
            }
        }
        Ok(current)
    }

    /// The list that an operation goes through; none if its first value is no list.
    fn items(&mut self, call: &Call, scope: Scope<'_>) -> Result<Option<Rc<List>>, Fault> {
        Ok(match self.at(call, 0, scope)? {
            Js::List(list) => Some(list),
            Js::Undefined | Js::Null | Js::Bool(_) | Js::Number(_) | Js::Text(_) | Js::Map(_) => None,
        })
    }

    /// The second value over an item.
    fn over(&mut self, call: &Call, item: &Js) -> Result<Js, Fault> {
        self.budget.spend(1)?;
        self.at(call, 1, Scope::Item(item))
    }

    fn map(&mut self, call: &Call, scope: Scope<'_>) -> Result<Js, Fault> {
        let Some(list) = self.items(call, scope)? else { return Js::list(Vec::new()) };
        Js::list(list.items.iter().map(|item| self.over(call, item)).collect::<Result<_, _>>()?)
    }

    fn filter(&mut self, call: &Call, scope: Scope<'_>) -> Result<Js, Fault> {
        let Some(list) = self.items(call, scope)? else { return Js::list(Vec::new()) };
        let mut kept = Vec::new();
        for item in &list.items {
            if truthy(&self.over(call, item)?) {
                kept.push(item.clone());
            }
        }
        Js::list(kept)
    }

    fn reduce(&mut self, call: &Call, scope: Scope<'_>) -> Result<Js, Fault> {
        let list = self.items(call, scope)?;
        let mut accumulator = if call.values.len() > 2 { self.at(call, 2, scope)? } else { Js::Null };
        let Some(list) = list else { return Ok(accumulator) };
        for item in &list.items {
            let data = Js::map(vec![("current".into(), item.clone()), ("accumulator".into(), accumulator)])?;
            accumulator = self.over(call, &data)?;
        }
        Ok(accumulator)
    }

    /// Whether the second value has this truth over some item; none: there is no item.
    fn holds(&mut self, call: &Call, scope: Scope<'_>, wanted: bool) -> Result<Option<bool>, Fault> {
        let Some(list) = self.items(call, scope)?.filter(|list| !list.items.is_empty()) else { return Ok(None) };
        for item in &list.items {
            if truthy(&self.over(call, item)?) == wanted {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    fn var(&mut self, path: Option<&Js>, otherwise: Option<&Js>, scope: Scope<'_>) -> Result<Js, Fault> {
        // A list whose text is empty is a name, unlike the empty text.
        let nameless = matches!(path, Some(Js::List(_)));
        let path = self.path(path)?;
        let found = match scope {
            Scope::Item(data) if nameless && path.is_empty() => scope::member(data, "", self.budget)?,
            Scope::Outer if nameless && path.is_empty() => None,
            Scope::Item(data) => self.within(data, &path)?,
            Scope::Outer => {
                let found = self.lookup.value(&path).map_err(Kind::Lookup)?;
                self.taken(found)?
            }
        };
        let absent = match (scope, self.lookup.absent()) {
            (Scope::Outer, Absent::Undefined) => Js::Undefined,
            (Scope::Outer, Absent::Null) | (Scope::Item(_), _) => Js::Null,
        };
        Ok(found.or_else(|| otherwise.filter(|value| !matches!(value, Js::Undefined)).cloned()).unwrap_or(absent))
    }

    fn path(&mut self, path: Option<&Js>) -> Result<Rc<str>, Fault> {
        match path {
            None | Some(Js::Undefined | Js::Null) => Ok("".into()),
            Some(path) => coerce::text(path, self.budget),
        }
    }

    /// A value from outside, paid for by its size.
    fn taken(&mut self, found: Option<Value>) -> Result<Option<Js>, Fault> {
        let found = found.map(|value| Js::from_value(&value)).transpose()?;
        if let Some(value) = &found {
            self.budget.spend(value.extent().steps)?;
        }
        Ok(found)
    }

    fn within(&mut self, data: &Js, path: &str) -> Result<Option<Js>, Fault> {
        let mut at = data.clone();
        if path.is_empty() {
            return Ok(Some(at));
        }
        for key in path.split('.') {
            self.budget.spend(1)?;
            match scope::member(&at, key, self.budget)? {
                Some(value) => at = value,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// Of these names those at which nothing, null or the empty text is.
    fn missing(&mut self, values: Vec<Js>, scope: Scope<'_>) -> Result<Vec<Js>, Fault> {
        let mut missing = Vec::new();
        for key in scope::keys(values).iter() {
            self.budget.spend(1)?;
            let value = match (key, scope) {
                // A list in place of a name is a name with a default, as in `var`.
                (Js::List(list), scope) => self.var(list.items.first(), list.items.get(1), scope)?,
                (key, Scope::Item(_)) => self.var(Some(key), None, scope)?,
                (key, Scope::Outer) => {
                    let path = self.path(Some(key))?;
                    let found = self.lookup.plain(&path).map_err(Kind::Lookup)?;
                    self.taken(found)?.unwrap_or(Js::Null)
                }
            };
            if matches!(&value, Js::Null) || matches!(&value, Js::Text(text) if text.is_empty()) {
                missing.push(key.clone());
            }
        }
        Ok(missing)
    }

    fn missing_some(&mut self, call: &Call, scope: Scope<'_>) -> Result<Js, Fault> {
        let values = self.all(call, scope)?;
        let names = values.get(1).cloned().unwrap_or(Js::Undefined);
        let listed = if let Js::List(list) = &names { list.items.clone() } else { vec![names.clone()] };
        let missing = self.missing(listed, scope)?;
        if matches!(names, Js::Undefined | Js::Null) {
            return Err(Kind::NoNames.into());
        }
        let length = scope::member(&names, "length", self.budget)?.unwrap_or(Js::Undefined);
        #[allow(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
        let present = coerce::number(&length, self.budget)? - missing.len() as f64;
        let enough = coerce::order(&Js::Number(present), values.first().unwrap_or(&Js::Undefined), self.budget)?;
        Js::list(if enough.is_some_and(std::cmp::Ordering::is_ge) { Vec::new() } else { missing })
    }
}
