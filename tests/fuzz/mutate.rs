//! New inputs from old ones: bytes and pieces are changed, moved, doubled, taken out and brought in from other inputs.

/// Pieces that parsers stumble over.
const PIECES: [&[u8]; 48] = [
    b"null",
    b"true",
    b"-0",
    b"1e309",
    b"-1e-400",
    b"18446744073709551616",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"0.1",
    b"NaN",
    b".inf",
    b"\"\"",
    b"[]",
    b"{}",
    b"[[[[[[[[[[[[[[[[",
    b"{\"a\":{\"a\":{\"a\":{\"a\":",
    b"\\u0000",
    b"\\ud800",
    b"\xff\xfe",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"\0",
    b"\r\n",
    b"\t",
    b"\n---\n",
    b"\n...\n",
    b"&a",
    b"*a",
    b"<<: *a",
    b"!!binary ",
    b"!!float ",
    b"? ",
    b": ",
    b"- ",
    b"| \n",
    b">+9\n",
    b"%YAML 9.9\n",
    b"#",
    b"{{",
    b"}}",
    b"{% ",
    b"$",
    b"..",
    b"/",
    b"\xe2\x80\xae",
    b"\xf0\x9f\x92\xa9",
];
/// An input does not grow past this.
const LENGTH_MAX: usize = 64 << 10;

pub(crate) struct Mutator {
    state: u64,
    corpus: Vec<Vec<u8>>,
}

impl Mutator {
    pub(crate) fn new(seed: u64, corpus: Vec<Vec<u8>>) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, corpus }
    }

    fn roll(&mut self, below: usize) -> usize {
        // xorshift64*: short, and good enough to choose with.
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let bits = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(bits).unwrap() % below.max(1)
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let from = self.roll(length + 1);
        let most = if self.roll(4) == 0 { length - from } else { (length - from).min(24) };
        from..from + self.roll(most + 1)
    }

    /// The next input.
    pub(crate) fn input(&mut self) -> Vec<u8> {
        let chosen = self.roll(self.corpus.len());
        let mut bytes = self.corpus[chosen].clone();
        for _ in 0..1 + self.roll(6) {
            self.change(&mut bytes);
        }
        bytes.truncate(LENGTH_MAX);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.roll(bytes.len() + 1);
        let range = self.range(bytes.len());
        match self.roll(9) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << (at % 8);
                }
            }
            1 => {
                let byte = u8::try_from(self.roll(256)).unwrap();
                bytes.insert(at, byte);
            }
            2 => drop(bytes.drain(range)),
            3 => {
                let piece = PIECES[self.roll(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            4 => {
                let piece = PIECES[self.roll(PIECES.len())];
                bytes.splice(range, piece.iter().copied());
            }
            5 => {
                let piece = bytes[range].to_vec();
                bytes.splice(at..at, piece);
            }
            6 => {
                let other = self.roll(self.corpus.len());
                let taken = self.range(self.corpus[other].len());
                let piece = self.corpus[other][taken].to_vec();
                bytes.splice(at..at, piece);
            }
            7 => {
                // The same piece again and again: depth and length.
                let piece = bytes[range.start..range.end.min(range.start + 24)].to_vec();
                for _ in 0..1 << self.roll(9) {
                    bytes.splice(at..at, piece.iter().copied());
                    if bytes.len() > LENGTH_MAX {
                        break;
                    }
                }
            }
            _ => bytes.truncate(at),
        }
    }
}
