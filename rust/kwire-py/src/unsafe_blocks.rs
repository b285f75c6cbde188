//! Free lists for the memory of struct instances.
//!
//! Programs decode messages of the same kind again and again, and release the one before. The blocks of its instances
//! wait here for the next one, which costs less than returning them to the allocator.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. The lists are used only while the GIL is held, and no Python code runs meanwhile. Builds without a GIL do not use
//!    them: there, no class is adopted, and `keep` and `take` leave everything to the allocator.
//! 2. A block in the list of `n` words came from `PyObject_Malloc` with at least that size, is not used otherwise, and
//!    its first word is the next block of the list.
//! 3. A list has at most `MOST_BLOCKS` blocks, so all lists hold at most 1 MB, whatever is decoded.

use std::cell::UnsafeCell;
use std::ptr::null_mut;

use pyo3::ffi;

const WORD: usize = size_of::<*mut ffi::PyObject>();
/// Instances with more words return their memory to the allocator.
const MOST_WORDS: usize = 16;
/// Blocks of each size that wait at most.
const MOST_BLOCKS: u32 = 1 << 10;

#[derive(Clone, Copy)]
struct List {
    first: *mut ffi::PyObject,
    room: u32,
}

struct Lists(UnsafeCell<[List; MOST_WORDS]>);

// SAFETY: the lists are used only while the GIL is held (invariant 1).
unsafe impl Sync for Lists {}

static LISTS: Lists = Lists(UnsafeCell::new(
    [List {
        first: null_mut(),
        room: MOST_BLOCKS,
    }; MOST_WORDS],
));

/// Keep the memory of a dead instance. Returns whether there was room for it.
///
/// # Safety
/// The GIL is held, `block` has at least `words` words, came from `PyObject_Malloc`, and is not used any more.
#[inline(always)]
pub(crate) unsafe fn keep(block: *mut ffi::PyObject, words: usize) -> bool {
    if cfg!(Py_GIL_DISABLED) {
        return false;
    }
    // SAFETY: the GIL is held, so nothing else uses the lists (invariant 1). The block is not used any more, so its first
    // word can hold the link (invariant 2).
    unsafe {
        let Some(list) = (*LISTS.0.get()).get_mut(words) else {
            return false;
        };
        let Some(room) = list.room.checked_sub(1) else {
            return false;
        };
        block.cast::<*mut ffi::PyObject>().write(list.first);
        *list = List { first: block, room };
        true
    }
}

/// Return an uninitialized block of `words` words, or null if memory is exhausted.
///
/// # Safety
/// The GIL is held.
#[inline(always)]
pub(crate) unsafe fn take(words: usize) -> *mut ffi::PyObject {
    // SAFETY: the GIL is held (invariant 1). A block of the list has the size and a link (invariant 2).
    unsafe {
        if !cfg!(Py_GIL_DISABLED)
            && let Some(list) = (*LISTS.0.get()).get_mut(words)
            && !list.first.is_null()
        {
            let block = list.first;
            list.first = block.cast::<*mut ffi::PyObject>().read();
            list.room = list.room.wrapping_add(1);
            return block;
        }
        ffi::PyObject_Malloc(words * WORD).cast()
    }
}
