//! The allocator of this module: the system's, which asks for large pages where a block is large.
//!
//! Rules of this file: blocks come from the system's allocator and go back to it, as they are; all that is added is advice
//! to the kernel. A batch of columns fills hundreds of megabytes once, and to get those in pages of 4 KiB costs nearly as
//! much as to fill them.

use std::alloc::{GlobalAlloc, Layout, System};

/// See the rules of this file.
pub(crate) struct LargePages;

#[global_allocator]
static ALLOCATOR: LargePages = LargePages;

/// The size of a large page, which is also its alignment.
const LARGE_PAGE: usize = 2 << 20;
/// From this size on it pays to ask, in bytes.
const LARGE_BLOCK: usize = 2 * LARGE_PAGE;

// SAFETY: every method is the system allocator's of the same name, called with the same arguments.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promised us.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promised us.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promised us.
        advised(unsafe { System.realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised us.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The block, for the large pages that lie in it wholly have been asked.
#[inline]
fn advised(block: *mut u8, size: usize) -> *mut u8 {
    if size >= LARGE_BLOCK && !block.is_null() {
        advise(block, size);
    }
    block
}

#[cold]
fn advise(block: *mut u8, size: usize) {
    #[cfg(target_os = "linux")]
    {
        let before = block.align_offset(LARGE_PAGE);
        let length = size.saturating_sub(before) / LARGE_PAGE * LARGE_PAGE;
        // SAFETY: the range lies in a block that was just allocated, and the advice changes no byte of it. Where the
        // kernel does not take it, all is as before.
        unsafe {
            libc::madvise(block.add(before.min(size)).cast(), length, libc::MADV_HUGEPAGE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (block, size);
}
