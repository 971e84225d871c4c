//! Times for people: UTC, and how long ago.

use crate::session::model::Millis;

/// `2026-11-30 03:04:05 UTC`.
pub(crate) fn utc(at: Millis) -> String {
    let (date, clock) = parts(at);
    format!("{date} {clock} UTC")
}

/// `2026-11-30T03:04:05.678Z`, for machines.
pub(crate) fn stamp(at: Millis) -> String {
    let (date, clock) = parts(at);
    format!("{date}T{clock}.{:03}Z", at % 1_000)
}

/// The time from one moment to a later one, in its two largest units: `3 d 4 h`.
pub(crate) fn span(ms: Millis) -> String {
    let seconds = ms / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0 => format!("{ms} ms"),
        1..=59 => format!("{seconds} s"),
        60..=3_599 => format!("{minutes} min"),
        3_600..=86_399 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// A span as `span` could tell it, in one unit: `30d`, `12h`, `90m`, `45s`.
pub(crate) fn read_span(text: &str) -> Result<Millis, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text.strip_prefix(digits).unwrap_or_default().trim() {
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return Err("a span is a number and a unit: 45s, 90m, 12h, 30d or 4w".into()),
    };
    let number: Millis = digits.parse().map_err(|_| "a span begins with a whole number, as in 30d".to_owned())?;
    number.checked_mul(unit).ok_or_else(|| "that is longer than any clock runs".to_owned())
}

fn parts(at: Millis) -> (String, String) {
    let seconds = at / 1_000;
    let (year, month, day) = civil(seconds / 86_400);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    (format!("{year:04}-{month:02}-{day:02}"), clock)
}

/// The date so many days after 1970-01-01. Years are counted from March, so that the leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (at, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_796_007_845_678, "2026-11-30T03:04:05.678Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(stamp(at), expected);
        }
    }

    #[test]
    fn spans_are_read() {
        for (text, expected) in [("45s", 45_000), ("90 m", 5_400_000), ("12h", 43_200_000), ("30d", 2_592_000_000)] {
            assert_eq!(read_span(text), Ok(expected));
        }
        for wrong in ["", "30", "d", "-1d", "1.5h", "3 years", "99999999999999999d"] {
            assert!(read_span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn spans_are_told_in_large_units() {
        let told = [7, 5_000, 125_000, 3_600_000, 90_000_000].map(span);
        assert_eq!(told, ["7 ms", "5 s", "2 min", "1 h 0 min", "1 d 1 h"]);
    }
}
