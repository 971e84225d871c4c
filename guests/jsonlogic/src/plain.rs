//! The operations that take values and give one, and look at nothing else.

use std::cmp::Ordering;

use crate::coerce::{self, truthy};
use crate::fault::{Budget, Fault, Kind};
use crate::js::Js;

/// An operation that takes values as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    Equal,
    Identical,
    Unequal,
    Different,
    Greater,
    AtLeast,
    Less,
    AtMost,
    Truth,
    Not,
    Remainder,
    Log,
    In,
    Cat,
    Substr,
    Plus,
    Times,
    Minus,
    Divided,
    Min,
    Max,
    Merge,
}

/// The value of an operation over these values.
pub(crate) fn apply(operation: Plain, values: &[Js], budget: &mut Budget) -> Result<Js, Fault> {
    let at = |index: usize| values.get(index).unwrap_or(&Js::Undefined);
    Ok(match operation {
        Plain::Equal => Js::Bool(coerce::loose(at(0), at(1), budget)?),
        Plain::Unequal => Js::Bool(!coerce::loose(at(0), at(1), budget)?),
        Plain::Identical => Js::Bool(coerce::strict(at(0), at(1), budget)?),
        Plain::Different => Js::Bool(!coerce::strict(at(0), at(1), budget)?),
        Plain::Greater => Js::Bool(ordered((at(0), at(1)), Ordering::is_gt, budget)?),
        Plain::AtLeast => Js::Bool(ordered((at(0), at(1)), Ordering::is_ge, budget)?),
        Plain::Less => Js::Bool(between(values, Ordering::is_lt, budget)?),
        Plain::AtMost => Js::Bool(between(values, Ordering::is_le, budget)?),
        Plain::Truth => Js::Bool(truthy(at(0))),
        Plain::Not => Js::Bool(!truthy(at(0))),
        Plain::Remainder => Js::Number(coerce::number(at(0), budget)? % coerce::number(at(1), budget)?),
        Plain::Divided => Js::Number(coerce::number(at(0), budget)? / coerce::number(at(1), budget)?),
        Plain::Minus if matches!(at(1), Js::Undefined) => Js::Number(-coerce::number(at(0), budget)?),
        Plain::Minus => Js::Number(coerce::number(at(0), budget)? - coerce::number(at(1), budget)?),
        Plain::Plus => {
            let mut sum = 0.0;
            for value in values {
                sum += coerce::parse_float(value, budget)?;
            }
            Js::Number(sum)
        }
        Plain::Times => product(values, budget)?,
        Plain::Min => extreme(values, f64::INFINITY, (|a, b| a < b, true), budget)?,
        Plain::Max => extreme(values, f64::NEG_INFINITY, (|a, b| a > b, false), budget)?,
        Plain::Cat => Js::Text(coerce::join(values, "", budget)?),
        Plain::Substr => substr(at(0), at(1), at(2), budget)?,
        Plain::In => Js::Bool(contains(at(0), at(1), budget)?),
        Plain::Merge => merge(values, budget)?,
        Plain::Log => at(0).clone(),
    })
}

fn ordered((a, b): (&Js, &Js), holds: fn(Ordering) -> bool, budget: &mut Budget) -> Result<bool, Fault> {
    Ok(coerce::order(a, b, budget)?.is_some_and(holds))
}

/// `a < b`, or `a < b < c` if there is a third.
fn between(values: &[Js], holds: fn(Ordering) -> bool, budget: &mut Budget) -> Result<bool, Fault> {
    let at = |index: usize| values.get(index).unwrap_or(&Js::Undefined);
    Ok(ordered((at(0), at(1)), holds, budget)?
        && (matches!(at(2), Js::Undefined) || ordered((at(1), at(2)), holds, budget)?))
}

