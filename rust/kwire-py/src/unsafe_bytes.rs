//! A `bytes` object that grows while it is written.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. Until `finish`, nothing else refers to the object, so its bytes may be written and its address may change.
//! 2. `length` bytes have been written, and `capacity` bytes are allocated.
//! 3. If memory runs out, `object` is null, the exception stays set until `finish`, and later writes are dropped.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::null_mut;

use kwire::encode::Sink;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

unsafe extern "C" {
    /// Public in `bytesobject.h`, but missing from the bindings.
    fn _PyBytes_Resize(object: *mut *mut ffi::PyObject, size: ffi::Py_ssize_t) -> std::ffi::c_int;
}

/// Ranges of up to this many bytes are repeated as one block.
const BLOCK: usize = 32;

pub(crate) struct Growing {
    object: *mut ffi::PyObject,
    data: *mut u8,
    length: usize,
    capacity: usize,
}

impl Growing {
    /// Extra room at the end, so that the last words do not cause another allocation.
    pub(crate) const SLACK: usize = BLOCK;

    /// Create an empty object with room for `capacity` bytes.
    pub(crate) fn new(_: Python<'_>, capacity: usize) -> Self {
        let mut made = Self {
            object: null_mut(),
            data: null_mut(),
            length: 0,
            capacity: 0,
        };
        // SAFETY: without a source, the bytes are uninitialized. No byte is read before it is written.
        made.adopt(
            unsafe { ffi::PyBytes_FromStringAndSize(std::ptr::null(), capacity.cast_signed()) },
            capacity,
        );
        made
    }

    fn adopt(&mut self, object: *mut ffi::PyObject, capacity: usize) {
        self.object = object;
        if object.is_null() {
            (self.data, self.length, self.capacity) = (null_mut(), 0, 0);
        } else {
            // SAFETY: the object is alive and a `bytes` object.
            (self.data, self.capacity) = (unsafe { ffi::PyBytes_AsString(object) }.cast(), capacity);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, additional: usize) {
        let wanted = self
            .length
            .saturating_add(additional)
            .max(self.capacity.saturating_mul(2))
            .max(64);
        self.resize(wanted);
    }

    fn resize(&mut self, capacity: usize) {
        if self.object.is_null() {
            return;
        }
        let mut object = self.object;
        // SAFETY: nothing else refers to the object (invariant 1). On failure it is freed, `object` is null, and
        // `MemoryError` is set.
        unsafe { _PyBytes_Resize(&raw mut object, capacity.min(isize::MAX.unsigned_abs()).cast_signed()) };
        self.adopt(object, capacity);
    }

    /// Return the object, truncated to what was written, or an error if memory ran out.
    pub(crate) fn finish(mut self, py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
        if self.length != self.capacity {
            self.resize(self.length);
        }
        let object = std::mem::replace(&mut self.object, null_mut());
        if object.is_null() {
            return Err(PyErr::fetch(py));
        }
        // SAFETY: transfers the only reference, which is to a `bytes` object.
        Ok(unsafe { Bound::from_owned_ptr(py, object).cast_into_unchecked() })
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        // SAFETY: `object` is null or the only reference, which is owned. This type is used only while the GIL is held.
        unsafe { ffi::Py_XDECREF(self.object) }
    }
}

impl Sink for Growing {
    fn len(&self) -> usize {
        self.length
    }

    fn reserve(&mut self, additional: usize) {
        if self.capacity - self.length < additional {
            self.grow(additional);
        }
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        if self.capacity - self.length < bytes.len() {
            self.grow(bytes.len());
            if self.object.is_null() {
                return;
            }
        }
        // SAFETY: that many bytes are free after `length`, as checked above. `bytes` does not overlap them.
        unsafe {
            self.data
                .add(self.length)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        };
        self.length += bytes.len();
    }

    #[inline(always)]
    fn put_array<const N: usize>(&mut self, bytes: [u8; N]) {
        // As `put`, but with a constant length: a store instead of a call.
        if self.capacity - self.length < N {
            self.grow(N);
            if self.object.is_null() {
                return;
            }
        }
        // SAFETY: as in `put`. Bytes need no alignment.
        unsafe { self.data.add(self.length).cast::<[u8; N]>().write_unaligned(bytes) };
        self.length += N;
    }

    #[inline(always)]
    fn put_end(&mut self, word: u128, count: usize) {
        const WORD: usize = size_of::<u128>();
        if self.capacity - self.length < WORD {
            self.grow(WORD);
            if self.object.is_null() {
                return;
            }
        }
        // Writes the whole word, with the wanted bytes first. The next write overwrites the zeros after them. One store
        // for any count.
        let count = count.min(WORD);
        let shifted = if count == 0 { 0 } else { word << (8 * (WORD - count)) };
        // SAFETY: as in `put_array`.
        unsafe {
            self.data
                .add(self.length)
                .cast::<[u8; WORD]>()
                .write_unaligned(shifted.to_be_bytes());
        };
        self.length += count;
    }

    #[inline(always)]
    fn repeat(&mut self, held: Range<usize>) {
        let count = held.len();
        if held.start > held.end || held.end > self.length {
            return;
        }
        if self.capacity - self.length < count {
            self.grow(count);
            if self.object.is_null() {
                return;
            }
        }
        // SAFETY: the range is part of what has been written, and the target follows it. Both are in bounds, as checked
        // above. A short range is copied as a whole block if there is room for one: a store instead of a call. The
        // block is read completely before it is written, and the next write overwrites the excess.
        unsafe {
            let (from, to) = (self.data.add(held.start), self.data.add(self.length));
            if count <= BLOCK && self.capacity - self.length >= BLOCK {
                let block = from.cast::<[MaybeUninit<u8>; BLOCK]>().read_unaligned();
                to.cast::<[MaybeUninit<u8>; BLOCK]>().write_unaligned(block);
            } else {
                to.copy_from_nonoverlapping(from, count);
            }
        }
        self.length += count;
    }

    fn truncate(&mut self, len: usize) {
        self.length = self.length.min(len);
    }
}
