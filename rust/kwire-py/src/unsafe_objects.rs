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

use crate::unsafe_blocks::keep;
use crate::unsafe_layout::uncount;

/// The start of a member descriptor as in `descrobject.h` (public since CPython 2, unchanged up to 3.13).
#[repr(C)]
struct MemberDescriptor {
    object: ffi::PyObject,
    owner: *mut ffi::PyTypeObject,
    name: *mut ffi::PyObject,
    qualified_name: *mut ffi::PyObject,
    member: *mut ffi::PyMemberDef,
}

const HEADER: usize = size_of::<ffi::PyObject>();
const SLOT: usize = size_of::<*mut ffi::PyObject>();

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

/// Return whether instances have no garbage collector header. They then satisfy invariant 1.
pub(crate) fn is_adopted(class: *mut ffi::PyTypeObject) -> bool {
    // SAFETY: callers pass a live type object.
    unsafe {
        (*class)
            .tp_dealloc
            .is_some_and(|found| std::ptr::fn_addr_eq(found, dealloc as ffi::destructor))
    }
}

/// Remove the garbage collector header from a class that has no instances yet, and give it native equality and hash.
///
/// Returns False and does nothing if the class does not satisfy invariant 1.
#[pyfunction]
pub(crate) fn adopt(cls: &Bound<'_, PyType>, names: &Bound<'_, PyTuple>) -> PyResult<bool> {
    if cfg!(any(
        Py_GIL_DISABLED,
        py_sys_config = "Py_DEBUG",
        py_sys_config = "Py_TRACE_REFS"
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
    // can see it, because the GIL is held. The fields written here are those that CPython derives from the header flag:
    // without the flag `PyType_GenericAlloc` allocates no header, `tp_free` must be the plain function, and
    // `tp_traverse` is never called.
    unsafe {
        let end = HEADER + offsets.len() * SLOT;
        let plain = (*kind).tp_flags & ffi::Py_TPFLAGS_HEAPTYPE != 0
            && (*kind).tp_itemsize == 0
            && (*kind).tp_dictoffset == 0
            && (*kind).tp_weaklistoffset == 0
            && (*kind).tp_finalize.is_none()
            && (*kind).tp_del.is_none()
            && (*kind).tp_flags & MANAGED == 0
            && usize::try_from((*kind).tp_basicsize) == Ok(end);
        if !(plain && consecutive) {
            return Ok(false);
        }
        (*kind).tp_flags &= !ffi::Py_TPFLAGS_HAVE_GC;
        (*kind).tp_traverse = None;
        (*kind).tp_clear = None;
        (*kind).tp_alloc = Some(ffi::PyType_GenericAlloc);
        (*kind).tp_free = Some(ffi::PyObject_Free);
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
const MANAGED: c_ulong = if cfg!(Py_3_12) { (1 << 3) | (1 << 4) } else { 1 << 4 };

/// Return whether a method is still that of `Struct`, which the native one replaces.
fn is_own_of_struct(class: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    let of_struct = class.py().import("kwire.declare.struct")?.getattr("Struct");
    match of_struct {
        Ok(of_struct) => Ok(class.getattr(name)?.is(&of_struct.getattr(name)?)),
        // `Struct` itself is being created. It has no fields and is not adopted.
        Err(_) => Ok(false),
    }
}

/// Return the slots that `dealloc` owns: those of the nearest adopted class. A subclass with a header may have further
/// slots, which CPython clears before it calls `dealloc`.
///
/// # Safety
/// The object is an instance of an adopted class or of a subclass of one. The slice is used only while the object is
/// alive.
pub(crate) unsafe fn slots<'a>(object: *mut ffi::PyObject) -> &'a [*mut ffi::PyObject] {
    // SAFETY: the object is an instance of an adopted class or of a subclass of one, so the loop ends at that class. By
    // invariant 1 its slots are between the header and `tp_basicsize`.
    unsafe {
        let mut class = ffi::Py_TYPE(object);
        while !is_adopted(class) {
            class = (*class).tp_base;
        }
        let size = usize::try_from((*class).tp_basicsize).unwrap_or(HEADER);
        std::slice::from_raw_parts(object.byte_add(HEADER).cast(), (size - HEADER) / SLOT)
    }
}

/// Free an instance whose last reference was released.
///
/// Structs that become unreachable with it are freed in a loop instead of a recursion. They are linked through their
/// reference counts, which are not needed any more. A chain created with `object.__setattr__` may be longer than the
/// stack allows.
unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    let mut object = object;
    let mut chain: *mut ffi::PyObject = null_mut();
    loop {
        // SAFETY: `object` has no references left and is owned here. Its class is alive, because an instance holds a
        // reference to its class, which is released last.
        unsafe {
            release_slots(slots(object), &mut chain, 0);
            let class = ffi::Py_TYPE(object);
            if is_adopted(class) {
                free(object, class);
            } else if let Some(free) = (*class).tp_free {
                free(object.cast());
            }
            ffi::Py_DECREF(class.cast());
            if chain.is_null() {
                return;
            }
            object = chain;
            chain = *object.cast::<*mut ffi::PyObject>();
        }
    }
}

/// Free the memory of an instance of an adopted class, or keep it for another instance.
///
/// # Safety
/// The instance is dead and owned by the caller, and its slots have been released.
#[inline(always)]
unsafe fn free(object: *mut ffi::PyObject, class: *mut ffi::PyTypeObject) {
    // SAFETY: the class is alive. Instances of adopted classes come from `PyObject_Malloc` without a prefix.
    unsafe {
        let words = usize::try_from((*class).tp_basicsize).unwrap_or(0) / SLOT;
        if !keep(object, words) {
            ffi::PyObject_Free(object.cast());
        }
    }
}

/// Arrays in arrays are freed together up to this depth. It bounds the recursion of `release_slots`.
const MOST_NESTED_ARRAYS: u32 = 4;

/// Release the values of a dead instance. Structs of which this was the last reference are added to the chain.
///
/// # Safety
/// Each slot holds a reference or null. The caller owns the references.
#[inline(always)]
unsafe fn release_slots(slots: &[*mut ffi::PyObject], chain: &mut *mut ffi::PyObject, depth: u32) {
    for held in slots {
        // SAFETY: the reference is owned, and released once.
        unsafe {
            if held.is_null() {
                continue;
            }
            if !uncount(*held) {
                release_last(*held, chain, depth);
            }
        }
    }
}

/// Release the last reference to an object.
///
/// # Safety
/// The caller owns the reference, and there is no other.
#[inline(never)]
unsafe fn release_last(held: *mut ffi::PyObject, chain: &mut *mut ffi::PyObject, depth: u32) {
    // SAFETY: a struct whose last reference this was is unreachable, so the word of its reference count can hold the
    // link. The elements of a tuple may be taken from it if no Python code can find it: nothing else refers to it, and
    // the garbage collector does not track it.
    unsafe {
        let class = ffi::Py_TYPE(held);
        if is_adopted(class) {
            held.cast::<*mut ffi::PyObject>().write(*chain);
            *chain = held;
            return;
        }
        if class == &raw mut ffi::PyTuple_Type && depth < MOST_NESTED_ARRAYS && ffi::PyObject_GC_IsTracked(held) == 0 {
            free_elements(held, chain, depth);
        }
        ffi::Py_DECREF(held);
    }
}

/// Free the structs in a dying tuple of which it has the last reference, and set their elements to null. This saves two
/// calls for each of them, one by the tuple and one of its destructor.
///
/// # Safety
/// The object is a tuple that no other code can find.
unsafe fn free_elements(tuple: *mut ffi::PyObject, chain: &mut *mut ffi::PyObject, depth: u32) {
    // SAFETY: the tuple is alive and owns its elements. An element whose last reference this was is unreachable once it
    // is taken from the tuple. Its slots are those of its class, which is adopted. The class is alive, as in `dealloc`.
    unsafe {
        let tuple = tuple.cast::<ffi::PyTupleObject>();
        let first: *mut *mut ffi::PyObject = (&raw mut (*tuple).ob_item).cast();
        for index in 0..usize::try_from((*tuple).ob_base.ob_size).unwrap_or(0) {
            let place = first.add(index);
            let element = *place;
            if element.is_null() || ffi::Py_REFCNT(element) != 1 {
                continue;
            }
            let class = ffi::Py_TYPE(element);
            if !is_adopted(class) {
                // Arrays have elements of one kind, so the others are not structs either.
                return;
            }
            place.write(null_mut());
            release_slots(slots(element), chain, depth + 1);
            free(element, class);
            ffi::Py_DECREF(class.cast());
        }
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
#[allow(
    clippy::float_cmp,
    reason = "equality is what is asked, and NaN is looked at by bits"
)]
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
