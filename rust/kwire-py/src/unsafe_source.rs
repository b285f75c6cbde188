//! The source that reads Python objects.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. The GIL is held throughout, and everything that is read is part of the message, which the caller holds. Messages
//!    are immutable, so borrowed pointers are valid during the call. No Python code that could modify something runs.
//! 2. A slot is read only after its object has been checked to be an instance of the class that named the offset.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use kwire::encode::{Encoded, Sink, Source};
use kwire::plan::{Primitive, Struct};
use kwire::{EncodeError, EncodeKind};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::unsafe_bytes::Growing;
use crate::unsafe_constants::Constants;
use crate::unsafe_instances::{is_adopted, slots};
use crate::unsafe_layout::{Layout, Uuids, no_tags, unknown_tags_class};
use crate::unsafe_objects::elements;
use crate::unsafe_uniform_source::Columns;

pub(crate) type Node = *mut ffi::PyObject;

/// A struct that has been checked to be an instance of the layout's class.
#[derive(Clone, Copy)]
pub(crate) struct Body<'s> {
    object: Node,
    layout: &'s Layout,
}

/// Reads Python objects.
pub(crate) struct Objects<'s, 'py> {
    py: Python<'py>,
    layouts: &'s [Layout],
    /// For each struct of the plan, how to encode several of them together.
    columns: &'s [Option<Columns>],
    pub(crate) constants: &'static Constants,
    pub(crate) no_tags: Node,
    /// The offset of `_raw` in `UnknownTags`.
    pub(crate) raw: usize,
    pub(crate) tags_class: *mut ffi::PyTypeObject,
    /// The last int32 array and the range of its encoded bytes.
    last_array: Cell<(Node, usize, usize)>,
}

impl<'s, 'py> Objects<'s, 'py> {
    fn new(py: Python<'py>, layouts: &'s [Layout], columns: &'s [Option<Columns>]) -> PyResult<Self> {
        Ok(Self {
            py,
            layouts,
            columns,
            constants: Constants::get(py),
            no_tags: no_tags(py)?.as_ptr(),
            raw: raw_offset(py)?,
            tags_class: unknown_tags_class(py)?.as_type_ptr(),
            last_array: Cell::new((std::ptr::null_mut(), 0, 0)),
        })
    }

    /// Check that the fields which this version lacks are at their defaults or ignorable.
    #[inline(never)]
    fn check_absent(node: Node, plan: &Struct, layout: &Layout) -> Encoded<()> {
        for (absent, (offset, default)) in plan.absent.iter().zip(&layout.absent) {
            // SAFETY: the offset belongs to a slot of the object (invariant 2).
            let same = absent.ignorable
                || unsafe {
                    let held = slot(node, *offset);
                    held == default.as_ptr() || is_same(held, default.as_ptr())
                };
            if !same {
                let reason = "this version lacks the field, and it is not at its default";
                return Err(EncodeError::new(EncodeKind::NotInVersion, reason).in_field(&absent.name));
            }
        }
        Ok(())
    }

    fn raw_tags(&self, tags: Node) -> Encoded<&'s [u8]> {
        // SAFETY: `tags` is null or a live object. Its slot is read once its class has been checked (invariant 2).
        unsafe {
            if tags.is_null() || ffi::PyObject_TypeCheck(tags, self.tags_class) == 0 {
                return Err(self.not("UnknownTags", tags));
            }
            self.bytes(slot(tags, self.raw))
        }
    }

    /// Create the error for a node of another type.
    #[cold]
    fn not(&self, wanted: &str, node: Node) -> Box<EncodeError> {
        // SAFETY: `node` is null or a live object (invariant 1).
        unsafe {
            if node.is_null() {
                return EncodeError::new(
                    EncodeKind::WrongType,
                    format!("expected {wanted}, found an unset field"),
                );
            }
            if node == ffi::Py_None() {
                return EncodeError::new(EncodeKind::NullNotAllowed, format!("expected {wanted}, found None"));
            }
            let found = Borrowed::from_ptr(self.py, node)
                .get_type()
                .name()
                .map(|name| name.to_string());
            let found = found.unwrap_or_else(|_| "another object".to_owned());
            EncodeError::new(EncodeKind::WrongType, format!("expected {wanted}, found {found}"))
        }
    }
}

fn raw_offset(py: Python<'_>) -> PyResult<usize> {
    static OFFSET: pyo3::sync::PyOnceLock<usize> = pyo3::sync::PyOnceLock::new();
    OFFSET
        .get_or_try_init(py, || {
            crate::unsafe_objects::slot_offset(unknown_tags_class(py)?, &pyo3::types::PyString::new(py, "_raw"))
        })
        .copied()
}

