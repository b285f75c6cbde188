//! Regions of memory, divided into slabs.
//!
//! CPython's arena allocator maps and unmaps regions, so memory that is not needed any more goes back to the system.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. Regions are used only while the GIL is held.
//! 2. A region has `IN_REGION` slabs, aligned to their size: `used` ones that were taken, `unused` ones at its end that
//!    were never taken, and those in `spare`, whose first word is the next of them.
//! 3. A region is in the list if and only if it has slabs that are not used.

use std::ffi::c_void;
use std::ptr::null_mut;

use pyo3::ffi;

type Address = *mut c_void;

/// The size of a slab in bytes.
pub(crate) const SLAB: usize = 1 << 16;
/// The slabs in a region.
const IN_REGION: usize = 16;
/// The size of a mapping: one slab more, because it is aligned to pages only. That memory is never touched.
const MAPPING: usize = SLAB * (IN_REGION + 1);
/// A region without used slabs is unmapped if more slabs than this are not used: 16 MB.
const MOST_SPARE: usize = 256;

pub(crate) struct Region {
    next: *mut Self,
    previous: *mut Self,
    mapping: Address,
    spare: Address,
    unused: usize,
    used: usize,
}

/// All regions.
pub(crate) struct Regions {
    /// The list of those with slabs that are not used.
    first: *mut Region,
    /// The number of slabs that are not used.
    spares: usize,
}

impl Regions {
    pub(crate) const fn new() -> Self {
        Self {
            first: null_mut(),
            spares: 0,
        }
    }

    /// Take an uninitialized slab. Returns its address and its region, or null if memory is exhausted.
    ///
    /// # Safety
    /// The GIL is held.
    pub(crate) unsafe fn take(&mut self) -> (Address, *mut Region) {
        // SAFETY: a listed region has a slab that is not used (invariants 2 and 3).
        unsafe {
            if self.first.is_null() && !self.map() {
                return (null_mut(), null_mut());
            }
            let region = self.first;
            let mut slab = (*region).spare;
            if slab.is_null() {
                let start = (*region).mapping.map_addr(|address| address.next_multiple_of(SLAB));
                slab = start.byte_add(SLAB * (IN_REGION - (*region).unused));
                (*region).unused -= 1;
            } else {
                (*region).spare = slab.cast::<Address>().read();
            }
            (*region).used += 1;
            self.spares -= 1;
            if (*region).used == IN_REGION {
                self.unlist(region);
            }
            (slab, region)
        }
    }

    /// Return a slab.
    ///
    /// # Safety
    /// The GIL is held. The slab was taken, with this region, and is not used any more.
    pub(crate) unsafe fn give_back(&mut self, slab: Address, region: *mut Region) {
        // SAFETY: the region is alive, because it has a used slab. Its mapping came from the same allocator.
        unsafe {
            slab.cast::<Address>().write((*region).spare);
            (*region).spare = slab;
            if (*region).used == IN_REGION {
                self.list(region);
            }
            (*region).used -= 1;
            self.spares += 1;
            if (*region).used == 0 && self.spares > MOST_SPARE {
                self.unlist(region);
                self.spares -= IN_REGION;
                let arenas = arena_allocator();
                if let Some(free) = arenas.free {
                    free(arenas.ctx, (*region).mapping, MAPPING);
                }
                drop(Box::from_raw(region));
            }
        }
    }

    /// Map a new region and list it. Returns whether there was memory.
    ///
    /// # Safety
    /// The GIL is held.
    unsafe fn map(&mut self) -> bool {
        // SAFETY: the allocator returns null or a new mapping. The region is new.
        unsafe {
            let arenas = arena_allocator();
            let mapping: Address = arenas.alloc.map_or(null_mut(), |alloc| alloc(arenas.ctx, MAPPING));
            if mapping.is_null() {
                return false;
            }
            self.spares += IN_REGION;
            self.list(Box::into_raw(Box::new(Region {
                next: null_mut(),
                previous: null_mut(),
                mapping,
                spare: null_mut(),
                unused: IN_REGION,
                used: 0,
            })));
            true
        }
    }

    /// Add a region to the list.
    ///
    /// # Safety
    /// The region is alive and not listed.
    unsafe fn list(&mut self, region: *mut Region) {
        // SAFETY: listed regions are alive.
        unsafe {
            (*region).previous = null_mut();
            (*region).next = self.first;
            if !self.first.is_null() {
                (*self.first).previous = region;
            }
            self.first = region;
        }
    }

    /// Remove a region from the list.
    ///
    /// # Safety
    /// The region is listed.
    unsafe fn unlist(&mut self, region: *mut Region) {
        // SAFETY: the neighbors are listed, so they are alive.
        unsafe {
            let (next, previous) = ((*region).next, (*region).previous);
            if previous.is_null() {
                self.first = next;
            } else {
                (*previous).next = next;
            }
            if !next.is_null() {
                (*next).previous = previous;
            }
        }
    }
}

/// Return CPython's functions that map and unmap memory.
///
/// # Safety
/// The interpreter is initialized.
pub(crate) unsafe fn arena_allocator() -> ffi::PyObjectArenaAllocator {
    let mut allocator = ffi::PyObjectArenaAllocator {
        ctx: null_mut(),
        alloc: None,
        free: None,
    };
    // SAFETY: the call writes the allocator.
    unsafe { ffi::PyObject_GetArenaAllocator(&raw mut allocator) };
    allocator
}
