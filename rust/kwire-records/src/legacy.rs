//! Message sets of magic 0 and 1.
//!
//! A compressed entry wraps a message set. Its own offset equals the last inner record's; inner offsets are absolute
//! in magic 0 and relative in magic 1 (KIP-31). If a wrapper of magic 1 has the append time, so have its records.

use crate::batch::{Header, LOG_OVERHEAD, RawBatch, SMALLEST_V0, SMALLEST_V1};
use crate::compression::{Budget, Compression, RECORD_SIZE};
use crate::decode::{Decoder, Record, Stop, Visitor, refused};
use crate::error::{DecodeError, DecodeKind};
use crate::reader::Reader;

type Result<T> = std::result::Result<T, Box<DecodeError>>;

const LOG_APPEND_TIME: i8 = 0x08;

/// One entry of a message set.
struct Entry<'a> {
    offset: i64,
    magic: i8,
    attributes: i8,
    at_attributes: usize,
    /// -1 in magic 0.
    timestamp: i64,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    at_value: usize,
}

impl Entry<'_> {
    fn codec(&self) -> i16 {
        (self.attributes & 0x07).into()
    }
}

pub(crate) fn walk<V: Visitor>(
    decoder: &mut Decoder,
    batch: &RawBatch<'_>,
    check_crc: bool,
    budget: &mut Budget<'_>,
    visitor: &mut V,
) -> std::result::Result<(), Stop<V::Error>> {
    let wrapper = entry(&mut Reader::new(batch.bytes, batch.position), false)?;
    let compression = Compression::from_number(wrapper.codec())
        .filter(|compression| *compression != Compression::Zstd)
        .ok_or_else(|| invalid_compression(&wrapper))?;
    if compression == Compression::None {
        budget
            .charge(1, batch.bytes.len().saturating_add(RECORD_SIZE))
            .map_err(|failure| refused(failure, batch.position).in_field("records"))?;
        visitor.batch(&batch.header, 1).map_err(Stop::Visitor)?;
        return visitor
            .record(&record(&wrapper, wrapper.offset, wrapper.timestamp))
            .map_err(Stop::Visitor);
    }
    let Some(value) = wrapper.value else {
        return Err(DecodeError::at(DecodeKind::NullNotAllowed, wrapper.at_value)
            .in_field("records")
            .into());
    };
    let start = wrapper.at_value + 4;
    decoder.decompress(compression, wrapper.magic == 0, value, start, budget)?;
    walk_inner(decoder.decompressed(), batch, &wrapper, check_crc, budget, visitor)
}

fn walk_inner<V: Visitor>(
    inner: &[u8],
    batch: &RawBatch<'_>,
    wrapper: &Entry<'_>,
    check_crc: bool,
    budget: &mut Budget<'_>,
    visitor: &mut V,
) -> std::result::Result<(), Stop<V::Error>> {
    // Absolute offsets follow from the last relative one, so the entries are read twice.
    let (count, last) = check_inner(inner, check_crc, budget).map_err(DecodeError::in_decompressed)?;
    let base = if wrapper.magic == 0 || wrapper.offset == 0 {
        // Some versions of librdkafka produce wrappers with the offset 0.
        0
    } else if wrapper.offset < last {
        return Err(DecodeError::at(DecodeKind::InvalidOffset, batch.position)
            .in_field("base_offset")
            .into());
    } else {
        wrapper.offset.wrapping_sub(last)
    };
    let append_time = (wrapper.magic == 1 && wrapper.attributes & LOG_APPEND_TIME != 0).then_some(wrapper.timestamp);
    let mut reader = Reader::new(inner, 0);
    for index in 0..count {
        let entry = entry(&mut reader, true)?;
        let offset = base.wrapping_add(entry.offset);
        if index == 0 {
            let header = Header {
                base_offset: offset,
                last_offset_delta: wrapper.offset.wrapping_sub(offset),
                ..batch.header
            };
            visitor.batch(&header, count).map_err(Stop::Visitor)?;
        }
        let timestamp = append_time.filter(|_| entry.magic == 1).unwrap_or(entry.timestamp);
        visitor
            .record(&record(&entry, offset, timestamp))
            .map_err(Stop::Visitor)?;
    }
    Ok(())
}