impl<'s> Source<'s> for Objects<'s, '_> {
    type Node = Node;
    type Body = Body<'s>;

    #[inline]
    fn is_null(&self, node: Node) -> bool {
        // SAFETY: only addresses are compared.
        node == unsafe { ffi::Py_None() }
    }

    #[inline]
    fn integer(&self, node: Node) -> Encoded<i64> {
        // SAFETY: `node` is null or a live object (invariant 1).
        if let Some(value) = unsafe { exact_integer(self.constants, node) } {
            return Ok(value);
        }
        // SAFETY: as above. `PyLong_AsLongLongAndOverflow` of an int runs no
        // Python code.
        unsafe {
            if node.is_null() || ffi::PyLong_Check(node) == 0 || ffi::PyBool_Check(node) != 0 {
                return Err(self.not("an int", node));
            }
            long_value(node).ok_or_else(|| EncodeError::new(EncodeKind::OutOfRange, "does not fit 64 bits"))
        }
    }

    fn boolean(&self, node: Node) -> Encoded<bool> {
        // SAFETY: only addresses are compared.
        unsafe {
            if node == ffi::Py_True() {
                Ok(true)
            } else if node == ffi::Py_False() {
                Ok(false)
            } else {
                Err(self.not("a bool", node))
            }
        }
    }

    fn float(&self, node: Node) -> Encoded<f64> {
        // SAFETY: `node` is null or a live object (invariant 1).
        unsafe {
            if node.is_null() || ffi::PyFloat_Check(node) == 0 {
                return Err(self.not("a float", node));
            }
            Ok(ffi::PyFloat_AS_DOUBLE(node))
        }
    }

    fn uuid(&self, node: Node) -> Encoded<[u8; 16]> {
        let uuids = Uuids::get(self.py).map_err(|error| EncodeError::new(EncodeKind::WrongType, error.to_string()))?;
        // SAFETY: `node` is null or a live object. Its slot is read once it is known to be a `uuid.UUID` (invariant 2).
        unsafe {
            if node.is_null() || ffi::PyObject_TypeCheck(node, uuids.class.as_ptr().cast()) == 0 {
                return Err(self.not("a uuid.UUID", node));
            }
            let number = slot(node, uuids.number);
            if number.is_null() || ffi::PyLong_Check(number) == 0 {
                return Err(self.not("a uuid.UUID with a number", number));
            }
            if ffi::PyLong_CheckExact(number) != 0
                && let Some(value) = self.constants.digits.large_value(number)
            {
                return Ok(value.to_be_bytes());
            }
            let number = Borrowed::from_ptr(self.py, number).extract::<u128>();
            number
                .map(u128::to_be_bytes)
                .map_err(|_| EncodeError::new(EncodeKind::OutOfRange, "a uuid must have 16 bytes"))
        }
    }

    #[inline]
    fn string<T>(&self, node: Node, show: impl FnOnce(&[u8]) -> Encoded<T>) -> Encoded<T> {
        // SAFETY: `node` is null or a live str.
        unsafe {
            if node.is_null() || ffi::PyUnicode_Check(node) == 0 {
                return Err(self.not("a str", node));
            }
            if let Some(ascii) = ascii_of(node) {
                return show(ascii);
            }
            // `PyUnicode_AsUTF8AndSize` would store a copy in the string for as long as it lives.
            let encoded = ffi::PyUnicode_AsUTF8String(node);
            if encoded.is_null() {
                ffi::PyErr_Clear();
                return Err(EncodeError::new(EncodeKind::InvalidUtf8, "unpaired surrogate"));
            }
            let encoded = Bound::from_owned_ptr(self.py, encoded).cast_into_unchecked::<PyBytes>();
            show(encoded.as_bytes())
        }
    }

