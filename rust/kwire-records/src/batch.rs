//! Splitting bytes into batches, and the header of a batch.

use crate::error::{DecodeError, DecodeKind};
use crate::reader::Reader;

type Result<T> = std::result::Result<T, Box<DecodeError>>;

/// The bytes of base offset and length, which precede every batch.
pub(crate) const LOG_OVERHEAD: usize = 12;
/// The position of the magic.
const MAGIC: usize = 16;
/// The smallest length of magic 0 and 1: checksum, magic, attributes, timestamp if any, key size, and value size.
pub(crate) const SMALLEST_V0: usize = 14;
pub(crate) const SMALLEST_V1: usize = 22;
/// The bytes of a batch of magic 2 before its records.
pub(crate) const OVERHEAD_V2: usize = 61;

/// The header of a batch: what Kafka stores before the records, without base offset and length twice.
///
/// For magic 0 and 1, fields that the format lacks are -1, and `base_offset` is the offset of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The offset of the first record. Compaction may have removed it.
    pub base_offset: i64,
    /// The epoch of the leader that appended the batch.
    pub partition_leader_epoch: i32,
    /// The version of the format: 0, 1, or 2.
    pub magic: i8,
    /// The stored checksum.
    pub crc: u32,
    /// Compression type, timestamp type, and flags.
    pub attributes: i16,
    /// The offset of the last record, relative to `base_offset`. 32 bits in magic 2; the difference of two offsets in a
    /// compressed message set.
    pub last_offset_delta: i64,
    /// The timestamp to which those of the records are relative, or the delete horizon.
    pub base_timestamp: i64,
    /// The largest timestamp.
    pub max_timestamp: i64,
    /// The producer, or -1.
    pub producer_id: i64,
    /// The epoch of the producer, or -1.
    pub producer_epoch: i16,
    /// The sequence number of the first record, or -1.
    pub base_sequence: i32,
    /// The number of records as stored, or -1.
    pub count: i32,
}

impl Header {
    /// Return the number of the compression type.
    pub fn codec(&self) -> i16 {
        self.attributes & 0x07
    }

    /// Return whether the timestamps are those of the append to the log.
    pub fn is_log_append_time(&self) -> bool {
        self.magic > 0 && self.attributes & 0x08 != 0
    }
}

/// The bytes of one batch, with a valid length and magic, and with its header.
#[derive(Clone, Copy, Debug)]
pub struct RawBatch<'a> {
    /// The index among the batches of the input.
    pub index: usize,
    /// The offset of the batch in the input.
    pub position: usize,
    /// The whole batch.
    pub bytes: &'a [u8],
    /// The header.
    pub header: Header,
}

impl RawBatch<'_> {
    /// Return the checksum of the bytes: CRC32C for magic 2, CRC32 for magic 0 and 1.
    pub fn computed_crc(&self) -> u32 {
        if self.header.magic == 2 {
            crc32c::crc32c(self.bytes.get(21..).unwrap_or_default())
        } else {
            crc32fast::hash(self.bytes.get(MAGIC..).unwrap_or_default())
        }
    }

    /// Check the stored checksum.
    pub fn check_crc(&self) -> Result<()> {
        if self.computed_crc() == self.header.crc {
            return Ok(());
        }
        let offset = self.position + if self.header.magic == 2 { 17 } else { LOG_OVERHEAD };
        Err(DecodeError::at(DecodeKind::CrcMismatch, offset)
            .in_field("crc")
            .in_batch(self.index))
    }
}

/// Iterates over the batches of an input.
///
/// Brokers cut the last batch of a response. That is not an error; `unread` counts its bytes. The iterator ends after an
/// error.
#[derive(Clone, Debug)]
pub struct Batches<'a> {
    input: &'a [u8],
    position: usize,
    index: usize,
    failed: bool,
}

impl<'a> Batches<'a> {
    /// Split `input`.
    pub fn new(input: &'a [u8]) -> Self {
        Self::at(input, 0, 0)
    }

