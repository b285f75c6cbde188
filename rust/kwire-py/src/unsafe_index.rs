//! Builds parts of an indexed body as Python objects.
//!
//! The `unsafe` block relies on the invariants of `unsafe_builder`: a part is built like a message, in one call.

use kwire::Stop;
use kwire::index::Part;
use pyo3::prelude::*;

use crate::unsafe_builder::Builder;
use crate::unsafe_caches::Caches;
use crate::unsafe_layout::Layout;
use crate::unsafe_owned::Raised;

/// Decode a part and return it, or the error of the bytes or of Python.
pub(crate) fn build_part<'py>(
    py: Python<'py>,
    part: Part<'_>,
    layouts: &[Layout],
    caches: &mut Caches,
) -> Result<Bound<'py, PyAny>, Result<Box<kwire::DecodeError>, PyErr>> {
    let mut builder = Builder::new(py, layouts, part.bytes(), caches);
    match part.decode(&mut builder) {
        // SAFETY: transfers the owned reference.
        Ok(made) => Ok(unsafe { Bound::from_owned_ptr(py, made.into_pointer()) }),
        Err(Stop::Bytes(error)) => Err(Ok(error)),
        Err(Stop::Visitor(Raised)) => Err(Err(PyErr::fetch(py))),
    }
}
