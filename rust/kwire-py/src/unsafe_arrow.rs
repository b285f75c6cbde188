//! Arrow data of other libraries, imported through the `PyCapsule` interface.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. A capsule with a name of the interface holds the corresponding C struct, initialized.
//! 2. Taking the struct out of a capsule leaves an empty one in its place, so it is released once.
//! 3. The producer follows Arrow's C data interface, which every consumer must assume.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{ArrayRef, make_array};
use arrow_schema::ArrowError;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::CStr;

pub(crate) const SCHEMA: &CStr = c"arrow_schema";
pub(crate) const ARRAY: &CStr = c"arrow_array";
pub(crate) const STREAM: &CStr = c"arrow_array_stream";

/// Return the chunks of an array or a chunked array, `None` if the object offers neither.
pub(crate) fn chunks(offered: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    if let Some(method) = offered.getattr_opt("__arrow_c_stream__")? {
        return stream(&method.call0()?).map(Some);
    }
    if let Some(method) = offered.getattr_opt("__arrow_c_array__")? {
        return array(&method.call0()?).map(|array| Some(vec![array]));
    }
    Ok(None)
}

fn stream(capsule: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule with this name holds a stream (invariant 1). An empty one stays in its place (invariant 2).
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) };
    let reader = ArrayStreamReader::try_new(stream).map_err(refused)?;
    reader.collect::<Result<_, _>>().map_err(refused)
}

fn array(capsules: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let capsules = capsules.cast::<PyTuple>()?;
    if capsules.len() != 2 {
        return Err(PyTypeError::new_err("__arrow_c_array__ gives a schema and an array"));
    }
    let (schema, array) = (capsules.get_item(0)?, capsules.get_item(1)?);
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?;
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?;
    // SAFETY: capsules with these names hold a schema and an array (invariant 1). Empty ones stay in their place
    // (invariant 2).
    let (schema, array) = unsafe {
        (
            FFI_ArrowSchema::from_raw(schema.cast().as_ptr()),
            FFI_ArrowArray::from_raw(array.cast().as_ptr()),
        )
    };
    // SAFETY: both come from one call of a producer that follows the interface (invariant 3).
    let data = unsafe { from_ffi(array, &schema) }.map_err(refused)?;
    Ok(make_array(data))
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
