//! Writing batches.

use crate::batch::{LOG_OVERHEAD, OVERHEAD_V2, SMALLEST_V0, SMALLEST_V1};
use crate::compression::{Compression, Compressor, Failure};
use crate::encode_error::{EncodeError, Problem, error, out_of_memory};
use crate::varint::{Small, put_varint, varint_size};

const LOG_APPEND_TIME: i16 = 0x08;

/// The fields of a batch besides its records. `None` derives a field from the records, as Kafka does.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the fields of `Header`")]
pub struct BatchFields {
    pub magic: i8,
    pub attributes: i16,
    pub base_offset: Option<i64>,
    pub last_offset_delta: Option<i64>,
    pub base_timestamp: Option<i64>,
    pub max_timestamp: Option<i64>,
    pub partition_leader_epoch: i32,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
}

/// A header of a record: key and value.
pub type RecordHeader<'a> = (&'a [u8], Option<&'a [u8]>);

/// A record to encode. Magic 2 writes offset and timestamp relative to those of the batch.
#[derive(Clone, Copy, Debug)]
pub struct NewRecord<'a> {
    /// The offset in the partition.
    pub offset: i64,
    /// Milliseconds since 1970-01-01T00:00:00Z; -1 for none.
    pub timestamp: i64,
    /// The stored time where the batch has an append time, if it is another one.
    pub raw_timestamp: Option<i64>,
    /// The key, or null.
    pub key: Option<&'a [u8]>,
    /// The value, or null.
    pub value: Option<&'a [u8]>,
    /// The headers, which magic 0 and 1 lack.
    pub headers: &'a [RecordHeader<'a>],
}

/// Encodes batches: `begin`, `record` for each record, and `finish`. Reuses buffers between batches.
#[derive(Default)]
pub struct Encoder {
    compressor: Compressor,
    /// The records of a compressed batch before compression.
    body: Vec<u8>,
    state: Option<State>,
}

/// The batch that is being written.
struct State {
    fields: BatchFields,
    compression: Compression,
    /// Where the batch starts in the output.
    start: usize,
    count: usize,
    base_offset: i64,
    base_timestamp: i64,
    max_timestamp: i64,
    last_offset: i64,
}

impl Encoder {
    /// Begin a batch at the end of `out`.
    pub fn begin(&mut self, fields: &BatchFields, out: &mut Vec<u8>) -> Result<(), Box<EncodeError>> {
        let unsupported = |field, reason: String| error(Problem::NotInVersion, None, field, reason);
        let magic = fields.magic;
        if !(0..=2).contains(&magic) {
            return Err(unsupported(
                "magic",
                format!("{magic} is not supported: expected 0, 1, or 2"),
            ));
        }
        let codec = fields.attributes & 0x07;
        let compression = Compression::from_number(codec)
            .ok_or_else(|| unsupported("attributes", format!("unknown compression type {codec}")))?;
        if magic < 2 {
            if compression == Compression::Zstd {
                return Err(unsupported(
                    "attributes",
                    format!("magic {magic} does not support zstd: use magic 2"),
                ));
            }
            let lacking = [
                ("producer_id", fields.producer_id != -1),
                ("producer_epoch", fields.producer_epoch != -1),
                ("base_sequence", fields.base_sequence != -1),
                ("partition_leader_epoch", fields.partition_leader_epoch != -1),
                ("attributes", i8::try_from(fields.attributes).is_err()),
            ];
            if let Some((field, _)) = lacking.iter().find(|(_, set)| *set) {
                return Err(unsupported(
                    field,
                    format!("magic {magic} does not have it: use magic 2"),
                ));
            }
        }
        self.body.clear();
        self.state = Some(State {
            fields: *fields,
            compression,
            start: out.len(),
            count: 0,
            base_offset: fields.base_offset.unwrap_or(0),
            base_timestamp: fields.base_timestamp.unwrap_or(-1),
            max_timestamp: -1,
            last_offset: fields.base_offset.unwrap_or(0),
        });
        let overhead = match compression {
            _ if magic == 2 => OVERHEAD_V2,
            Compression::None => 0,
            _ => wrapper_overhead(magic),
        };
        out.try_reserve(overhead).map_err(out_of_memory)?;
        out.resize(out.len() + overhead, 0);
        Ok(())
    }

