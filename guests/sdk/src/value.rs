//! JSON values as Python holds them: integers of any size, floats with infinities and NaN, and keys in order.

use std::cmp::Ordering;

/// A JSON value, or one that YAML could express.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without fraction or exponent.
    Int(Int),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// Text.
    Str(String),
    /// A list.
    List(Vec<Value>),
    /// A mapping.
    Map(Map),
}

/// Members of a mapping in their order. Keys are unique.
#[derive(Clone, Debug, Default)]
pub struct Map(Vec<(String, Value)>);

/// An integer of any size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Int {
    /// One that fits.
    Small(i64),
    /// One that does not: its decimal digits, with a minus sign where it has one and without leading zeros.
    Big(Box<str>),
}

impl Value {
    /// The member of that name, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map().and_then(|map| map.get(key))
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Str(text) = self { Some(text) } else { None }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    /// The members, if it is a mapping.
    pub fn as_map(&self) -> Option<&Map> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }

    /// The integer, if it is one of at most 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        if let Self::Int(Int::Small(number)) = self { Some(*number) } else { None }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(text)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(Int::Small(i64::from(number)))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(Int::Small(number))
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<const N: usize> From<[(&str, Value); N]> for Value {
    fn from(members: [(&str, Value); N]) -> Self {
        Self::Map(Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
    }
}

impl Map {
    /// The member of that name.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Sets a member: in its old place if there is one, else at the end.
    pub fn set(&mut self, key: &str, value: Value) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// The members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The names in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, Value)> for Map {
    /// Of members with one name the last counts, in the place of the first, as in Python.
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        let mut places = std::collections::BTreeMap::<String, usize>::new();
        let mut kept: Vec<(String, Value)> = Vec::new();
        for (key, value) in members {
            match places.get(&key).and_then(|&place| kept.get_mut(place)) {
                Some(old) => old.1 = value,
                None => {
                    places.insert(key.clone(), kept.len());
                    kept.push((key, value));
                }
            }
        }
        Self(kept)
    }
}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Int {
    /// An integer from its decimal digits with an optional sign; leading zeros are fine. None: something else.
    pub fn decimal(text: &str) -> Option<Self> {
        let (negative, digits) = match text.as_bytes() {
            [b'-', ..] => (true, text.get(1..)?),
            [b'+', ..] => (false, text.get(1..)?),
            [..] => (false, text),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = digits.trim_start_matches('0');
        let sign = if negative && !digits.is_empty() { "-" } else { "" };
        let text = if digits.is_empty() { "0".to_owned() } else { format!("{sign}{digits}") };
        Some(text.parse().map_or_else(|_| Self::Big(text.into()), Self::Small))
    }

    /// An integer from digits of any base up to 36, without a sign.
    pub fn of_base(digits: &str, base: u32) -> Option<Self> {
        let mut sum = Digits::default();
        for digit in digits.chars() {
            sum.push(base, digit.to_digit(base)?);
        }
        if digits.is_empty() { None } else { Self::decimal(&sum.text()) }
    }

    /// An integer from sexagesimal places, the highest first and in decimal digits, without a sign.
    pub fn of_places(places: &str) -> Option<Self> {
        let mut sum = Digits::default();
        for (index, place) in places.split(':').enumerate() {
            if index == 0 {
                for digit in place.chars() {
                    sum.push(10, digit.to_digit(10)?);
                }
            } else {
                sum.push(60, place.parse().ok()?);
            }
        }
        Self::decimal(&sum.text())
    }

    /// The same number with the other sign.
    #[must_use]
    pub fn negated(&self) -> Self {
        let text = self.to_string();
        let turned = text.strip_prefix('-').map_or_else(|| format!("-{text}"), str::to_owned);
        Self::decimal(&turned).unwrap_or(Self::Small(0))
    }

    /// The nearest float, or an infinity.
    pub fn as_f64(&self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// How it stands to a float, by exact mathematical value; none for NaN.
    pub fn partial_cmp_f64(&self, float: f64) -> Option<Ordering> {
        if float.is_nan() {
            return None;
        }
        if float.is_infinite() {
            return Some(if float > 0.0 { Ordering::Less } else { Ordering::Greater });
        }
        let whole = Self::decimal(&format!("{:.0}", float.trunc())).unwrap_or(Self::Small(0));
        Some(self.cmp(&whole).then_with(|| 0.0f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal)))
    }
}

impl std::fmt::Display for Int {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Small(number) => write!(f, "{number}"),
            Self::Big(digits) => f.write_str(digits),
        }
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Int {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Small(a), Self::Small(b)) => a.cmp(b),
            (Self::Big(a), Self::Small(_)) => sign(a),
            (Self::Small(_), Self::Big(b)) => sign(b).reverse(),
            (Self::Big(a), Self::Big(b)) => sign(a).cmp(&sign(b)).then_with(|| {
                let by_size = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
                if a.starts_with('-') { by_size.reverse() } else { by_size }
            }),
        }
    }
}

