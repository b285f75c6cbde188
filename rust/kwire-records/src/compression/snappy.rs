//! Snappy in the framing of snappy-java (xerial), as Kafka writes it, and as a single raw block, as some clients do.

use super::{Failure, append, append_zeros};

const MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
/// Magic, version, and the oldest version that can read it.
const HEADER: usize = 16;
const VERSION: i32 = 1;
/// The size of an uncompressed block that Kafka writes.
const BLOCK: usize = 32 << 10;
/// No element of the format expands to more than this multiple of its bytes.
const MAX_EXPANSION: usize = 32;

pub(super) struct Snappy {
    encoder: snap::raw::Encoder,
    decoder: snap::raw::Decoder,
}

impl Default for Snappy {
    fn default() -> Self {
        Self {
            encoder: snap::raw::Encoder::new(),
            decoder: snap::raw::Decoder::new(),
        }
    }
}

impl Snappy {
    pub(super) fn decompress(&mut self, bytes: &[u8], allowed: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Err(Failure::Corrupt);
        }
        // The versions of the header are not read, as in Java: Redpanda writes them in little endian.
        let Some((_, mut rest)) = bytes
            .split_first_chunk::<HEADER>()
            .filter(|(header, _)| header.starts_with(&MAGIC))
        else {
            return self.block(bytes, allowed, out);
        };
        // Up to three bytes at the end are too short for the size of a chunk, and Java ignores them.
        while let Some((size, after)) = rest.split_first_chunk::<4>() {
            if *size == MAGIC[..4] {
                // Another stream follows.
                let header = rest.first_chunk::<HEADER>().ok_or(Failure::Corrupt)?;
                if !header.starts_with(&MAGIC) {
                    return Ok(());
                }
                rest = rest.get(HEADER..).unwrap_or_default();
                continue;
            }
            let size = usize::try_from(i32::from_be_bytes(*size)).map_err(|_| Failure::Corrupt)?;
            let (chunk, after) = after.split_at_checked(size).ok_or(Failure::Corrupt)?;
            self.block(chunk, allowed, out)?;
            rest = after;
        }
        Ok(())
    }

    fn block(&mut self, bytes: &[u8], allowed: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
        let size = snap::raw::decompress_len(bytes).map_err(|_| Failure::Corrupt)?;
        if bytes.is_empty() || size > bytes.len().saturating_mul(MAX_EXPANSION) {
            return Err(Failure::Corrupt);
        }
        let start = out.len();
        if size > allowed.saturating_sub(start) {
            return Err(Failure::TooLarge(allowed));
        }
        append_zeros(size, out)?;
        let room = out.get_mut(start..).unwrap_or_default();
        match self.decoder.decompress(bytes, room) {
            Ok(written) if written == size => Ok(()),
            _ => Err(Failure::Corrupt),
        }
    }

    pub(super) fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        append(&MAGIC, out)?;
        append(&VERSION.to_be_bytes(), out)?;
        append(&VERSION.to_be_bytes(), out)?;
        for block in bytes.chunks(BLOCK) {
            let compressed = self.encoder.compress_vec(block).map_err(|_| Failure::Corrupt)?;
            let size = u32::try_from(compressed.len()).map_err(|_| Failure::Corrupt)?;
            append(&size.to_be_bytes(), out)?;
            append(&compressed, out)?;
        }
        Ok(())
    }
}