    /// Append a record. Without a batch it does nothing.
    #[inline]
    pub fn record(&mut self, record: &NewRecord<'_>, out: &mut Vec<u8>) -> Result<(), Box<EncodeError>> {
        let Some(state) = &mut self.state else {
            return Ok(());
        };
        let timestamp = state.stored_timestamp(record);
        if state.count == 0 {
            state.base_offset = state.fields.base_offset.unwrap_or(record.offset);
            state.base_timestamp = state.fields.base_timestamp.unwrap_or(timestamp);
            state.max_timestamp = timestamp;
        }
        state.max_timestamp = state.max_timestamp.max(timestamp);
        state.last_offset = record.offset;
        let target = if state.compression == Compression::None {
            out
        } else {
            &mut self.body
        };
        let written = if state.fields.magic == 2 {
            state.write_v2(record, timestamp, target)
        } else {
            state.write_legacy(record, timestamp, target)
        };
        let index = state.count;
        state.count += 1;
        written.map_err(|mut error| {
            error.record = Some(index);
            error
        })
    }

    /// Free the buffer of uncompressed records if it is larger than `max_bytes`.
    pub fn release(&mut self, max_bytes: usize) {
        if self.body.capacity() > max_bytes {
            self.body = Vec::new();
        }
    }

    /// End the batch. `level` is the compression level of gzip or zstd.
    pub fn finish(&mut self, level: Option<i32>, out: &mut Vec<u8>) -> Result<(), Box<EncodeError>> {
        let Some(state) = self.state.take() else {
            return Ok(());
        };
        // Without records there is nothing to compress. Compaction leaves such batches.
        if state.compression != Compression::None && state.count > 0 {
            let wrong_checksum = state.fields.magic == 0;
            self.compressor
                .compress(state.compression, level, wrong_checksum, &self.body, out)
                .map_err(|failure| match failure {
                    Failure::OutOfMemory => out_of_memory(failure),
                    Failure::Corrupt | Failure::TooLarge(_) => too_long("records", self.body.len()),
                })?;
        }
        if state.fields.magic == 2 {
            state.finish_v2(out)
        } else if state.compression != Compression::None {
            state.finish_wrapper(out)
        } else {
            Ok(())
        }
    }
}

impl State {
    /// Return the time to store for a record.
    #[inline]
    fn stored_timestamp(&self, record: &NewRecord<'_>) -> i64 {
        if self.fields.magic == 0 || self.fields.attributes & LOG_APPEND_TIME == 0 {
            return record.timestamp;
        }
        if self.fields.magic == 1 && self.compression == Compression::None {
            // The append time has no other place than the record itself.
            return self.fields.max_timestamp.unwrap_or(record.timestamp);
        }
        record.raw_timestamp.unwrap_or(record.timestamp)
    }

    #[inline]
    fn write_v2(&self, record: &NewRecord<'_>, timestamp: i64, out: &mut Vec<u8>) -> Result<(), Box<EncodeError>> {
        let NewRecord {
            offset,
            key,
            value,
            headers,
            ..
        } = *record;
        // Readers add with 64 bits, so the sum may wrap.
        let Ok(offset_delta) = i32::try_from(offset.wrapping_sub(self.base_offset)) else {
            return Err(error(
                Problem::OutOfRange,
                None,
                "offset",
                format!(
                    "{offset} does not fit 32 bits relative to the base offset {}",
                    self.base_offset
                ),
            ));
        };
        let mut middle = Small::new();
        middle.put(0); // attributes, which Kafka does not use
        middle.varlong(timestamp.wrapping_sub(self.base_timestamp));
        middle.varint(offset_delta);
        middle.varint(length(key, "key")?);
        let value_length = length(value, "value")?;
        let header_count = i32::try_from(headers.len()).map_err(|_| too_long("headers", headers.len()))?;
        let mut size = middle.length
            + key.map_or(0, <[u8]>::len)
            + varint_size(value_length)
            + value.map_or(0, <[u8]>::len)
            + varint_size(header_count);
        for (key, value) in headers {
            size += varint_size(length(Some(key), "headers")?)
                + key.len()
                + varint_size(length(*value, "headers")?)
                + value.map_or(0, <[u8]>::len);
        }
        let mut start = Small::new();
        start.varint(i32::try_from(size).map_err(|_| too_long("length", size))?);
        start.append(&middle);
        out.try_reserve(size + 5).map_err(out_of_memory)?;
        out.extend_from_slice(start.bytes());
        out.extend_from_slice(key.unwrap_or_default());
        put_varint(value_length, out);
        out.extend_from_slice(value.unwrap_or_default());
        put_varint(header_count, out);
        for (key, value) in headers {
            put_varint(length(Some(key), "headers")?, out);
            out.extend_from_slice(key);
            put_varint(length(*value, "headers")?, out);
            out.extend_from_slice(value.unwrap_or_default());
        }
        Ok(())
    }

