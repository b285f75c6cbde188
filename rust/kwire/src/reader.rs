//! A bounded reader of the bytes of a message or of a tagged value.
//!
//! Every read checks the remaining length. A length becomes a slice or a child reader, never a number that later code
//! trusts. Offsets count from the start of the whole input.

use crate::error::{DecodeKind, Stop};

/// The longest string in bytes that Kafka accepts, whatever the length prefix can express.
pub(crate) const MAX_STRING: usize = 0x7fff;

#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// The offset of the byte after `rest`.
    end: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self {
            rest: input,
            end: input.len(),
        }
    }

    #[inline(always)]
    pub(crate) fn offset(&self) -> usize {
        // Never wraps, because `rest` ends at `end`. A checked subtraction could panic, so it could not be moved to the
        // error paths, which alone need the value.
        self.end.wrapping_sub(self.rest.len())
    }

    #[inline(always)]
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Skip bytes that are known to be there. Skips to the end if fewer are left.
    #[inline(always)]
    pub(crate) fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// Continue at `rest`, which must be a suffix of this reader's bytes.
    #[inline(always)]
    pub(crate) fn continue_at(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    /// Take `count` bytes if they are there.
    #[inline(always)]
    pub(crate) fn try_take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// Take `count` bytes. An error names `start`, the offset of the value.
    #[inline(always)]
    pub(crate) fn take<E>(&mut self, count: usize, start: usize) -> Result<&'a [u8], Stop<E>> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(Stop::short(start, count as u64, self.left())),
        }
    }

    /// Take `count` bytes as a reader of its own.
    #[inline]
    pub(crate) fn child<E>(&mut self, count: usize, start: usize) -> Result<Self, Stop<E>> {
        let rest = self.take(count, start)?;
        Ok(Self {
            rest,
            end: start + count,
        })
    }

    #[inline(always)]
    pub(crate) fn array<const N: usize, E>(&mut self) -> Result<[u8; N], Stop<E>> {
        match self.rest.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(Stop::short(self.offset(), N as u64, self.left())),
        }
    }

    /// Read an unsigned varint of at most 32 bits.
    #[inline(always)]
    pub(crate) fn uvarint<E>(&mut self) -> Result<u32, Stop<E>> {
        match self.rest.split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.rest = rest;
                Ok(byte.into())
            }
            _ => {
                let (value, after) = self.long_uvarint()?;
                *self = after;
                Ok(value)
            }
        }
    }

    /// Takes the reader by value: if its address escaped, it could not stay in registers.
    #[inline(never)]
    fn long_uvarint<E>(mut self) -> Result<(u32, Self), Stop<E>> {
        let start = self.offset();
        let mut value = 0u32;
        for (index, &byte) in self.rest.iter().take(5).enumerate() {
            if index == 4 && byte > 0x0f {
                return Err(Stop::at(DecodeKind::VarintOverflow, start));
            }
            value |= u32::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.skip(index + 1);
                return Ok((value, self));
            }
        }
        // Fewer than five bytes were left. A fifth byte ends the loop in any case.
        Err(Stop::short(start, 1, 0))
    }

    /// Read the length of a string, bytes, or an array. Returns `None` for null.
    #[inline(always)]
    pub(crate) fn length<E>(&mut self, compact: bool, nullable: bool, wide: bool) -> Result<Option<usize>, Stop<E>> {
        let start = self.offset();
        let length = if compact {
            i64::from(self.uvarint()?) - 1
        } else if wide {
            i32::from_be_bytes(self.array()?).into()
        } else {
            i16::from_be_bytes(self.array()?).into()
        };
        match usize::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) if length == -1 && nullable => Ok(None),
            Err(_) => Err(Self::bad_length(length, start)),
        }
    }

    #[cold]
    fn bad_length<E>(length: i64, start: usize) -> Stop<E> {
        Stop::at(
            if length == -1 {
                DecodeKind::NullNotAllowed
            } else {
                DecodeKind::NegativeLength
            },
            start,
        )
    }
}