    fn bytes(&self, node: Node) -> Encoded<&'s [u8]> {
        // SAFETY: `node` is null or a live object. `bytes` objects are immutable and part of the message (invariant 1).
        unsafe {
            if node.is_null() || ffi::PyBytes_Check(node) == 0 {
                return Err(self.not("bytes", node));
            }
            Ok(bytes_of(node))
        }
    }

    #[inline]
    fn array(&self, node: Node) -> Encoded<usize> {
        // SAFETY: `node` is null or a live object (invariant 1).
        unsafe {
            if node.is_null() || ffi::PyTuple_Check(node) == 0 {
                return Err(self.not("a tuple", node));
            }
            Ok(elements(node).len())
        }
    }

    #[inline(always)]
    fn item(&self, array: Node, index: usize) -> Node {
        // SAFETY: the encoder has called `array` first, so the node is a tuple.
        unsafe { elements(array).get(index).copied().unwrap_or(std::ptr::null_mut()) }
    }

    #[inline(always)]
    fn structure(&self, node: Node, plan: &Struct) -> Encoded<Body<'s>> {
        let layout = &self.layouts[plan.index];
        // SAFETY: `node` is null or a live object (invariant 1).
        if node.is_null() || unsafe { ffi::PyObject_TypeCheck(node, layout.type_pointer()) } == 0 {
            return Err(self.not("a struct of the declared class", node));
        }
        if !layout.absent.is_empty() {
            Self::check_absent(node, plan, layout)?;
        }
        Ok(Body { object: node, layout })
    }

    #[inline(always)]
    fn field(&self, body: Body<'s>, position: usize) -> Node {
        // SAFETY: the position is one of the plan's fields, and the layout has an offset for each (invariant 2). A
        // slot that is not set is null, which all methods reject.
        unsafe { slot(body.object, *body.layout.offsets.get_unchecked(position)) }
    }

    #[inline(always)]
    fn unknown_tags(&self, body: Body<'s>, _: &Struct) -> Encoded<&'s [u8]> {
        // SAFETY: as in `field`.
        let tags = unsafe { slot(body.object, body.layout.unknown_tags) };
        if tags == self.no_tags {
            Ok(&[])
        } else {
            self.raw_tags(tags)
        }
    }

    #[inline]
    fn packed(&self, array: Node, kind: Primitive, out: &mut impl Sink) -> bool {
        if kind != Primitive::Int32 {
            return false;
        }
        let (before, start, end) = self.last_array.get();
        if array == before {
            out.repeat(start..end);
            return true;
        }
        let start = out.len();
        // SAFETY: the encoder has called `array` first, so the node is a tuple.
        for item in unsafe { elements(array) } {
            // SAFETY: the item is part of the message (invariant 1).
            let value = unsafe { exact_integer(self.constants, *item) };
            let Some(value) = value.and_then(|value| i32::try_from(value).ok()) else {
                out.truncate(start);
                return false;
            };
            out.put_array(value.to_be_bytes());
        }
        self.last_array.set((array, start, out.len()));
        true
    }

    #[inline]
    fn uniform_structs(&self, array: Node, index: usize, plan: &Struct, out: &mut impl Sink) -> Result<usize, usize> {
        // SAFETY: the encoder has called `array` first, so the node is a tuple.
        let objects = unsafe { elements(array) }.get(index..).unwrap_or_default();
        match &self.columns[plan.index] {
            // SAFETY: the objects are part of the message (invariant 1).
            Some(columns) => unsafe { columns.encode(self, objects, (plan, &self.layouts[plan.index]), out) },
            None => Err(objects.len()),
        }
    }

    #[inline(always)]
    fn is_identical(&self, a: Node, b: Node) -> bool {
        a == b
    }

    fn buffer_changed(&mut self) {
        self.last_array.set((std::ptr::null_mut(), 0, 0));
    }
}

/// Return the value of an int, but not of a subclass, if it fits 64 bits.
///
/// # Safety
/// The object is null or alive.
#[inline(always)]
pub(crate) unsafe fn exact_integer(constants: &Constants, node: Node) -> Option<i64> {
    // A closure instead of the match would make both paths join before the value is used.
    match constants.value(node) {
        Some(value) => Some(value),
        // SAFETY: the caller ensures it.
        None => unsafe { large_integer(constants, node) },
    }
}

/// As `exact_integer`. Out of line, so that loops over small integers have the registers for themselves.
///
/// # Safety
/// The object is null or alive.
#[inline(never)]
pub(crate) unsafe fn large_integer(constants: &Constants, node: Node) -> Option<i64> {
    // SAFETY: the object is null or alive, and its digits are read once its type has been checked.
    unsafe {
        if node.is_null() || ffi::PyLong_CheckExact(node) == 0 {
            return None;
        }
        constants.digits.small_value(node).or_else(|| long_value(node))
    }
}

/// Return the content of a slot.
///
/// # Safety
/// The object is alive, and the offset belongs to one of its slots (invariant 2).
#[inline(always)]
pub(crate) unsafe fn slot(object: Node, offset: usize) -> Node {
    // SAFETY: the caller ensures it.
    unsafe { object.byte_add(offset).cast::<Node>().read() }
}