    fn write_legacy(&self, record: &NewRecord<'_>, timestamp: i64, out: &mut Vec<u8>) -> Result<(), Box<EncodeError>> {
        let NewRecord {
            offset,
            key,
            value,
            headers,
            ..
        } = *record;
        let magic = self.fields.magic;
        if !headers.is_empty() {
            let reason = format!("magic {magic} does not support headers: use magic 2");
            return Err(error(Problem::NotInVersion, None, "headers", reason));
        }
        if magic == 0 && timestamp != -1 {
            let reason = format!("magic 0 has no timestamps: expected -1, found {timestamp}");
            return Err(error(Problem::NotInVersion, None, "timestamp", reason));
        }
        let written = offset.wrapping_sub(self.relative_to());
        let attributes = match (self.compression, magic) {
            (Compression::None, _) => self.fields.attributes,
            (_, 1) => self.fields.attributes & LOG_APPEND_TIME,
            _ => 0,
        };
        let start = out.len();
        let size = key.map_or(0, <[u8]>::len) + value.map_or(0, <[u8]>::len);
        out.try_reserve(LOG_OVERHEAD + SMALLEST_V1 + size)
            .map_err(out_of_memory)?;
        out.extend_from_slice(&written.to_be_bytes());
        out.extend_from_slice(&[0; 8]); // length and checksum
        put_attributes(magic, attributes, timestamp, out);
        for (field, bytes) in [("key", key), ("value", value)] {
            out.extend_from_slice(&length(bytes, field)?.to_be_bytes());
            out.extend_from_slice(bytes.unwrap_or_default());
        }
        seal_legacy(start, out)
    }

    /// Return the offset to which those of legacy records are relative.
    fn relative_to(&self) -> i64 {
        if self.fields.magic == 0 || self.compression == Compression::None {
            return 0;
        }
        match self.wrapper_offset() {
            // Readers take the offsets in a wrapper with the offset 0 for absolute ones.
            Some(0) => 0,
            // Readers reject a last relative offset above the wrapper's, which a negative base leads to. Absolute
            // offsets are relative to 0.
            Some(offset) if offset < offset.wrapping_sub(self.base_offset) => 0,
            _ => self.base_offset,
        }
    }

    /// Return the offset of the wrapper, if it does not follow from the last record.
    fn wrapper_offset(&self) -> Option<i64> {
        let delta = self.fields.last_offset_delta?;
        Some(self.base_offset.wrapping_add(delta))
    }

    fn finish_v2(&self, out: &mut [u8]) -> Result<(), Box<EncodeError>> {
        let fields = &self.fields;
        let batch = out.get_mut(self.start..).unwrap_or_default();
        let size = batch_length(batch.len())?;
        let delta = fields
            .last_offset_delta
            .unwrap_or_else(|| self.last_offset.wrapping_sub(self.base_offset));
        let last_offset_delta = i32::try_from(delta).map_err(|_| {
            let reason = format!("{delta} does not fit int32");
            error(Problem::OutOfRange, None, "last_offset_delta", reason)
        })?;
        let count = i32::try_from(self.count).map_err(|_| too_long("records", self.count))?;
        let mut place = Place(batch);
        place.put(&self.base_offset.to_be_bytes());
        place.put(&size.to_be_bytes());
        place.put(&fields.partition_leader_epoch.to_be_bytes());
        place.put(&[2]);
        place.put(&[0; 4]);
        place.put(&fields.attributes.to_be_bytes());
        place.put(&last_offset_delta.to_be_bytes());
        place.put(&self.base_timestamp.to_be_bytes());
        place.put(&fields.max_timestamp.unwrap_or(self.max_timestamp).to_be_bytes());
        place.put(&fields.producer_id.to_be_bytes());
        place.put(&fields.producer_epoch.to_be_bytes());
        place.put(&fields.base_sequence.to_be_bytes());
        place.put(&count.to_be_bytes());
        let batch = out.get_mut(self.start..).unwrap_or_default();
        let crc = crc32c::crc32c(batch.get(21..).unwrap_or_default());
        if let Some(stored) = batch.get_mut(17..21) {
            stored.copy_from_slice(&crc.to_be_bytes());
        }
        Ok(())
    }

