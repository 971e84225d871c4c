//! Texts in few bytes: what stood before is named by its length and how far back it is. Only what no step reads is kept so.
//!
//! The bytes are runs of: how many are new, those, and (unless that is the end) how many more than `SHORTEST` are repeated,
//! and from how far back.

use wfhost_guest::packed::Broken;

use super::bytes::{Cursor, count, put};

/// The fewest bytes that are worth a mention.
const SHORTEST: usize = 4;
/// LIMIT: earlier places that are tried for one text.
const TRIED_MAX: usize = 8;
/// LIMIT: bytes of one text: more than a document has.
const BYTES_MAX: usize = 64 << 20;

/// A text in few bytes; its length is not among them.
pub(super) fn squeezed(text: &[u8]) -> Vec<u8> {
    let mut places = Places::of(text);
    let (mut out, mut at, mut new) = (Vec::new(), 0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (len, back) = places.longest(text, at);
        let step = len.max(1);
        if len >= SHORTEST {
            fresh(&mut out, text.get(new..at));
            put(&mut out, count(len - SHORTEST));
            put(&mut out, count(back));
            new = at + len;
        }
        for skip in 0..step.min(rest.len()) {
            places.add(text, at + skip);
        }
        at += step;
    }
    fresh(&mut out, text.get(new..));
    out
}

fn fresh(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    let bytes = bytes.unwrap_or_default();
    put(out, count(bytes.len()));
    out.extend_from_slice(bytes);
}

/// Where the same four bytes stood before.
struct Places {
    bits: u32,
    /// The newest place by what stands there, plus one.
    newest: Vec<u32>,
    /// For each place the one before it, plus one.
    before: Vec<u32>,
}

impl Places {
    fn of(text: &[u8]) -> Self {
        let bits = text.len().max(16).ilog2().min(14);
        Self { bits, newest: vec![0; 1 << bits], before: vec![0; text.len()] }
    }

    fn slot(&self, text: &[u8], at: usize) -> Option<usize> {
        let four = text.get(at..)?.first_chunk::<SHORTEST>()?;
        let mixed = u32::from_le_bytes(*four).wrapping_mul(0x9e37_79b1);
        usize::try_from(mixed >> (u32::BITS - self.bits)).ok()
    }

    fn add(&mut self, text: &[u8], at: usize) {
        let Some(newest) = self.slot(text, at).and_then(|slot| self.newest.get_mut(slot)) else { return };
        if let Some(before) = self.before.get_mut(at) {
            *before = std::mem::replace(newest, count(at + 1));
        }
    }

    /// The longest text before a place that begins like what stands there: its length, and how far back it begins.
    fn longest(&self, text: &[u8], at: usize) -> (usize, usize) {
        let (mut best, mut back) = (0, 0);
        let next = self.slot(text, at).and_then(|slot| self.newest.get(slot));
        let mut next = next.and_then(|place| usize::try_from(*place).ok()).unwrap_or(0);
        for _ in 0..TRIED_MAX {
            let Some(place) = next.checked_sub(1) else { break };
            if text.get(place + best) == text.get(at + best) {
                let len = alike(text, place, at);
                if len > best {
                    (best, back) = (len, at - place);
                }
            }
            next = self.before.get(place).and_then(|place| usize::try_from(*place).ok()).unwrap_or(0);
        }
        (best, back)
    }
}

fn alike(text: &[u8], place: usize, at: usize) -> usize {
    let (old, new) = (text.get(place..).unwrap_or_default(), text.get(at..).unwrap_or_default());
    old.iter().zip(new).take_while(|(old, new)| old == new).count()
}

/// The text of that length.
pub(super) fn unsqueezed(bytes: &[u8], len: u32) -> Result<Vec<u8>, Broken> {
    let len = usize::try_from(len).ok().filter(|len| *len <= BYTES_MAX).ok_or(Broken)?;
    let (mut cursor, mut out) = (Cursor(bytes), Vec::new());
    loop {
        out.extend_from_slice(cursor.bytes()?);
        if out.len() >= len {
            break;
        }
        let mut left = usize::try_from(cursor.number()?).map_err(|_| Broken)?.saturating_add(SHORTEST);
        let back = usize::try_from(cursor.number()?).map_err(|_| Broken)?;
        let from = out.len().checked_sub(back).ok_or(Broken)?;
        if back == 0 || left > len - out.len() {
            return Err(Broken);
        }
        // What is repeated may itself reach into what is being written.
        while left > 0 {
            let part = left.min(out.len() - from);
            out.extend_from_within(from..from + part);
            left -= part;
        }
    }
    if out.len() == len { Ok(out) } else { Err(Broken) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_are_smaller_where_they_repeat() {
        let lines: String = (0..500).map(|n| format!("state {n}: the words of state {n}\n")).collect();
        let check = |text: &str, most: usize| {
            let small = squeezed(text.as_bytes());
            assert!(small.len() <= most, "{} of {}", small.len(), text.len());
            assert_eq!(unsqueezed(&small, count(text.len())), Ok(text.as_bytes().to_vec()));
            assert_eq!(small, squeezed(text.as_bytes()));
            assert_eq!(unsqueezed(&small, count(text.len() + 1)), Err(Broken));
        };
        check("", 1);
        check("abc", 4);
        check("abcabcabcabcabcabcabc", 7);
        check(&"-".repeat(10_000), 6);
        check(&lines, lines.len() / 3);
    }

    #[test]
    fn damaged_bytes_are_no_panic() {
        let small = squeezed(b"one two one two three one two three");
        for at in 0..small.len() {
            for flip in [1, 0x7f, 0xff] {
                let mut bytes = small.clone();
                bytes[at] ^= flip;
                let _ = unsqueezed(&bytes, 35);
            }
            assert_eq!(unsqueezed(&small[..at], 35), Err(Broken));
        }
    }
}
