//! Owned references to objects that are being built.
//!
//! The `unsafe` blocks rely on one invariant: the GIL is held while a reference exists (1).

use std::ptr::NonNull;

use pyo3::ffi;

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
