//! The walker over the records of a batch.

use crate::batch::{Header, OVERHEAD_V2, RawBatch};
use crate::compression::{BATCH_SIZE, Budget, Compression, Compressor, Failure, HEADER_SIZE, RECORD_SIZE, WIDENED};
use crate::error::{DecodeError, DecodeKind};
use crate::legacy;
use crate::reader::Reader;

/// The smallest record: length, attributes, two deltas, key length, value length, and header count.
pub(crate) const SMALLEST_RECORD: usize = 7;

/// One record without its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The absolute offset.
    pub offset: i64,
    /// Milliseconds since the epoch: the time of creation or of the append to the log. -1 if there is none.
    pub timestamp: i64,
    /// The stored time, which an append time of the batch hides; else the same as `timestamp`.
    pub raw_timestamp: i64,
    /// The key, or None for null.
    pub key: Option<&'a [u8]>,
    /// The value, or None for null.
    pub value: Option<&'a [u8]>,
    /// The number of headers that follow.
    pub headers: usize,
}

/// Builds values. The walker has checked the bytes.
pub trait Visitor {
    /// Why building failed, such as lack of memory.
    type Error;

    /// A batch begins. It has at most `count` records, for which there are enough bytes.
    fn batch(&mut self, header: &Header, count: usize) -> Result<(), Self::Error>;
    /// The next record. Its headers follow.
    fn record(&mut self, record: &Record<'_>) -> Result<(), Self::Error>;
    /// The next header of the last record. The key may be invalid UTF-8.
    fn header(&mut self, index: usize, key: &[u8], value: Option<&[u8]>) -> Result<(), Self::Error>;
}

/// Why decoding stopped: invalid bytes, or an error of the visitor.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop<E> {
    /// The bytes are invalid.
    Bytes(Box<DecodeError>),
    /// The error of the visitor.
    Visitor(E),
}

impl<E> From<Box<DecodeError>> for Stop<E> {
    fn from(error: Box<DecodeError>) -> Self {
        Self::Bytes(error)
    }
}

impl<E> Stop<E> {
    #[cold]
    pub(crate) fn map_bytes(self, change: impl FnOnce(Box<DecodeError>) -> Box<DecodeError>) -> Self {
        match self {
            Self::Bytes(error) => Self::Bytes(change(error)),
            visitor @ Self::Visitor(_) => visitor,
        }
    }
}

/// Decodes batches. Reuses buffers between batches.
#[derive(Default)]
pub struct Decoder {
    compressor: Compressor,
    decompressed: Vec<u8>,
}

impl Decoder {
    /// Decompress and walk the records of a batch. Its own checksum is checked by [`RawBatch::check_crc`]; `check_crc`
    /// is for those of compressed message sets.
    pub fn walk<V: Visitor>(
        &mut self,
        batch: &RawBatch<'_>,
        check_crc: bool,
        budget: &mut Budget<'_>,
        visitor: &mut V,
    ) -> Result<(), Stop<V::Error>> {
        budget
            .charge(1, BATCH_SIZE)
            .map_err(|failure| refused(failure, batch.position).in_batch(batch.index))?;
        let walked = if batch.header.magic == 2 {
            self.walk_v2(batch, budget, visitor)
        } else {
            legacy::walk(self, batch, check_crc, budget, visitor)
        };
        walked.map_err(|stop| stop.map_bytes(|error| error.in_batch(batch.index)))
    }

    fn walk_v2<V: Visitor>(
        &mut self,
        batch: &RawBatch<'_>,
        budget: &mut Budget<'_>,
        visitor: &mut V,
    ) -> Result<(), Stop<V::Error>> {
        let header = &batch.header;
        let Some(compression) = Compression::from_number(header.codec()) else {
            return Err(DecodeError::at(DecodeKind::InvalidCompression, batch.position + 21)
                .in_field("attributes")
                .into());
        };
        let at_count = batch.position + OVERHEAD_V2 - 4;
        let Ok(count) = usize::try_from(header.count) else {
            return Err(DecodeError::at(DecodeKind::NegativeLength, at_count)
                .in_field("count")
                .into());
        };
        let payload = batch.bytes.get(OVERHEAD_V2..).unwrap_or_default();
        let start = batch.position + OVERHEAD_V2;
        if compression == Compression::None {
            budget
                .charge(payload.len(), 1)
                .map_err(|failure| refused(failure, start).in_field("records"))?;
            return walk_records(header, count, at_count, Reader::new(payload, start), budget, visitor);
        }
        if count == 0 && payload.is_empty() {
            // Compaction keeps batches after it has removed all their records.
            return visitor.batch(header, 0).map_err(Stop::Visitor);
        }
        self.decompress(compression, false, payload, start, budget)?;
        walk_records(
            header,
            count,
            at_count,
            Reader::new(&self.decompressed, 0),
            budget,
            visitor,
        )
        .map_err(|stop| {
            stop.map_bytes(|error| {
                if error.field == Some("count") {
                    error // it lies in the header
                } else {
                    error.in_decompressed()
                }
            })
        })
    }

    /// Decompress `payload`, which starts at `start` of the input.
    pub(crate) fn decompress(
        &mut self,
        compression: Compression,
        lenient_lz4: bool,
        payload: &[u8],
        start: usize,
        budget: &mut Budget<'_>,
    ) -> Result<(), Box<DecodeError>> {
        self.decompressed.clear();
        let made = self
            .compressor
            .decompress(compression, lenient_lz4, payload, budget, &mut self.decompressed);
        made.map_err(|failure| refused(failure, start).in_field("records"))
    }

    /// Free the buffer of decompressed records if it is larger than `max_bytes`.
    pub fn release(&mut self, max_bytes: usize) {
        if self.decompressed.capacity() > max_bytes {
            self.decompressed = Vec::new();
        }
    }