    fn finish_wrapper(&self, out: &mut [u8]) -> Result<(), Box<EncodeError>> {
        let magic = self.fields.magic;
        if self.count == 0 {
            let reason = format!("a compressed message set of magic {magic} needs at least one record");
            return Err(error(Problem::OutOfRange, None, "records", reason));
        }
        let timestamp = self.fields.max_timestamp.unwrap_or(self.max_timestamp);
        let offset = self.wrapper_offset().unwrap_or(self.last_offset);
        self.check_wrapper_offset(offset)?;
        let payload = out.len() - self.start - wrapper_overhead(magic);
        let mut head = Vec::with_capacity(wrapper_overhead(magic));
        head.extend_from_slice(&offset.to_be_bytes());
        head.extend_from_slice(&[0; 8]); // length and checksum
        put_attributes(magic, self.fields.attributes, timestamp, &mut head);
        head.extend_from_slice(&(-1i32).to_be_bytes()); // no key
        let payload = i32::try_from(payload).map_err(|_| too_long("records", payload))?;
        head.extend_from_slice(&payload.to_be_bytes());
        if let Some(place) = out.get_mut(self.start..self.start + head.len()) {
            place.copy_from_slice(&head);
        }
        seal_legacy(self.start, out)
    }

    /// Check that a reader recovers the offsets of the records, which follow from the wrapper's offset in magic 1.
    fn check_wrapper_offset(&self, offset: i64) -> Result<(), Box<EncodeError>> {
        if self.fields.magic == 0 {
            return Ok(());
        }
        let last = self.last_offset.wrapping_sub(self.relative_to());
        let found = if offset == 0 { last } else { offset };
        if found == self.last_offset && (offset == 0 || offset >= last) {
            return Ok(());
        }
        let field = self.fields.last_offset_delta.map_or("records", |_| "last_offset_delta");
        let reason = format!(
            "magic 1 cannot express the offsets {} to {} in a compressed message set with the offset {offset}",
            self.base_offset, self.last_offset
        );
        Err(error(Problem::OutOfRange, None, field, reason))
    }
}

/// The bytes of a compressed entry before its compressed message set.
fn wrapper_overhead(magic: i8) -> usize {
    LOG_OVERHEAD + if magic == 0 { SMALLEST_V0 } else { SMALLEST_V1 }
}

fn put_attributes(magic: i8, attributes: i16, timestamp: i64, out: &mut Vec<u8>) {
    let [_, attributes] = attributes.to_be_bytes();
    out.extend_from_slice(&[magic.cast_unsigned(), attributes]);
    if magic == 1 {
        out.extend_from_slice(&timestamp.to_be_bytes());
    }
}

/// Fill in the length and the checksum of the entry that ends with `out`.
fn seal_legacy(start: usize, out: &mut [u8]) -> Result<(), Box<EncodeError>> {
    let entry = out.get_mut(start..).unwrap_or_default();
    let size = batch_length(entry.len())?;
    let crc = crc32fast::hash(entry.get(16..).unwrap_or_default());
    if let Some(place) = entry.get_mut(8..16) {
        place.copy_from_slice(&((u64::from(size.cast_unsigned()) << 32) | u64::from(crc)).to_be_bytes());
    }
    Ok(())
}

/// Return the length field of a batch of `size` bytes.
fn batch_length(size: usize) -> Result<i32, Box<EncodeError>> {
    i32::try_from(size)
        .map(|size| size - 12)
        .map_err(|_| too_long("records", size))
}

#[cold]
fn too_long(field: &'static str, size: usize) -> Box<EncodeError> {
    error(
        Problem::TooLong,
        None,
        field,
        format!("{size} do not fit: expected less than 2^31"),
    )
}

/// Return the length that precedes bytes: -1 for null.
#[inline(always)]
fn length(bytes: Option<&[u8]>, field: &'static str) -> Result<i32, Box<EncodeError>> {
    match bytes {
        None => Ok(-1),
        Some(bytes) => i32::try_from(bytes.len()).map_err(|_| too_long(field, bytes.len())),
    }
}

/// Writes from the start of a slice that is long enough.
struct Place<'a>(&'a mut [u8]);

impl Place<'_> {
    fn put(&mut self, bytes: &[u8]) {
        if let Some((place, rest)) = std::mem::take(&mut self.0).split_at_mut_checked(bytes.len()) {
            place.copy_from_slice(bytes);
            self.0 = rest;
        }
    }
}
