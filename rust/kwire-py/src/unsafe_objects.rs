//! Struct classes without a garbage collector header, and the type slots that they then need.
//!
//! Instances of a declared class hold numbers, strings, bytes, uuids, None, tuples of these, and other structs. They
//! cannot be part of a cycle, so the garbage collector need not track them. Its header takes 16 bytes, and building a
//! large message from tracked objects takes six times as long. `adopt` removes the header from a class before it has
//! instances.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. An instance of an adopted class consists of the object header, and then slots that hold a reference or null, up
//!    to `tp_basicsize`. The class is a heap type. `adopt` declines any other class (with a dict, weak references, a
//!    finalizer, or slots of another kind). Such classes keep the header and work as well.
//! 2. CPython's `subtype_dealloc` does not clear the slots of a type without a header, so `dealloc` does.
//! 3. A cycle can be created with `object.__setattr__`. It leaks, but has no other effect.

use std::ffi::c_int;
use std::mem::size_of;
use std::os::raw::c_ulong;
use std::ptr::null_mut;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

use crate::unsafe_instances::{allocate, dealloc, release, slots};

/// A member descriptor as in `descrobject.h`. `unsafe_interpreter` compares its size with the interpreter's.
#[repr(C)]
pub(crate) struct MemberDescriptor {
    object: ffi::PyObject,
    owner: *mut ffi::PyTypeObject,
    name: *mut ffi::PyObject,
    qualified_name: *mut ffi::PyObject,
    member: *mut ffi::PyMemberDef,
}

pub(crate) const HEADER: usize = size_of::<ffi::PyObject>();
pub(crate) const SLOT: usize = size_of::<*mut ffi::PyObject>();

/// Return the offset of the slot `name` in instances of `class`. Raises `TypeError` if it is not a slot for any object.
pub(crate) fn slot_offset(class: &Bound<'_, PyType>, name: &Bound<'_, PyString>) -> PyResult<usize> {
    let descriptor = class.getattr(name)?;
    let not_a_slot = || PyTypeError::new_err(format!("{class}.{name} is not a slot"));
    // SAFETY: the descriptor is checked to be of type `member_descriptor`, so it has the layout above. Its member
    // definition lives as long as the class that owns it, which `class` keeps alive.
    unsafe {
        if ffi::Py_TYPE(descriptor.as_ptr()) != &raw mut ffi::PyMemberDescr_Type {
            return Err(not_a_slot());
        }
        let descriptor = descriptor.as_ptr().cast::<MemberDescriptor>();
        let member = &*(*descriptor).member;
        if member.type_code != ffi::Py_T_OBJECT_EX
            || ffi::PyType_IsSubtype(class.as_type_ptr(), (*descriptor).owner) == 0
        {
            return Err(not_a_slot());
        }
        usize::try_from(member.offset).map_err(|_| not_a_slot())
    }
}