fn sign(digits: &str) -> Ordering {
    if digits.starts_with('-') { Ordering::Less } else { Ordering::Greater }
}

/// A growing number in base 10^9, the lowest place first.
#[derive(Default)]
struct Digits(Vec<u32>);

impl Digits {
    const BASE: u64 = 1_000_000_000;

    fn push(&mut self, base: u32, digit: u32) {
        let mut carry = u64::from(digit);
        for place in &mut self.0 {
            let sum = u64::from(*place) * u64::from(base) + carry;
            *place = u32::try_from(sum % Self::BASE).unwrap_or(0);
            carry = sum / Self::BASE;
        }
        if carry > 0 {
            self.0.push(u32::try_from(carry % Self::BASE).unwrap_or(0));
        }
    }

    fn text(&self) -> String {
        let mut text: String = self.0.iter().rev().map(|place| format!("{place:09}")).collect();
        if text.is_empty() {
            text.push('0');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_base_and_size_are_exact() {
        let check = |int: Option<Int>, text: &str| assert_eq!(int.unwrap().to_string(), text);
        check(Int::of_base("ffffffffffffffffffff", 16), "1208925819614629174706175");
        check(Int::of_base("17", 8), "15");
        check(Int::of_base("0", 2), "0");
        check(Int::of_places("190:20:30"), "685230");
        check(Int::decimal("-000"), "0");
        check(Int::decimal("+9223372036854775808"), "9223372036854775808");
        check(Int::decimal("-9223372036854775808").map(|int| int.negated()), "9223372036854775808");
        assert!(Int::decimal("1x").is_none() && Int::decimal("").is_none() && Int::of_base("8", 8).is_none());
    }

    #[test]
    fn an_integer_meets_a_float_by_exact_value() {
        let check = |int: &str, float: f64, want| assert_eq!(Int::decimal(int).unwrap().partial_cmp_f64(float), want);
        check("9007199254740993", 9_007_199_254_740_992.0, Some(Ordering::Greater));
        check("1", 1.5, Some(Ordering::Less));
        check("-1", -1.5, Some(Ordering::Greater));
        check("100000000000000000000", 1e20, Some(Ordering::Equal));
        check("0", -0.0, Some(Ordering::Equal));
        check("5", f64::INFINITY, Some(Ordering::Less));
        check("5", f64::NAN, None);
    }

    #[test]
    fn big_integers_are_ordered() {
        let int = |text| Int::decimal(text).unwrap();
        let mut numbers =
            ["100000000000000000001", "5", "-100000000000000000001", "-99999999999999999999", "99999999999999999999"]
                .map(int);
        numbers.sort();
        assert_eq!(
            numbers.map(|n| n.to_string()).join(" "),
            "-100000000000000000001 -99999999999999999999 5 99999999999999999999 100000000000000000001"
        );
    }
}
