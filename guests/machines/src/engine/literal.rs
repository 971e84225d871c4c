//! Python's way to write lists, maps, texts and numbers: tools that print their rows so are common.

use wfhost_guest::value::{Int, Map, Value};

/// LIMIT: how deep a literal may be nested.
const DEPTH_MAX: usize = 100;

/// The value of a literal. None: it is none.
pub(super) fn read(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text.trim() };
    let value = reader.value(0)?;
    reader.rest.trim().is_empty().then_some(value)
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn eat(&mut self, sign: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        for (word, value) in [("None", Value::Null), ("True", true.into()), ("False", false.into())] {
            if self.eat(word) {
                return Some(value);
            }
        }
        if self.eat("[") {
            return self.items("]", depth).map(Value::List);
        }
        if self.eat("(") {
            return self.items(")", depth).map(Value::List);
        }
        if self.eat("{") {
            return self.members(depth);
        }
        match self.rest.chars().next()? {
            quote @ ('\'' | '"') => self.text(quote).map(Value::Str),
            _ => self.number(),
        }
    }

    fn items(&mut self, end: &str, depth: usize) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        while !self.eat(end) {
            items.push(self.value(depth + 1)?);
            if !self.eat(",") {
                return self.eat(end).then_some(items);
            }
        }
        Some(items)
    }

    fn members(&mut self, depth: usize) -> Option<Value> {
        let mut map = Map::default();
        while !self.eat("}") {
            let Value::Str(key) = self.value(depth + 1)? else { return None };
            if !self.eat(":") {
                return None;
            }
            let value = self.value(depth + 1)?;
            map.set(&key, value);
            if !self.eat(",") {
                return self.eat("}").then_some(Value::Map(map));
            }
        }
        Some(Value::Map(map))
    }

    fn text(&mut self, quote: char) -> Option<String> {
        let mut letters = self.rest.chars();
        letters.next();
        let mut text = String::new();
        loop {
            match letters.next()? {
                '\\' => match letters.next()? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    other @ ('\\' | '\'' | '"') => text.push(other),
                    _ => return None,
                },
                letter if letter == quote => break,
                letter => text.push(letter),
            }
        }
        self.rest = letters.as_str();
        Some(text)
    }

    fn number(&mut self) -> Option<Value> {
        let end =
            self.rest.find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+' | 'e' | 'E')).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        match Int::decimal(digits) {
            Some(int) => Some(Value::Int(int)),
            None => digits.parse::<f64>().ok().filter(|float| float.is_finite()).map(Value::Float),
        }
    }
}

#[cfg(test)]
mod tests {
    use wfhost_guest::json;

    #[test]
    fn literals_are_read_and_nothing_else() {
        let read = |text: &str| super::read(text).map(|value| json::text(&value));
        assert_eq!(
            read("[{'id': 1, 'a': None}, (True, -2.5), \"it's\"]").as_deref(),
            Some("[{\"id\":1,\"a\":null},[true,-2.5],\"it's\"]")
        );
        assert_eq!(read("{}").as_deref(), Some("{}"));
        for bad in ["[1", "words", "{1: 2}", "['a' 'b']", "[1] 2", "", "'a"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
