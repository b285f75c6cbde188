//! Strings and byte strings in one buffer, as Arrow keeps them.

/// Strings or bytes, one after the other.
pub(crate) struct Text {
    /// Zero, then the end of each value.
    pub(crate) offsets: Vec<i32>,
    pub(crate) bytes: Vec<u8>,
}

impl Text {
    pub(crate) fn new() -> Self {
        Self {
            offsets: vec![0],
            bytes: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.offsets.get(index.checked_add(1)?)?;
        self.bytes.get(unsigned(*self.offsets.get(index)?)..unsigned(end))
    }

    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.offsets.push(signed(self.bytes.len()));
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.offsets.truncate(len + 1);
        self.bytes.truncate(self.offsets.last().map_or(0, |end| unsigned(*end)));
    }
}

/// Convert to Arrow's index type. Always fits, because the size of a batch is limited.
#[inline(always)]
pub(crate) fn signed(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[inline(always)]
pub(crate) fn unsigned(count: i32) -> usize {
    usize::try_from(count).unwrap_or_default()
}
