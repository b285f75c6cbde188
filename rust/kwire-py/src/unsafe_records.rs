//! Records as Python objects: the visitor that builds them, and the source that reads them.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. The GIL is held while objects are built or read, and no Python code runs in between. Nothing refers to objects
//!    that are being built, and tuples are untracked by the garbage collector until they are complete.
//! 2. Everything that is read is part of the tuple of records, which the caller holds, or of an immutable object in it.
//! 3. A slot is written once and read at the offset that its own descriptor names (`slot_offset`), and read only after
//!    its object has been checked to be an instance of the class that named the offset.

use std::ptr::NonNull;

use kwire_records::{Encoder, Header, Record, RecordHeader, Visitor};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::records::{encode_error, raise_encode};
use crate::unsafe_builder::Raised;
use crate::unsafe_constants::Constants;
use crate::unsafe_layout::{Layout, count, write};
use crate::unsafe_objects::elements;
use crate::unsafe_uniform::new_objects;

type Node = *mut ffi::PyObject;

/// A Python exception is set.
#[derive(Debug)]
pub(crate) struct Failed;

/// An owned reference.
struct Owned(NonNull<ffi::PyObject>);

impl Owned {
    /// Take over a new reference. Null means that an exception is set.
    ///
    /// # Safety
    /// `pointer` is null or a reference that the caller owns.
    #[inline(always)]
    unsafe fn new(pointer: Node) -> Result<Self, Failed> {
        NonNull::new(pointer).map(Self).ok_or(Failed)
    }

    /// Create another reference to an object.
    ///
    /// # Safety
    /// The object is alive.
    #[inline(always)]
    unsafe fn borrowed(pointer: NonNull<ffi::PyObject>) -> Self {
        // SAFETY: the caller ensures that the object is alive.
        unsafe { count(pointer.as_ptr()) };
        Self(pointer)
    }

    #[inline(always)]
    fn another(&self) -> Self {
        // SAFETY: this reference keeps the object alive.
        unsafe { Self::borrowed(self.0) }
    }

