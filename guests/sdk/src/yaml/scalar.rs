//! The type of a scalar, by the schema that a dialect's users know.

use super::{Data, date};
use crate::value::Int;

/// LIMIT: decimal digits of an integer, as in Python.
const DIGITS_MAX: usize = 4_300;

/// How plain scalars are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// YAML 1.1 by the regular expressions of PyYAML.
    PyYaml,
    /// YAML 1.2 core.
    Core,
    /// As js-yaml 4 reads: the core schema with bars in numbers, `0b`, and dates.
    JsYaml,
}

/// A scalar that looks like something that does not exist.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Oddity {
    Number,
    LongNumber,
    Date,
    /// `=` alone, or `<<` alone: PyYAML knows the type and builds nothing for it.
    Reserved,
    NotOfTag,
}

impl Schema {
    /// What a plain scalar without a tag is.
    pub(super) fn plain(self, text: &str) -> Result<Data, Oddity> {
        match self {
            Self::PyYaml => pyyaml(text),
            Self::Core => core(text),
            Self::JsYaml => js_yaml(text),
        }
    }

    /// What a scalar with a tag of the standard repository is.
    pub(super) fn tagged(self, tag: &str, text: &str) -> Option<Result<Data, Oddity>> {
        Some(match tag {
            "str" => Ok(Data::Str(text.to_owned())),
            "null" => Ok(Data::Null),
            "binary" => Ok(Data::Binary(text.to_owned())),
            "bool" => self.boolean(text).map(Data::Bool).ok_or(Oddity::NotOfTag),
            "int" => match self {
                Self::PyYaml => python_int(text),
                Self::Core | Self::JsYaml => self
                    .plain(text)
                    .and_then(|data| if matches!(data, Data::Int(_)) { Ok(data) } else { Err(Oddity::NotOfTag) }),
            },
            "float" => float_of(text).map(Data::Float).ok_or(Oddity::NotOfTag),
            "timestamp" => date::check(text).unwrap_or(Err(Oddity::NotOfTag)),
            _ => return None,
        })
    }

    fn boolean(self, text: &str) -> Option<bool> {
        let words: &[(&str, bool)] = match self {
            Self::PyYaml => {
                &[("yes", true), ("no", false), ("true", true), ("false", false), ("on", true), ("off", false)]
            }
            Self::Core | Self::JsYaml => &[("true", true), ("false", false)],
        };
        let (_, value) = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text))?;
        let tail = text.get(1..)?;
        let one_case = tail.bytes().all(|byte| byte.is_ascii_lowercase());
        let upper = text.bytes().all(|byte| byte.is_ascii_uppercase());
        (one_case || upper).then_some(*value)
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn pyyaml(text: &str) -> Result<Data, Oddity> {
    if is_null(text) {
        return Ok(Data::Null);
    }
    if let Some(flag) = Schema::PyYaml.boolean(text) {
        return Ok(Data::Bool(flag));
    }
    if matches!(text, "=" | "<<") {
        return Err(Oddity::Reserved);
    }
    if !text.starts_with(|c: char| matches!(c, '-' | '+' | '.' | '0'..='9')) {
        return Ok(Data::Str(text.to_owned()));
    }
    if is_pyyaml_float(text) {
        return float_of(text).map(Data::Float).ok_or(Oddity::Number);
    }
    if is_pyyaml_int(text) {
        return python_int(text);
    }
    date::check(text).unwrap_or_else(|| Ok(Data::Str(text.to_owned())))
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn digits_or_bars(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'_' || byte.is_ascii_digit())
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Minutes or seconds: `[0-5]?[0-9]`.
fn is_sixtieth(text: &str) -> bool {
    matches!(text.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
}

fn is_pyyaml_int(text: &str) -> bool {
    let rest = unsigned(text);
    if let Some(digits) = rest.strip_prefix("0b") {
        return !digits.is_empty() && digits.bytes().all(|byte| matches!(byte, b'0' | b'1' | b'_'));
    }
    if let Some(digits) = rest.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|byte| byte == b'_' || byte.is_ascii_hexdigit());
    }
    if let Some(digits) = rest.strip_prefix('0') {
        return digits.bytes().all(|byte| matches!(byte, b'0'..=b'7' | b'_'));
    }
    let mut places = rest.split(':');
    let first = places.next().unwrap_or_default();
    starts_with_digit(first) && digits_or_bars(first) && places.all(is_sixtieth)
}

fn is_pyyaml_float(text: &str) -> bool {
    let rest = unsigned(text);
    if matches!(rest, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (mantissa, exponent) = rest.split_once(['e', 'E']).map_or((rest, None), |(head, tail)| (head, Some(tail)));
    let exponent_fits = exponent.is_none_or(|digits| {
        let bare = unsigned(digits);
        bare.len() < digits.len() && !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit())
    });
    let Some((whole, fraction)) = mantissa.split_once('.') else { return false };
    if !exponent_fits || !digits_or_bars(fraction) {
        return false;
    }
    if whole.is_empty() {
        return rest.len() == text.len() && starts_with_digit(fraction);
    }
    let mut places = whole.split(':');
    let first = places.next().unwrap_or_default();
    let sexagesimal = whole.contains(':');
    starts_with_digit(first) && digits_or_bars(first) && places.all(is_sixtieth) && (exponent.is_none() || !sexagesimal)
}

