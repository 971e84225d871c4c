//! The lines of a document that a finding points at, with a mark under the place.

use super::print::shown;
use crate::plugin::contract::Span;

/// Characters of a source line that are shown at most.
const WIDTH_MAX: usize = 100;
/// Characters that are kept before the mark when a line is cut.
const BEFORE_MARK: usize = 30;
/// A tab is so wide.
const TAB: usize = 4;

/// Number, source line and mark. Empty if the document has no such line.
pub(crate) fn excerpt(bytes: &[u8], span: &Span) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let number = usize::try_from(span.start.line).unwrap_or(usize::MAX);
    let Some(source) = number.checked_sub(1).and_then(|n| text.split('\n').nth(n)) else { return Vec::new() };
    let (line, from, to) = marked(source.strip_suffix('\r').unwrap_or(source), span);
    let (line, from, to) = window(&line, from, to);
    let margin = number.to_string();
    let blank = " ".repeat(margin.len());
    let mark = format!("{}{}", " ".repeat(from), "^".repeat(to.saturating_sub(from).max(1)));
    vec![format!("{blank} |"), format!("{margin} | {line}").trim_end().to_owned(), format!("{blank} | {mark}")]
}

/// The line as it is shown, and from where to where the mark goes.
fn marked(source: &str, span: &Span) -> (Vec<char>, usize, usize) {
    let start = usize::try_from(span.start.column).unwrap_or(usize::MAX).max(1) - 1;
    let one_line = span.start.line == span.end.line;
    let end = if one_line { usize::try_from(span.end.column).unwrap_or(usize::MAX).max(1) - 1 } else { usize::MAX };
    let (mut line, mut from, mut to) = (Vec::new(), None, None);
    for (column, c) in source.chars().enumerate() {
        if column == start {
            from = Some(line.len());
        }
        if column == end {
            to = Some(line.len());
        }
        match c {
            '\t' => line.extend([' '; TAB]),
            c => line.push(shown(c)),
        }
    }
    let (from, to) = (from.unwrap_or(line.len()), to.unwrap_or(line.len()));
    (line, from, to)
}

/// A long line, cut around the mark.
fn window(line: &[char], from: usize, to: usize) -> (String, usize, usize) {
    if line.len() <= WIDTH_MAX {
        return (line.iter().collect(), from, to);
    }
    let first = if from < WIDTH_MAX * 3 / 4 { 0 } else { from - BEFORE_MARK };
    let last = line.len().min(first + WIDTH_MAX);
    let shown = line.get(first..last).unwrap_or_default();
    let (head, tail) = (if first > 0 { "…" } else { "" }, if last < line.len() { "…" } else { "" });
    let shift = usize::from(first > 0);
    let text: String = head.chars().chain(shown.iter().copied()).chain(tail.chars()).collect();
    (text, from - first + shift, to.min(last) - first + shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::contract::Position;

    fn check(source: &str, (start, end): ((u32, u32), (u32, u32)), expected: &[&str]) {
        let position = |(line, column)| Position { line, column };
        assert_eq!(excerpt(source.as_bytes(), &Span { start: position(start), end: position(end) }), expected);
    }

    #[test]
    fn the_mark_stands_under_the_place() {
        check("a: 1\nbé: two\n", ((2, 5), (2, 8)), &["  |", "2 | bé: two", "  |     ^^^"]);
        check("a:\tx\r\n", ((1, 4), (1, 5)), &["  |", "1 | a:    x", "  |       ^"]);
        check("\u{feff}ab\x1b", ((1, 3), (1, 4)), &["  |", "1 | ab␛", "  |   ^"]);
    }

    #[test]
    fn a_place_beyond_the_text_is_marked_at_its_end() {
        check("a:\nb", ((1, 9), (1, 9)), &["  |", "1 | a:", "  |   ^"]);
        check("a:\nb", ((1, 1), (2, 2)), &["  |", "1 | a:", "  | ^^"]);
        check("a:\n", ((2, 1), (2, 1)), &["  |", "2 |", "  | ^"]);
        check("a", ((7, 1), (7, 1)), &[]);
        check("a", ((0, 0), (0, 0)), &[]);
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let source = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let position = Position { line: 1, column: 501 };
        let shown = excerpt(source.as_bytes(), &Span { start: position, end: Position { line: 1, column: 502 } });
        let line: Vec<char> = shown[1].chars().collect();
        let mark = shown[2].chars().position(|c| c == '^').unwrap();
        assert_eq!(line[mark], 'X');
        assert!(line.len() < 120 && line.ends_with(&['b', '…']));
    }
}
