//! Values as Python sees them: equality and order across number types, the text of floats, `repr`, and the size of
//! `json.dumps`. For the dialects whose peers are written in Python.

use std::cmp::Ordering;

use crate::value::{Int, Map, Value};

/// Whether two values are equal: numbers and booleans by exact mathematical value, mappings regardless of order.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Map(a), Value::Map(b)) => equal_maps(a, b),
        (a, b) => numeric_order(a, b) == Some(Ordering::Equal),
    }
}

fn equal_maps(a: &Map, b: &Map) -> bool {
    a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| equal(value, other)))
}

/// How two values stand to each other; none where Python knows no order between them, and for NaN.
pub fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        (Value::List(a), Value::List(b)) => match a.iter().zip(b).find(|(a, b)| !equal(a, b)) {
            Some((a, b)) => order(a, b),
            None => Some(a.len().cmp(&b.len())),
        },
        (a, b) => numeric_order(a, b),
    }
}

fn numeric_order(a: &Value, b: &Value) -> Option<Ordering> {
    match (number(a)?, number(b)?) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Int(a), Number::Float(b)) => a.partial_cmp_f64(b),
        (Number::Float(a), Number::Int(b)) => b.partial_cmp_f64(a).map(Ordering::reverse),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
    }
}

enum Number {
    Int(Int),
    Float(f64),
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Bool(flag) => Some(Number::Int(Int::Small(i64::from(*flag)))),
        Value::Int(int) => Some(Number::Int(int.clone())),
        Value::Float(float) => Some(Number::Float(*float)),
        Value::Null | Value::Str(_) | Value::List(_) | Value::Map(_) => None,
    }
}

/// The shortest text that reads back as the same float, in Python's choice between point and exponent.
pub fn float(float: f64) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf".to_owned() } else { "-inf".to_owned() };
    }
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let text = format!("{float}");
        return if text.contains('.') { text } else { format!("{text}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// `repr` of a value.
pub fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(int) => int.to_string(),
        Value::Float(number) => float(*number),
        Value::Str(text) => repr_str(text),
        Value::List(items) => format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let members: Vec<_> =
                map.iter().map(|(key, value)| format!("{}: {}", repr_str(key), repr(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

/// `repr` of a list of texts.
pub fn repr_list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    format!("[{}]", items.into_iter().map(repr_str).collect::<Vec<_>>().join(", "))
}

/// `repr` of a text.
pub fn repr_str(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c if u32::from(c) <= 0xff => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if u32::from(c) <= 0xffff => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push(quote);
    out
}

/// `str` of a value: a text as it is, anything else as `repr`.
pub fn str(value: &Value) -> String {
    value.as_str().map_or_else(|| repr(value), str::to_owned)
}

/// The standard library's escaper has the table of printable characters; only at the start of a text it escapes
/// combining marks as well, so the character is put second.
fn is_printable(c: char) -> bool {
    c == ' ' || matches!(c, ' '..='~') || {
        let pair: String = ['a', c].into_iter().collect();
        pair.escape_debug().nth(1).is_none_or(|first| first != '\\')
    }
}

/// The type of a value, by Python's name.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        Value::Str(_) => "str",
        Value::List(_) => "list",
        Value::Map(_) => "dict",
    }
}

/// How `json.dumps` lays out its text.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    comma: &'static str,
    colon: &'static str,
    sorted: bool,
}

impl Layout {
    /// The default: a blank after comma and colon.
    pub const SPACED: Self = Self { comma: ", ", colon: ": ", sorted: false };
    /// Without blanks.
    pub const COMPACT: Self = Self { comma: ",", colon: ":", sorted: false };
    /// Without blanks, keys sorted by code point.
    pub const SORTED: Self = Self { comma: ",", colon: ":", sorted: true };
}

/// `json.dumps`: ASCII only, floats as Python writes them, NaN and infinities by name.
pub fn dumps(value: &Value, layout: Layout) -> String {
    let mut out = String::new();
    dump(value, layout, &mut |piece| out.push_str(piece));
    out
}

/// The number of bytes of `json.dumps` in its default layout.
pub fn dumps_len(value: &Value) -> usize {
    let mut len = 0;
    dump(value, Layout::SPACED, &mut |piece| len += piece.len());
    len
}

/// Hands the pieces of the text over, one after the other.
pub fn dump(value: &Value, layout: Layout, out: &mut dyn FnMut(&str)) {
    match value {
        Value::Null => out("null"),
        Value::Bool(true) => out("true"),
        Value::Bool(false) => out("false"),
        Value::Int(int) => out(&int.to_string()),
        Value::Float(number) if number.is_nan() => out("NaN"),
        Value::Float(number) if number.is_infinite() => out(if *number > 0.0 { "Infinity" } else { "-Infinity" }),
        Value::Float(number) => out(&float(*number)),
        Value::Str(text) => dump_str(text, out),
        Value::List(items) => {
            out("[");
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out(layout.comma);
                }
                dump(item, layout, out);
            }
            out("]");
        }
        Value::Map(map) => {
            let mut members: Vec<_> = map.iter().collect();
            if layout.sorted {
                members.sort_by(|a, b| a.0.cmp(b.0));
            }
            out("{");
            for (index, (key, item)) in members.into_iter().enumerate() {
                if index > 0 {
                    out(layout.comma);
                }
                dump_str(key, out);
                out(layout.colon);
                dump(item, layout, out);
            }
            out("}");
        }
    }
}

