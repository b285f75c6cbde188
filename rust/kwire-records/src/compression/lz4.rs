//! The LZ4 frame format as Kafka's `Lz4BlockInputStream` reads it.
//!
//! Blocks must not depend on one another, block checksums are checked, a content checksum must be there but is not
//! compared, and everything after the end mark is ignored.

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

use super::{Failure, append, append_zeros};

const MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();
const VERSION: u8 = 0x40;
const VERSION_MASK: u8 = 0xc0;
const INDEPENDENT_BLOCKS: u8 = 0x20;
const BLOCK_CHECKSUMS: u8 = 0x10;
const CONTENT_SIZE: u8 = 0x08;
const CONTENT_CHECKSUM: u8 = 0x04;
const RESERVED: u8 = 0x03;
/// The bit of a block size that marks an uncompressed block.
const UNCOMPRESSED: u32 = 1 << 31;
/// Blocks of 64 KiB, which Kafka writes.
const BLOCK: usize = 1 << 16;
const BLOCK_DESCRIPTOR: u8 = 4 << 4;
/// A byte of a compressed block expands to at most this many bytes.
const MAX_EXPANSION: usize = 256;

pub(super) fn decompress(bytes: &[u8], lenient: bool, allowed: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
    let (flags, max_block, mut rest) = header(bytes, lenient).ok_or(Failure::Corrupt)?;
    loop {
        let (size, after) = rest.split_first_chunk::<4>().ok_or(Failure::Corrupt)?;
        let word = u32::from_le_bytes(*size);
        let size = (word & !UNCOMPRESSED) as usize;
        if size == 0 {
            let complete = flags & CONTENT_CHECKSUM == 0 || after.len() >= 4;
            return if complete { Ok(()) } else { Err(Failure::Corrupt) };
        }
        if size > max_block {
            return Err(Failure::Corrupt);
        }
        let (block, after) = after.split_at_checked(size).ok_or(Failure::Corrupt)?;
        rest = after;
        if flags & BLOCK_CHECKSUMS != 0 {
            let (stored, after) = rest.split_first_chunk::<4>().ok_or(Failure::Corrupt)?;
            if xxhash32(block) != u32::from_le_bytes(*stored) {
                return Err(Failure::Corrupt);
            }
            rest = after;
        }
        if word & UNCOMPRESSED == 0 {
            let start = out.len();
            append_zeros(max_block.min(size * MAX_EXPANSION), out)?;
            let room = out.get_mut(start..).unwrap_or_default();
            let written = decompress_into(block, room).map_err(|_| Failure::Corrupt)?;
            out.truncate(start + written);
        } else {
            append(block, out)?;
        }
        if out.len() > allowed {
            return Err(Failure::TooLarge(allowed));
        }
    }
}

/// Return the flags, the largest block size, and the bytes after the header.
fn header(bytes: &[u8], lenient: bool) -> Option<(u8, usize, &[u8])> {
    let (magic, descriptor) = bytes.split_first_chunk::<4>()?;
    let (&[flags, block], _) = descriptor.split_first_chunk::<2>()?;
    let valid = *magic == MAGIC
        && flags & (VERSION_MASK | INDEPENDENT_BLOCKS | RESERVED) == VERSION | INDEPENDENT_BLOCKS
        && block & 0x8f == 0
        && block >> 4 >= 4;
    if !valid {
        return None;
    }
    let length = if flags & CONTENT_SIZE == 0 { 2 } else { 10 };
    let (hashed, rest) = descriptor.split_at_checked(length)?;
    let (&checksum, rest) = rest.split_first()?;
    if !lenient && checksum != descriptor_checksum(hashed) {
        return None;
    }
    Some((flags, 1 << (2 * (block >> 4) + 8), rest))
}

fn descriptor_checksum(hashed: &[u8]) -> u8 {
    xxhash32(hashed).to_be_bytes()[2]
}

pub(super) fn compress(bytes: &[u8], wrong_checksum: bool, out: &mut Vec<u8>) -> Result<(), Failure> {
    let start = out.len();
    append(&MAGIC, out)?;
    append(&[VERSION | INDEPENDENT_BLOCKS, BLOCK_DESCRIPTOR], out)?;
    // Kafka before 0.10 included the magic in the checksum of the descriptor.
    let hashed = if wrong_checksum { start } else { start + MAGIC.len() };
    let checksum = descriptor_checksum(out.get(hashed..).unwrap_or_default());
    append(&[checksum], out)?;
    for block in bytes.chunks(BLOCK) {
        let at_size = out.len();
        let start = at_size + 4;
        append_zeros(4 + get_maximum_output_size(block.len()), out)?;
        let room = out.get_mut(start..).unwrap_or_default();
        let written = compress_into(block, room).map_err(|_| Failure::Corrupt)?;
        let word = if written < block.len() {
            out.truncate(start + written);
            u32::try_from(written).map_err(|_| Failure::Corrupt)?
        } else {
            out.truncate(start);
            append(block, out)?;
            u32::try_from(block.len()).map_err(|_| Failure::Corrupt)? | UNCOMPRESSED
        };
        if let Some(place) = out.get_mut(at_size..start) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }
    append(&[0; 4], out) // the end mark
}

/// Return the 32-bit xxHash with seed 0.
fn xxhash32(bytes: &[u8]) -> u32 {
    const P1: u32 = 0x9e37_79b1;
    const P2: u32 = 0x85eb_ca77;
    const P3: u32 = 0xc2b2_ae3d;
    const P4: u32 = 0x27d4_eb2f;
    const P5: u32 = 0x1656_67b1;
    let round = |state: u32, word: u32| {
        state
            .wrapping_add(word.wrapping_mul(P2))
            .rotate_left(13)
            .wrapping_mul(P1)
    };
    let (stripes, tail) = bytes.as_chunks::<16>();
    let mut hash = if stripes.is_empty() {
        P5
    } else {
        let mut lanes = [P1.wrapping_add(P2), P2, 0, 0u32.wrapping_sub(P1)];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<4>().0) {
                *lane = round(*lane, u32::from_le_bytes(*word));
            }
        }
        let [a, b, c, d] = lanes;
        a.rotate_left(1)
            .wrapping_add(b.rotate_left(7))
            .wrapping_add(c.rotate_left(12))
            .wrapping_add(d.rotate_left(18))
    };
    // The length modulo 2^32, as the algorithm defines it.
    let length = u32::try_from(bytes.len() & 0xffff_ffff).unwrap_or(0);
    hash = hash.wrapping_add(length);
    let (words, tail) = tail.as_chunks::<4>();
    for word in words {
        hash = hash
            .wrapping_add(u32::from_le_bytes(*word).wrapping_mul(P3))
            .rotate_left(17)
            .wrapping_mul(P4);
    }
    for byte in tail {
        hash = hash
            .wrapping_add(u32::from(*byte).wrapping_mul(P5))
            .rotate_left(11)
            .wrapping_mul(P1);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(P2);
    hash = (hash ^ hash >> 13).wrapping_mul(P3);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xxhash32_of_known_inputs() {
        assert_eq!(xxhash32(b""), 0x02cc_5d05);
        assert_eq!(xxhash32(b"a"), 0x550d_7456);
        assert_eq!(xxhash32(b"Nobody inspects the spammish repetition"), 0xe229_3b2f);
    }
}