fn record<'a>(entry: &Entry<'a>, offset: i64, timestamp: i64) -> Record<'a> {
    Record {
        offset,
        timestamp,
        raw_timestamp: entry.timestamp,
        key: entry.key,
        value: entry.value,
        headers: 0,
    }
}

#[cold]
fn invalid_compression(entry: &Entry<'_>) -> Box<DecodeError> {
    DecodeError::at(DecodeKind::InvalidCompression, entry.at_attributes).in_field("attributes")
}

/// Check the entries of a decompressed message set. Returns their number, and the offset of the last one.
fn check_inner(inner: &[u8], check_crc: bool, budget: &mut Budget<'_>) -> Result<(usize, i64)> {
    let mut reader = Reader::new(inner, 0);
    let mut count = 0;
    let mut last = 0;
    // There is at least one.
    while reader.left() > 0 || count == 0 {
        let before = reader;
        budget
            .charge(1, RECORD_SIZE)
            .map_err(|failure| refused(failure, before.offset()).in_record(count))?;
        let checked = entry(&mut reader, true).and_then(|entry| {
            if check_crc {
                check_entry_crc(before, reader)?;
            }
            if entry.codec() == 0 {
                Ok(entry.offset)
            } else {
                Err(invalid_compression(&entry))
            }
        });
        last = checked.map_err(|error| error.in_record(count))?;
        count += 1;
    }
    Ok((count, last))
}

/// Check the checksum of the entry between two positions of a reader.
fn check_entry_crc(before: Reader<'_>, after: Reader<'_>) -> Result<()> {
    let bytes = before.rest().get(..before.left() - after.left()).unwrap_or_default();
    let computed = crc32fast::hash(bytes.get(LOG_OVERHEAD + 4..).unwrap_or_default());
    let stored = bytes.get(LOG_OVERHEAD..).and_then(|rest| rest.first_chunk::<4>());
    if stored.is_some_and(|stored| u32::from_be_bytes(*stored) == computed) {
        Ok(())
    } else {
        Err(DecodeError::at(DecodeKind::CrcMismatch, before.offset() + LOG_OVERHEAD).in_field("crc"))
    }
}

/// Read an entry. `Batches` has checked the length and the magic of outer ones.
fn entry<'a>(reader: &mut Reader<'a>, inner: bool) -> Result<Entry<'a>> {
    let offset = reader.int64().map_err(|error| error.in_field("offset"))?;
    let at_length = reader.offset();
    let name = if inner { "length" } else { "batch_length" };
    let length = reader.int32().map_err(|error| error.in_field(name))?;
    let Ok(length) = usize::try_from(length) else {
        return Err(DecodeError::at(DecodeKind::NegativeLength, at_length).in_field(name));
    };
    let too_short =
        |smallest: usize| DecodeError::sized(DecodeKind::Truncated, at_length, smallest as u64, length).in_field(name);
    if length < SMALLEST_V0 {
        return Err(too_short(SMALLEST_V0));
    }
    let mut body = reader.child(length, at_length).map_err(|error| error.in_field(name))?;
    body.int32()?; // the checksum
    let at_magic = body.offset();
    let magic = body.int8()?;
    let at_attributes = body.offset();
    let attributes = body.int8()?;
    let timestamp = match magic {
        0 => -1,
        1 if length < SMALLEST_V1 => return Err(too_short(SMALLEST_V1)),
        1 => body.int64()?,
        _ => return Err(DecodeError::at(DecodeKind::InvalidMagic, at_magic).in_field("magic")),
    };
    let key = nullable(&mut body).map_err(|error| error.in_field("key"))?;
    let at_value = body.offset();
    let value = nullable(&mut body).map_err(|error| error.in_field("value"))?;
    if body.left() > 0 {
        return Err(DecodeError::sized(
            DecodeKind::TrailingBytes,
            body.offset(),
            0,
            body.left(),
        ));
    }
    Ok(Entry {
        offset,
        magic,
        attributes,
        at_attributes,
        timestamp,
        key,
        value,
        at_value,
    })
}

/// Read bytes with an int32 length. Like Kafka, take every negative length for null.
fn nullable<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>> {
    let start = reader.offset();
    match usize::try_from(reader.int32()?) {
        Ok(length) => reader.take(length, start).map(Some),
        Err(_) => Ok(None),
    }
}
