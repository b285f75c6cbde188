//! Compression of the records of a batch.
//!
//! Decompression is bounded: it stops as soon as the output exceeds the limits of the caller, and memory is never
//! allocated because of a size that the compressed bytes merely claim.

mod gzip;
mod lz4;
mod snappy;
mod zstd;

use std::collections::TryReserveError;

/// The type of compression, with the numbers of Kafka's `CompressionType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// None.
    None,
    /// RFC 1952.
    Gzip,
    /// Raw blocks, in the framing of the Java library snappy-java (xerial).
    Snappy,
    /// The frame format, with blocks that do not depend on one another.
    Lz4,
    /// RFC 8878; only in magic 2.
    Zstd,
}

impl Compression {
    /// Return the type with a number.
    pub fn from_number(number: i16) -> Option<Self> {
        Some(match number {
            0 => Self::None,
            1 => Self::Gzip,
            2 => Self::Snappy,
            3 => Self::Lz4,
            4 => Self::Zstd,
            _ => return None,
        })
    }
}

/// Limits of decoded batches.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most memory of all batches of a call in bytes: decompressed bytes, and the objects made of them.
    pub max_size: usize,
    /// The most decompressed bytes of a batch as a multiple of its compressed bytes, if they are more than
    /// [`Limits::ANY_RATIO`].
    pub max_ratio: usize,
}

impl Limits {
    /// Bytes to which any batch may decompress: batches of few different bytes compress better than any sensible ratio,
    /// and producers write them as large as others. All batches together have `max_size`.
    pub const ANY_RATIO: usize = 1 << 20;
    /// No limits.
    pub const NONE: Self = Self {
        max_size: usize::MAX,
        max_ratio: usize::MAX,
    };
}

/// Upper bounds of the memory of an object and of what it holds, in bytes, without the bytes of keys and values: a
/// `RecordBatch` with its numbers, a `Record` with two numbers, two `bytes`, and its place in a tuple, and a `Header` with
/// a `str` and a `bytes`. A test measures them. Rows of Arrow columns are smaller.
pub(crate) const BATCH_SIZE: usize = 640;
pub(crate) const RECORD_SIZE: usize = 352;
pub(crate) const HEADER_SIZE: usize = 192;
/// A character that is not in Latin-1 widens all characters of a `str` to two or four bytes.
pub(crate) const WIDENED: usize = 3;

/// Puts a number of bytes aside, in addition to earlier ones, so that allocations of this size in total succeed until the
/// end of the call. Returns false if memory is short.
pub type Hold<'h> = dyn Fn(usize) -> bool + 'h;

/// Bytes that Arrow columns allocate in total for each charged byte, at most: a vector that grows by doubling allocates
/// four times its final size, if no block that it leaves is reused, and rows take less than half of what they are charged.
const FACTOR: usize = 4;
/// The least that is put aside at once in bytes, before `FACTOR`.
const STEP: usize = 1 << 16;

/// What a call may still use.
#[derive(Clone, Copy)]
pub struct Budget<'h> {
    limits: Limits,
    left: usize,
    hold: Option<&'h Hold<'h>>,
    /// Bytes that memory is needed for, and bytes that it has been put aside for.
    needed: usize,
    held: usize,
}

