//! `Columns` for Python: frames in, an Arrow record batch out.

use std::collections::HashMap;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, RecordBatch, RecordBatchIterator, StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, SchemaRef};
use kwire_columns::{BatchError, MAX_BYTES, RowsError, Shape};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyType};

use crate::errors::plan_error;
use crate::immutable_bytes::ImmutableBytes;
use crate::unsafe_allocator::{Headroom, require_reserve};
use crate::unsafe_arrow::{ARRAY, SCHEMA, STREAM, chunks};
use crate::unsafe_owned::out_of_memory;

/// The columns of one message in one version.
#[pyclass(frozen, module = "kwire._kwire")]
pub(crate) struct Columns {
    compiled: kwire_columns::Columns,
}

#[pymethods]
impl Columns {
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "arguments from Python arrive as values")]
    fn new(
        py: Python<'_>,
        plan: &str,
        header: Option<&str>,
        shape: &str,
        defaults: Vec<String>,
        rows: &str,
    ) -> PyResult<Self> {
        let plan: kwire::Plan = plan.parse().map_err(|error| plan_error(&error))?;
        let header = header.map(str::parse).transpose().map_err(|error| plan_error(&error))?;
        let defaults: Vec<&str> = defaults.iter().map(String::as_str).collect();
        let shape = Shape::parse(shape, &defaults).map_err(|error| plan_error(&error))?;
        match kwire_columns::Columns::new(plan, header, &shape, rows) {
            Ok(compiled) => Ok(Self { compiled }),
            Err(error) => Err(no_such_rows(py, &error)),
        }
    }

    /// The schema of batches.
    #[getter]
    fn schema(&self) -> Schema {
        Schema(self.compiled.schema().clone())
    }

    /// Decode a sequence of bytes-like objects and None, or binary Arrow data, into a batch.
    fn batch(&self, py: Python<'_>, frames: &Bound<'_, PyAny>, max_bytes: usize) -> PyResult<Batch> {
        let made = with_frames(frames, |slices| {
            py.detach(|| {
                let headroom = Headroom::new();
                self.compiled.batch(slices, max_bytes, &|more| headroom.hold(more))
            })
        })?;
        match made {
            Ok(batch) => Ok(Batch(batch)),
            Err(BatchError::TooLarge { bytes }) => Err(too_large(py, bytes)),
            Err(BatchError::ColumnsTooLarge) => Err(columns_too_large(py, max_bytes, false)),
            Err(BatchError::ColumnTooLarge) => Err(columns_too_large(py, MAX_BYTES, true)),
            Err(BatchError::OutOfMemory) => Err(PyMemoryError::new_err(())),
            Err(BatchError::Arrow(error)) => Err(unexpected(&error)),
        }
    }
}

/// Call `work` with the frames of a sequence of bytes-like objects and None, or of binary Arrow data.
pub(crate) fn with_frames<T>(frames: &Bound<'_, PyAny>, work: impl FnOnce(&[Option<&[u8]>]) -> T) -> PyResult<T> {
    require_reserve()?;
    if let Some(chunks) = chunks(frames)? {
        let mut slices = Vec::new();
        for chunk in &chunks {
            add_slices(chunk, &mut slices)?;
        }
        return Ok(work(&slices));
    }
    let mut held: Vec<Option<ImmutableBytes<'_>>> = Vec::new();
    for frame in frames.try_iter()? {
        let frame = frame?;
        held.try_reserve(1).map_err(out_of_memory)?;
        held.push(if frame.is_none() {
            None
        } else {
            Some(ImmutableBytes::new(&frame)?)
        });
    }
    let mut slices = Vec::new();
    slices.try_reserve_exact(held.len()).map_err(out_of_memory)?;
    slices.extend(held.iter().map(|frame| frame.as_ref().map(ImmutableBytes::as_slice)));
    Ok(work(&slices))
}