/// Remove the garbage collector header from a class that has no instances yet, and give it native equality and hash.
///
/// Returns False and does nothing if the class does not satisfy invariant 1.
#[pyfunction]
pub(crate) fn adopt(cls: &Bound<'_, PyType>, names: &Bound<'_, PyTuple>) -> PyResult<bool> {
    // A debug build counts the references of all objects (`sys.gettotalrefcount`), and its users expect the count to be
    // right, which the engine does not update. The feature is for tests under the assertions of such a build.
    if cfg!(any(
        Py_GIL_DISABLED,
        py_sys_config = "Py_TRACE_REFS",
        all(py_sys_config = "Py_DEBUG", not(feature = "adopt-in-debug-builds"))
    )) {
        return Ok(false);
    }
    let mut offsets = vec![slot_offset(cls, &PyString::new(cls.py(), "unknown_tags"))?];
    for name in names {
        offsets.push(slot_offset(cls, name.cast::<PyString>()?)?);
    }
    offsets.sort_unstable();
    let consecutive = offsets
        .iter()
        .enumerate()
        .all(|(index, offset)| *offset == HEADER + index * SLOT);
    let fresh_methods = ["__eq__", "__hash__"]
        .into_iter()
        .map(|name| is_own_of_struct(cls, name));
    let native_methods = fresh_methods
        .collect::<PyResult<Vec<bool>>>()?
        .into_iter()
        .all(|own| own);
    let kind = cls.as_type_ptr();
    // SAFETY: `kind` is a live heap type that `type.__new__` has just created. It has no instances, and no other thread
    // can see it, because the GIL is held. CPython derives the fields written here from the header flag:
    // without the flag `PyType_GenericAlloc` allocates no header, `tp_free` must be the plain function, and
    // `tp_traverse` is never called.
    unsafe {
        let end = HEADER + offsets.len() * SLOT;
        let flags = ffi::PyType_GetFlags(kind);
        let plain = flags & ffi::Py_TPFLAGS_HEAPTYPE != 0
            && (*kind).tp_itemsize == 0
            && (*kind).tp_dictoffset == 0
            && (*kind).tp_weaklistoffset == 0
            && (*kind).tp_finalize.is_none()
            && (*kind).tp_del.is_none()
            && flags & MANAGED == 0
            && usize::try_from((*kind).tp_basicsize) == Ok(end);
        if !(plain && consecutive) {
            return Ok(false);
        }
        // Builds without a GIL, where the flags are atomic, have returned above.
        #[cfg(not(Py_GIL_DISABLED))]
        {
            (*kind).tp_flags &= !ffi::Py_TPFLAGS_HAVE_GC;
        }
        (*kind).tp_traverse = None;
        (*kind).tp_clear = None;
        (*kind).tp_alloc = Some(allocate);
        (*kind).tp_free = Some(release);
        (*kind).tp_dealloc = Some(dealloc);
        if native_methods {
            (*kind).tp_richcompare = Some(compare);
            (*kind).tp_hash = Some(hash);
        }
        ffi::PyType_Modified(kind);
    }
    Ok(true)
}

/// The flags for a dict or weak references before the object (3.12 and later). On 3.11 there is no flag for weak
/// references, which have `tp_weaklistoffset`.
pub(crate) const MANAGED: c_ulong = if cfg!(Py_3_12) { (1 << 3) | (1 << 4) } else { 1 << 4 };

/// Return whether a method is still inherited from `Struct`, so that the native method replaces it.
fn is_own_of_struct(class: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    let of_struct = class.py().import("kwire.declare.struct")?.getattr("Struct");
    match of_struct {
        Ok(of_struct) => Ok(class.getattr(name)?.is(&of_struct.getattr(name)?)),
        // `Struct` itself is being created. It has no fields and is not adopted.
        Err(_) => Ok(false),
    }
}

/// Implement `==` and `!=`: the same class and equal slots, including unknown tags. Other comparisons are not
/// implemented.
unsafe extern "C" fn compare(a: *mut ffi::PyObject, b: *mut ffi::PyObject, operation: c_int) -> *mut ffi::PyObject {
    // SAFETY: the interpreter passes live objects. `a` is an instance of a class with this function, so of an adopted
    // one.
    unsafe {
        if !matches!(operation, ffi::Py_EQ | ffi::Py_NE) || ffi::Py_TYPE(a) != ffi::Py_TYPE(b) {
            return ffi::Py_NewRef(ffi::Py_NotImplemented());
        }
        let Some(equal) = all_equal(slots(a), slots(b)) else {
            return null_mut();
        };
        let answer = if equal == (operation == ffi::Py_EQ) {
            ffi::Py_True()
        } else {
            ffi::Py_False()
        };
        ffi::Py_NewRef(answer)
    }
}

/// Return whether all values are equal, `None` if an exception is set.
///
/// # Safety
/// The values are null or alive.
unsafe fn all_equal(a: &[*mut ffi::PyObject], b: &[*mut ffi::PyObject]) -> Option<bool> {
    if a.len() != b.len() {
        return Some(false);
    }
    for (a, b) in a.iter().zip(b) {
        // SAFETY: the caller's obligations are the same.
        if !unsafe { equal(*a, *b) }? {
            return Some(false);
        }
    }
    Some(true)
}

