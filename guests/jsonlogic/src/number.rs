//! Numbers and their texts as ECMAScript has them (ECMA-262, Number::toString, StringToNumber, parseFloat).

use crate::js::whole;

/// The text of a number: `1`, `0.1`, `1e+21`, `NaN`.
pub(crate) fn text(number: f64) -> String {
    if let Some(whole) = whole(number) {
        return whole.to_string();
    }
    if number.is_nan() {
        return "NaN".into();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}Infinity");
    }
    // The shortest digits that read back as the same number, as d.ddde±x.
    let shortest = format!("{:e}", number.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    format!("{sign}{}", placed(&digits, exponent.parse::<i32>().unwrap_or(0) + 1))
}

/// The digits with their point after the `point`-th, or with an exponent where that would take many zeros.
fn placed(digits: &str, point: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    match point {
        point if count <= point && point <= 21 => format!("{digits}{}", zeros(point - count)),
        point @ 1..=21 => {
            let (whole, rest) = digits.split_at_checked(usize::try_from(point).unwrap_or(0)).unwrap_or((digits, ""));
            format!("{whole}.{rest}")
        }
        point @ -5..=0 => format!("0.{}{digits}", zeros(-point)),
        point => {
            let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
            let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
            format!("{first}{rest}e{:+}", point - 1)
        }
    }
}

/// The number that the whole text is, as `Number(text)`: blanks around it are fine, the empty text is 0.
pub(crate) fn of_text(text: &str) -> f64 {
    let text = text.trim_matches(is_blank);
    if text.is_empty() {
        return 0.0;
    }
    for (marks, base) in [(["0x", "0X"], 16), (["0o", "0O"], 8), (["0b", "0B"], 2)] {
        if let Some(digits) = marks.iter().find_map(|mark| text.strip_prefix(mark)) {
            return of_base(digits, base);
        }
    }
    match decimal(text) {
        (number, length) if length == text.len() => number,
        (_, _) => f64::NAN,
    }
}

/// The number that the text begins with, as `parseFloat(text)`.
pub(crate) fn parse_float(text: &str) -> f64 {
    decimal(text.trim_start_matches(is_blank)).0
}

/// The longest decimal literal at the start, and how many bytes it has; NaN and 0 if there is none.
fn decimal(text: &str) -> (f64, usize) {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    if text.get(sign..).is_some_and(|rest| rest.starts_with("Infinity")) {
        let infinity = if bytes.first() == Some(&b'-') { f64::NEG_INFINITY } else { f64::INFINITY };
        return (infinity, sign + "Infinity".len());
    }
    let whole = digits(sign);
    let mut end = sign + whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if whole + fraction == 0 {
            return (f64::NAN, 0);
        }
        end += 1 + fraction;
    } else if whole == 0 {
        return (f64::NAN, 0);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    text.get(..end).and_then(|literal| literal.parse().ok()).map_or((f64::NAN, 0), |number| (number, end))
}

fn of_base(digits: &str, base: u32) -> f64 {
    let valid = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    if !valid {
        return f64::NAN;
    }
    wfhost_guest::value::Int::of_base(digits, base).map_or(f64::NAN, |int| int.as_f64())
}

fn is_blank(letter: char) -> bool {
    letter == '\u{feff}' || letter.is_whitespace() && letter != '\u{85}'
}
