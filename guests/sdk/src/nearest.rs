//! "Did you mean": the known word that a mistyped one is nearest to.

/// The candidate at a distance of at most a third of the word's length, in single-letter edits and swaps; the first of equals.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1);
    let near = |candidate: &&str| candidate.len().abs_diff(word.len()) <= allowed * 4;
    let scored = candidates.into_iter().filter(near).map(|candidate| (distance(word, candidate), candidate));
    let best = scored.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= allowed && best.1 != word).then_some(best.1)
}

/// A question for a diagnostic's help, if there is something to ask.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// LIMIT: words longer than this are compared by their beginning.
const LETTERS_MAX: usize = 64;

/// Edits from one word to the other; letters of different case count as half alike, that is as equal.
fn distance(a: &str, b: &str) -> usize {
    let letters = |word: &str| word.chars().flat_map(char::to_lowercase).take(LETTERS_MAX).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut best = (cell(&last, j) + usize::from(x != y)).min(cell(&last, j + 1) + 1).min(cell(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(cell(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let fields = ["on_error", "next", "capture", "require_rationale"];
        assert_eq!(nearest("on_eror", fields), Some("on_error"));
        assert_eq!(nearest("nxet", fields), Some("next"));
        assert_eq!(nearest("required_rationale", fields), Some("require_rationale"));
        assert_eq!(nearest("Capture", fields), Some("capture"));
        assert_eq!(nearest("timeout", fields), None);
        assert_eq!(nearest("", fields), None);
    }
}
