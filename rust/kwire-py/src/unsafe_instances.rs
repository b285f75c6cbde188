//! Allocation and deallocation of instances of adopted classes.
//!
//! The `unsafe` blocks rely on the invariants of `unsafe_objects` and on these:
//! 1. Every instance of an adopted class has its memory from `unsafe_slabs`, whether the engine creates it or `allocate`
//!    for the interpreter. `dealloc` and `release` return it there.
//! 2. Releasing a value may run Python code: `object.__setattr__` can store any object. The instance that held it is
//!    unreachable by then.
//! 3. `NESTED` is used only while the GIL is held, and never across a call that can run Python code. Its instances are
//!    unreachable, and each is freed once.

use std::cell::UnsafeCell;
use std::mem::size_of;
use std::ptr::null_mut;

use pyo3::ffi;

use crate::unsafe_layout::{uncount, uncount_many};
use crate::unsafe_objects::elements;
use crate::unsafe_prefetch::prefetch_many;
use crate::unsafe_slabs::{give_back, take};

type Object = *mut ffi::PyObject;

const SLOT: usize = size_of::<Object>();
/// The words of an object header.
const HEADER: usize = size_of::<ffi::PyObject>() / SLOT;

/// Return whether instances have no garbage collector header. They then satisfy invariant 1 of `unsafe_objects`.
pub(crate) fn is_adopted(class: *mut ffi::PyTypeObject) -> bool {
    // SAFETY: callers pass a live type object.
    unsafe {
        (*class)
            .tp_dealloc
            .is_some_and(|found| std::ptr::fn_addr_eq(found, dealloc as ffi::destructor))
    }
}

/// Return the size of an instance of an adopted class in words.
///
/// # Safety
/// The class is alive.
#[inline(always)]
unsafe fn words(class: *mut ffi::PyTypeObject) -> usize {
    // SAFETY: the class is alive.
    usize::try_from(unsafe { (*class).tp_basicsize }).unwrap_or(0) / SLOT
}

/// Return the slots that `dealloc` owns: those of the nearest adopted class. A subclass with a header may have further
/// slots, which CPython clears before it calls `dealloc`.
///
/// # Safety
/// The object is an instance of an adopted class or of a subclass of one. The slice is used only while the object is
/// alive.
pub(crate) unsafe fn slots<'a>(object: Object) -> &'a [Object] {
    // SAFETY: the object is an instance of an adopted class or of a subclass of one, so the loop ends at that class. Its
    // slots are between the header and `tp_basicsize`.
    unsafe {
        let mut class = ffi::Py_TYPE(object);
        while !is_adopted(class) {
            class = (*class).tp_base;
        }
        std::slice::from_raw_parts(object.cast::<Object>().add(HEADER), words(class).saturating_sub(HEADER))
    }
}

/// Allocate an instance of an adopted class with empty slots, as `PyType_GenericAlloc` does for other classes.
pub(crate) unsafe extern "C" fn allocate(class: *mut ffi::PyTypeObject, _: ffi::Py_ssize_t) -> Object {
    // SAFETY: the interpreter passes a live adopted class and holds the GIL. The block has the size of an instance, and
    // `PyObject_Init` sets its header.
    unsafe {
        let (object, _) = take(words(class), 1);
        if object.is_null() {
            return ffi::PyErr_NoMemory();
        }
        object.cast::<Object>().write_bytes(0, words(class));
        ffi::PyObject_Init(object, class)
    }
}

/// Free the memory of an instance of an adopted class, as `PyObject_Free` does for other objects.
pub(crate) unsafe extern "C" fn release(object: *mut std::ffi::c_void) {
    // SAFETY: the interpreter passes a dead instance whose class is alive, and holds the GIL.
    unsafe {
        let object = object.cast::<ffi::PyObject>();
        give_back(&[object], words(ffi::Py_TYPE(object)));
    }
}

/// Calls of `dealloc` within each other, and the instances that wait for the outermost one.
struct Nested {
    calls: u32,
    waiting: Object,
}

struct Shared(UnsafeCell<Nested>);

// SAFETY: used only while the GIL is held (invariant 3).
unsafe impl Sync for Shared {}

static NESTED: Shared = Shared(UnsafeCell::new(Nested {
    calls: 0,
    waiting: null_mut(),
}));

/// Calls of `dealloc` within each other before an instance waits. A tuple that the interpreter frees calls `dealloc` for
/// its elements, and CPython 3.13 nests 10,000 such calls, for which the stack is too small.
const MOST_NESTED_CALLS: u32 = 16;

/// Free an instance whose last reference was released; the outermost call also frees the waiting instances.
pub(crate) unsafe extern "C" fn dealloc(object: Object) {
    let nested = NESTED.0.get();
    // SAFETY: the GIL is held, and no reference to `NESTED` lives across `free_instance`, which can run Python code
    // (invariant 3). A waiting instance is unreachable, so the word of its reference count can hold the link.
    unsafe {
        if (*nested).calls == MOST_NESTED_CALLS {
            object.cast::<Object>().write((*nested).waiting);
            (*nested).waiting = object;
            return;
        }
        (*nested).calls += 1;
        free_instance(object);
        while (*nested).calls == 1 && !(*nested).waiting.is_null() {
            let next = (*nested).waiting;
            (*nested).waiting = *next.cast::<Object>();
            free_instance(next);
        }
        (*nested).calls -= 1;
    }
}

