//! Owned references to objects that are being built.
//!
//! The `unsafe` blocks rely on one invariant: the GIL is held while a reference exists (1).

use std::ptr::NonNull;

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::unsafe_layout::count;

/// An owned reference, which is released if the call fails.
pub(crate) struct Owned(NonNull<ffi::PyObject>);

impl Owned {
    /// Take over a new reference. Null means that an exception is set.
    ///
    /// # Safety
    /// `pointer` is null or a reference that the caller owns.
    #[inline(always)]
    pub(crate) unsafe fn new(pointer: *mut ffi::PyObject) -> Result<Self, Raised> {
        NonNull::new(pointer).map(Self).ok_or(Raised)
    }

    /// Create another reference to an object.
    ///
    /// # Safety
    /// The object is alive.
    #[inline(always)]
    pub(crate) unsafe fn borrowed(pointer: NonNull<ffi::PyObject>) -> Self {
        // SAFETY: the caller ensures that the object is alive.
        unsafe { count(pointer.as_ptr()) };
        Self(pointer)
    }

    /// Create another reference to the same object.
    #[inline(always)]
    pub(crate) fn another(&self) -> Self {
        // SAFETY: this reference keeps the object alive.
        unsafe { Self::borrowed(self.0) }
    }

    #[inline(always)]
    pub(crate) fn pointer(&self) -> NonNull<ffi::PyObject> {
        self.0
    }

    #[inline(always)]
    pub(crate) fn into_pointer(self) -> *mut ffi::PyObject {
        let pointer = self.0.as_ptr();
        std::mem::forget(self);
        pointer
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the reference is owned, and the GIL is held (invariant 1).
        unsafe { ffi::Py_DECREF(self.0.as_ptr()) }
    }
}

/// A Python exception is set.
#[derive(Debug)]
pub(crate) struct Raised;

/// Return a new tuple. Unlike `PyTuple::new`, report it if memory is short.
pub(crate) fn new_tuple<'py>(py: Python<'py>, items: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyTuple>> {
    // SAFETY: the call returns a new tuple with null elements, or null with an exception set. Each element is written
    // once, with a reference that it takes over, and no Python code runs before all are.
    unsafe {
        let tuple = ffi::PyTuple_New(items.len().cast_signed());
        if tuple.is_null() {
            return Err(PyErr::fetch(py));
        }
        for (index, item) in items.into_iter().enumerate() {
            ffi::PyTuple_SET_ITEM(tuple, index.cast_signed(), item.into_ptr());
        }
        Ok(Bound::from_owned_ptr(py, tuple).cast_into_unchecked())
    }
}

/// Return an `int`. Unlike `IntoPyObject`, report it if memory is short.
pub(crate) fn new_integer(py: Python<'_>, value: i64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the call returns a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLongLong(value)) }
}

/// Return a new `bytes` object. Unlike `PyBytes::new`, report it if memory is short.
pub(crate) fn new_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    // SAFETY: the call copies the bytes into a new object, or returns null with an exception set.
    unsafe {
        let made = ffi::PyBytes_FromStringAndSize(bytes.as_ptr().cast(), bytes.len().cast_signed());
        if made.is_null() {
            return Err(PyErr::fetch(py));
        }
        Ok(Bound::from_owned_ptr(py, made).cast_into_unchecked())
    }
}

/// Return the error of a failed `try_reserve`.
#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn out_of_memory<E>(_: E) -> PyErr {
    PyMemoryError::new_err(())
}