/// Append the frames of a binary array to `slices`.
fn add_slices<'a>(chunk: &'a ArrayRef, slices: &mut Vec<Option<&'a [u8]>>) -> PyResult<()> {
    slices.try_reserve(chunk.len()).map_err(out_of_memory)?;
    let chunk = chunk.as_any();
    if let Some(array) = chunk.downcast_ref::<BinaryArray>() {
        slices.extend(array.iter());
    } else if let Some(array) = chunk.downcast_ref::<LargeBinaryArray>() {
        slices.extend(array.iter());
    } else if let Some(array) = chunk.downcast_ref::<BinaryViewArray>() {
        slices.extend(array.iter());
    } else {
        return Err(PyTypeError::new_err(
            "expected Arrow data of type binary, large_binary, or binary_view",
        ));
    }
    Ok(())
}

/// Collect the capacity of each buffer of an array by the address of its allocation.
fn add_buffers(data: &ArrayData, buffers: &mut HashMap<usize, usize>) {
    let validity = data.nulls().map(NullBuffer::buffer);
    for buffer in data.buffers().iter().chain(validity) {
        buffers.insert(buffer.data_ptr().as_ptr() as usize, buffer.capacity());
    }
    for child in data.child_data() {
        add_buffers(child, buffers);
    }
}

/// A record batch, for libraries that read Arrow through the `PyCapsule` interface.
#[pyclass(frozen, module = "kwire._kwire")]
pub(crate) struct Batch(pub(crate) RecordBatch);

#[pymethods]
impl Batch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0
            .schema_ref()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// The memory that the batch holds in bytes. Buffers that columns share count once.
    #[getter]
    fn nbytes(&self) -> usize {
        let mut buffers = HashMap::new();
        for column in self.0.columns() {
            add_buffers(&column.to_data(), &mut buffers);
        }
        buffers.values().sum()
    }

    #[getter]
    fn schema(&self) -> Schema {
        Schema(self.0.schema())
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!(
            "<kwire.columns: {} rows, {} columns>",
            self.0.num_rows(),
            self.0.num_columns()
        )
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    #[allow(unused_variables, reason = "the interface's; a request may be declined")]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let data = StructArray::from(self.0.clone()).into_data();
        let array = PyCapsule::new_with_value(py, FFI_ArrowArray::new(&data), ARRAY)?;
        Ok((schema_capsule(py, &self.0.schema())?, array))
    }

    #[pyo3(signature = (requested_schema=None))]
    #[allow(unused_variables, reason = "the interface's; a request may be declined")]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }
}

/// The schema of a batch, for libraries that read Arrow through the `PyCapsule` interface.
#[pyclass(frozen, module = "kwire._kwire")]
pub(crate) struct Schema(pub(crate) SchemaRef);

#[pymethods]
impl Schema {
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0)
    }
}

fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema.as_ref()).map_err(|error| unexpected(&error))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Create `kwire.columnar.NoSuchRows`.
#[cold]
fn no_such_rows(py: Python<'_>, error: &RowsError) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = CLASS
        .import(py, "kwire.columnar", "NoSuchRows")
        .and_then(|class| class.call1((&error.message, &error.rows, error.paths.clone())));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// Create `kwire.columnar.BatchTooLarge`.
#[cold]
pub(crate) fn too_large(py: Python<'_>, bytes: usize) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = CLASS
        .import(py, "kwire.columnar", "BatchTooLarge")
        .and_then(|class| class.call1((bytes, MAX_BYTES)));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// Create `kwire.columnar.ColumnsTooLarge`.
#[cold]
fn columns_too_large(py: Python<'_>, max_bytes: usize, one_column: bool) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = CLASS
        .import(py, "kwire.columnar", "ColumnsTooLarge")
        .and_then(|class| class.call1((max_bytes, one_column)));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// Arrow rejects the arrays, which is a bug of this crate.
#[cold]
fn unexpected(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
