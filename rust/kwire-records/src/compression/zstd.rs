//! Zstandard: any number of frames one after another.

use zstd::bulk::Compressor;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::{Failure, grow};

/// Memory is allocated for a claimed size of up to this multiple of the compressed bytes.
const TRUSTED_RATIO: usize = 64;

#[derive(Default)]
pub(super) struct Zstd {
    decoder: Option<Decoder<'static>>,
    encoder: Option<(i32, Compressor<'static>)>,
    compressed: Vec<u8>,
}

impl Zstd {
    pub(super) fn decompress(&mut self, bytes: &[u8], allowed: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            empty => empty.insert(Decoder::new().map_err(|_| Failure::Corrupt)?),
        };
        decoder.reinit().map_err(|_| Failure::Corrupt)?;
        let mut input = InBuffer::around(bytes);
        let mut complete = true;
        // With room for the whole content, the library decompresses without a window of its own.
        let content = match zstd::zstd_safe::get_frame_content_size(bytes) {
            Ok(Some(size)) => usize::try_from(size).unwrap_or(usize::MAX),
            _ => 0,
        };
        let claimed = content.saturating_add(1).min(bytes.len().saturating_mul(TRUSTED_RATIO));
        grow(out, claimed.max(bytes.len().saturating_mul(4)), allowed);
        while input.pos() < bytes.len() || !complete {
            let (read, written) = (input.pos(), out.len());
            let mut output = OutBuffer::around_pos(out, written);
            let hint = decoder.run(&mut input, &mut output).map_err(|_| Failure::Corrupt)?;
            complete = hint == 0;
            if out.len() > allowed {
                return Err(Failure::TooLarge(allowed));
            }
            if out.len() == out.capacity() {
                grow(out, 1, allowed);
            } else if input.pos() == read && out.len() == written {
                // No progress although there is room: the last frame is cut short.
                return Err(Failure::Corrupt);
            }
        }
        Ok(())
    }

    pub(super) fn compress(&mut self, bytes: &[u8], level: Option<i32>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
        let encoder = match &mut self.encoder {
            Some((before, encoder)) if *before == level => encoder,
            other => {
                &mut other
                    .insert((level, Compressor::new(level).map_err(|_| Failure::Corrupt)?))
                    .1
            }
        };
        self.compressed.clear();
        self.compressed.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
        encoder
            .compress_to_buffer(bytes, &mut self.compressed)
            .map_err(|_| Failure::Corrupt)?;
        out.extend_from_slice(&self.compressed);
        Ok(())
    }
}
