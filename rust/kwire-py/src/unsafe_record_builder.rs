//! Builds records as Python objects.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. The GIL is held while objects are built, and no Python code runs in between. Nothing refers to objects that are
//!    being built, and tuples are untracked by the garbage collector until they are complete.
//! 2. A slot is written once, at the offset that its own descriptor names (`slot_offset`).

use kwire_records::{Header, Record, Visitor};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::unsafe_constants::Constants;
use crate::unsafe_layout::{Layout, write};
use crate::unsafe_owned::{Owned, Raised};
use crate::unsafe_uniform::new_objects;

/// A tuple that is being filled from the left.
struct Items {
    tuple: Owned,
    filled: usize,
    size: usize,
}

impl Items {
    fn new(size: usize) -> Result<Self, Raised> {
        // SAFETY: the call returns a new tuple with null elements, or null with an exception set. The empty tuple is
        // shared and not tracked. Untracked, the incomplete tuple is invisible to the garbage collector.
        unsafe {
            let tuple = Owned::new(ffi::PyTuple_New(size.cast_signed()))?;
            if size > 0 {
                ffi::PyObject_GC_UnTrack(tuple.pointer().as_ptr().cast());
            }
            Ok(Self { tuple, filled: 0, size })
        }
    }

    #[inline(always)]
    fn push(&mut self, item: Owned) {
        if self.filled < self.size {
            // SAFETY: the index is in bounds, its element is null, and nothing else refers to the tuple.
            unsafe {
                ffi::PyTuple_SET_ITEM(
                    self.tuple.pointer().as_ptr(),
                    self.filled.cast_signed(),
                    item.into_pointer(),
                );
            };
            self.filled += 1;
        }
    }

    fn is_full(&self) -> bool {
        self.filled == self.size
    }

    /// Return the tuple. Tracked again if it holds objects that the garbage collector tracks.
    fn finish(self, tracked: bool) -> Owned {
        if tracked && self.size > 0 {
            // SAFETY: the tuple is complete and untracked.
            unsafe { ffi::PyObject_GC_Track(self.tuple.pointer().as_ptr().cast()) };
        }
        self.tuple
    }
}

/// The number of headers in a record with remembered keys, and their longest key in bytes.
const REMEMBERED: usize = 16;
const LONGEST_REMEMBERED: usize = 256;

/// Builds records and batches.
pub(crate) struct Builder<'a, 'py> {
    py: Python<'py>,
    layouts: &'a [Layout; 3],
    constants: &'static Constants,
    tracked: bool,
    header: Option<Header>,
    records: Option<Items>,
    /// The last record and its headers. Its slot for them is empty until all are there.
    headers: Option<(Owned, Items)>,
    last_timestamp: Option<(i64, Owned)>,
    /// The last key of the header at each position: headers of successive records usually have the same.
    keys: Vec<(Vec<u8>, Owned)>,
}

// The fields of the classes in the order of `CLASSES`.
const RECORDS_OF_BATCH: usize = 10;
const OFFSET: usize = 0;
const TIMESTAMP: usize = 1;
const KEY: usize = 2;
const VALUE: usize = 3;
pub(crate) const HEADERS: usize = 4;
pub(crate) const RAW_TIMESTAMP: usize = 5;
pub(crate) const HEADER_KEY: usize = 0;
pub(crate) const HEADER_VALUE: usize = 1;

impl<'a, 'py> Builder<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, layouts: &'a [Layout; 3]) -> Self {
        Self {
            py,
            layouts,
            constants: Constants::get(py),
            tracked: layouts.iter().any(Layout::is_tracked),
            header: None,
            records: None,
            headers: None,
            last_timestamp: None,
            keys: Vec::new(),
        }
    }

    /// Return the batch that has been walked.
    pub(crate) fn end_batch(&mut self) -> Result<Bound<'py, PyAny>, Raised> {
        let (Some(header), Some(records)) = (self.header.take(), self.records.take()) else {
            pyo3::exceptions::PyRuntimeError::new_err("a batch ended before it began").restore(self.py);
            return Err(Raised);
        };
        let layout = &self.layouts[0];
        let batch = allocate(layout)?;
        let numbers = [
            header.base_offset,
            header.partition_leader_epoch.into(),
            header.magic.into(),
            header.attributes.into(),
            header.last_offset_delta,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch.into(),
            header.base_sequence.into(),
        ];
        for (position, number) in numbers.into_iter().enumerate() {
            let number = self.integer(number)?;
            set(&batch, layout, position, number);
        }
        set(&batch, layout, RECORDS_OF_BATCH, records.finish(self.tracked));
        // SAFETY: transfers the owned reference.
        Ok(unsafe { Bound::from_owned_ptr(self.py, batch.into_pointer()) })
    }

    #[inline(always)]
    fn integer(&self, value: i64) -> Result<Owned, Raised> {
        match self.constants.small(value) {
            // SAFETY: small integers are never freed.
            Some(small) => Ok(unsafe { Owned::borrowed(small) }),
            // SAFETY: the call returns a new reference, or null with an exception set.
            None => unsafe { Owned::new(ffi::PyLong_FromLongLong(value)) },
        }
    }

    /// Return the object of a timestamp. Successive records often have the same.
    #[inline(always)]
    fn timestamp(&mut self, value: i64) -> Result<Owned, Raised> {
        if let Some((before, object)) = &self.last_timestamp
            && *before == value
        {
            return Ok(object.another());
        }
        let made = self.integer(value)?;
        self.last_timestamp = Some((value, made.another()));
        Ok(made)
    }

    /// Return the stored timestamp below an append time, or None if it is the same.
    #[inline(always)]
    fn raw_timestamp(&self, record: &Record<'_>) -> Result<Owned, Raised> {
        if record.raw_timestamp != record.timestamp {
            return self.integer(record.raw_timestamp);
        }
        // SAFETY: None is never freed, and the call counts the new reference.
        unsafe { Owned::new(ffi::Py_NewRef(ffi::Py_None())) }
    }

    #[inline]
    fn key(&mut self, index: usize, bytes: &[u8]) -> Result<Owned, Raised> {
        if let Some((before, object)) = self.keys.get(index)
            && before == bytes
        {
            return Ok(object.another());
        }
        // Invalid UTF-8 is kept as surrogates (PEP 383).
        // SAFETY: the call returns a new reference, or null with an exception set.
        let made = unsafe {
            Owned::new(ffi::PyUnicode_DecodeUTF8(
                bytes.as_ptr().cast(),
                bytes.len().cast_signed(),
                c"surrogateescape".as_ptr(),
            ))
        }?;
        if bytes.len() > LONGEST_REMEMBERED {
            return Ok(made);
        }
        if let Some(place) = self.keys.get_mut(index) {
            *place = (bytes.to_vec(), made.another());
        } else if index == self.keys.len() && index < REMEMBERED {
            self.keys.push((bytes.to_vec(), made.another()));
        }
        Ok(made)
    }
}

