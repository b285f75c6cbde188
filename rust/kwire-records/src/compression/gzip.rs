//! Gzip as `java.util.zip.GZIPInputStream` reads it: several members, and anything after them ignored.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::{Failure, append, grow};

const HEADER_CRC: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;
/// A following member that is not longer than this is not looked at: no member is as short.
const SHORTEST_MEMBER: usize = 18;

pub(super) struct Gzip(Decompress);

impl Default for Gzip {
    fn default() -> Self {
        Self(Decompress::new(false))
    }
}

impl Gzip {
    pub(super) fn decompress(&mut self, bytes: &[u8], allowed: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
        let mut rest = header(bytes).ok_or(Failure::Corrupt)?;
        loop {
            let start = out.len();
            rest = self.inflate(rest, allowed, out)?;
            let (trailer, after) = rest.split_first_chunk::<8>().ok_or(Failure::Corrupt)?;
            let member = out.get(start..).unwrap_or_default();
            let (crc, size) = (crc32fast::hash(member), member.len() as u64 & 0xffff_ffff);
            let stored = u64::from_le_bytes(*trailer);
            if stored != u64::from(crc) | size << 32 {
                return Err(Failure::Corrupt);
            }
            match header(after) {
                Some(next) if after.len() > SHORTEST_MEMBER => rest = next,
                _ => return Ok(()),
            }
        }
    }

    /// Inflate a deflate stream and return the bytes after it.
    fn inflate<'a>(&mut self, bytes: &'a [u8], allowed: usize, out: &mut Vec<u8>) -> Result<&'a [u8], Failure> {
        self.0.reset(false);
        let mut rest = bytes;
        grow(out, bytes.len().saturating_mul(4), allowed)?;
        loop {
            let (consumed, produced) = (self.0.total_in(), self.0.total_out());
            let status = self.0.decompress_vec(rest, out, FlushDecompress::None);
            let consumed = usize::try_from(self.0.total_in() - consumed).map_err(|_| Failure::Corrupt)?;
            rest = rest.get(consumed..).unwrap_or_default();
            match status {
                Ok(Status::StreamEnd) => return Ok(rest),
                Err(_) => return Err(Failure::Corrupt),
                Ok(_) if out.len() > allowed => return Err(Failure::TooLarge(allowed)),
                Ok(_) if out.len() == out.capacity() => grow(out, 1, allowed)?,
                // No progress although there is room: the stream is cut short.
                Ok(_) if consumed == 0 && self.0.total_out() == produced => return Err(Failure::Corrupt),
                Ok(_) => (),
            }
        }
    }
}

/// Return the bytes after the header of a member, or None if the header is invalid.
fn header(bytes: &[u8]) -> Option<&[u8]> {
    let (fixed, mut rest) = bytes.split_first_chunk::<10>()?;
    let [0x1f, 0x8b, 8, flags, ..] = *fixed else {
        return None;
    };
    if flags & EXTRA != 0 {
        let (length, after) = rest.split_first_chunk::<2>()?;
        rest = after.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = rest.get(end + 1..)?;
        }
    }
    if flags & HEADER_CRC != 0 {
        let read = bytes.get(..bytes.len() - rest.len())?;
        let (stored, after) = rest.split_first_chunk::<2>()?;
        if u32::from(u16::from_le_bytes(*stored)) != crc32fast::hash(read) & 0xffff {
            return None;
        }
        rest = after;
    }
    Some(rest)
}

pub(super) fn compress(bytes: &[u8], level: Option<i32>, out: &mut Vec<u8>) -> Result<(), Failure> {
    let level = level.map_or_else(Compression::default, |level| {
        Compression::new(level.clamp(0, 9).cast_unsigned())
    });
    // Without time, name, and extra flags, and with an unknown system, as Java writes it since version 16.
    append(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff], out)?;
    let mut deflate = Compress::new(level, false);
    let mut rest = bytes;
    out.try_reserve(bytes.len() / 2 + 64)?;
    loop {
        let before = deflate.total_in();
        let status = deflate.compress_vec(rest, out, FlushCompress::Finish);
        let consumed = usize::try_from(deflate.total_in() - before).map_err(|_| Failure::Corrupt)?;
        rest = rest.get(consumed..).unwrap_or_default();
        match status {
            Ok(Status::StreamEnd) => break,
            Ok(_) => out.try_reserve(out.len().max(64))?,
            Err(_) => return Err(Failure::Corrupt),
        }
    }
    append(&crc32fast::hash(bytes).to_le_bytes(), out)?;
    let size = bytes.len() as u64 & 0xffff_ffff;
    append(size.to_le_bytes().first_chunk::<4>().ok_or(Failure::Corrupt)?, out)
}
