//! A `bytes` object that grows while it is written.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. Until `finish`, nothing else refers to the object, so its bytes may be written and its address may change.
//! 2. `length` bytes have been written, and `capacity` bytes are allocated.
//! 3. If memory runs out, `object` is null, the exception stays set until `finish`, and later writes are dropped.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::null_mut;

use kwire::encode::{Cursor, Sink};
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
    /// The estimated length.
    estimate: usize,
}

/// The memory that is allocated for an estimate alone.
const FIRST: usize = 1 << 16;
/// A larger object grows to the estimate, but not to more than this many times what has been written. A small message
/// that follows a large one would otherwise need the memory of the large one.
const MAX_RATIO: usize = 128;

/// An object with at most this many unused bytes keeps them, which costs less than a call of the allocator.
const MOST_UNUSED: usize = 2 * BLOCK;

impl Growing {
    /// Create an empty object. A good estimate of its length saves copies.
    pub(crate) fn new(_: Python<'_>, estimate: usize) -> Self {
        // Extra room, so that the last words do not cause another allocation.
        let estimate = estimate.saturating_add(BLOCK);
        let capacity = estimate.min(FIRST);
        let mut made = Self {
            object: null_mut(),
            data: null_mut(),
            length: 0,
            capacity: 0,
            estimate,
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
        let needed = self.length.saturating_add(additional);
        let expected = self.estimate.min(self.length.saturating_mul(MAX_RATIO));
        let doubled = self.capacity.saturating_mul(2);
        self.resize(needed.max(expected).max(doubled).max(64));
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
        if self.capacity - self.length > MOST_UNUSED {
            self.resize(self.length);
        } else if !self.object.is_null() {
            // SAFETY: the object is a `bytes` object that nothing else refers to (invariant 1). Its memory has room for
            // `capacity` bytes and a zero after them, so also for fewer. It has no hash yet.
            unsafe {
                (*self.object.cast::<ffi::PyVarObject>()).ob_size = self.length.cast_signed();
                self.data.add(self.length).write(0);
            }
        }
        let object = std::mem::replace(&mut self.object, null_mut());
        if object.is_null() {
            return Err(PyErr::fetch(py));
        }
        // SAFETY: transfers the only reference, which is to a `bytes` object.
        Ok(unsafe { Bound::from_owned_ptr(py, object).cast_into_unchecked() })
    }
}

/// The end of the written bytes. It borrows the object, so `data` and `capacity` change only in `more`.
pub(crate) struct GrowingCursor<'s> {
    out: &'s mut Growing,
    /// Where the next byte goes: `out.data + length`.
    at: *mut u8,
    /// The end of the allocated bytes: `out.data + out.capacity`.
    end: *mut u8,
}

impl GrowingCursor<'_> {
    #[inline(always)]
    fn left(&self) -> usize {
        self.end.addr() - self.at.addr()
    }
}

/// Make room for `additional` bytes after `at`, and return the new `at` and `end`. Takes no reference to a cursor, whose
/// fields could not stay in registers otherwise.
#[cold]
#[inline(never)]
fn more(out: &mut Growing, at: *mut u8, additional: usize) -> (*mut u8, *mut u8) {
    out.length = at.addr() - out.data.addr();
    out.grow(additional);
    let cursor = out.open();
    (cursor.at, cursor.end)
}

impl Cursor for GrowingCursor<'_> {
    #[inline(always)]
    fn push<const N: usize>(&mut self, bytes: [u8; N]) {
        if self.left() < N {
            (self.at, self.end) = more(self.out, self.at, N);
            if self.left() < N {
                return;
            }
        }
        // SAFETY: that many bytes are free at `at`, as checked above. Bytes need no alignment.
        unsafe {
            self.at.cast::<[u8; N]>().write_unaligned(bytes);
            self.at = self.at.add(N);
        }
    }

    #[inline(always)]
    fn position(&self) -> usize {
        self.at.addr() - self.out.data.addr()
    }

    #[inline(always)]
    fn repeat(&mut self, held: Range<usize>) {
        let count = held.len();
        if held.start > held.end || held.end > self.position() {
            return;
        }
        if count > BLOCK || self.left() < BLOCK {
            self.out.length = self.position();
            self.out.repeat(held);
            let cursor = self.out.open();
            (self.at, self.end) = (cursor.at, cursor.end);
            return;
        }
        // SAFETY: as in `Growing::repeat`, which this is the fast case of.
        unsafe {
            let block = self.out.data.add(held.start).cast::<[MaybeUninit<u8>; BLOCK]>();
            self.at
                .cast::<[MaybeUninit<u8>; BLOCK]>()
                .write_unaligned(block.read_unaligned());
            self.at = self.at.add(count);
        }
    }

    #[inline(always)]
    fn close(self) {
        self.out.length = self.position();
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        // SAFETY: `object` is null or the only reference, which is owned. This type is used only while the GIL is held.
        unsafe { ffi::Py_XDECREF(self.object) }
    }
}

impl Sink for Growing {
    type Cursor<'s> = GrowingCursor<'s>;

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
    fn open(&mut self) -> GrowingCursor<'_> {
        // SAFETY: `length` and `capacity` are within the object, or both are 0 and `data` is null (invariant 2).
        let (at, end) = unsafe { (self.data.add(self.length), self.data.add(self.capacity)) };
        GrowingCursor { out: self, at, end }
    }

    #[inline]
    fn zeros(&mut self, count: usize) -> Option<&mut [u8]> {
        if self.capacity - self.length < count {
            self.grow(count);
            if self.object.is_null() {
                return None;
            }
        }
        // SAFETY: that many bytes are free after `length`, as checked above, and nothing else refers to them
        // (invariant 1).
        unsafe {
            let start = self.data.add(self.length);
            start.write_bytes(0, count);
            self.length += count;
            Some(std::slice::from_raw_parts_mut(start, count))
        }
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