impl Visitor for Builder<'_, '_> {
    type Error = Raised;

    fn batch(&mut self, header: &Header, count: usize) -> Result<(), Raised> {
        self.header = Some(*header);
        self.records = Some(Items::new(count)?);
        self.headers = None;
        Ok(())
    }

    #[inline]
    fn record(&mut self, record: &Record<'_>) -> Result<(), Raised> {
        let layout = &self.layouts[1];
        let object = allocate(layout)?;
        let offset = self.integer(record.offset)?;
        set(&object, layout, OFFSET, offset);
        let timestamp = self.timestamp(record.timestamp)?;
        set(&object, layout, TIMESTAMP, timestamp);
        let key = new_bytes(record.key)?;
        set(&object, layout, KEY, key);
        let value = new_bytes(record.value)?;
        set(&object, layout, VALUE, value);
        let raw_timestamp = self.raw_timestamp(record)?;
        set(&object, layout, RAW_TIMESTAMP, raw_timestamp);
        if record.headers > 0 {
            self.headers = Some((object, Items::new(record.headers)?));
            return Ok(());
        }
        // SAFETY: the empty tuple is never freed.
        let empty = unsafe { Owned::borrowed(self.constants.empty_tuple) };
        set(&object, layout, HEADERS, empty);
        if let Some(records) = &mut self.records {
            records.push(object);
        }
        Ok(())
    }

    #[inline]
    fn header(&mut self, index: usize, key: &[u8], value: Option<&[u8]>) -> Result<(), Raised> {
        let layout = &self.layouts[2];
        let object = allocate(layout)?;
        let key = self.key(index, key)?;
        set(&object, layout, HEADER_KEY, key);
        let value = new_bytes(value)?;
        set(&object, layout, HEADER_VALUE, value);
        let Some((_, headers)) = &mut self.headers else {
            return Ok(());
        };
        headers.push(object);
        if headers.is_full()
            && let Some((record, headers)) = self.headers.take()
        {
            set(&record, &self.layouts[1], HEADERS, headers.finish(self.tracked));
            if let Some(records) = &mut self.records {
                records.push(record);
            }
        }
        Ok(())
    }
}

/// Return a `bytes` object, or None.
#[inline(always)]
fn new_bytes(bytes: Option<&[u8]>) -> Result<Owned, Raised> {
    // SAFETY: the call copies the bytes into a new object, or returns null with an exception set. None is never
    // freed.
    unsafe {
        match bytes {
            Some(bytes) => Owned::new(ffi::PyBytes_FromStringAndSize(
                bytes.as_ptr().cast(),
                bytes.len().cast_signed(),
            )),
            None => Owned::new(ffi::Py_NewRef(ffi::Py_None())),
        }
    }
}

/// Create an instance with null in its fields.
#[inline(always)]
fn allocate(layout: &Layout) -> Result<Owned, Raised> {
    // SAFETY: the place of the new object is null. Instances of classes that are not adopted come from their own
    // allocator, and their slots are written here for the first time.
    unsafe {
        if layout.adopted {
            let mut object = std::ptr::null_mut();
            new_objects(layout, &raw mut object, 1)?;
            return Owned::new(object);
        }
        let object = Owned::new(ffi::PyType_GenericAlloc(layout.type_pointer(), 0))?;
        for (offset, default) in &layout.defaults {
            write(object.pointer().as_ptr(), *offset, ffi::Py_NewRef(default.as_ptr()));
        }
        Ok(object)
    }
}

/// Set a field of a new instance of the layout's class.
#[inline(always)]
fn set(object: &Owned, layout: &Layout, position: usize, value: Owned) {
    if let Some(offset) = layout.offsets.get(position) {
        // SAFETY: the offset belongs to a slot of the object's class, which has not been written yet (invariant 2).
        unsafe { write(object.pointer().as_ptr(), *offset, value.into_pointer()) };
    }
}
