//! The host's milliseconds as text.

use crate::model::Session;

/// A moment as Python's `isoformat` writes it in UTC: `2026-11-29T20:04:34.123000+00:00`, without a fraction that is zero.
pub fn iso(ms: u64) -> String {
    let (seconds, fraction) = (ms / 1000, ms % 1000);
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:03}000") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}+00:00")
}

/// When a session began.
pub fn started(session: &Session) -> String {
    iso(session.started)
}

/// Year, month and day of the day so many days after 1 January 1970, by Howard Hinnant's method.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::iso;

    #[test]
    fn moments_are_written_as_python_writes_them() {
        assert_eq!(iso(0), "1970-01-01T00:00:00+00:00");
        assert_eq!(iso(1_796_068_474_123), "2026-11-30T19:54:34.123000+00:00");
        assert_eq!(iso(951_782_400_000), "2000-02-29T00:00:00+00:00");
    }
}
