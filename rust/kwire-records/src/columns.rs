//! Record batches as Arrow columns: one row for each record.
//!
//! A chunk is what a broker returns for one partition. If its bytes are invalid, it has a single row with the error.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Int16Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray, UInt32Array,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};

use crate::batch::{Batches, Header};
use crate::compression::{Budget, Hold, Limits, RECORD_SIZE};
use crate::decode::{Decoder, Record, Stop, Visitor};
use crate::error::{DecodeError, DecodeKind, PathText};

/// The bytes of one chunk, or None if it is missing.
pub type Chunk<'a> = Option<&'a [u8]>;

/// Why there are no columns.
#[derive(Debug)]
pub enum ColumnsError {
    /// Keys, values, or headers of more bytes than 32-bit offsets allow.
    TooLarge,
    /// Memory is short.
    OutOfMemory,
    /// Arrow rejects the arrays, which is a bug of this crate.
    Arrow(ArrowError),
}

impl From<ArrowError> for ColumnsError {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

const CONTROL: i16 = 0x20;
const TRANSACTIONAL: i16 = 0x10;

/// Return the schema of the columns.
pub fn schema() -> SchemaRef {
    let kinds = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    Arc::new(Schema::new(vec![
        Field::new("frame", DataType::UInt32, false),
        Field::new("batch", DataType::UInt32, true),
        Field::new("base_offset", DataType::Int64, true),
        Field::new("partition_leader_epoch", DataType::Int32, true),
        Field::new("producer_id", DataType::Int64, true),
        Field::new("producer_epoch", DataType::Int16, true),
        Field::new("is_transactional", DataType::Boolean, true),
        Field::new("is_control", DataType::Boolean, true),
        Field::new("offset", DataType::Int64, true),
        Field::new("timestamp", DataType::Int64, true),
        Field::new("key", DataType::Binary, true),
        Field::new("value", DataType::Binary, true),
        Field::new("headers", DataType::List(Arc::new(header_field())), true),
        Field::new("error_kind", kinds, true),
        Field::new("error_offset", DataType::Int64, true),
        Field::new("error_path", DataType::Utf8, true),
    ]))
}

fn header_field() -> Field {
    Field::new("item", DataType::Struct(header_fields()), false)
}

fn header_fields() -> Fields {
    Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Binary, true),
    ])
}

/// Decode chunks into one Arrow batch. `limits.max_size` is for all chunks together.
///
/// `hold` is asked for memory before it is allocated; it may always return true where the process may end if memory is
/// short.
pub fn columns(
    chunks: &[Chunk<'_>],
    check_crc: bool,
    limits: Limits,
    hold: &Hold<'_>,
) -> Result<RecordBatch, ColumnsError> {
    let mut rows = Rows::default();
    let mut decoder = Decoder::default();
    let mut budget = Budget::holding(limits, hold);
    for (frame, chunk) in chunks.iter().enumerate() {
        let frame = u32::try_from(frame).map_err(|_| ColumnsError::TooLarge)?;
        let (start, before) = (rows.mark(), budget);
        let fault = match chunk {
            None => Some(Fault::missing()),
            Some(chunk) => match decode(chunk, &mut decoder, check_crc, &mut budget, &mut rows) {
                Ok(()) => None,
                Err(Stop::Visitor(TooLarge)) => return Err(ColumnsError::TooLarge),
                Err(Stop::Bytes(error)) if error.kind == DecodeKind::OutOfMemory => {
                    return Err(ColumnsError::OutOfMemory);
                }
                Err(Stop::Bytes(error)) => Some(Fault::of(&error)),
            },
        };
        if let Some(fault) = fault {
            rows.truncate(&start);
            budget.return_to(&before); // the rows of an invalid chunk need no memory any more
            budget.cover(RECORD_SIZE).map_err(|_| ColumnsError::OutOfMemory)?;
            rows.error_row(fault);
        }
        rows.frame.resize(rows.offset.len(), frame);
    }
    // The arrays need as much memory again at most.
    if !hold(rows.offset.len().saturating_mul(RECORD_SIZE)) {
        return Err(ColumnsError::OutOfMemory);
    }
    rows.finish()
}

fn decode(
    chunk: &[u8],
    decoder: &mut Decoder,
    check_crc: bool,
    budget: &mut Budget<'_>,
    rows: &mut Rows,
) -> Result<(), Stop<TooLarge>> {
    for batch in Batches::new(chunk) {
        let batch = batch?;
        if check_crc {
            batch.check_crc()?;
        }
        rows.index = u32::try_from(batch.index).unwrap_or(u32::MAX);
        decoder.walk(&batch, check_crc, budget, rows)?;
    }
    Ok(())
}

/// More bytes than 32-bit offsets allow.
#[derive(Debug)]
struct TooLarge;

struct Fault {
    kind: &'static str,
    offset: Option<i64>,
    path: String,
}

impl Fault {
    fn missing() -> Self {
        Self {
            kind: "null_frame",
            offset: None,
            path: String::new(),
        }
    }

    fn of(error: &DecodeError) -> Self {
        Self {
            kind: error.kind.name(),
            offset: i64::try_from(error.offset).ok(),
            path: PathText(error.path()).to_string(),
        }
    }
}

/// Values of variable length; some are null.
struct Values {
    ends: Vec<i32>,
    data: Vec<u8>,
    valid: BooleanBufferBuilder,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            ends: vec![0],
            data: Vec::new(),
            valid: BooleanBufferBuilder::new(0),
        }
    }
}