/// A single value is given back as it is, even a text.
fn product(values: &[Js], budget: &mut Budget) -> Result<Js, Fault> {
    let (first, rest) = values.split_first().ok_or(Kind::EmptyProduct)?;
    let mut product = first.clone();
    for value in rest {
        product = Js::Number(coerce::parse_float(&product, budget)? * coerce::parse_float(value, budget)?);
    }
    Ok(product)
}

type Better = (fn(f64, f64) -> bool, bool);

/// `Math.min` and `Math.max`: of two zeros the negative one is the smaller.
fn extreme(values: &[Js], start: f64, (better, negative): Better, budget: &mut Budget) -> Result<Js, Fault> {
    let mut best = start;
    for value in values {
        let number = coerce::number(value, budget)?;
        let zero = number == 0.0 && best == 0.0 && number.is_sign_negative() == negative;
        if number.is_nan() || best.is_nan() {
            best = f64::NAN;
        } else if zero || better(number, best) {
            best = number;
        }
    }
    Ok(Js::Number(best))
}

/// `String(source).substr(start, length)`; a negative length leaves so many letters off at the end, as in PHP.
fn substr(source: &Js, start: &Js, length: &Js, budget: &mut Budget) -> Result<Js, Fault> {
    let source = coerce::text(source, budget)?;
    budget.spend_text(source.len())?;
    let units: Vec<u16> = source.encode_utf16().collect();
    let start = coerce::number(start, budget)?;
    let cut = if coerce::order(length, &Js::Number(0.0), budget)? == Some(Ordering::Less) {
        let rest = part(&units, start, None);
        let length = coerce::primitive(length, budget)?;
        let keep = if let Js::Text(text) = &length {
            // What `+` makes of a number and a text is a text.
            crate::number::of_text(&format!("{}{text}", rest.len()))
        } else {
            count(rest) + coerce::number(&length, budget)?
        };
        part(rest, 0.0, Some(keep))
    } else {
        let length = if matches!(length, Js::Undefined) { None } else { Some(coerce::number(length, budget)?) };
        part(&units, start, length)
    };
    // LIMIT: half of a surrogate pair is no text here and becomes the replacement character.
    Ok(Js::text(&String::from_utf16_lossy(cut)))
}

#[allow(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
fn count(units: &[u16]) -> f64 {
    units.len() as f64
}

/// `substr`: counted from the end if the start is negative. NaN is 0.
fn part(units: &[u16], start: f64, length: Option<f64>) -> &[u16] {
    let size = count(units);
    let whole = |number: f64| if number.is_nan() { 0.0 } else { number.trunc() };
    let start = whole(start);
    let start = if start < 0.0 { (size + start).max(0.0) } else { start.min(size) };
    let length = length.map_or(size, whole).clamp(0.0, size - start);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and from 0 to the size")]
    units.iter().as_slice().get(start as usize..(start + length) as usize).unwrap_or_default()
}

/// `haystack.indexOf(needle) !== -1`, for texts and lists; nothing is in anything else.
fn contains(needle: &Js, haystack: &Js, budget: &mut Budget) -> Result<bool, Fault> {
    match haystack {
        Js::Text(haystack) if !haystack.is_empty() => {
            let needle = coerce::text(needle, budget)?;
            budget.spend_text(haystack.len() + needle.len())?;
            Ok(haystack.contains(&*needle))
        }
        Js::List(list) => {
            for item in &list.items {
                budget.spend(1)?;
                if coerce::strict(item, needle, budget)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Js::Undefined | Js::Null | Js::Bool(_) | Js::Number(_) | Js::Text(_) | Js::Map(_) => Ok(false),
    }
}

/// All values in one list; of those that are lists, the items.
fn merge(values: &[Js], budget: &mut Budget) -> Result<Js, Fault> {
    let mut merged = Vec::new();
    for value in values {
        if let Js::List(list) = value {
            budget.spend(u64::try_from(list.items.len()).unwrap_or(u64::MAX))?;
            merged.extend(list.items.iter().cloned());
        } else {
            merged.push(value.clone());
        }
    }
    Js::list(merged)
}
