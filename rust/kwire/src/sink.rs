//! Where encoded bytes go.

use std::ops::Range;

/// A buffer that the encoder appends to.
pub trait Sink {
    /// Appends to this sink from registers.
    type Cursor<'s>: Cursor
    where
        Self: 's;

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
    /// Append through a cursor. The sink is borrowed until the cursor is closed.
    fn open(&mut self) -> Self::Cursor<'_>;
    /// Append `count` zeros and return them, to be overwritten. Returns `None` if memory is exhausted.
    fn zeros(&mut self, count: usize) -> Option<&mut [u8]>;
    /// Append a copy of bytes written earlier.
    fn repeat(&mut self, held: Range<usize>);
    /// Remove all bytes from `len` on.
    fn truncate(&mut self, len: usize);
}

/// The end of a sink, held by value. As long as the cursor is not passed to a function that is not inlined, its position
/// stays in a register from field to field; a sink would load and store its length each time.
pub trait Cursor {
    /// Append a few bytes.
    fn push<const N: usize>(&mut self, bytes: [u8; N]);
    /// Return the number of bytes in the sink, including those pushed.
    fn position(&self) -> usize;
    /// Append a copy of bytes written earlier.
    fn repeat(&mut self, held: Range<usize>);
    /// Return the sink to its owner. What was pushed may be lost if the cursor is dropped instead.
    fn close(self);
}

impl Sink for Vec<u8> {
    type Cursor<'s> = &'s mut Self;

    fn len(&self) -> usize {
        Self::len(self)
    }
    fn reserve(&mut self, additional: usize) {
        Self::reserve(self, additional);
    }
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
    fn open(&mut self) -> &mut Self {
        self
    }
    fn zeros(&mut self, count: usize) -> Option<&mut [u8]> {
        let start = Self::len(self);
        self.resize(start.checked_add(count)?, 0);
        self.get_mut(start..)
    }
    fn repeat(&mut self, held: Range<usize>) {
        self.extend_from_within(held);
    }
    fn truncate(&mut self, len: usize) {
        Self::truncate(self, len);
    }
}

impl Cursor for &mut Vec<u8> {
    #[inline(always)]
    fn push<const N: usize>(&mut self, bytes: [u8; N]) {
        self.extend_from_slice(&bytes);
    }
    fn position(&self) -> usize {
        self.len()
    }
    fn repeat(&mut self, held: Range<usize>) {
        self.extend_from_within(held);
    }
    fn close(self) {}
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
