//! Compression of the records of a batch.
//!
//! Decompression is bounded: it stops as soon as the output exceeds the limits of the caller, and memory is never
//! allocated because of a size that the compressed bytes merely claim.

mod gzip;
mod lz4;
mod snappy;
mod zstd;

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

/// Limits of decompressed bytes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most bytes of all batches of a call.
    pub max_size: usize,
    /// The most bytes of a batch as a multiple of its compressed bytes. Applies beyond `Limits::ALWAYS_ALLOWED` bytes.
    pub max_ratio: usize,
}

impl Limits {
    /// Batches of at most this many decompressed bytes may have any ratio.
    pub const ALWAYS_ALLOWED: usize = 1 << 20;
    /// No limits.
    pub const NONE: Self = Self {
        max_size: usize::MAX,
        max_ratio: usize::MAX,
    };
}

/// The decompressed bytes that a call may still produce.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limits: Limits,
    left: usize,
}

impl Budget {
    /// Start a call.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            left: limits.max_size,
        }
    }

    /// Return how many bytes a batch of `compressed` bytes may decompress to.
    fn allowed(&self, compressed: usize) -> usize {
        let by_ratio = compressed
            .saturating_mul(self.limits.max_ratio)
            .max(Limits::ALWAYS_ALLOWED);
        // One more byte than allowed is requested, to find out whether there is one.
        self.left.min(by_ratio).min(usize::MAX - 1)
    }
}

/// Why bytes were not decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The compressed bytes are invalid.
    Corrupt,
    /// There are more than this many decompressed bytes.
    TooLarge(usize),
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
        budget: &mut Budget,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let allowed = budget.allowed(bytes.len());
        match compression {
            Compression::None => out.extend_from_slice(bytes),
            Compression::Gzip => self.gzip.decompress(bytes, allowed, out)?,
            Compression::Snappy => self.snappy.decompress(bytes, allowed, out)?,
            Compression::Lz4 => lz4::decompress(bytes, lenient_lz4, allowed, out)?,
            Compression::Zstd => self.zstd.decompress(bytes, allowed, out)?,
        }
        if out.len() > allowed {
            return Err(Failure::TooLarge(allowed));
        }
        budget.left = budget.left.saturating_sub(out.len());
        Ok(())
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
            Compression::None => out.extend_from_slice(bytes),
            Compression::Gzip => gzip::compress(bytes, level, out)?,
            Compression::Snappy => self.snappy.compress(bytes, out)?,
            Compression::Lz4 => lz4::compress(bytes, wrong_lz4_checksum, out)?,
            Compression::Zstd => self.zstd.compress(bytes, level, out)?,
        }
        Ok(())
    }
}

/// Make room for at least `wanted` more bytes, and at most so many that `out` can hold `allowed` and one more.
fn grow(out: &mut Vec<u8>, wanted: usize, allowed: usize) {
    let room = allowed.saturating_add(1).saturating_sub(out.len());
    out.reserve(wanted.max(out.len()).max(1 << 10).min(room));
}
