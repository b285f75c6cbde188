//! Zstandard: any number of frames one after another.

use zstd::zstd_safe::{
    CCtx, CParameter, DCtx, ErrorCode, InBuffer, OutBuffer, ResetDirective, compress_bound, get_error_name,
    get_frame_content_size,
};

use super::{Failure, append, grow};

/// Memory is allocated for a claimed size of up to this multiple of the compressed bytes.
const TRUSTED_RATIO: usize = 64;
/// The name of the library's error if it gets no memory, which the binding has no constant for.
const OUT_OF_MEMORY: &str = "Allocation error : not enough memory";

#[derive(Default)]
pub(super) struct Zstd {
    decoder: Option<DCtx<'static>>,
    encoder: Option<CCtx<'static>>,
    compressed: Vec<u8>,
}

impl Zstd {
    pub(super) fn decompress(&mut self, bytes: &[u8], allowed: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            empty => empty.insert(DCtx::try_create().ok_or(Failure::OutOfMemory)?),
        };
        decoder.reset(ResetDirective::SessionOnly).map_err(failure)?;
        let mut input = InBuffer::around(bytes);
        let mut complete = true;
        // With room for the whole content, the library decompresses without a window of its own.
        let content = match get_frame_content_size(bytes) {
            Ok(Some(size)) => usize::try_from(size).unwrap_or(usize::MAX),
            _ => 0,
        };
        let claimed = content.saturating_add(1).min(bytes.len().saturating_mul(TRUSTED_RATIO));
        grow(out, claimed.max(bytes.len().saturating_mul(4)), allowed)?;
        while input.pos() < bytes.len() || !complete {
            let (read, written) = (input.pos(), out.len());
            let mut output = OutBuffer::around_pos(out, written);
            let hint = decoder.decompress_stream(&mut output, &mut input).map_err(failure)?;
            complete = hint == 0;
            if out.len() > allowed {
                return Err(Failure::TooLarge(allowed));
            }
            if out.len() == out.capacity() {
                grow(out, 1, allowed)?;
            } else if input.pos() == read && out.len() == written {
                // No progress although there is room: the last frame is cut short.
                return Err(Failure::Corrupt);
            }
        }
        Ok(())
    }

    pub(super) fn compress(&mut self, bytes: &[u8], level: Option<i32>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            empty => empty.insert(CCtx::try_create().ok_or(Failure::OutOfMemory)?),
        };
        let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
        encoder
            .set_parameter(CParameter::CompressionLevel(level))
            .map_err(failure)?;
        self.compressed.clear();
        self.compressed.try_reserve(compress_bound(bytes.len()))?;
        encoder.compress2(&mut self.compressed, bytes).map_err(failure)?;
        append(&self.compressed, out)
    }
}

#[cold]
fn failure(code: ErrorCode) -> Failure {
    if get_error_name(code) == OUT_OF_MEMORY {
        Failure::OutOfMemory
    } else {
        Failure::Corrupt
    }
}