    /// Split `input` from `position` on, where the batch number `index` starts.
    pub fn at(input: &'a [u8], position: usize, index: usize) -> Self {
        Self {
            input,
            position: position.min(input.len()),
            index,
            failed: false,
        }
    }

    /// Return the number of bytes after the last complete batch. Meaningful when the iterator has ended without error.
    pub fn unread(&self) -> usize {
        self.input.len() - self.position
    }

    fn split(&self) -> Result<Option<RawBatch<'a>>> {
        let rest = self.input.get(self.position..).unwrap_or_default();
        let Some(length) = rest.get(8..LOG_OVERHEAD).and_then(|bytes| bytes.first_chunk()) else {
            return Ok(None);
        };
        let length = i32::from_be_bytes(*length);
        let at_length = self.position + 8;
        let error = |error: Box<DecodeError>| Err(error.in_field("batch_length").in_batch(self.index));
        let Ok(size) = usize::try_from(length) else {
            return error(DecodeError::at(DecodeKind::NegativeLength, at_length));
        };
        if size < SMALLEST_V0 {
            return error(DecodeError::sized(
                DecodeKind::Truncated,
                at_length,
                SMALLEST_V0 as u64,
                size,
            ));
        }
        if length > i32::MAX - 12 {
            return error(DecodeError::at(DecodeKind::TooLong, at_length));
        }
        let Some(&magic) = rest.get(MAGIC) else {
            return Ok(None);
        };
        let smallest = match magic {
            0 => SMALLEST_V0,
            1 => SMALLEST_V1,
            2 => OVERHEAD_V2 - LOG_OVERHEAD,
            _ => {
                return Err(DecodeError::at(DecodeKind::InvalidMagic, self.position + MAGIC)
                    .in_field("magic")
                    .in_batch(self.index));
            }
        };
        let Some(bytes) = rest.get(..LOG_OVERHEAD + size) else {
            return Ok(None);
        };
        if size < smallest {
            return error(DecodeError::sized(
                DecodeKind::Truncated,
                at_length,
                smallest as u64,
                size,
            ));
        }
        let mut reader = Reader::new(bytes, self.position);
        let header = if magic == 2 {
            header_v2(&mut reader)
        } else {
            header_legacy(&mut reader, magic.cast_signed())
        };
        Ok(Some(RawBatch {
            index: self.index,
            position: self.position,
            bytes,
            header: header?,
        }))
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<RawBatch<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        match self.split() {
            Ok(Some(batch)) => {
                self.position += batch.bytes.len();
                self.index += 1;
                Some(Ok(batch))
            }
            Ok(None) => None,
            Err(error) => {
                self.failed = true;
                Some(Err(error))
            }
        }
    }
}

fn header_v2(reader: &mut Reader<'_>) -> Result<Header> {
    let base_offset = reader.int64()?;
    reader.int32()?; // the length
    Ok(Header {
        base_offset,
        partition_leader_epoch: reader.int32()?,
        magic: reader.int8()?,
        crc: reader.int32()?.cast_unsigned(),
        attributes: i16::from_be_bytes(reader.array()?),
        last_offset_delta: reader.int32()?.into(),
        base_timestamp: reader.int64()?,
        max_timestamp: reader.int64()?,
        producer_id: reader.int64()?,
        producer_epoch: i16::from_be_bytes(reader.array()?),
        base_sequence: reader.int32()?,
        count: reader.int32()?,
    })
}

fn header_legacy(reader: &mut Reader<'_>, magic: i8) -> Result<Header> {
    let base_offset = reader.int64()?;
    reader.int32()?; // the length
    let crc = reader.int32()?.cast_unsigned();
    reader.int8()?; // the magic
    let attributes = reader.int8()?;
    Ok(Header {
        base_offset,
        partition_leader_epoch: -1,
        magic,
        crc,
        attributes: attributes.into(),
        last_offset_delta: 0,
        base_timestamp: -1,
        max_timestamp: if magic == 0 { -1 } else { reader.int64()? },
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        count: -1,
    })
}
