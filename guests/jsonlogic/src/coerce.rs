//! JavaScript's conversions and comparisons (ECMA-262: ToPrimitive, ToNumber, ToString, IsLooselyEqual, IsLessThan).

use std::cmp::Ordering;
use std::rc::Rc;

use crate::fault::{Budget, Fault, Kind};
use crate::js::{Js, Members};
use crate::number;

/// Whether a value counts as true in JSON Logic.
pub(crate) fn truthy(value: &Js) -> bool {
    match value {
        Js::Undefined | Js::Null => false,
        Js::Bool(flag) => *flag,
        Js::Number(number) => *number != 0.0 && !number.is_nan(),
        Js::Text(text) => !text.is_empty(),
        Js::List(list) => !list.items.is_empty(),
        Js::Map(_) => true,
    }
}

/// `String(value)`.
pub(crate) fn text(value: &Js, budget: &mut Budget) -> Result<Rc<str>, Fault> {
    if let Js::Text(text) = value {
        return Ok(Rc::clone(text));
    }
    budget.spend(value.extent().steps)?;
    let mut out = String::new();
    write(value, &mut out)?;
    Ok(out.into())
}

/// The items' texts with something between them; null and undefined have none.
pub(crate) fn join(items: &[Js], between: &str, budget: &mut Budget) -> Result<Rc<str>, Fault> {
    for item in items {
        budget.spend(item.extent().steps)?;
    }
    let mut out = String::new();
    write_items(items, between, &mut out)?;
    Ok(out.into())
}

fn write(value: &Js, out: &mut String) -> Result<(), Fault> {
    match value {
        Js::Undefined => out.push_str("undefined"),
        Js::Null => out.push_str("null"),
        Js::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Js::Number(number) => out.push_str(&number::text(*number)),
        Js::Text(text) => out.push_str(text),
        Js::List(list) => write_items(&list.items, ",", out)?,
        Js::Map(map) => out.push_str(mapping(map)?),
    }
    Ok(())
}

fn write_items(items: &[Js], between: &str, out: &mut String) -> Result<(), Fault> {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(between);
        }
        if !matches!(item, Js::Undefined | Js::Null) {
            write(item, out)?;
        }
    }
    Ok(())
}

/// The text of any mapping, unless a member of its own hides the function that makes it.
fn mapping(map: &Members) -> Result<&'static str, Fault> {
    let hidden = map.members.iter().any(|(key, _)| &**key == "toString");
    if hidden { Err(Kind::NoPrimitive.into()) } else { Ok("[object Object]") }
}

/// Lists and mappings as their text; everything else is primitive already.
pub(crate) fn primitive(value: &Js, budget: &mut Budget) -> Result<Js, Fault> {
    if matches!(value, Js::List(_) | Js::Map(_)) { text(value, budget).map(Js::Text) } else { Ok(value.clone()) }
}

/// `Number(value)`.
pub(crate) fn number(value: &Js, budget: &mut Budget) -> Result<f64, Fault> {
    Ok(match value {
        Js::Undefined => f64::NAN,
        Js::Null => 0.0,
        Js::Bool(flag) => f64::from(u8::from(*flag)),
        Js::Number(number) => *number,
        Js::Text(text) => {
            budget.spend_text(text.len())?;
            number::of_text(text)
        }
        Js::List(_) | Js::Map(_) => number::of_text(&text(value, budget)?),
    })
}

/// `parseFloat(value)`.
pub(crate) fn parse_float(value: &Js, budget: &mut Budget) -> Result<f64, Fault> {
    Ok(match value {
        // Its text reads back as the same number, but for the sign of zero.
        Js::Number(number) => *number + 0.0,
        Js::Undefined | Js::Null | Js::Bool(_) => f64::NAN,
        Js::Text(_) | Js::List(_) | Js::Map(_) => {
            let text = text(value, budget)?;
            budget.spend_text(text.len())?;
            number::parse_float(&text)
        }
    })
}

/// `a === b`. Lists and mappings are equal to themselves only.
pub(crate) fn strict(a: &Js, b: &Js, budget: &mut Budget) -> Result<bool, Fault> {
    Ok(match (a, b) {
        (Js::Undefined, Js::Undefined) | (Js::Null, Js::Null) => true,
        (Js::Bool(a), Js::Bool(b)) => a == b,
        (Js::Number(a), Js::Number(b)) => a == b,
        (Js::Text(a), Js::Text(b)) => same(a, b, budget)?,
        (Js::List(a), Js::List(b)) => Rc::ptr_eq(a, b),
        (Js::Map(a), Js::Map(b)) => Rc::ptr_eq(a, b),
        (_, _) => false,
    })
}

fn same(a: &str, b: &str, budget: &mut Budget) -> Result<bool, Fault> {
    if a.len() == b.len() {
        budget.spend_text(a.len())?;
    }
    Ok(a == b)
}

/// `a == b`.
pub(crate) fn loose(a: &Js, b: &Js, budget: &mut Budget) -> Result<bool, Fault> {
    let nothing = |value: &Js| matches!(value, Js::Undefined | Js::Null);
    let object = |value: &Js| matches!(value, Js::List(_) | Js::Map(_));
    if nothing(a) || nothing(b) {
        return Ok(nothing(a) && nothing(b));
    }
    if object(a) && object(b) {
        return strict(a, b, budget);
    }
    let (a, b) = (primitive(a, budget)?, primitive(b, budget)?);
    if let (Js::Text(a), Js::Text(b)) = (&a, &b) {
        return same(a, b, budget);
    }
    Ok(number(&a, budget)? == number(&b, budget)?)
}

/// How `a` stands to `b` for `<` and its kin: texts by UTF-16 code units, everything else as numbers; none with a NaN.
pub(crate) fn order(a: &Js, b: &Js, budget: &mut Budget) -> Result<Option<Ordering>, Fault> {
    let (a, b) = (primitive(a, budget)?, primitive(b, budget)?);
    if let (Js::Text(a), Js::Text(b)) = (&a, &b) {
        budget.spend_text(a.len().min(b.len()))?;
        return Ok(Some(a.encode_utf16().cmp(b.encode_utf16())));
    }
    Ok(number(&a, budget)?.partial_cmp(&number(&b, budget)?))
}