/// Return whether a value equals a default, without running Python code, which could modify the message during the
/// call. A bool does not equal an int, and floats are compared by bits.
///
/// # Safety
/// Both are null or live objects.
unsafe fn is_same(held: Node, default: Node) -> bool {
    // SAFETY: both are null or live objects, and each is read as the type it has been checked to have. Defaults are
    // small, and the recursion through structs is limited by the declared ones.
    unsafe {
        if held == default {
            return true;
        }
        if held.is_null() || ffi::PyBool_Check(held) != 0 || ffi::PyBool_Check(default) != 0 {
            return false;
        }
        if ffi::PyLong_Check(default) != 0 {
            return ffi::PyLong_Check(held) != 0 && long_value(held) == long_value(default);
        }
        if ffi::PyFloat_Check(default) != 0 {
            return ffi::PyFloat_Check(held) != 0
                && ffi::PyFloat_AS_DOUBLE(held).to_bits() == ffi::PyFloat_AS_DOUBLE(default).to_bits();
        }
        if ffi::PyUnicode_Check(default) != 0 {
            return ffi::PyUnicode_Check(held) != 0 && ffi::PyUnicode_Compare(held, default) == 0;
        }
        if ffi::PyBytes_Check(default) != 0 {
            return ffi::PyBytes_Check(held) != 0 && bytes_of(held) == bytes_of(default);
        }
        if ffi::PyTuple_Check(default) != 0 {
            return ffi::PyTuple_Check(held) != 0 && elements(held).is_empty() && elements(default).is_empty();
        }
        if ffi::Py_TYPE(held) != ffi::Py_TYPE(default) {
            return false;
        }
        if is_adopted(ffi::Py_TYPE(held)) {
            return slots(held)
                .iter()
                .zip(slots(default))
                .all(|(held, default)| is_same(*held, *default));
        }
        // The only remaining type of a default.
        Python::attach(|py| Uuids::get(py).is_ok_and(|uuids| uuids.same(held, default)))
    }
}

/// Return the value of an int, `None` if it does not fit 64 bits.
///
/// # Safety
/// The object is a live int, or an instance of a subclass.
unsafe fn long_value(int: Node) -> Option<i64> {
    let mut overflow = 0;
    // SAFETY: the object is a live int. Its digits are read without calling a method.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(int, &raw mut overflow) };
    if overflow == 0 { Some(value) } else { None }
}

/// Return the characters of a str that are known to be ASCII, and therefore its UTF-8.
///
/// # Safety
/// The object is a live str and outlives the slice.
#[inline(always)]
unsafe fn ascii_of<'a>(text: Node) -> Option<&'a [u8]> {
    // SAFETY: the object is a live str. With characters of one byte it has `length` bytes at its data pointer.
    unsafe {
        // The bindings have this flag of a str up to 3.13 only. The scan, which needs none, takes 36 instructions more
        // for a name of 12 characters, and 123 more for one of 206.
        #[cfg(not(Py_3_14))]
        let has_bytes = ffi::PyUnicode_IS_COMPACT_ASCII(text) != 0;
        #[cfg(Py_3_14)]
        let has_bytes = ffi::PyUnicode_KIND(text) == ffi::PyUnicode_1BYTE_KIND;
        if !has_bytes {
            return None;
        }
        let length = usize::try_from(ffi::PyUnicode_GET_LENGTH(text)).unwrap_or(0);
        let bytes = std::slice::from_raw_parts(ffi::PyUnicode_DATA(text).cast::<u8>(), length);
        (cfg!(not(Py_3_14)) || bytes.is_ascii()).then_some(bytes)
    }
}

/// Return the content of a `bytes` object.
///
/// # Safety
/// The object is a live `bytes` object and outlives the slice.
pub(crate) unsafe fn bytes_of<'a>(bytes: Node) -> &'a [u8] {
    // SAFETY: the object is a live `bytes` object and outlives the slice.
    unsafe {
        let length = usize::try_from(ffi::PyBytes_Size(bytes)).unwrap_or(0);
        std::slice::from_raw_parts(ffi::PyBytes_AsString(bytes).cast(), length)
    }
}

/// Encode `message`. `length` is the length of the last message, which is a good estimate for this one. The outer error
/// is a Python exception, such as `MemoryError`.
pub(crate) fn encode<'py>(
    py: Python<'py>,
    plan: &kwire::Plan,
    layouts: &[Layout],
    columns: &[Option<Columns>],
    message: &Bound<'py, PyAny>,
    length: &AtomicUsize,
) -> PyResult<Encoded<Bound<'py, PyBytes>>> {
    let mut objects = Objects::new(py, layouts, columns)?;
    let mut out = Growing::new(py, length.load(Ordering::Relaxed));
    match kwire::encode::encode(plan, &mut objects, message.as_ptr(), &mut out) {
        Ok(()) => {
            length.store(out.len(), Ordering::Relaxed);
            out.finish(py).map(Ok)
        }
        Err(error) => Ok(Err(error)),
    }
}
