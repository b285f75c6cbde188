//! The allocator of this module: mimalloc, with memory put aside for allocations that must not fail.
//!
//! Rust ends the process when `Vec::push`, `Box::new`, or a library such as Arrow cannot allocate. Large buffers of this
//! project grow with `try_reserve`, and the caller gets a `MemoryError`. For the rest, memory is put aside while it can still
//! be refused, and given back when mimalloc gets none from the system, so that the allocation succeeds at a second try:
//!
//! - The *reserve* of the process is for blocks of up to `MAX_SMALL` bytes: paths of errors, tables of compressors,
//!   schemas. Each call begins with `require_reserve`, allocates less than `RESERVE` bytes of such blocks, and holds the
//!   GIL or a headroom of its own meanwhile.
//! - The *headroom* of a call that fills Arrow columns is for blocks of any size. The columns put aside an upper bound of
//!   everything that they may allocate until they ask again. Each thread has its own, so calls without the GIL do not
//!   use up one another's.
//!
//! Memory that is put aside is never touched, so it takes addresses but no pages. It is mapped by CPython's arena allocator
//! (`mmap`, `VirtualAlloc`), because `free` would keep the addresses for later calls of `malloc`.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. A block comes from the arena allocator with its size, and has one owner: `RESERVE_BLOCK`, or the `HEADROOM` of one
//!    thread. From 3.15 on, the function that maps blocks reads the configuration of the interpreter, so it needs the
//!    GIL, which a call that fills columns has released. The function that unmaps them needs none.
//! 2. Every block that the module's users get comes from mimalloc, so mimalloc frees and resizes it.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use mimalloc::MiMalloc;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use crate::unsafe_regions::arena_allocator;

/// Bytes of the reserve. A call needs less than a megabyte, but mimalloc takes up to 4 MiB from the system for the first
/// block of a size.
const RESERVE: usize = 32 << 20;
/// The largest block that the reserve is for, in bytes: larger than each table of a compressor and of a plan.
const MAX_SMALL: usize = 1 << 20;
/// Memory that mimalloc takes from the system in addition to blocks: 4 MiB for the first block of a size, up to an eighth
/// of large blocks, and alignment.
const ROUNDING: usize = 32 << 20;

pub(crate) struct Allocator;

static RESERVE_BLOCK: AtomicPtr<u8> = AtomicPtr::new(null_mut());
/// The number of times that memory was given back because the system had none.
static SHORTAGES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The headroom of the call in this thread, and its size in bytes.
    static HEADROOM: Cell<(*mut u8, usize)> = const { Cell::new((null_mut(), 0)) };
}

/// Return a block of `size` bytes, more than none, or null.
fn put_aside(size: usize) -> *mut u8 {
    // SAFETY: the GIL is held, and the context belongs to the function.
    Python::attach(|_| unsafe {
        let arenas = arena_allocator();
        arenas.alloc.map_or(null_mut(), |alloc| alloc(arenas.ctx, size)).cast()
    })
}

/// Free a block of `size` bytes, or null. Returns whether there was one.
fn give_back(block: *mut u8, size: usize) -> bool {
    if block.is_null() {
        return false;
    }
    // SAFETY: the block has this size, and the caller has taken it from its owner (invariant 1).
    unsafe {
        let arenas = arena_allocator();
        if let Some(free) = arenas.free {
            free(arenas.ctx, block.cast(), size);
        }
    }
    true
}

/// Try an allocation again after memory was given back: the headroom of this thread, then the reserve.
#[cold]
#[inline(never)]
fn retry(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    // Without the thread's storage, the thread is ending.
    let (block, held) = HEADROOM.try_with(Cell::take).unwrap_or((null_mut(), 0));
    if give_back(block, held) {
        SHORTAGES.fetch_add(1, Ordering::Relaxed);
        let allocated = allocate();
        if !allocated.is_null() {
            return allocated;
        }
    }
    if size <= MAX_SMALL && give_back(RESERVE_BLOCK.swap(null_mut(), Ordering::AcqRel), RESERVE) {
        SHORTAGES.fetch_add(1, Ordering::Relaxed);
        return allocate();
    }
    null_mut()
}

// SAFETY: every call is passed on to mimalloc (invariant 2).
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the conditions of the caller.
        let allocate = || unsafe { MiMalloc.alloc(layout) };
        let allocated = allocate();
        if allocated.is_null() {
            return retry(layout.size(), allocate);
        }
        allocated
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the conditions of the caller.
        let allocate = || unsafe { MiMalloc.alloc_zeroed(layout) };
        let allocated = allocate();
        if allocated.is_null() {
            return retry(layout.size(), allocate);
        }
        allocated
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the conditions of the caller.
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the conditions of the caller. A failed call leaves the block as it is.
        let allocate = || unsafe { MiMalloc.realloc(block, layout, size) };
        let allocated = allocate();
        if allocated.is_null() {
            return retry(size, allocate);
        }
        allocated
    }
}

/// Put the reserve aside, if an earlier call has used it.
///
/// # Errors
/// `MemoryError`: memory is short.
#[inline]
pub(crate) fn require_reserve() -> PyResult<()> {
    if RESERVE_BLOCK.load(Ordering::Relaxed).is_null() {
        return renew_reserve();
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn renew_reserve() -> PyResult<()> {
    let block = put_aside(RESERVE);
    if block.is_null() {
        return Err(PyMemoryError::new_err(()));
    }
    // Another thread may have been faster.
    let result = RESERVE_BLOCK.compare_exchange(null_mut(), block, Ordering::AcqRel, Ordering::Relaxed);
    if result.is_err() {
        give_back(block, RESERVE);
    }
    Ok(())
}

/// Memory put aside for one call in this thread; given back when it is dropped.
pub(crate) struct Headroom {
    shortages: usize,
    /// The headroom belongs to this thread.
    thread: PhantomData<*mut u8>,
}

impl Headroom {
    pub(crate) fn new() -> Self {
        Self {
            shortages: SHORTAGES.load(Ordering::Relaxed),
            thread: PhantomData,
        }
    }

    /// Put `more` bytes aside. Returns false if memory is short, or was since the call began.
    pub(crate) fn hold(&self, more: usize) -> bool {
        if SHORTAGES.load(Ordering::Relaxed) != self.shortages {
            return false;
        }
        let (block, held) = HEADROOM.take();
        give_back(block, held);
        let first = if held == 0 { ROUNDING } else { 0 };
        let size = held.saturating_add(more).saturating_add(more / 8).saturating_add(first);
        let block = put_aside(size);
        if block.is_null() {
            // What was held can be held again, unless another thread has taken it.
            let block = put_aside(held.max(1));
            HEADROOM.set(if block.is_null() {
                (block, 0)
            } else {
                (block, held.max(1))
            });
            return false;
        }
        HEADROOM.set((block, size));
        true
    }
}

impl Drop for Headroom {
    fn drop(&mut self) {
        let (block, held) = HEADROOM.take();
        give_back(block, held);
    }
}
