//! Reads records from Python objects.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. The GIL is held while objects are read, and no Python code runs in between.
//! 2. Everything that is read is part of the tuple of records, which the caller holds, or of an immutable object in it.
//! 3. A slot is read at the offset that its own descriptor names (`slot_offset`), and only after its object has been
//!    checked to be an instance of the class that named the offset.

use kwire_records::{Encoder, NewRecord, RecordHeader};
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::records::{encode_error, raise_encode};
use crate::unsafe_layout::Layout;
use crate::unsafe_objects::elements;
use crate::unsafe_owned::out_of_memory;
use crate::unsafe_record_builder::{HEADER_KEY, HEADER_VALUE, HEADERS, RAW_TIMESTAMP};

type Node = *mut ffi::PyObject;

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

const OUT_OF_MEMORY: &str = "out_of_memory";
const INVALID_UTF8: &str = "invalid_utf8";

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
        let mut kept: Vec<Bound<'_, PyAny>> = Vec::new();
        // SAFETY: the tuple is alive for the whole call (invariant 2).
        let items = unsafe { elements(records.as_ptr()) };
        for (index, item) in items.iter().enumerate() {
            // SAFETY: an element of the live tuple (invariant 2).
            let read = unsafe { self.fields(*item) }.and_then(|[offset, timestamp, key, value, held, raw]| {
                // SAFETY: values of a live record (invariant 2).
                unsafe {
                    headers.clear();
                    kept.clear();
                    if !held.is_null() {
                        self.headers(py, held, &mut headers, &mut kept)?;
                    }
                    let is_raw = !raw.is_null() && raw != ffi::Py_None();
                    Ok((
                        integer(offset, "offset")?,
                        integer(timestamp, "timestamp")?,
                        is_raw.then(|| integer(raw, "raw_timestamp")).transpose()?,
                        bytes(key).map_err(|found| wrong("key", "bytes or None", &found))?,
                        bytes(value).map_err(|found| wrong("value", "bytes or None", &found))?,
                    ))
                }
            });
            match read {
                Ok((offset, timestamp, raw_timestamp, key, value)) => {
                    let record = NewRecord {
                        offset,
                        timestamp,
                        raw_timestamp,
                        key,
                        value,
                        headers: &headers,
                    };
                    encoder.record(&record, out).map_err(|error| encode_error(py, &error))?;
                }
                Err(wrong) if wrong.kind == OUT_OF_MEMORY => return Err(out_of_memory(())),
                Err(wrong) => return Err(raised(py, index, &wrong)?),
            }
        }
        Ok(())
    }

    /// Return the values of a record in the order of its fields: null for what a tuple leaves out.
    ///
    /// # Safety
    /// The object is alive.
    unsafe fn fields(&self, item: Node) -> Read<[Node; RAW_TIMESTAMP + 1]> {
        // SAFETY: the object is alive. Its slots are read once its class has been checked (invariant 3).
        unsafe {
            if is_instance(item, self.record) {
                let mut values = [std::ptr::null_mut(); RAW_TIMESTAMP + 1];
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
            let null = std::ptr::null_mut();
            match *elements(item) {
                [offset, timestamp, key, value] => Ok([offset, timestamp, key, value, null, null]),
                [offset, timestamp, key, value, headers] => Ok([offset, timestamp, key, value, headers, null]),
                ref other => Err(wrong(
                    "",
                    "a tuple of offset, timestamp, key, value, and headers",
                    &format!("{} elements", other.len()),
                )),
            }
        }
    }

    /// Append the headers in a tuple, or in a list, as other clients have them.
    ///
    /// # Safety
    /// The object is alive and stays so while `into` is used, and `kept` as well.
    unsafe fn headers<'py>(
        &self,
        py: Python<'py>,
        held: Node,
        into: &mut Vec<RecordHeader<'_>>,
        kept: &mut Vec<Bound<'py, PyAny>>,
    ) -> Read<()> {
        // SAFETY: the object is alive. Its slots are read once its class has been checked (invariant 3). A list is copied
        // to a tuple, since a collection that an allocation starts could change it.
        unsafe {
            let mut held = held;
            if ffi::PyList_Check(held) != 0 {
                let copied =
                    Bound::from_owned_ptr_or_opt(py, ffi::PyList_AsTuple(held)).ok_or_else(|| short_of_memory(py))?;
                held = copied.as_ptr();
                kept.try_reserve(1).map_err(|_| short_of_memory(py))?;
                kept.push(copied);
            }
            if ffi::PyTuple_Check(held) == 0 {
                return Err(wrong("headers", "a tuple or a list", &found(held)));
            }
            let count = elements(held).len();
            if into.try_reserve(count).is_err() || kept.try_reserve(count).is_err() {
                return Err(short_of_memory(py));
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
                let key = utf8(py, key, kept).map_err(|kind| {
                    let mut error = at("key", "", "");
                    error.kind = kind;
                    "the string has no UTF-8 encoding".clone_into(&mut error.reason);
                    error
                })?;
                let value = bytes(value).map_err(|found| at("value", "bytes or None", &found))?;
                into.push((key, value));
            }
            Ok(())
        }
    }
}

/// Return the UTF-8 encoding of a string, or the kind of the error.
///
/// # Safety
/// The object is a live `str`, and it and `kept` outlive the slice.
unsafe fn utf8<'b, 'py>(
    py: Python<'py>,
    text: Node,
    kept: &mut Vec<Bound<'py, PyAny>>,
) -> Result<&'b [u8], &'static str> {
    let mut size = 0;
    // SAFETY: `text` is a live `str`, which caches its encoding. The `bytes` object of an escaped string is in `kept`.
    unsafe {
        let data = ffi::PyUnicode_AsUTF8AndSize(text, &raw mut size);
        if !data.is_null() {
            return Ok(std::slice::from_raw_parts(data.cast(), size.cast_unsigned()));
        }
        if PyErr::fetch(py).is_instance_of::<PyMemoryError>(py) {
            return Err(OUT_OF_MEMORY);
        }
        let made = ffi::PyUnicode_AsEncodedString(text, c"utf-8".as_ptr(), c"surrogateescape".as_ptr());
        if made.is_null() {
            let is_short = PyErr::fetch(py).is_instance_of::<PyMemoryError>(py);
            return Err(if is_short { OUT_OF_MEMORY } else { INVALID_UTF8 });
        }
        kept.push(Bound::from_owned_ptr(py, made));
        let data = ffi::PyBytes_AsString(made).cast::<u8>();
        Ok(std::slice::from_raw_parts(
            data,
            ffi::PyBytes_Size(made).cast_unsigned(),
        ))
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

/// Clear the `MemoryError` of a failed call, if any.
#[cold]
fn short_of_memory(py: Python<'_>) -> Box<Wrong> {
    drop(PyErr::take(py));
    Box::new(Wrong {
        kind: OUT_OF_MEMORY,
        field: "headers",
        header: None,
        reason: String::new(),
    })
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