impl<'h> Budget<'h> {
    /// Start a call whose visitor reports it if memory is short.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            left: limits.max_size,
            hold: None,
            needed: 0,
            held: 0,
        }
    }

    /// Start a call whose visitor cannot report it, so that memory is put aside first.
    pub(crate) fn holding(limits: Limits, hold: &'h Hold<'h>) -> Self {
        Self {
            hold: Some(hold),
            ..Self::new(limits)
        }
    }

    /// Charge `count` objects of `size` bytes each, before they are made.
    #[inline]
    pub(crate) fn charge(&mut self, count: usize, size: usize) -> Result<(), Failure> {
        let bytes = count.saturating_mul(size);
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                self.cover(bytes)
            }
            None => Err(Failure::TooLarge(self.limits.max_size)),
        }
    }

    /// Have memory for objects of `bytes` in total, which no limit counts.
    #[inline]
    pub(crate) fn cover(&mut self, bytes: usize) -> Result<(), Failure> {
        self.needed = self.needed.saturating_add(bytes);
        if self.needed > self.held {
            self.hold_more()
        } else {
            Ok(())
        }
    }

    #[cold]
    fn hold_more(&mut self) -> Result<(), Failure> {
        let target = self.needed.saturating_add((self.needed / 4).max(STEP));
        let more = (target - self.held).saturating_mul(FACTOR);
        if !self.hold.is_none_or(|hold| hold(more)) {
            return Err(Failure::OutOfMemory);
        }
        self.held = target;
        Ok(())
    }

    /// Return what is charged to an earlier state. What is put aside stays so.
    pub(crate) fn return_to(&mut self, before: &Self) {
        self.left = before.left;
    }

    /// Return how many bytes a batch of `compressed` bytes may decompress to.
    fn allowed(&self, compressed: usize) -> usize {
        let by_ratio = compressed.saturating_mul(self.limits.max_ratio).max(Limits::ANY_RATIO);
        // One more byte than allowed is requested, to find out whether there is one.
        self.left.min(by_ratio).min(usize::MAX - 1)
    }

    /// Charge `decompressed` bytes, which are allowed.
    fn charge_decompressed(&mut self, decompressed: usize) -> Result<(), Failure> {
        self.left = self.left.saturating_sub(decompressed);
        self.cover(decompressed)
    }
}

/// Why bytes were not decompressed or compressed, or objects were not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The compressed bytes are invalid.
    Corrupt,
    /// More than this many bytes are needed.
    TooLarge(usize),
    /// Memory is short.
    OutOfMemory,
}

impl From<TryReserveError> for Failure {
    fn from(_: TryReserveError) -> Self {
        Self::OutOfMemory
    }
}

/// Compresses and decompresses. Reuses the state of the libraries between batches.
#[derive(Default)]
pub(crate) struct Compressor {
    gzip: gzip::Gzip,
    snappy: snappy::Snappy,
    zstd: zstd::Zstd,
}

impl Compressor {
    /// Append the decompressed `bytes` to `out`, which must be empty.
    ///
    /// `lenient_lz4` skips the checksum of the frame descriptor, which writers of magic 0 computed incorrectly.
    pub(crate) fn decompress(
        &mut self,
        compression: Compression,
        lenient_lz4: bool,
        bytes: &[u8],
        budget: &mut Budget<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let allowed = budget.allowed(bytes.len());
        let decompressed = match compression {
            Compression::None => append(bytes, out),
            Compression::Gzip => self.gzip.decompress(bytes, allowed, out),
            Compression::Snappy => self.snappy.decompress(bytes, allowed, out),
            Compression::Lz4 => lz4::decompress(bytes, lenient_lz4, allowed, out),
            Compression::Zstd => self.zstd.decompress(bytes, allowed, out),
        };
        match decompressed {
            Ok(()) if out.len() <= allowed => (),
            // The limit that the caller knows, not what is left of it.
            Ok(()) | Err(Failure::TooLarge(_)) if allowed == budget.left => {
                return Err(Failure::TooLarge(budget.limits.max_size));
            }
            Ok(()) => return Err(Failure::TooLarge(allowed)),
            Err(failure) => return Err(failure),
        }
        budget.charge_decompressed(out.len())
    }

    /// Append the compressed `bytes` to `out`. `level` is for gzip and zstd; the others have none.
    pub(crate) fn compress(
        &mut self,
        compression: Compression,
        level: Option<i32>,
        wrong_lz4_checksum: bool,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        match compression {
            Compression::None => append(bytes, out)?,
            Compression::Gzip => gzip::compress(bytes, level, out)?,
            Compression::Snappy => self.snappy.compress(bytes, out)?,
            Compression::Lz4 => lz4::compress(bytes, wrong_lz4_checksum, out)?,
            Compression::Zstd => self.zstd.compress(bytes, level, out)?,
        }
        Ok(())
    }
}

/// Reserve at least `wanted` more bytes, never beyond `allowed + 1` in total (one more detects an overrun).
fn grow(out: &mut Vec<u8>, wanted: usize, allowed: usize) -> Result<(), Failure> {
    let room = allowed.saturating_add(1).saturating_sub(out.len());
    Ok(out.try_reserve(wanted.max(out.len()).max(1 << 10).min(room))?)
}

/// Append bytes.
fn append(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
    out.try_reserve(bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// Append `count` zeros.
fn append_zeros(count: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
    out.try_reserve(count)?;
    out.resize(out.len() + count, 0);
    Ok(())
}
