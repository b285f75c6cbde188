//! Objects that live as long as the interpreter: small integers and the empty tuple.
//!
//! Rules of this file: CPython keeps one object for each integer from -5 to 256, since 3.11 side by side in one static
//! array. That they stand side by side is measured once, not assumed; where they do not, callers ask the interpreter
//! for each number, and get the same objects more slowly.

use std::ptr::{NonNull, null_mut};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

const LOWEST: i64 = -5;
const HIGHEST: i64 = 256;
/// Bytes from one integer's object to the next: a header, a word for the size, a digit, and what aligns them.
const STRIDE: usize = 32;

pub(crate) struct Constants {
    /// The object of `LOWEST`.
    first: *mut ffi::PyObject,
    /// The bytes of all; 0 where they do not stand side by side, `STRIDE` apart.
    span: usize,
    pub(crate) empty_tuple: NonNull<ffi::PyObject>,
}

// SAFETY: the pointers are to objects that live as long as the process, and are used with the GIL held only.
unsafe impl Send for Constants {}
// SAFETY: as above.
unsafe impl Sync for Constants {}

impl Constants {
    pub(crate) fn get(py: Python<'_>) -> &'static Self {
        static CONSTANTS: PyOnceLock<Constants> = PyOnceLock::new();
        CONSTANTS.get_or_init(py, || Self::measure(py))
    }

    fn measure(py: Python<'_>) -> Self {
        // SAFETY: makes references to objects that are kept for ever, this one included.
        let address = |number: i64| unsafe { ffi::PyLong_FromLongLong(number) };
        let first = address(LOWEST);
        let even = (LOWEST..=HIGHEST).enumerate().all(|(index, number)| {
            let (once, again) = (address(number), address(number));
            once == again && once as usize == (first as usize).wrapping_add(index.wrapping_mul(STRIDE))
        });
        // The empty tuple is one object too; this reference keeps it.
        let empty_tuple = NonNull::new(PyTuple::empty(py).into_ptr()).unwrap_or(NonNull::dangling());
        let count = (LOWEST..=HIGHEST).count();
        Self {
            first: if even { first } else { null_mut() },
            span: if even { STRIDE * count } else { 0 },
            empty_tuple,
        }
    }

    /// The object of a small integer, borrowed.
    #[inline(always)]
    pub(crate) fn small(&self, value: i64) -> Option<NonNull<ffi::PyObject>> {
        let index = value.wrapping_sub(LOWEST).cast_unsigned();
        if index > (HIGHEST - LOWEST).cast_unsigned() {
            return None;
        }
        if self.span == 0 {
            return None;
        }
        // SAFETY: in bounds of the array that was measured, hence not null.
        Some(unsafe { NonNull::new_unchecked(self.first.byte_add(usize::try_from(index).unwrap_or(0) * STRIDE)) })
    }

    /// The value of an object that is one of the small integers.
    #[inline(always)]
    pub(crate) fn value(&self, object: *mut ffi::PyObject) -> Option<i64> {
        let distance = (object as usize).wrapping_sub(self.first as usize);
        if distance < self.span {
            Some((distance / STRIDE).cast_signed() as i64 + LOWEST)
        } else {
            None
        }
    }
}