    pub(crate) fn decompressed(&self) -> &[u8] {
        &self.decompressed
    }
}

#[cold]
pub(crate) fn refused(failure: Failure, offset: usize) -> Box<DecodeError> {
    match failure {
        Failure::Corrupt => DecodeError::at(DecodeKind::CorruptCompression, offset),
        Failure::OutOfMemory => DecodeError::at(DecodeKind::OutOfMemory, offset),
        Failure::TooLarge(limit) => {
            let mut error = DecodeError::at(DecodeKind::LimitExceeded, offset);
            error.wanted = Some(limit as u64);
            error
        }
    }
}

fn walk_records<V: Visitor>(
    header: &Header,
    count: usize,
    at_count: usize,
    mut reader: Reader<'_>,
    budget: &mut Budget<'_>,
    visitor: &mut V,
) -> Result<(), Stop<V::Error>> {
    let smallest = count.saturating_mul(SMALLEST_RECORD);
    if smallest > reader.left() {
        return Err(
            DecodeError::sized(DecodeKind::CountExceedsInput, at_count, smallest as u64, reader.left())
                .in_field("count")
                .into(),
        );
    }
    budget
        .charge(count, RECORD_SIZE)
        .map_err(|failure| refused(failure, at_count).in_field("count"))?;
    visitor.batch(header, count).map_err(Stop::Visitor)?;
    let append_time = header.is_log_append_time().then_some(header.max_timestamp);
    for index in 0..count {
        walk_record(header, append_time, &mut reader, budget, visitor)
            .map_err(|stop| stop.map_bytes(|error| error.in_record(index)))?;
    }
    if reader.left() > 0 {
        return Err(
            DecodeError::sized(DecodeKind::TrailingBytes, reader.offset(), 0, reader.left())
                .in_field("records")
                .into(),
        );
    }
    Ok(())
}

#[inline(always)]
fn walk_record<V: Visitor>(
    header: &Header,
    append_time: Option<i64>,
    reader: &mut Reader<'_>,
    budget: &mut Budget<'_>,
    visitor: &mut V,
) -> Result<(), Stop<V::Error>> {
    let start = reader.offset();
    let length = reader.varint().map_err(|error| error.in_field("length"))?;
    let Ok(length) = usize::try_from(length) else {
        return Err(DecodeError::at(DecodeKind::NegativeLength, start)
            .in_field("length")
            .into());
    };
    let mut body = reader.child(length, start).map_err(|error| error.in_field("length"))?;
    body.int8().map_err(|error| error.in_field("attributes"))?; // unused by Kafka
    let timestamp_delta = body.varlong().map_err(|error| error.in_field("timestamp_delta"))?;
    let offset_delta = body.varint().map_err(|error| error.in_field("offset_delta"))?;
    let key = nullable(&mut body).map_err(|error| error.in_field("key"))?;
    let value = nullable(&mut body).map_err(|error| error.in_field("value"))?;
    let at_headers = body.offset();
    let headers = body.varint().map_err(|error| error.in_field("headers"))?;
    let Ok(headers) = usize::try_from(headers) else {
        return Err(DecodeError::at(DecodeKind::NegativeLength, at_headers)
            .in_field("headers")
            .into());
    };
    // A header has at least two lengths.
    let smallest = headers.saturating_mul(2);
    if smallest > body.left() {
        return Err(
            DecodeError::sized(DecodeKind::CountExceedsInput, at_headers, smallest as u64, body.left())
                .in_field("headers")
                .into(),
        );
    }
    budget
        .charge(headers, HEADER_SIZE)
        .map_err(|failure| refused(failure, at_headers).in_field("headers"))?;
    // Java's arithmetic wraps as well.
    let raw_timestamp = header.base_timestamp.wrapping_add(timestamp_delta);
    let record = Record {
        offset: header.base_offset.wrapping_add(offset_delta.into()),
        timestamp: append_time.unwrap_or(raw_timestamp),
        raw_timestamp,
        key,
        value,
        headers,
    };
    visitor.record(&record).map_err(Stop::Visitor)?;
    for index in 0..headers {
        walk_header(index, &mut body, budget, visitor)
            .map_err(|stop| stop.map_bytes(|error| error.in_header(index)))?;
    }
    if body.left() > 0 {
        return Err(DecodeError::sized(DecodeKind::TrailingBytes, body.offset(), 0, body.left()).into());
    }
    Ok(())
}

#[inline(always)]
fn walk_header<V: Visitor>(
    index: usize,
    body: &mut Reader<'_>,
    budget: &mut Budget<'_>,
    visitor: &mut V,
) -> Result<(), Stop<V::Error>> {
    let start = body.offset();
    let length = body.varint().map_err(|error| error.in_field("key"))?;
    let Ok(length) = usize::try_from(length) else {
        let kind = if length == -1 {
            DecodeKind::NullNotAllowed
        } else {
            DecodeKind::NegativeLength
        };
        return Err(DecodeError::at(kind, start).in_field("key").into());
    };
    let key = body.take(length, start).map_err(|error| error.in_field("key"))?;
    budget
        .charge(length, WIDENED)
        .map_err(|failure| refused(failure, start).in_field("key"))?;
    let value = nullable(body).map_err(|error| error.in_field("value"))?;
    visitor.header(index, key, value).map_err(Stop::Visitor)
}

/// Read bytes with a varint length. Like Kafka, take every negative length for null.
#[inline(always)]
fn nullable<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Box<DecodeError>> {
    let start = reader.offset();
    match usize::try_from(reader.varint()?) {
        Ok(length) => reader.take(length, start).map(Some),
        Err(_) => Ok(None),
    }
}
