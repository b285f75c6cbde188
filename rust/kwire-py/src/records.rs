//! `Records` for Python: record batches to objects and columns, and back.

use std::sync::Mutex;

use kwire_records::{
    BatchFields, Batches, Budget, ColumnsError, DecodeError, DecodeKind, Decoder, EncodeError, Encoder, Limits,
    Problem, Step, Stop,
};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};

use crate::columns::{Batch, Schema, too_large, with_frames};
use crate::errors::plan_error;
use crate::immutable_bytes::ImmutableBytes;
use crate::unsafe_allocator::{Headroom, require_reserve};
use crate::unsafe_layout::Layout;
use crate::unsafe_owned::{Raised, new_bytes, new_integer, new_tuple, out_of_memory};
use crate::unsafe_record_builder::Builder;
use crate::unsafe_record_source::Source;

/// The classes as a plan, which finds the offsets of their slots. The batch comes first, then the record, then the header.
const CLASSES: &str = "RecordBatch v0 {base_offset:int64 partition_leader_epoch:int32 magic:int8 attributes:int16 \
    last_offset_delta:int32 base_timestamp:int64 max_timestamp:int64 producer_id:int64 producer_epoch:int16 \
    base_sequence:int32 records:[{offset:int64 timestamp:int64 key:bytes? value:bytes? \
    headers:[{key:string value:bytes?}] raw_timestamp:int64}]}";
/// Buffers up to this size are kept between calls.
const KEPT: usize = 1 << 20;
/// Columns of more bytes are refused: the offsets of Arrow's binary arrays have 32 bits.
const MAX_COLUMN_BYTES: usize = 0x7fff_ffff;

/// Decodes and encodes record batches with the classes of `kwire.records`.
#[pyclass(frozen, module = "kwire._kwire")]
pub(crate) struct Records {
    layouts: [Layout; 3],
    /// Taken for the duration of a call. A second thread creates its own in the meantime.
    decoder: Mutex<Option<Box<Decoder>>>,
    encoder: Mutex<Option<Box<Output>>>,
}

/// The encoder and what it writes.
#[derive(Default)]
struct Output {
    encoder: Encoder,
    bytes: Vec<u8>,
}

#[pymethods]
impl Records {
    #[new]
    fn new(batch: &Bound<'_, PyType>, record: &Bound<'_, PyType>, header: &Bound<'_, PyType>) -> PyResult<Self> {
        let plan: kwire::Plan = CLASSES.parse().map_err(|error| plan_error(&error))?;
        let mut opened = Vec::with_capacity(plan.structs);
        plan.root.each_struct(&mut |body| opened.push(body));
        let [of_batch, of_record, of_header] = opened[..] else {
            return Err(PyRuntimeError::new_err("the plan of records opens other structs"));
        };
        let absent = PyDict::new(batch.py());
        Ok(Self {
            layouts: [
                Layout::new(of_batch, batch, &absent)?,
                Layout::new(of_record, record, &absent)?,
                Layout::new(of_header, header, &absent)?,
            ],
            decoder: Mutex::new(None),
            encoder: Mutex::new(None),
        })
    }

