//! The dates and times of YAML 1.1: whether a text looks like one, and whether the calendar has it.

use super::Data;
use super::scalar::Oddity;

/// None: it does not look like a date. Else the date, or that it does not exist.
pub(super) fn check(text: &str) -> Option<Result<Data, Oddity>> {
    let mut rest = Cursor(text);
    let year = rest.digits(4, 4)?;
    rest.eat("-")?;
    let month_text = rest.digit_run(1, 2)?;
    rest.eat("-")?;
    let day_text = rest.digit_run(1, 2)?;
    let (month, day) = (month_text.parse().ok()?, day_text.parse().ok()?);
    let exists = if rest.0.is_empty() {
        if month_text.len() != 2 || day_text.len() != 2 {
            return None;
        }
        true
    } else {
        time(&mut rest)?
    };
    let exists = exists && is_date(year, month, day);
    Some(if exists { Ok(Data::Date(text.to_owned())) } else { Err(Oddity::Date) })
}

/// The rest of a timestamp. None: it is none. Else whether such a time of day exists.
fn time(rest: &mut Cursor<'_>) -> Option<bool> {
    if rest.eat("T").or_else(|| rest.eat("t")).is_none() && rest.blanks() == 0 {
        return None;
    }
    let hour = rest.digits(1, 2)?;
    rest.eat(":")?;
    let minute = rest.digits(2, 2)?;
    rest.eat(":")?;
    let second = rest.digits(2, 2)?;
    if rest.eat(".").is_some() {
        rest.0 = rest.0.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let mut zone = 0;
    rest.blanks();
    if rest.eat("Z").is_none() && !rest.0.is_empty() {
        rest.eat("+").or_else(|| rest.eat("-"))?;
        zone = rest.digits(1, 2)?;
        if rest.eat(":").is_some() {
            rest.digits(2, 2)?;
        }
    }
    rest.0.is_empty().then_some(hour < 24 && minute < 60 && second < 60 && zone < 24)
}

fn is_date(year: u32, month: u32, day: u32) -> bool {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    year > 0 && (1..=days).contains(&day)
}

struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    fn eat(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(word)?;
        Some(())
    }

    fn blanks(&mut self) -> usize {
        let rest = self.0.trim_start_matches([' ', '\t']);
        let count = self.0.len() - rest.len();
        self.0 = rest;
        count
    }

    fn digit_run(&mut self, least: usize, most: usize) -> Option<&'a str> {
        let count = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        (count >= least).then_some(digits)
    }

    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        self.digit_run(least, most)?.parse().ok()
    }
}