/// Compare two values: by identity, NaN by bits, tuples element by element. Returns `None` if an exception is set.
///
/// # Safety
/// The values are null or alive.
#[allow(clippy::float_cmp, reason = "equality is meant, and NaN is compared by bits")]
unsafe fn equal(a: *mut ffi::PyObject, b: *mut ffi::PyObject) -> Option<bool> {
    // SAFETY: both are null or live objects held by live structs. The comparison of tuples recurses without end only in
    // a cycle created with `object.__setattr__`, which the recursion check turns into an exception.
    unsafe {
        if a == b {
            return Some(true);
        }
        if a.is_null() || b.is_null() {
            return Some(false);
        }
        if ffi::PyFloat_CheckExact(a) != 0 && ffi::PyFloat_CheckExact(b) != 0 {
            let (a, b) = (ffi::PyFloat_AS_DOUBLE(a), ffi::PyFloat_AS_DOUBLE(b));
            return Some(a == b || a.to_bits() == b.to_bits());
        }
        if ffi::PyTuple_CheckExact(a) != 0 && ffi::PyTuple_CheckExact(b) != 0 {
            if ffi::Py_EnterRecursiveCall(c" while comparing messages".as_ptr()) != 0 {
                return None;
            }
            let answer = all_equal(elements(a), elements(b));
            ffi::Py_LeaveRecursiveCall();
            return answer;
        }
        match ffi::PyObject_RichCompareBool(a, b, ffi::Py_EQ) {
            -1 => None,
            answer => Some(answer != 0),
        }
    }
}

/// Return the elements of a tuple.
///
/// # Safety
/// The object is a live tuple and outlives the slice.
pub(crate) unsafe fn elements<'a>(tuple: *mut ffi::PyObject) -> &'a [*mut ffi::PyObject] {
    // SAFETY: the object is a live tuple and outlives the slice.
    unsafe {
        let tuple = tuple.cast::<ffi::PyTupleObject>();
        let count = usize::try_from((*tuple).ob_base.ob_size).unwrap_or(0);
        std::slice::from_raw_parts((&raw const (*tuple).ob_item).cast(), count)
    }
}

unsafe extern "C" fn hash(object: *mut ffi::PyObject) -> ffi::Py_hash_t {
    // SAFETY: the interpreter passes a live instance of a class with this function. `PyObject_Hash` does not limit
    // recursion, so chains and cycles created with `object.__setattr__` need this check.
    unsafe {
        if ffi::Py_EnterRecursiveCall(c" while hashing a message".as_ptr()) != 0 {
            return -1;
        }
        let answer = hash_all(slots(object), 0x4b57_4952);
        ffi::Py_LeaveRecursiveCall();
        match answer {
            // -1 means that an exception is set.
            Some(-1) => -2,
            Some(hash) => hash,
            None => -1,
        }
    }
}

/// Hash values so that equal ones have equal hashes. Returns `None` if an exception is set.
///
/// # Safety
/// The values are null or alive.
unsafe fn hash_all(values: &[*mut ffi::PyObject], seed: u64) -> Option<ffi::Py_hash_t> {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = seed;
    for value in values {
        // SAFETY: the caller's obligations are the same.
        let hash = unsafe { hash_one(*value) }?;
        state = (state.rotate_left(31) ^ (hash as i64).cast_unsigned()).wrapping_mul(FACTOR);
    }
    Some(python_hash(state ^ state >> 32))
}

/// Truncate a hash to the size of hashes on this platform.
#[allow(clippy::cast_possible_truncation, reason = "a hash of fewer bits is a hash")]
fn python_hash(bits: u64) -> ffi::Py_hash_t {
    bits.cast_signed() as ffi::Py_hash_t
}

unsafe fn hash_one(value: *mut ffi::PyObject) -> Option<ffi::Py_hash_t> {
    // SAFETY: null or a live object held by a live struct. The recursion check is needed as in `equal`.
    unsafe {
        if value.is_null() {
            return Some(0);
        }
        if ffi::PyFloat_CheckExact(value) != 0 && ffi::PyFloat_AS_DOUBLE(value).is_nan() {
            // Python hashes NaN by address. Here equal bits are equal.
            return Some(python_hash(ffi::PyFloat_AS_DOUBLE(value).to_bits()));
        }
        if ffi::PyTuple_CheckExact(value) != 0 {
            if ffi::Py_EnterRecursiveCall(c" while hashing a message".as_ptr()) != 0 {
                return None;
            }
            let answer = hash_all(elements(value), 0x5455_504c);
            ffi::Py_LeaveRecursiveCall();
            return answer;
        }
        match ffi::PyObject_Hash(value) {
            -1 => None,
            hash => Some(hash),
        }
    }
}