impl Values {
    fn push(&mut self, value: Option<&[u8]>) -> Result<(), TooLarge> {
        self.data.extend_from_slice(value.unwrap_or_default());
        self.ends.push(i32::try_from(self.data.len()).map_err(|_| TooLarge)?);
        self.valid.append(value.is_some());
        Ok(())
    }

    fn truncate(&mut self, count: usize) {
        self.ends.truncate(count + 1);
        let end = self.ends.last().map_or(0, |end| usize::try_from(*end).unwrap_or(0));
        self.data.truncate(end);
        self.valid.truncate(count);
    }

    fn parts(mut self) -> (OffsetBuffer<i32>, Buffer, NullBuffer) {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        (
            offsets,
            Buffer::from_vec(self.data),
            NullBuffer::new(self.valid.finish()),
        )
    }

    fn binary(self) -> Result<BinaryArray, ArrowError> {
        let (offsets, data, valid) = self.parts();
        BinaryArray::try_new(offsets, data, Some(valid))
    }

    fn text(self) -> Result<StringArray, ArrowError> {
        let (offsets, data, _) = self.parts();
        StringArray::try_new(offsets, data, None)
    }
}

/// The columns while they grow.
#[derive(Default)]
struct Rows {
    /// The index of the current batch.
    index: u32,
    current: Option<Header>,
    frame: Vec<u32>,
    batch: Vec<u32>,
    base_offset: Vec<i64>,
    leader_epoch: Vec<i32>,
    producer_id: Vec<i64>,
    producer_epoch: Vec<i16>,
    attributes: Vec<i16>,
    offset: Vec<i64>,
    timestamp: Vec<i64>,
    key: Values,
    value: Values,
    /// The number of headers of each row and of all rows before it.
    header_ends: Vec<i32>,
    header_key: Values,
    header_value: Values,
    faults: Vec<(usize, Fault)>,
}

/// The number of rows and of headers at the start of a chunk.
struct Mark {
    rows: usize,
    headers: usize,
}

impl Rows {
    fn mark(&self) -> Mark {
        Mark {
            rows: self.offset.len(),
            headers: self.header_key.ends.len() - 1,
        }
    }

    fn truncate(&mut self, mark: &Mark) {
        self.batch.truncate(mark.rows);
        self.base_offset.truncate(mark.rows);
        self.leader_epoch.truncate(mark.rows);
        self.producer_id.truncate(mark.rows);
        self.producer_epoch.truncate(mark.rows);
        self.attributes.truncate(mark.rows);
        self.offset.truncate(mark.rows);
        self.timestamp.truncate(mark.rows);
        self.key.truncate(mark.rows);
        self.value.truncate(mark.rows);
        self.header_ends.truncate(mark.rows);
        self.header_key.truncate(mark.headers);
        self.header_value.truncate(mark.headers);
    }

    fn error_row(&mut self, fault: Fault) {
        self.faults.push((self.offset.len(), fault));
        self.batch.push(0);
        self.base_offset.push(0);
        self.leader_epoch.push(0);
        self.producer_id.push(0);
        self.producer_epoch.push(0);
        self.attributes.push(0);
        self.offset.push(0);
        self.timestamp.push(0);
        // An empty value adds no bytes, so it always fits.
        let _fits = self.key.push(None).and_then(|()| self.value.push(None));
        let headers = self.header_ends.last().copied().unwrap_or(0);
        self.header_ends.push(headers);
    }

