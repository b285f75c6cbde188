//! Where encoded bytes go.

/// A buffer that the encoder appends to.
pub trait Sink {
    /// Return the number of bytes written.
    fn len(&self) -> usize;
    /// Return whether nothing has been written.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Make room for `additional` more bytes.
    fn reserve(&mut self, additional: usize);
    /// Append bytes.
    fn put(&mut self, bytes: &[u8]);
    /// Append an array of bytes.
    #[inline(always)]
    fn put_array<const N: usize>(&mut self, bytes: [u8; N]) {
        self.put(&bytes);
    }
    /// Append the last `count` bytes of `word`, at most 16.
    #[inline(always)]
    fn put_end(&mut self, word: u128, count: usize) {
        let bytes = word.to_be_bytes();
        self.put(bytes.get(16usize.saturating_sub(count)..).unwrap_or(&bytes));
    }
    /// Append a copy of bytes written earlier.
    fn repeat(&mut self, held: std::ops::Range<usize>);
    /// Remove all bytes from `len` on.
    fn truncate(&mut self, len: usize);
}

impl Sink for Vec<u8> {
    fn len(&self) -> usize {
        Self::len(self)
    }
    fn reserve(&mut self, additional: usize) {
        Self::reserve(self, additional);
    }
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
    fn repeat(&mut self, held: std::ops::Range<usize>) {
        self.extend_from_within(held);
    }
    fn truncate(&mut self, len: usize) {
        Self::truncate(self, len);
    }
}

/// Append an unsigned varint.
#[inline(always)]
pub(crate) fn put_uvarint(out: &mut impl Sink, mut value: u32) {
    while value > 0x7f {
        out.put_array([value.to_le_bytes()[0] | 0x80]);
        value >>= 7;
    }
    out.put_array([value.to_le_bytes()[0]]);
}

/// Bytes on their way to a sink, collected in a register. Calling the sink for each field costs more than encoding the
/// field.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) word: u128,
    pub(crate) count: usize,
}

impl Pending {
    pub(crate) const NONE: Self = Self { word: 0, count: 0 };

    /// Append the last `size` bytes of `value`, at most 8.
    #[inline(always)]
    pub(crate) fn push<O: Sink>(&mut self, value: u64, size: usize, out: &mut O) {
        if self.count + size > 16 {
            self.flush(out);
        }
        let kept = if size < 8 {
            value & ((1 << (8 * size)) - 1)
        } else {
            value
        };
        self.word = self.word << (8 * size) | u128::from(kept);
        self.count += size;
    }

    /// Append the last `size` bytes of `word`, at most 16.
    #[inline(always)]
    pub(crate) fn push_word<O: Sink>(&mut self, word: u128, size: usize, out: &mut O) {
        if self.count + size > 16 {
            self.flush(out);
        }
        self.word = if size < 16 {
            self.word << (8 * size) | word
        } else {
            word
        };
        self.count += size;
    }

    #[inline(always)]
    pub(crate) fn flush<O: Sink>(&mut self, out: &mut O) {
        if self.count > 0 {
            out.put_end(self.word, self.count);
            *self = Self::NONE;
        }
    }
}