/// PyYAML's construction of an integer; also for texts that only a tag calls one.
fn python_int(text: &str) -> Result<Data, Oddity> {
    let text = text.replace('_', "");
    let rest = unsigned(&text);
    let int = if rest == "0" {
        Some(Int::Small(0))
    } else if let Some(digits) = rest.strip_prefix("0b") {
        Int::of_base(digits, 2)
    } else if let Some(digits) = rest.strip_prefix("0x") {
        Int::of_base(digits, 16)
    } else if rest.starts_with('0') {
        Int::of_base(rest, 8)
    } else if rest.contains(':') {
        Int::of_places(rest)
    } else if rest.starts_with(['-', '+']) {
        None
    } else {
        Int::decimal(rest)
    };
    let int = int.ok_or(Oddity::Number)?;
    if text.len() > DIGITS_MAX {
        return Err(Oddity::LongNumber);
    }
    Ok(Data::Int(if text.starts_with('-') { int.negated() } else { int }))
}

/// A float in either schema: bars left out, sexagesimal places, the special values.
fn float_of(text: &str) -> Option<f64> {
    let text = text.replace('_', "").to_ascii_lowercase();
    let rest = unsigned(&text);
    let magnitude = match rest {
        ".inf" => f64::INFINITY,
        ".nan" => f64::NAN,
        _ if rest.contains(':') => {
            let mut base = 1.0;
            let mut sum = 0.0;
            for place in rest.rsplit(':') {
                sum += place.parse::<f64>().ok()? * base;
                base *= 60.0;
            }
            sum
        }
        _ if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') => rest.parse().ok()?,
        _ => return None,
    };
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

fn core(text: &str) -> Result<Data, Oddity> {
    if is_null(text) {
        return Ok(Data::Null);
    }
    if let Some(flag) = Schema::Core.boolean(text) {
        return Ok(Data::Bool(flag));
    }
    // No number begins with a letter, and most texts do.
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Ok(Data::Str(text.to_owned()));
    }
    let rest = unsigned(text);
    let int = if !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()) {
        Int::decimal(text)
    } else if let Some(digits) = text.strip_prefix("0o") {
        Int::of_base(digits, 8)
    } else {
        text.strip_prefix("0x").and_then(|digits| Int::of_base(digits, 16))
    };
    if let Some(int) = int {
        return if text.len() > DIGITS_MAX { Err(Oddity::LongNumber) } else { Ok(Data::Int(int)) };
    }
    if matches!(rest, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") || is_core_float(rest) {
        return float_of(text).map(Data::Float).ok_or(Oddity::Number);
    }
    Ok(Data::Str(text.to_owned()))
}

/// js-yaml 4.1: unlike the core schema it takes bars between digits, a sign before any base, and dates.
fn js_yaml(text: &str) -> Result<Data, Oddity> {
    let rest = unsigned(text);
    let numeric = rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') && !rest.ends_with('_');
    if !numeric {
        return core(text);
    }
    let bare = rest.replace('_', "");
    let int = if let Some(digits) = bare.strip_prefix("0b") {
        Int::of_base(digits, 2)
    } else if let Some(digits) = bare.strip_prefix("0o") {
        Int::of_base(digits, 8)
    } else if let Some(digits) = bare.strip_prefix("0x") {
        Int::of_base(digits, 16)
    } else {
        Int::decimal(&bare).filter(|_| starts_with_digit(rest))
    };
    if let Some(int) = int {
        let int = if text.starts_with('-') { int.negated() } else { int };
        return if text.len() > DIGITS_MAX { Err(Oddity::LongNumber) } else { Ok(Data::Int(int)) };
    }
    let exponent_bar = rest.find(['e', 'E']).is_some_and(|at| rest.get(at..).unwrap_or_default().contains('_'));
    if rest.contains('_') && !exponent_bar && is_core_float(&bare) {
        return float_of(text).map(Data::Float).ok_or(Oddity::Number);
    }
    let data = core(text)?;
    if matches!(data, Data::Str(_)) { date::check(text).unwrap_or(Ok(data)) } else { Ok(data) }
}

fn is_core_float(rest: &str) -> bool {
    let (mantissa, exponent) =
        rest.split_once(['e', 'E']).map_or((rest, None), |(head, tail)| (head, Some(unsigned(tail))));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    all_digits(whole)
        && all_digits(fraction)
        && whole.len() + fraction.len() > 0
        && exponent.is_none_or(|digits| !digits.is_empty() && all_digits(digits))
}
