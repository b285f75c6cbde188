//! The input of a call as bytes that no Python code can change.

use std::ops::Range;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

/// A `bytes` object, or the part of one that a memoryview shows.
pub(crate) struct ImmutableBytes<'py> {
    object: Bound<'py, PyBytes>,
    part: Range<usize>,
}

impl<'py> ImmutableBytes<'py> {
    /// Take a bytes-like object. `bytes` and views of `bytes` are used in place, everything else is copied.
    pub(crate) fn new(data: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = data.cast::<PyBytes>() {
            return Ok(Self::whole(bytes.clone()));
        }
        let buffer = match PyUntypedBuffer::get(data) {
            Ok(buffer) => buffer,
            // It has been released, which CPython's error says.
            Err(error) if data.is_instance_of::<PyMemoryView>() => return Err(error),
            Err(_) => {
                // Arrays of ctypes have no strides, which PyO3 requires; memoryview computes them.
                if let Ok(view) = PyMemoryView::from(data) {
                    return Self::new(view.as_any());
                }
                let found = data.get_type().name()?.to_string();
                return Err(PyTypeError::new_err(format!(
                    "expected a bytes-like object, found {found}"
                )));
            }
        };
        if let Ok(view) = data.cast::<PyMemoryView>()
            && let Ok(object) = view.getattr("obj")?.cast_into_exact::<PyBytes>()
            && buffer.is_c_contiguous()
            && let Some(start) = (buffer.buf_ptr() as usize).checked_sub(object.as_bytes().as_ptr() as usize)
            && let Some(stop) = start.checked_add(buffer.len_bytes())
            && stop <= object.as_bytes().len()
        {
            return Ok(Self {
                object,
                part: start..stop,
            });
        }
        Ok(Self::whole(
            data.py().get_type::<PyBytes>().call1((data,))?.cast_into()?,
        ))
    }

    fn whole(object: Bound<'py, PyBytes>) -> Self {
        let part = 0..object.as_bytes().len();
        Self { object, part }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.object.as_bytes().get(self.part.clone()).unwrap_or_default()
    }

    /// Return the `bytes` object and the range of it that is the input.
    pub(crate) fn unbind(self) -> (Py<PyBytes>, Range<usize>) {
        (self.object.unbind(), self.part)
    }
}