    /// The classes refer to this object and it to them, so the garbage collector must see these references.
    #[allow(clippy::missing_errors_doc, reason = "the collector's own")]
    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.layouts.iter().try_for_each(|layout| layout.traverse(&visit))
    }

    /// Decode the batches of a bytes-like object. Returns them, and the number of bytes after the last complete one.
    #[allow(clippy::similar_names, reason = "Kafka's names")]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        check_crc: bool,
        max_size: usize,
        max_ratio: usize,
    ) -> PyResult<(Bound<'py, PyTuple>, usize)> {
        require_reserve()?;
        let data = ImmutableBytes::new(data)?;
        let mut decoder = take(&self.decoder);
        let made = self.build(
            py,
            data.as_slice(),
            check_crc,
            Limits { max_size, max_ratio },
            &mut decoder,
        );
        decoder.release(KEPT);
        put_back(&self.decoder, decoder);
        made
    }

    /// Decode the batch at `position`, which is the batch number `index`. Returns None if it is incomplete, else the
    /// batch and the position after it.
    #[allow(clippy::too_many_arguments, reason = "one for each setting")]
    fn decode_one<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        position: usize,
        index: usize,
        check_crc: bool,
        max_size: usize,
        max_ratio: usize,
    ) -> PyResult<Option<(Bound<'py, PyAny>, usize)>> {
        require_reserve()?;
        let data = ImmutableBytes::new(data)?;
        let Some(batch) = Batches::at(data.as_slice(), position, index).next() else {
            return Ok(None);
        };
        let batch = batch.map_err(|error| decode_error(py, &error))?;
        if check_crc {
            batch.check_crc().map_err(|error| decode_error(py, &error))?;
        }
        let mut decoder = take(&self.decoder);
        let mut builder = Builder::new(py, &self.layouts);
        let mut budget = Budget::new(Limits { max_size, max_ratio });
        let walked = decoder.walk(&batch, check_crc, &mut budget, &mut builder);
        decoder.release(KEPT);
        put_back(&self.decoder, decoder);
        walked.map_err(|stop| stopped(py, stop))?;
        let made = builder.end_batch().map_err(|Raised| PyErr::fetch(py))?;
        Ok(Some((made, batch.position + batch.bytes.len())))
    }

    /// Return the headers of the batches as tuples, and the number of bytes after the last complete batch.
    #[staticmethod]
    fn headers<'py>(
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        check_crc: bool,
    ) -> PyResult<(Bound<'py, PyTuple>, usize)> {
        require_reserve()?;
        let data = ImmutableBytes::new(data)?;
        let mut batches = Batches::new(data.as_slice());
        let mut made = Vec::new();
        for batch in batches.by_ref() {
            let batch = batch.map_err(|error| decode_error(py, &error))?;
            if check_crc {
                batch.check_crc().map_err(|error| decode_error(py, &error))?;
            }
            let header = &batch.header;
            let values = [
                batch.position.cast_signed() as i64,
                batch.bytes.len().cast_signed() as i64,
                header.base_offset,
                header.partition_leader_epoch.into(),
                header.magic.into(),
                header.crc.into(),
                header.attributes.into(),
                header.last_offset_delta,
                header.base_timestamp,
                header.max_timestamp,
                header.producer_id,
                header.producer_epoch.into(),
                header.base_sequence.into(),
                header.count.into(),
            ];
            let values = values.into_iter().map(|value| new_integer(py, value));
            let values = values.collect::<PyResult<Vec<_>>>()?;
            made.try_reserve(1).map_err(out_of_memory)?;
            made.push(new_tuple(py, values)?.into_any());
        }
        Ok((new_tuple(py, made)?, batches.unread()))
    }

    /// Encode records to a batch. `fields` has the fields of the batch except its records, None for derived ones.
    #[allow(clippy::type_complexity, reason = "a tuple of the fields")]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        fields: (
            i8,
            i16,
            Option<i64>,
            Option<i64>,
            Option<i64>,
            Option<i64>,
            i32,
            i64,
            i16,
            i32,
        ),
        records: &Bound<'py, PyTuple>,
        level: Option<i32>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let fields = BatchFields {
            magic: fields.0,
            attributes: fields.1,
            base_offset: fields.2,
            last_offset_delta: fields.3,
            base_timestamp: fields.4,
            max_timestamp: fields.5,
            partition_leader_epoch: fields.6,
            producer_id: fields.7,
            producer_epoch: fields.8,
            base_sequence: fields.9,
        };
        require_reserve()?;
        let mut output = take(&self.encoder);
        let Output { encoder, bytes } = &mut *output;
        bytes.clear();
        let written = self.write(py, &fields, records, level, encoder, bytes);
        let made = written.and_then(|()| new_bytes(py, bytes));
        encoder.release(KEPT);
        if bytes.capacity() > KEPT {
            *bytes = Vec::new();
        }
        put_back(&self.encoder, output);
        made
    }

    /// Decode chunks, a sequence of bytes-like objects and None or binary Arrow data, into an Arrow batch.
    #[staticmethod]
    fn columns(
        py: Python<'_>,
        frames: &Bound<'_, PyAny>,
        check_crc: bool,
        max_size: usize,
        max_ratio: usize,
    ) -> PyResult<Batch> {
        let limits = Limits { max_size, max_ratio };
        let made = with_frames(frames, |slices| {
            py.detach(|| {
                let headroom = Headroom::new();
                kwire_records::columns(slices, check_crc, limits, &|more| headroom.hold(more))
            })
        })?;
        match made {
            Ok(batch) => Ok(Batch(batch)),
            Err(ColumnsError::TooLarge) => Err(too_large(py, MAX_COLUMN_BYTES + 1)),
            Err(ColumnsError::OutOfMemory) => Err(PyMemoryError::new_err(())),
            Err(ColumnsError::Arrow(error)) => Err(PyRuntimeError::new_err(error.to_string())),
        }
    }

    /// Return the schema of columns.
    #[staticmethod]
    fn schema() -> Schema {
        Schema(kwire_records::schema())
    }
}

