//! The allocator of this module: the system's, but large blocks are mapped by themselves, in large pages where the
//! kernel has them.
//!
//! Rules of this file: the size of a block alone, which its owner states whenever it hands the block in, says where it
//! came from. Mapped memory is zero and grows by moving pages, so nothing is written or copied that was not asked for; in
//! pages of 4 KiB the kernel would take as long to hand out a batch of columns as we take to fill it. Memory goes back as
//! soon as a block is freed.

use std::alloc::{GlobalAlloc, Layout, System};

/// See the rules of this file.
pub(crate) struct Mapping;

#[global_allocator]
static ALLOCATOR: Mapping = Mapping;

/// From this size on, in bytes, a block is mapped: two large pages.
const LARGE: usize = 4 << 20;
/// Mappings begin at pages, of which these are the smallest.
const PAGE: usize = 4096;

fn is_mapped(size: usize, align: usize) -> bool {
    size >= LARGE && align <= PAGE
}

// SAFETY: blocks that are not mapped are the system allocator's, and go to it with the very same arguments. A mapped
// block is a mapping of its own, at least as long as was asked for and aligned to a page; it is unmapped with the size
// that it was mapped with, which `layout` is, or moved by `mremap`, which keeps its content.
unsafe impl GlobalAlloc for Mapping {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout.size(), layout.align()) {
            return map(layout.size());
        }
        // SAFETY: as the caller promised us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout.size(), layout.align()) {
            return map(layout.size());
        }
        // SAFETY: as the caller promised us.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (
            is_mapped(layout.size(), layout.align()),
            is_mapped(size, layout.align()),
        ) {
            // SAFETY: as the caller promised us; the system allocator made the block.
            (false, false) => unsafe { System.realloc(block, layout, size) },
            // SAFETY: the block is a mapping of this size.
            (true, true) => unsafe { remap(block, layout.size(), size) },
            // SAFETY: the new block is another one, and both hold as many bytes as are copied; the caller promised us
            // that size and alignment make a layout.
            _ => unsafe {
                let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                if !moved.is_null() {
                    std::ptr::copy_nonoverlapping(block, moved, size.min(layout.size()));
                    self.dealloc(block, layout);
                }
                moved
            },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_mapped(layout.size(), layout.align()) {
            // SAFETY: the block is a mapping of this size, and the caller is done with it.
            unsafe { libc::munmap(block.cast(), layout.size()) };
        } else {
            // SAFETY: as the caller promised us; the system allocator made the block.
            unsafe { System.dealloc(block, layout) }
        }
    }
}

/// New memory, all zero; null when there is none.
fn map(size: usize) -> *mut u8 {
    let (access, kind) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a new mapping at a place that the kernel chooses touches nothing that is there.
    let block = unsafe { libc::mmap(std::ptr::null_mut(), size, access, kind, -1, 0) };
    advised(block, size)
}

/// # Safety
/// The block is a mapping of so many bytes, and is used by its new address only from now on.
unsafe fn remap(block: *mut u8, size: usize, new_size: usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    let moved = unsafe { libc::mremap(block.cast(), size, new_size, libc::MREMAP_MAYMOVE) };
    advised(moved, new_size)
}

fn advised(block: *mut libc::c_void, size: usize) -> *mut u8 {
    if block == libc::MAP_FAILED {
        return std::ptr::null_mut();
    }
    // SAFETY: advice about a mapping of ours, which changes nothing in it. A kernel may have no large pages, and says so.
    unsafe { libc::madvise(block, size, libc::MADV_HUGEPAGE) };
    block.cast()
}