    #[inline(always)]
    fn into_pointer(self) -> Node {
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

/// A tuple that is being filled from the left.
struct Items {
    tuple: Owned,
    filled: usize,
    size: usize,
}

impl Items {
    fn new(size: usize) -> Result<Self, Failed> {
        // SAFETY: the call returns a new tuple with null elements, or null with an exception set. The empty tuple is
        // shared and not tracked. Untracked, the incomplete tuple is invisible to the garbage collector.
        unsafe {
            let tuple = Owned::new(ffi::PyTuple_New(size.cast_signed()))?;
            if size > 0 {
                ffi::PyObject_GC_UnTrack(tuple.0.as_ptr().cast());
            }
            Ok(Self { tuple, filled: 0, size })
        }
    }

    #[inline(always)]
    fn push(&mut self, item: Owned) {
        if self.filled < self.size {
            // SAFETY: the index is in bounds, its element is null, and nothing else refers to the tuple.
            unsafe { ffi::PyTuple_SET_ITEM(self.tuple.0.as_ptr(), self.filled.cast_signed(), item.into_pointer()) };
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
            unsafe { ffi::PyObject_GC_Track(self.tuple.0.as_ptr().cast()) };
        }
        self.tuple
    }
}

/// The number of headers in a record with remembered keys.
const REMEMBERED: usize = 16;

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
const HEADERS: usize = 4;
const HEADER_KEY: usize = 0;
const HEADER_VALUE: usize = 1;

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
    pub(crate) fn end_batch(&mut self) -> Result<Bound<'py, PyAny>, Failed> {
        let (Some(header), Some(records)) = (self.header.take(), self.records.take()) else {
            pyo3::exceptions::PyRuntimeError::new_err("a batch ended before it began").restore(self.py);
            return Err(Failed);
        };
        let layout = &self.layouts[0];
        let batch = allocate(layout)?;
        let numbers = [
            header.base_offset,
            header.partition_leader_epoch.into(),
            header.magic.into(),
            header.attributes.into(),
            header.last_offset_delta.into(),
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
    fn integer(&self, value: i64) -> Result<Owned, Failed> {
        match self.constants.small(value) {
            // SAFETY: small integers are never freed.
            Some(small) => Ok(unsafe { Owned::borrowed(small) }),
            // SAFETY: the call returns a new reference, or null with an exception set.
            None => unsafe { Owned::new(ffi::PyLong_FromLongLong(value)) },
        }
    }

    /// Return the object of a timestamp. Successive records often have the same.
    #[inline(always)]
    fn timestamp(&mut self, value: i64) -> Result<Owned, Failed> {
        if let Some((before, object)) = &self.last_timestamp
            && *before == value
        {
            return Ok(object.another());
        }
        let made = self.integer(value)?;
        self.last_timestamp = Some((value, made.another()));
        Ok(made)
    }

    #[inline]
    fn key(&mut self, index: usize, bytes: &[u8]) -> Result<Owned, Failed> {
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
        if let Some(place) = self.keys.get_mut(index) {
            *place = (bytes.to_vec(), made.another());
        } else if index == self.keys.len() && index < REMEMBERED {
            self.keys.push((bytes.to_vec(), made.another()));
        }
        Ok(made)
    }
}

impl Visitor for Builder<'_, '_> {
    type Error = Failed;

    fn batch(&mut self, header: &Header, count: usize) -> Result<(), Failed> {
        self.header = Some(*header);
        self.records = Some(Items::new(count)?);
        self.headers = None;
        Ok(())
    }

    #[inline]
    fn record(&mut self, record: &Record<'_>) -> Result<(), Failed> {
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
    fn header(&mut self, index: usize, key: &[u8], value: Option<&[u8]>) -> Result<(), Failed> {
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
fn new_bytes(bytes: Option<&[u8]>) -> Result<Owned, Failed> {
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
fn allocate(layout: &Layout) -> Result<Owned, Failed> {
    // SAFETY: the place of the new object is null. Instances of classes that are not adopted come from their own
    // allocator, and their slots are written here for the first time.
    unsafe {
        if layout.adopted {
            let mut object = std::ptr::null_mut();
            new_objects(layout, &raw mut object, 1).map_err(|Raised| Failed)?;
            return Owned::new(object);
        }
        let object = Owned::new(ffi::PyType_GenericAlloc(layout.type_pointer(), 0))?;
        for (offset, default) in &layout.defaults {
            write(object.0.as_ptr(), *offset, ffi::Py_NewRef(default.as_ptr()));
        }
        Ok(object)
    }
}

/// Set a field of a new instance of the layout's class.
#[inline(always)]
fn set(object: &Owned, layout: &Layout, position: usize, value: Owned) {
    if let Some(offset) = layout.offsets.get(position) {
        // SAFETY: the offset is that of a slot of the object's class, which has not been written yet (invariant 3).
        unsafe { write(object.0.as_ptr(), *offset, value.into_pointer()) };
    }
}

/// Reads records: instances of `Record`, or tuples of offset, timestamp, key, value, and optionally headers.
pub(crate) struct Source<'a> {
    record: &'a Layout,
    header: &'a Layout,
}

/// Where an invalid value is, and what was expected there.
struct Wrong {
    kind: &'static str,
    field: &'static str,
    header: Option<(usize, &'static str)>,
    reason: String,
}

type Read<T> = Result<T, Box<Wrong>>;

impl<'a> Source<'a> {
    pub(crate) fn new(layouts: &'a [Layout; 3]) -> Self {
        Self {
            record: &layouts[1],
            header: &layouts[2],
        }
    }

    /// Pass every record to the encoder.
    pub(crate) fn write(&self, records: &Bound<'_, PyTuple>, encoder: &mut Encoder, out: &mut Vec<u8>) -> PyResult<()> {
        let py = records.py();
        let mut headers: Vec<RecordHeader<'_>> = Vec::new();
        let mut escaped: Vec<Bound<'_, PyBytes>> = Vec::new();
        // SAFETY: the tuple is alive for the whole call (invariant 2).
        let items = unsafe { elements(records.as_ptr()) };
        for (index, item) in items.iter().enumerate() {
            // SAFETY: an element of the live tuple (invariant 2).
            let read = unsafe { self.fields(*item) }.and_then(|[offset, timestamp, key, value, held]| {
                // SAFETY: values of a live record (invariant 2).
                unsafe {
                    headers.clear();
                    if !held.is_null() {
                        self.headers(py, held, &mut headers, &mut escaped)?;
                    }
                    Ok((
                        integer(offset, "offset")?,
                        integer(timestamp, "timestamp")?,
                        bytes(key).map_err(|found| wrong("key", "bytes or None", &found))?,
                        bytes(value).map_err(|found| wrong("value", "bytes or None", &found))?,
                    ))
                }
            });
            match read {
                Ok((offset, timestamp, key, value)) => encoder
                    .record(offset, timestamp, key, value, &headers, out)
                    .map_err(|error| encode_error(py, &error))?,
                Err(wrong) => return Err(raised(py, index, &wrong)?),
            }
        }
        Ok(())
    }

    /// Return the values of a record: null for headers that a tuple leaves out.
    ///
    /// # Safety
    /// The object is alive.
    unsafe fn fields(&self, item: Node) -> Read<[Node; 5]> {
        // SAFETY: the object is alive. Its slots are read once its class has been checked (invariant 3).
        unsafe {
            if is_instance(item, self.record) {
                let mut values = [std::ptr::null_mut(); 5];
                for (value, offset) in values.iter_mut().zip(&self.record.offsets) {
                    *value = item.byte_add(*offset).cast::<Node>().read();
                }
                return if values[HEADERS].is_null() {
                    Err(wrong("headers", "a tuple", "an unset field"))
                } else {
                    Ok(values)
                };
            }
            if ffi::PyTuple_Check(item) == 0 {
                return Err(wrong("", "a Record or a tuple", &found(item)));
            }
            match *elements(item) {
                [offset, timestamp, key, value] => Ok([offset, timestamp, key, value, std::ptr::null_mut()]),
                [offset, timestamp, key, value, headers] => Ok([offset, timestamp, key, value, headers]),
                ref other => Err(wrong(
                    "",
                    "a tuple of offset, timestamp, key, value, and headers",
                    &format!("{} elements", other.len()),
                )),
            }
        }
    }

    /// Append the headers in a tuple.
    ///
    /// # Safety
    /// The object is alive and stays so while `into` is used.
    unsafe fn headers<'py>(
        &self,
        py: Python<'py>,
        held: Node,
        into: &mut Vec<RecordHeader<'_>>,
        escaped: &mut Vec<Bound<'py, PyBytes>>,
    ) -> Read<()> {
        // SAFETY: the object is alive. Its slots are read once its class has been checked (invariant 3).
        unsafe {
            if ffi::PyTuple_Check(held) == 0 {
                return Err(wrong("headers", "a tuple", &found(held)));
            }
            for (index, header) in elements(held).iter().enumerate() {
                let at = |field, expected, found: &str| {
                    let mut error = wrong("headers", expected, found);
                    error.header = Some((index, field));
                    error
                };
                let (key, value) = if is_instance(*header, self.header) {
                    let read = |position: usize| {
                        let offset = self.header.offsets.get(position).copied().unwrap_or(0);
                        header.byte_add(offset).cast::<Node>().read()
                    };
                    (read(HEADER_KEY), read(HEADER_VALUE))
                } else if ffi::PyTuple_Check(*header) != 0
                    && let [key, value] = *elements(*header)
                {
                    (key, value)
                } else {
                    return Err(at("", "a Header or a tuple of key and value", &found(*header)));
                };
                if key.is_null() || ffi::PyUnicode_Check(key) == 0 {
                    return Err(at("key", "str", &found(key)));
                }
                let Some(key) = utf8(py, key, escaped) else {
                    let mut error = at("key", "", "");
                    error.kind = "invalid_utf8";
                    "the string has no UTF-8 encoding".clone_into(&mut error.reason);
                    return Err(error);
                };
                let value = bytes(value).map_err(|found| at("value", "bytes or None", &found))?;
                into.push((key, value));
            }
            Ok(())
        }
    }
}

/// Return the UTF-8 encoding of a string, None if it has none.
///
/// # Safety
/// The object is a live `str`, and it and `escaped` outlive the slice.
unsafe fn utf8<'b, 'py>(py: Python<'py>, text: Node, escaped: &mut Vec<Bound<'py, PyBytes>>) -> Option<&'b [u8]> {
    let mut size = 0;
    // SAFETY: `text` is a live `str`, which caches its encoding. The `bytes` object of an escaped string is kept in
    // `escaped` until the end of the call.
    unsafe {
        let data = ffi::PyUnicode_AsUTF8AndSize(text, &raw mut size);
        if !data.is_null() {
            return Some(std::slice::from_raw_parts(data.cast(), size.cast_unsigned()));
        }
        ffi::PyErr_Clear();
        let made = ffi::PyUnicode_AsEncodedString(text, c"utf-8".as_ptr(), c"surrogateescape".as_ptr());
        if made.is_null() {
            ffi::PyErr_Clear();
            return None;
        }
        let made: Bound<'py, PyBytes> = Bound::from_owned_ptr(py, made).cast_into_unchecked();
        let slice = made.as_bytes();
        let slice = std::slice::from_raw_parts(slice.as_ptr(), slice.len());
        escaped.push(made);
        Some(slice)
    }
}

/// Return whether an object is an instance of the layout's class.
///
/// # Safety
/// The object is null or alive.
#[inline(always)]
unsafe fn is_instance(object: Node, layout: &Layout) -> bool {
    // SAFETY: the object is null or alive.
    unsafe { !object.is_null() && ffi::PyObject_TypeCheck(object, layout.type_pointer()) != 0 }
}

/// Return the bytes of a `bytes` object, None for None, and the name of what was found instead as an error.
///
/// # Safety
/// The object is null or alive and outlives the slice.
#[inline(always)]
unsafe fn bytes<'b>(object: Node) -> Result<Option<&'b [u8]>, String> {
    // SAFETY: the object is null or alive. `bytes` objects are immutable.
    unsafe {
        if object == ffi::Py_None() {
            return Ok(None);
        }
        if object.is_null() || ffi::PyBytes_Check(object) == 0 {
            return Err(found(object));
        }
        let data = ffi::PyBytes_AsString(object).cast::<u8>();
        let size = ffi::PyBytes_Size(object).cast_unsigned();
        Ok(Some(std::slice::from_raw_parts(data, size)))
    }
}

/// Return the value of an int that fits 64 bits. A bool is not an int.
///
/// # Safety
/// The object is null or alive.
#[inline(always)]
unsafe fn integer(object: Node, field: &'static str) -> Read<i64> {
    // SAFETY: the object is null or alive, and an int when it is converted, which runs no Python code.
    unsafe {
        if object.is_null() || ffi::PyLong_Check(object) == 0 || ffi::PyBool_Check(object) != 0 {
            return Err(wrong(field, "int", &found(object)));
        }
        let mut overflow = 0;
        let value = ffi::PyLong_AsLongLongAndOverflow(object, &raw mut overflow);
        if overflow == 0 {
            return Ok(value);
        }
    }
    Err(Box::new(Wrong {
        kind: "out_of_range",
        field,
        header: None,
        reason: "expected an int of 64 bits".to_owned(),
    }))
}

#[cold]
fn wrong(field: &'static str, expected: &str, found: &str) -> Box<Wrong> {
    Box::new(Wrong {
        kind: if found == "None" {
            "null_not_allowed"
        } else {
            "wrong_type"
        },
        field,
        header: None,
        reason: format!("expected {expected}, found {found}"),
    })
}

/// Return the name of an object's type.
///
/// # Safety
/// The object is null or alive.
#[cold]
unsafe fn found(object: Node) -> String {
    // SAFETY: the object is null or alive, so its type is a live class with a name.
    unsafe {
        if object.is_null() {
            return "an unset field".to_owned();
        }
        if object == ffi::Py_None() {
            return "None".to_owned();
        }
        let name = std::ffi::CStr::from_ptr((*ffi::Py_TYPE(object)).tp_name).to_string_lossy();
        name.rsplit('.').next().unwrap_or_default().to_owned()
    }
}

#[cold]
fn raised(py: Python<'_>, index: usize, wrong: &Wrong) -> PyResult<PyErr> {
    let mut path = vec![
        "records".into_pyobject(py)?.into_any(),
        index.into_pyobject(py)?.into_any(),
    ];
    if !wrong.field.is_empty() {
        path.push(wrong.field.into_pyobject(py)?.into_any());
    }
    if let Some((header, field)) = wrong.header {
        path.push(header.into_pyobject(py)?.into_any());
        if !field.is_empty() {
            path.push(field.into_pyobject(py)?.into_any());
        }
    }
    Ok(raise_encode(py, wrong.kind, &PyTuple::new(py, path)?, &wrong.reason))
}