    fn finish(self) -> Result<RecordBatch, ColumnsError> {
        let rows = self.offset.len();
        let mut valid = BooleanBufferBuilder::new(rows);
        valid.append_n(rows, true);
        for (row, _) in &self.faults {
            valid.set_bit(*row, false);
        }
        let valid = NullBuffer::new(valid.finish());
        let nulls = || (!self.faults.is_empty()).then(|| valid.clone());
        let flag = |bit: i16| {
            let bits =
                BooleanBuffer::collect_bool(rows, |row| self.attributes.get(row).is_some_and(|set| set & bit != 0));
            Arc::new(BooleanArray::new(bits, nulls())) as ArrayRef
        };
        let headers = StructArray::try_new(
            header_fields(),
            vec![Arc::new(self.header_key.text()?), Arc::new(self.header_value.binary()?)],
            None,
        )?;
        let mut ends = self.header_ends;
        ends.insert(0, 0);
        let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
        let headers = ListArray::try_new(Arc::new(header_field()), ends, Arc::new(headers), nulls())?;
        let fault = |row: usize| {
            let found = self.faults.binary_search_by_key(&row, |(row, _)| *row).ok()?;
            self.faults.get(found).map(|(_, fault)| fault)
        };
        let kinds: DictionaryArray<Int32Type> = (0..rows).map(|row| fault(row).map(|fault| fault.kind)).collect();
        let offsets: Int64Array = (0..rows).map(|row| fault(row).and_then(|fault| fault.offset)).collect();
        let paths: StringArray = (0..rows)
            .map(|row| {
                fault(row)
                    .filter(|fault| fault.offset.is_some())
                    .map(|fault| fault.path.as_str())
            })
            .collect();
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::new(self.frame.into(), None)),
            Arc::new(UInt32Array::new(self.batch.into(), nulls())),
            Arc::new(Int64Array::new(self.base_offset.into(), nulls())),
            Arc::new(Int32Array::new(self.leader_epoch.into(), nulls())),
            Arc::new(Int64Array::new(self.producer_id.into(), nulls())),
            Arc::new(Int16Array::new(self.producer_epoch.into(), nulls())),
            flag(TRANSACTIONAL),
            flag(CONTROL),
            Arc::new(Int64Array::new(self.offset.into(), nulls())),
            Arc::new(Int64Array::new(self.timestamp.into(), nulls())),
            Arc::new(self.key.binary()?),
            Arc::new(self.value.binary()?),
            Arc::new(headers),
            Arc::new(kinds),
            Arc::new(offsets),
            Arc::new(paths),
        ];
        Ok(RecordBatch::try_new(schema(), arrays)?)
    }
}

impl Visitor for Rows {
    type Error = TooLarge;

    fn batch(&mut self, header: &Header, _: usize) -> Result<(), TooLarge> {
        self.current = Some(*header);
        Ok(())
    }

    fn record(&mut self, record: &Record<'_>) -> Result<(), TooLarge> {
        let Some(header) = &self.current else {
            return Ok(());
        };
        self.batch.push(self.index);
        self.base_offset.push(header.base_offset);
        self.leader_epoch.push(header.partition_leader_epoch);
        self.producer_id.push(header.producer_id);
        self.producer_epoch.push(header.producer_epoch);
        // The flags are those of magic 2.
        self.attributes
            .push(if header.magic == 2 { header.attributes } else { 0 });
        self.offset.push(record.offset);
        self.timestamp.push(record.timestamp);
        self.key.push(record.key)?;
        self.value.push(record.value)?;
        let before = self.header_ends.last().copied().unwrap_or(0);
        let headers = i32::try_from(record.headers).map_err(|_| TooLarge)?;
        self.header_ends.push(before.checked_add(headers).ok_or(TooLarge)?);
        Ok(())
    }

    fn header(&mut self, _: usize, key: &[u8], value: Option<&[u8]>) -> Result<(), TooLarge> {
        // Arrow strings are UTF-8. Like Kafka, replace what is not.
        self.header_key.push(Some(String::from_utf8_lossy(key).as_bytes()))?;
        self.header_value.push(value)
    }
}