impl Records {
    fn build<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        check_crc: bool,
        limits: Limits,
        decoder: &mut Decoder,
    ) -> PyResult<(Bound<'py, PyTuple>, usize)> {
        let mut budget = Budget::new(limits);
        let mut builder = Builder::new(py, &self.layouts);
        let mut batches = Batches::new(data);
        let mut made = Vec::new();
        for batch in batches.by_ref() {
            let batch = batch.map_err(|error| decode_error(py, &error))?;
            if check_crc {
                batch.check_crc().map_err(|error| decode_error(py, &error))?;
            }
            decoder
                .walk(&batch, check_crc, &mut budget, &mut builder)
                .map_err(|stop| stopped(py, stop))?;
            made.try_reserve(1).map_err(out_of_memory)?;
            made.push(builder.end_batch().map_err(|Raised| PyErr::fetch(py))?);
        }
        Ok((new_tuple(py, made)?, batches.unread()))
    }

    fn write(
        &self,
        py: Python<'_>,
        fields: &BatchFields,
        records: &Bound<'_, PyTuple>,
        level: Option<i32>,
        encoder: &mut Encoder,
        out: &mut Vec<u8>,
    ) -> PyResult<()> {
        encoder.begin(fields, out).map_err(|error| encode_error(py, &error))?;
        Source::new(&self.layouts).write(records, encoder, out)?;
        py.detach(|| encoder.finish(level, out))
            .map_err(|error| encode_error(py, &error))
    }
}

/// Take the state of a previous call, or create it.
fn take<T: Default>(place: &Mutex<Option<Box<T>>>) -> Box<T> {
    let taken = place.lock().ok().and_then(|mut state| state.take());
    taken.unwrap_or_default()
}

fn put_back<T>(place: &Mutex<Option<Box<T>>>, state: Box<T>) {
    if let Ok(mut place) = place.lock() {
        *place = Some(state);
    }
}

fn stopped(py: Python<'_>, stop: Stop<Raised>) -> PyErr {
    match stop {
        Stop::Bytes(error) => decode_error(py, &error),
        Stop::Visitor(Raised) => PyErr::fetch(py),
    }
}

/// Create `kwire.errors.RecordsDecodeError`.
#[cold]
fn decode_error(py: Python<'_>, error: &DecodeError) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if error.kind == DecodeKind::OutOfMemory {
        return PyMemoryError::new_err(());
    }
    let made = CLASS
        .import(py, "kwire.errors", "RecordsDecodeError")
        .and_then(|class| {
            let path = error.path().into_iter().map(|step| match step {
                Step::Name(name) => Ok(name.into_pyobject(py)?.into_any()),
                Step::Index(index) => Ok(index.into_pyobject(py)?.into_any()),
            });
            let path = PyTuple::new(py, path.collect::<PyResult<Vec<_>>>()?)?;
            class.call1((
                error.kind.name(),
                error.offset,
                path,
                error.wanted,
                error.left,
                error.decompressed,
            ))
        });
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// Create `kwire.errors.EncodeError`.
#[cold]
pub(crate) fn encode_error(py: Python<'_>, error: &EncodeError) -> PyErr {
    if error.problem == Problem::OutOfMemory {
        return PyMemoryError::new_err(());
    }
    let path = match error.record {
        Some(record) => ("records", record, error.field).into_pyobject(py),
        None => (error.field,).into_pyobject(py),
    };
    path.map_or_else(
        |failed| failed,
        |path| raise_encode(py, error.problem.name(), &path, &error.reason),
    )
}

/// Create `kwire.errors.EncodeError` from its parts.
#[cold]
pub(crate) fn raise_encode(py: Python<'_>, kind: &str, path: &Bound<'_, PyTuple>, reason: &str) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = CLASS
        .import(py, "kwire.errors", "EncodeError")
        .and_then(|class| class.call1((kind, path, reason)));
    made.map_or_else(|failed| failed, PyErr::from_value)
}
