//! Bytes for plain data, and back: whole numbers as varints, texts and byte strings with their length in front. Both the
//! stored records and the frames between processes are made of it. Reading never trusts a length.

/// Bytes in the making.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(super) fn flag(&mut self, value: bool) {
        self.byte(u8::from(value));
    }

    /// Bytes whose length the reader knows.
    pub(super) fn exact(&mut self, value: &[u8]) {
        self.0.extend_from_slice(value);
    }

    pub(super) fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.exact(value);
    }

    pub(super) fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    pub(super) fn maybe<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            put(self, value);
        }
    }

    pub(super) fn many<T>(&mut self, values: &[T], put: impl Fn(&mut Self, &T)) {
        self.number(values.len() as u64);
        for value in values {
            put(self, value);
        }
    }
}

/// The bytes are not what they should be; what exactly is for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Broken(pub(super) &'static str);

/// Bytes being read.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn byte(&mut self) -> Result<u8, Broken> {
        let (first, rest) = self.0.split_first().ok_or(Broken("it ends too early"))?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn number(&mut self) -> Result<u64, Broken> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Broken("a number is too large"))
    }

    pub(super) fn small(&mut self) -> Result<u32, Broken> {
        u32::try_from(self.number()?).map_err(|_| Broken("a number is too large"))
    }

    pub(super) fn size(&mut self) -> Result<usize, Broken> {
        usize::try_from(self.number()?).map_err(|_| Broken("a number is too large"))
    }

    pub(super) fn flag(&mut self) -> Result<bool, Broken> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Broken("a flag is neither 0 nor 1")),
        }
    }

    pub(super) fn exact<const N: usize>(&mut self) -> Result<[u8; N], Broken> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(Broken("it ends too early"))?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Broken> {
        let length = self.size()?;
        let (first, rest) = self.0.split_at_checked(length).ok_or(Broken("it ends too early"))?;
        self.0 = rest;
        Ok(first)
    }

    pub(super) fn str(&mut self) -> Result<&'a str, Broken> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Broken("a text is not UTF-8"))
    }

    pub(super) fn text(&mut self) -> Result<String, Broken> {
        self.str().map(str::to_owned)
    }

    pub(super) fn maybe<T>(&mut self, take: impl FnOnce(&mut Self) -> Result<T, Broken>) -> Result<Option<T>, Broken> {
        if self.flag()? { take(self).map(Some) } else { Ok(None) }
    }

    pub(super) fn many<T>(&mut self, take: impl Fn(&mut Self) -> Result<T, Broken>) -> Result<Vec<T>, Broken> {
        let count = self.size()?;
        // Every item takes at least a byte: a count past the bytes is a lie, and nothing is set aside for it.
        if count > self.0.len() {
            return Err(Broken("it ends too early"));
        }
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(take(self)?);
        }
        Ok(values)
    }

    pub(super) fn end(&self) -> Result<(), Broken> {
        if self.0.is_empty() { Ok(()) } else { Err(Broken("something follows its end")) }
    }
}
