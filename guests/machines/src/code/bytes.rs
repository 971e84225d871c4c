//! Numbers in as few bytes as they need: seven bits a byte, the lowest first. Texts stand behind their length.

use wfhost_guest::packed::Broken;

/// Appends a number.
pub(super) fn put(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(low(number) | 0x80);
        number >>= 7;
    }
    out.push(low(number));
}

fn low(number: u32) -> u8 {
    u8::try_from(number & 0x7f).unwrap_or(0)
}

/// Appends a text.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, count(text.len()));
    out.extend_from_slice(text.as_bytes());
}

/// A length as it is written.
pub(super) fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// How far it is from one number to another, either way; near ones are small.
pub(super) fn distance(from: u32, to: u32) -> u32 {
    let way = to.wrapping_sub(from).cast_signed();
    (way.wrapping_shl(1) ^ (way >> 31)).cast_unsigned()
}

/// The number at that distance.
pub(super) fn away(from: u32, distance: u32) -> u32 {
    from.wrapping_add((distance >> 1) ^ (distance & 1).wrapping_neg())
}

/// What is still to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    /// All from this byte on.
    pub(super) fn at(bytes: &'a [u8], at: u32) -> Result<Self, Broken> {
        let at = usize::try_from(at).map_err(|_| Broken)?;
        bytes.get(at..).map(Self).ok_or(Broken)
    }

    /// The next number.
    pub(super) fn number(&mut self) -> Result<u32, Broken> {
        let mut number = 0;
        for shift in (0..u32::BITS).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(Broken)?;
            self.0 = rest;
            number |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Broken)
    }

    /// As many bytes as the number before them says.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Broken> {
        let len = self.number()?;
        self.bytes_of(len)
    }

    /// So many bytes.
    pub(super) fn bytes_of(&mut self, len: u32) -> Result<&'a [u8], Broken> {
        let len = usize::try_from(len).map_err(|_| Broken)?;
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(Broken)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// The next text.
    pub(super) fn text(&mut self) -> Result<&'a str, Broken> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Broken)
    }

    /// The next text, of so many bytes.
    pub(super) fn text_of(&mut self, len: u32) -> Result<&'a str, Broken> {
        std::str::from_utf8(self.bytes_of(len)?).map_err(|_| Broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_come_back() {
        let numbers = [0, 1, 127, 128, 16_383, 16_384, u32::MAX];
        let mut out = Vec::new();
        numbers.iter().for_each(|number| put(&mut out, *number));
        put_text(&mut out, "größer");
        let mut cursor = Cursor(&out);
        assert_eq!(numbers.map(|_| cursor.number().unwrap()), numbers);
        assert_eq!((cursor.text(), cursor.0.len()), (Ok("größer"), 0));
        assert_eq!(cursor.number(), Err(Broken));
        assert_eq!(Cursor(&[0xff; 9]).number(), Err(Broken));
        assert_eq!(Cursor(&[5, b'a']).text(), Err(Broken));
    }

    #[test]
    fn what_is_near_is_small_on_either_side() {
        for (from, to, want) in [(7, 7, 0), (7, 6, 1), (7, 8, 2), (0, 9_999, 19_998), (9_999, 0, 19_997)] {
            assert_eq!((distance(from, to), away(from, want)), (want, to));
        }
        assert_eq!(away(3, distance(3, u32::MAX)), u32::MAX);
    }
}