fn dump_str(text: &str, out: &mut dyn FnMut(&str)) {
    out("\"");
    let plain = |c: char| matches!(c, ' '..='~') && c != '"' && c != '\\';
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !plain(c)).unwrap_or(rest.len());
        let (head, tail) = rest.split_at(end);
        out(head);
        let mut chars = tail.chars();
        match chars.next() {
            Some('"') => out("\\\""),
            Some('\\') => out("\\\\"),
            Some('\n') => out("\\n"),
            Some('\r') => out("\\r"),
            Some('\t') => out("\\t"),
            Some('\u{8}') => out("\\b"),
            Some('\u{c}') => out("\\f"),
            Some(c) => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out(&format!("\\u{unit:04x}"))),
            None => {}
        }
        rest = chars.as_str();
    }
    out("\"");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for text in [
            "1.0",
            "0.1",
            "1e+22",
            "1e-07",
            "1e+16",
            "123456789.0",
            "-0.0",
            "0.0001",
            "1e-05",
            "9999999999999998.0",
            "1.5e+300",
            "5e-324",
        ] {
            assert_eq!(float(text.parse().unwrap()), text);
        }
    }

    #[test]
    fn repr_quotes_and_escapes() {
        let check = |text: &str, want: &str| assert_eq!(repr_str(text), want);
        check("a", "'a'");
        check("it's", "\"it's\"");
        check("\"it's\"", "'\"it\\'s\"'");
        check("\n\t\\\u{7}\u{a0}\u{200b}é🙂\u{301}", "'\\n\\t\\\\\\x07\\xa0\\u200bé🙂\u{301}'");
        assert_eq!(repr(&json::read("{\"a\":[1,1.5,null,true,\"x\"]}").unwrap()), "{'a': [1, 1.5, None, True, 'x']}");
    }

    #[test]
    fn equality_and_order_cross_number_types() {
        let value = |text: &str| json::read(text).unwrap();
        let eq = |a: &str, b: &str| equal(&value(a), &value(b));
        assert!(
            eq("1", "1.0")
                && eq("true", "1")
                && eq("{\"a\":1,\"b\":[true]}", "{\"b\":[1.0],\"a\":1}")
                && eq("0", "-0.0")
        );
        assert!(
            !eq("9007199254740993", "9007199254740992.0") && !eq("null", "0") && !eq("\"1\"", "1") && !eq("NaN", "NaN")
        );
        let ord = |a: &str, b: &str| order(&value(a), &value(b));
        assert_eq!(ord("[1,2]", "[1,3]"), Some(Ordering::Less));
        assert_eq!(ord("[1]", "[1,0]"), Some(Ordering::Less));
        assert_eq!(ord("[1,\"a\"]", "[1,2]"), None);
        assert_eq!(ord("true", "0"), Some(Ordering::Greater));
        assert_eq!(ord("null", "null"), None);
    }

    #[test]
    fn dumps_is_ascii() {
        let value = json::read("{\"b\":\"é🙂\\u007f\\b\",\"a\":[1.0,NaN]}").unwrap();
        assert_eq!(dumps(&value, Layout::COMPACT), "{\"b\":\"\\u00e9\\ud83d\\ude42\\u007f\\b\",\"a\":[1.0,NaN]}");
        assert_eq!(dumps(&value, Layout::SORTED), "{\"a\":[1.0,NaN],\"b\":\"\\u00e9\\ud83d\\ude42\\u007f\\b\"}");
        assert_eq!(dumps_len(&value), dumps(&value, Layout::SPACED).len());
    }
}
