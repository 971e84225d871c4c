//! JSON text to values and back. Two dialects of writing: RFC 8259 for the wire, and the exact form for what comes back to us.
//!
//! LIMIT: values nested deeper than 255 are refused.

use crate::python;
use crate::value::{Int, Map, Value};

/// How deep lists and mappings may be nested.
pub const DEPTH_MAX: usize = 255;

/// Why a text is no JSON value, and at which byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub what: &'static str,
    /// How many bytes were fine.
    pub offset: usize,
}

/// The value that a JSON text holds. Beyond the RFC it reads `NaN`, `Infinity` and `-Infinity`, which `exact` writes.
pub fn read(text: &str) -> Result<Value, Fault> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.blanks();
    if reader.at == text.len() { Ok(value) } else { Err(reader.fault("something follows the value")) }
}

/// The value as RFC 8259 text. What JSON cannot say, an infinity or NaN, becomes null.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out, |_| "null");
    out
}

/// The value as text that `read` gives back unchanged; RFC 8259 as long as there is no NaN.
pub fn exact(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out, |float| {
        if float.is_nan() {
            "NaN"
        } else if float > 0.0 {
            "1e999"
        } else {
            "-1e999"
        }
    });
    out
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_str(text, &mut out);
    out
}

fn write(value: &Value, out: &mut String, odd: fn(f64) -> &'static str) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(int) => out.push_str(&int.to_string()),
        Value::Float(float) if float.is_finite() => out.push_str(&python::float(*float)),
        Value::Float(float) => out.push_str(odd(*float)),
        Value::Str(text) => write_str(text, out),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out, odd);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (index, (key, item)) in map.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_str(key, out);
                out.push(':');
                write(item, out, odd);
            }
            out.push('}');
        }
    }
}

fn write_str(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            0x20.. => continue,
        };
        out.push_str(text.get(plain..index).unwrap_or_default());
        plain = index + 1;
        if escape.is_empty() {
            out.push_str(&format!("\\u{byte:04x}"));
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(text.get(plain..).unwrap_or_default());
    out.push('"');
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn fault(&self, what: &'static str) -> Fault {
        Fault { what, offset: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        if found {
            self.at += word.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth > DEPTH_MAX {
            return Err(self.fault("nested too deep"));
        }
        self.blanks();
        match self.peek() {
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Value::Str),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) | None => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, Fault> {
        let words = [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("NaN", Value::Float(f64::NAN)),
            ("Infinity", Value::Float(f64::INFINITY)),
        ];
        let found = words.into_iter().find(|(word, _)| self.eat(word));
        found.map(|(_, value)| value).ok_or_else(|| self.fault("expected a value"))
    }

    fn list(&mut self, depth: usize) -> Result<Value, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.eat("]") {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.eat("]") {
                return Ok(Value::List(items));
            }
            if !self.eat(",") {
                return Err(self.fault("expected `,` or `]`"));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, Fault> {
        self.at += 1;
        let mut members = Vec::new();
        self.blanks();
        if self.eat("}") {
            return Ok(Value::Map(Map::default()));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.fault("expected a name"));
            }
            let key = self.string()?;
            self.blanks();
            if !self.eat(":") {
                return Err(self.fault("expected `:`"));
            }
            members.push((key, self.value(depth + 1)?));
            self.blanks();
            if self.eat("}") {
                return Ok(Value::Map(members.into_iter().collect()));
            }
            if !self.eat(",") {
                return Err(self.fault("expected `,` or `}`"));
            }
        }
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        if self.eat("-Infinity") {
            return Ok(Value::Float(f64::NEG_INFINITY));
        }
        self.eat("-");
        let whole = self.digits();
        let leading_zero = whole.starts_with('0') && whole.len() > 1;
        if whole.is_empty() || leading_zero {
            return Err(self.fault("expected a number"));
        }
        let mut float = false;
        if self.eat(".") {
            float = true;
            if self.digits().is_empty() {
                return Err(self.fault("expected digits after the point"));
            }
        }
        if self.eat("e") || self.eat("E") {
            float = true;
            let _ = self.eat("+") || self.eat("-");
            if self.digits().is_empty() {
                return Err(self.fault("expected an exponent"));
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        let value = if float { text.parse().ok().map(Value::Float) } else { Int::decimal(text).map(Value::Int) };
        value.ok_or_else(|| self.fault("expected a number"))
    }

    fn digits(&mut self) -> &str {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn string(&mut self) -> Result<String, Fault> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            out.push_str(self.text.get(start..self.at).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.fault("a control character in a text")),
                None => return Err(self.fault("a text without end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        self.at += 1;
        let letter = self.peek().ok_or_else(|| self.fault("a text without end"))?;
        self.at += 1;
        Ok(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.fault("an unknown escape")),
        })
    }

    fn unicode(&mut self) -> Result<char, Fault> {
        let high = self.hex()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| self.fault("half of a surrogate pair"));
        }
        if !self.eat("\\u") {
            return Err(self.fault("half of a surrogate pair"));
        }
        let low = self.hex()?;
        if !(0xdc00..0xe000).contains(&low) {
            return Err(self.fault("half of a surrogate pair"));
        }
        char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).ok_or_else(|| self.fault("no character"))
    }

    fn hex(&mut self) -> Result<u32, Fault> {
        let digits =
            self.text.get(self.at..self.at + 4).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code = digits
            .and_then(|text| u32::from_str_radix(text, 16).ok())
            .ok_or_else(|| self.fault("expected four hex digits"))?;
        self.at += 4;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        for json in [
            "null",
            "[1,2.0,-0.0,1e+22,\"é\\n\\u0007\\\"\"]",
            "{\"b\":{},\"a\":[]}",
            "123456789012345678901234567890",
            "-5",
        ] {
            assert_eq!(text(&read(json).unwrap()), json);
        }
        assert_eq!(text(&read("{\"a\":1,\"b\":2,\"a\":3}").unwrap()), "{\"a\":3,\"b\":2}");
        assert_eq!(exact(&read("1e400").unwrap()), "1e999");
        assert_eq!(text(&read("[NaN,-Infinity]").unwrap()), "[null,null]");
        assert_eq!(read("\"\\ud83d\\ude42\"").unwrap().as_str(), Some("🙂"));
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for json in [
            "",
            "[1,]",
            "{\"a\"}",
            "01",
            "1.",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"a",
            "tru",
            "1 2",
            "\"\t\"",
            "-",
            "\"\\u00g0\"",
            "{a:1}",
        ] {
            assert!(read(json).is_err(), "{json}");
        }
        assert_eq!(read("[1 2]").unwrap_err(), Fault { what: "expected `,` or `]`", offset: 3 });
        assert_eq!(read(&"[".repeat(100_000)).unwrap_err().what, "nested too deep");
    }
}
