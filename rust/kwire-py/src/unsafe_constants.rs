//! Objects that are never freed: small integers and the empty tuple.
//!
//! CPython has one object for each integer from -5 to 256. Since 3.11 they are elements of one static array. The
//! addresses are measured once. If they are not consecutive, callers ask the interpreter for each number.

use std::ptr::{NonNull, null_mut};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::unsafe_digits::Digits;

pub(crate) const LOWEST: i64 = -5;
pub(crate) const HIGHEST: i64 = 256;
/// The distance between two integers in bytes: a header, a size, a digit, and padding.
pub(crate) const STRIDE: usize = 32;

#[derive(Clone, Copy)]
pub(crate) struct Constants {
    /// The object of `LOWEST`.
    first: *mut ffi::PyObject,
    /// The size of all objects in bytes. 0 if they are not consecutive with a distance of `STRIDE`.
    span: usize,
    pub(crate) empty_tuple: NonNull<ffi::PyObject>,
    pub(crate) digits: Digits,
}

// SAFETY: the pointers are to objects that are never freed, and are used only while the GIL is held.
unsafe impl Send for Constants {}
// SAFETY: as above.
unsafe impl Sync for Constants {}

impl Constants {
    pub(crate) fn get(py: Python<'_>) -> &'static Self {
        static CONSTANTS: PyOnceLock<Constants> = PyOnceLock::new();
        CONSTANTS.get_or_init(py, || Self::measure(py))
    }

    fn measure(py: Python<'_>) -> Self {
        // SAFETY: the call returns a reference to an object that is never freed. The reference is leaked.
        let address = |number: i64| unsafe { ffi::PyLong_FromLongLong(number) };
        let first = address(LOWEST);
        let even = (LOWEST..=HIGHEST).enumerate().all(|(index, number)| {
            let (once, again) = (address(number), address(number));
            once == again && once as usize == (first as usize).wrapping_add(index.wrapping_mul(STRIDE))
        });
        // The empty tuple is a single object, too. This reference keeps it alive.
        let empty_tuple = NonNull::new(PyTuple::empty(py).into_ptr()).unwrap_or(NonNull::dangling());
        let count = (LOWEST..=HIGHEST).count();
        Self {
            first: if even { first } else { null_mut() },
            span: if even { STRIDE * count } else { 0 },
            empty_tuple,
            digits: Digits::measure(py),
        }
    }

    /// Return the number of consecutive small integers (0 if they are not consecutive), the lowest one, and its object.
    /// The others follow at a distance of `STRIDE`.
    #[inline(always)]
    pub(crate) fn smalls(&self) -> (u64, i64, *mut ffi::PyObject) {
        ((self.span / STRIDE) as u64, LOWEST, self.first)
    }

    /// Return the object of a small integer as a borrowed pointer.
    #[inline(always)]
    pub(crate) fn small(&self, value: i64) -> Option<NonNull<ffi::PyObject>> {
        let index = value.wrapping_sub(LOWEST).cast_unsigned();
        if index > (HIGHEST - LOWEST).cast_unsigned() {
            return None;
        }
        if self.span == 0 {
            return None;
        }
        // SAFETY: the address is within the measured array, so it is not null.
        Some(unsafe { NonNull::new_unchecked(self.first.byte_add(usize::try_from(index).unwrap_or(0) * STRIDE)) })
    }

    /// Return the value of an object if it is one of the small integers.
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