/// Free an unreachable instance.
///
/// Structs that become unreachable with it are freed in a loop instead of a recursion. They are linked through their
/// reference counts, which are not needed any more. A chain created with `object.__setattr__` may be longer than the
/// stack allows.
///
/// # Safety
/// The caller owns the instance, and nothing refers to it.
#[inline(always)]
unsafe fn free_instance(object: Object) {
    let mut object = object;
    let mut chain: Object = null_mut();
    loop {
        // SAFETY: `object` has no references left and is owned here. Its class is alive, because an instance holds a
        // reference to its class, which is released last.
        unsafe {
            for held in slots(object) {
                release_value(*held, &mut chain, 0);
            }
            let class = ffi::Py_TYPE(object);
            if is_adopted(class) {
                give_back(&[object], words(class));
            } else if let Some(free) = (*class).tp_free {
                free(object.cast());
            }
            ffi::Py_DECREF(class.cast());
            if chain.is_null() {
                return;
            }
            object = chain;
            chain = *object.cast::<Object>();
        }
    }
}

/// Arrays in arrays are freed together up to this depth. It bounds the recursion of `release_last`.
const MOST_NESTED_ARRAYS: u32 = 4;

/// Release a value of a dead instance. A struct that loses its last reference is added to the chain.
///
/// # Safety
/// The value is null or a reference that the caller owns.
#[inline(always)]
unsafe fn release_value(held: Object, chain: &mut Object, depth: u32) {
    // SAFETY: the reference is owned, and released once.
    unsafe {
        if !held.is_null() && !uncount(held) {
            release_last(held, chain, depth);
        }
    }
}

/// Release the last reference to an object.
///
/// # Safety
/// The caller owns the only reference.
#[inline(never)]
unsafe fn release_last(held: Object, chain: &mut Object, depth: u32) {
    // SAFETY: a struct whose last reference this was is unreachable, so the word of its reference count can hold the
    // link. The elements of a tuple may be taken from it if no Python code can find it: nothing else refers to it, and
    // the garbage collector does not track it.
    unsafe {
        let class = ffi::Py_TYPE(held);
        if is_adopted(class) {
            held.cast::<Object>().write(*chain);
            *chain = held;
            return;
        }
        if class == &raw mut ffi::PyTuple_Type && depth < MOST_NESTED_ARRAYS && ffi::PyObject_GC_IsTracked(held) == 0 {
            free_elements(held, chain, depth);
        }
        ffi::Py_DECREF(held);
    }
}

/// The most structs that are freed together. All of them stay in the first-level cache.
const BATCH: usize = 32;

/// Free the structs whose last reference is in a dying tuple, and set their elements to null. Freeing several
/// at once saves two calls for each of them, and counts the references to what they share once.
///
/// # Safety
/// The object is a tuple that no other code can find.
unsafe fn free_elements(tuple: Object, chain: &mut Object, depth: u32) {
    // SAFETY: the tuple is alive and owns its elements. An element whose last reference this was is unreachable once it
    // is taken from the tuple.
    unsafe {
        let mut rest = elements(tuple).len();
        let mut place: *mut Object = elements(tuple).as_ptr().cast_mut();
        let mut batch = [null_mut(); BATCH];
        while rest > 0 {
            let mut number = 0;
            let mut class: *mut ffi::PyTypeObject = null_mut();
            while rest > 0 && number < BATCH {
                let element = *place;
                if !element.is_null() && ffi::Py_REFCNT(element) == 1 {
                    if class.is_null() {
                        class = ffi::Py_TYPE(element);
                        if !is_adopted(class) {
                            // Arrays have elements of one kind, so the others are not structs either.
                            return;
                        }
                    } else if ffi::Py_TYPE(element) != class {
                        break;
                    }
                    place.write(null_mut());
                    batch[number] = element;
                    number += 1;
                }
                place = place.add(1);
                rest -= 1;
            }
            if number > 0 {
                free_batch(&batch[..number], class, chain, depth + 1);
            }
        }
    }
}

/// Free structs of one adopted class.
///
/// # Safety
/// The structs are unreachable and owned by the caller.
unsafe fn free_batch(structs: &[Object], class: *mut ffi::PyTypeObject, chain: &mut Object, depth: u32) {
    // SAFETY: the slots are those of the class, and each reference is owned and released once. The class is alive until
    // the structs release their references to it.
    unsafe {
        if let [first, .., last] = structs {
            // The structs of the next array probably follow those of this one in memory.
            prefetch_many(
                last.wrapping_byte_add(words(class) * SLOT),
                last.addr().wrapping_sub(first.addr()),
            );
        }
        for slot in HEADER..words(class) {
            let value = |object: Object| object.cast::<Object>().add(slot).read();
            let first = value(structs[0]);
            // In many slots, all structs hold the same object.
            let shared = structs.iter().take_while(|object| value(**object) == first).count();
            if !first.is_null() && !uncount_many(first, shared) {
                release_last(first, chain, depth);
            }
            for object in &structs[shared..] {
                release_value(value(*object), chain, depth);
            }
        }
        give_back(structs, words(class));
        if !uncount_many(class.cast(), structs.len()) {
            ffi::Py_DECREF(class.cast());
        }
    }
}
