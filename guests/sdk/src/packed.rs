//! Bytes that are written once and read in place: words and texts at offsets. What they mean is the dialect's. Every read is
//! checked, so bytes that were cut or changed give an error and never a panic.

/// The bytes are not what their writer left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Text {
    /// Its first byte.
    pub at: u32,
    /// Its bytes.
    pub len: u32,
}

/// Bytes under construction.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Starts with zeros, to be overwritten at the end.
    pub fn with_head(words: usize) -> Self {
        Self(vec![0; words * 4])
    }

    /// Appends a text.
    pub fn text(&mut self, text: &str) -> Text {
        self.bytes(text.as_bytes())
    }

    /// Appends bytes that are no text.
    pub fn bytes(&mut self, bytes: &[u8]) -> Text {
        let at = self.end();
        self.0.extend_from_slice(bytes);
        Text { at, len: u32::try_from(bytes.len()).unwrap_or(u32::MAX) }
    }

    /// Appends words, and says where they begin.
    pub fn words(&mut self, words: &[u32]) -> u32 {
        let at = self.end();
        self.0.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        at
    }

    /// Puts words over the zeros at the start.
    pub fn head(&mut self, words: &[u32]) {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        self.0.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    }

    /// The finished bytes.
    pub fn done(self) -> Vec<u8> {
        self.0
    }

    fn end(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}

/// Finished bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The word at this byte.
    pub fn word(self, at: u32) -> Result<u32, Broken> {
        let at = usize::try_from(at).map_err(|_| Broken)?;
        let bytes = self.0.get(at..).and_then(<[u8]>::first_chunk::<4>).ok_or(Broken)?;
        Ok(u32::from_le_bytes(*bytes))
    }

    /// The word so many words after this byte.
    pub fn word_at(self, at: u32, index: u32) -> Result<u32, Broken> {
        self.word(index.checked_mul(4).and_then(|skip| at.checked_add(skip)).ok_or(Broken)?)
    }

    /// The text whose place two words name.
    pub fn text_at(self, at: u32, index: u32) -> Result<&'a str, Broken> {
        let start = usize::try_from(self.word_at(at, index)?).map_err(|_| Broken)?;
        let len = usize::try_from(self.word_at(at, index.checked_add(1).ok_or(Broken)?)?).map_err(|_| Broken)?;
        let bytes = self.0.get(start..).and_then(|rest| rest.get(..len)).ok_or(Broken)?;
        std::str::from_utf8(bytes).map_err(|_| Broken)
    }
}
