//! Writing to the terminal. Results go to standard output, everything else to standard error; a reader that has gone away
//! is no failure. What documents, clients and plugins say is shown, never obeyed: control characters become pictures.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A line of the result.
pub(crate) fn line(text: impl std::fmt::Display) {
    let _ = writeln!(stdout().lock(), "{text}");
}

/// The result as it is.
pub(crate) fn raw(text: impl std::fmt::Display) {
    let mut out = stdout().lock();
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

/// The result as one JSON document.
pub(crate) fn json(value: &serde_json::Value) {
    line(format_args!("{value:#}"));
}

/// A line for the operator.
pub(crate) fn note(text: impl std::fmt::Display) {
    let _ = writeln!(stderr().lock(), "wfhost: {text}");
}

/// Lines for the operator, as they are.
pub(crate) fn aside(text: impl std::fmt::Display) {
    let _ = writeln!(stderr().lock(), "{text}");
}

/// What ended the command.
pub(crate) fn error(error: &anyhow::Error) {
    let _ = writeln!(stderr().lock(), "wfhost: error: {}", plain(&format!("{error:#}")));
}

/// A text on one line without anything that could move the cursor or turn the writing around.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// A character as a terminal may show it.
pub(crate) fn shown(c: char) -> char {
    match u32::from(c) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        0x80..=0x9f | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

/// A text cut to so many characters.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect()
}

/// Columns, each as wide as its widest cell; the last one is not filled up.
pub(crate) fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    rows.iter()
        .map(|row| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
        .collect()
}

/// Says on a terminal that something takes its time, until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What is over sooner is not worth a line.
const PATIENCE: Duration = Duration::from_millis(400);

impl Progress {
    /// Begins; `what` is a clause such as `reading documents`.
    pub(crate) fn of(what: &'static str) -> Self {
        if !stderr().is_terminal() {
            return Self { done: None, thread: None };
        }
        let (done, ended) = channel();
        let began = Instant::now();
        let tell = move || {
            while ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let _ = write!(stderr().lock(), "\r\x1b[Kwfhost: {what} ({:.0} s)", began.elapsed().as_secs_f32());
            }
            if began.elapsed() >= PATIENCE {
                let _ = write!(stderr().lock(), "\r\x1b[K");
            }
        };
        Self { done: Some(done), thread: std::thread::Builder::new().name("progress".into()).spawn(tell).ok() }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_the_cursor_is_written() {
        assert_eq!(plain("a\x1b[2Jb\nc\u{202e}d\u{9b}e"), "a␛[2Jb␊c\u{fffd}d\u{fffd}e");
        assert_eq!(plain("é漢🙂"), "é漢🙂");
    }

    #[test]
    fn long_texts_are_cut_by_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        assert_eq!(table(&[row(["é", "b"]), row(["ccc", ""])]), ["é    b", "ccc"]);
    }
}
