//! A bounded reader of a batch, of its decompressed records, or of a record.
//!
//! Every read checks the remaining length. Offsets count from the start of the input or of the decompressed records.

use crate::error::{DecodeError, DecodeKind};

type Result<T> = std::result::Result<T, Box<DecodeError>>;

#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// The offset of the byte after `rest`.
    end: usize,
}

impl<'a> Reader<'a> {
    /// Read `bytes`, which begin at the offset `start`.
    pub(crate) fn new(bytes: &'a [u8], start: usize) -> Self {
        Self {
            rest: bytes,
            end: start + bytes.len(),
        }
    }

    #[inline(always)]
    pub(crate) fn offset(&self) -> usize {
        // Never wraps, because `rest` ends at `end`.
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

    /// Take `count` bytes. An error names `start`, the offset of the value.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: usize, start: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(DecodeError::sized(
                DecodeKind::Truncated,
                start,
                count as u64,
                self.left(),
            )),
        }
    }

    /// Take `count` bytes as a reader of their own.
    #[inline(always)]
    pub(crate) fn child(&mut self, count: usize, start: usize) -> Result<Self> {
        let rest = self.take(count, start)?;
        Ok(Self {
            rest,
            end: self.offset(),
        })
    }

    #[inline(always)]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(DecodeError::sized(
                DecodeKind::Truncated,
                self.offset(),
                N as u64,
                self.left(),
            )),
        }
    }

    #[inline(always)]
    pub(crate) fn int8(&mut self) -> Result<i8> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    #[inline(always)]
    pub(crate) fn int32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    #[inline(always)]
    pub(crate) fn int64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// Read a zigzag varint of at most 32 bits.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the bits are limited to 32")]
    pub(crate) fn varint(&mut self) -> Result<i32> {
        let bits = self.unsigned(5, 0x0f)? as u32;
        Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }

    /// Read a zigzag varint of at most 64 bits.
    #[inline(always)]
    pub(crate) fn varlong(&mut self) -> Result<i64> {
        let bits = self.unsigned(10, 0x01)?;
        Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }

    #[inline(always)]
    fn unsigned(&mut self, max_bytes: usize, max_last: u8) -> Result<u64> {
        match *self.rest {
            [first, ref rest @ ..] if first < 0x80 => {
                self.rest = rest;
                Ok(first.into())
            }
            [first, second, ref rest @ ..] if second < 0x80 => {
                self.rest = rest;
                Ok(u64::from(first & 0x7f) | u64::from(second) << 7)
            }
            _ => {
                let (value, after) = self.long(max_bytes, max_last)?;
                *self = after;
                Ok(value)
            }
        }
    }

    /// Takes the reader by value: if its address escaped, it could not stay in registers.
    #[inline(never)]
    fn long(mut self, max_bytes: usize, max_last: u8) -> Result<(u64, Self)> {
        let start = self.offset();
        let mut value = 0u64;
        for (index, &byte) in self.rest.iter().take(max_bytes).enumerate() {
            if index + 1 == max_bytes && byte > max_last {
                return Err(DecodeError::at(DecodeKind::VarintOverflow, start));
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.rest = self.rest.get(index + 1..).unwrap_or_default();
                return Ok((value, self));
            }
        }
        // Fewer bytes than the longest varint were left. Its last byte ends the loop in any case.
        Err(DecodeError::sized(DecodeKind::Truncated, start, 1, 0))
    }
}
