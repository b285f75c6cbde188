//! A slab allocator for struct instances.
//!
//! A slab is a region of `SLAB` bytes, aligned to its size, for blocks of one size. New slabs hand out their blocks in
//! order, so the structs of an array are neighbors in memory, which the processor prefetches while they are built,
//! encoded, and freed. The allocator of CPython hands out the block that was freed last, wherever that is: after other
//! work, a message is scattered over the heap, and every block is a cache miss.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. Slabs are used only while the GIL is held, and no Python code runs meanwhile. Builds without a GIL adopt no class,
//!    so they do not use slabs.
//! 2. The address of a block with the lowest bits cleared is the address of its slab. A slab with live blocks is not freed.
//! 3. A block below `fresh` is live, or its bit in `free` is set and it is counted in `holes`. Blocks from `fresh` on
//!    are unused.
//! 4. A slab is the current one of its size, in the list of its size (`listed`), or has no room. A slab without live
//!    blocks is the current one of its size, or returns to its region.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;

use pyo3::ffi;

use crate::unsafe_prefetch::prefetch_many;
use crate::unsafe_regions::{Region, Regions, SLAB};

type Object = *mut ffi::PyObject;

const WORD: usize = size_of::<Object>();
/// Instances with more words come from CPython's allocator.
const MOST_WORDS: usize = 32;
/// Words of bits, one bit for each word of a slab.
const BIT_WORDS: usize = SLAB / WORD / 64;

unsafe extern "C" {
    /// Public in `tracemalloc.h`, but missing from the bindings.
    fn PyTraceMalloc_Track(domain: c_uint, address: usize, size: usize) -> c_int;
    fn PyTraceMalloc_Untrack(domain: c_uint, address: usize) -> c_int;
}

/// The start of a slab. The blocks follow.
#[repr(C)]
struct Slab {
    next: *mut Self,
    previous: *mut Self,
    region: *mut Region,
    /// The size of a block in bytes.
    size: usize,
    /// The number of live blocks.
    live: usize,
    /// The offset of the first block that was never handed out.
    fresh: usize,
    /// The number of freed blocks below `fresh`.
    holes: usize,
    /// No word of `free` below this one has a bit.
    lowest: usize,
    /// Whether the slab is in the list of its size.
    listed: bool,
    /// The freed blocks below `fresh`: the bits of their first words.
    free: [u64; BIT_WORDS],
}

/// The slabs for one size of blocks.
#[derive(Clone, Copy)]
struct Size {
    /// The slab that blocks are taken from.
    current: *mut Slab,
    /// Other slabs with room.
    with_room: *mut Slab,
}

struct Slabs {
    /// By words of a block.
    sizes: [Size; MOST_WORDS + 1],
    regions: Regions,
}

struct Shared(UnsafeCell<Slabs>);

// SAFETY: used only while the GIL is held (invariant 1).
unsafe impl Sync for Shared {}

static SLABS: Shared = Shared(UnsafeCell::new(Slabs {
    sizes: [Size {
        current: null_mut(),
        with_room: null_mut(),
    }; MOST_WORDS + 1],
    regions: Regions::new(),
}));

/// Take uninitialized blocks of `words` words that follow each other in memory. Returns the first and their number, at
/// least 1 and at most `most`, or 0 if memory is exhausted.
///
/// # Safety
/// The GIL is held, and `most` is not 0.
#[inline(always)]
pub(crate) unsafe fn take(words: usize, most: usize) -> (Object, usize) {
    let size = words * WORD;
    // SAFETY: the GIL is held (invariant 1). Blocks from `fresh` on are unused (invariant 3).
    unsafe {
        let slabs = &mut *SLABS.0.get();
        let Some(place) = slabs.sizes.get(words) else {
            return (ffi::PyObject_Malloc(size).cast(), 1);
        };
        let slab = place.current;
        if !slab.is_null()
            && (*slab).holes == 0
            && most <= SLAB / WORD
            && let Some(room) = (SLAB - (*slab).fresh).checked_sub(most * size)
        {
            let block = slab.byte_add((*slab).fresh);
            (*slab).fresh = SLAB - room;
            (*slab).live += most;
            // The next structs of this size are probably as many. Their memory is fetched while these are built.
            prefetch_many(block.wrapping_byte_add(most * size), most * size);
            return (block.cast(), most);
        }
        slabs.take_slowly(words, most)
    }
}

/// Free blocks of `words` words.
///
/// # Safety
/// The GIL is held. The blocks come from `take` with this number of words and are not used any more.
#[inline(always)]
pub(crate) unsafe fn give_back(blocks: &[Object], words: usize) {
    // SAFETY: the GIL is held (invariant 1), and the blocks are live and dead for the caller.
    unsafe {
        if words > MOST_WORDS {
            for block in blocks {
                ffi::PyObject_Free(block.cast());
            }
            return;
        }
        let mut rest = blocks;
        while let Some(first) = rest.first() {
            let slab = slab_of(*first);
            let number = rest.iter().take_while(|block| slab_of(**block) == slab).count();
            let (freed, after) = rest.split_at(number);
            rest = after;
            (*slab).live -= number;
            if (*slab).live == 0 {
                (*SLABS.0.get()).emptied(slab);
                continue;
            }
            for block in freed {
                let (index, bit) = bit_of(*block);
                (&mut (*slab).free)[index] |= bit;
                (*slab).lowest = (*slab).lowest.min(index);
            }
            (*slab).holes += number;
            (*SLABS.0.get()).has_room(slab);
        }
    }
}

/// Return the slab of a block.
#[inline(always)]
fn slab_of(block: Object) -> *mut Slab {
    block.map_addr(|address| address & !(SLAB - 1)).cast()
}

/// Return the index and the bit of a block in `free`.
#[inline(always)]
fn bit_of(block: Object) -> (usize, u64) {
    let word = (block.addr() & (SLAB - 1)) / WORD;
    (word / 64, 1 << (word % 64))
}

impl Slabs {
    /// `take` if the current slab has holes or not enough room.
    ///
    /// # Safety
    /// As `take`. There are slabs for this number of words.
    #[inline(never)]
    unsafe fn take_slowly(&mut self, words: usize, most: usize) -> (Object, usize) {
        let size = words * WORD;
        // SAFETY: as in `take`. A bit of `free` stands for a freed block (invariant 3).
        unsafe {
            let place = &raw mut self.sizes[words];
            loop {
                let slab = (*place).current;
                if !slab.is_null() {
                    if (*slab).holes > 0 {
                        return (*slab).fill_holes(most);
                    }
                    let room = (SLAB - (*slab).fresh) / size;
                    if room > 0 {
                        let number = room.min(most);
                        let block = slab.byte_add((*slab).fresh);
                        (*slab).fresh += number * size;
                        (*slab).live += number;
                        return (block.cast(), number);
                    }
                }
                // The current slab has no room: `has_room` lists it when a block is freed.
                (*place).current = (*place).with_room;
                if (*place).current.is_null() {
                    (*place).current = self.new_slab(size);
                } else {
                    self.unlist((*place).current);
                }
                if (*place).current.is_null() {
                    return (null_mut(), 0);
                }
            }
        }
    }

    /// Return an empty slab, or null if memory is exhausted.
    ///
    /// # Safety
    /// The GIL is held.
    unsafe fn new_slab(&mut self, size: usize) -> *mut Slab {
        // SAFETY: a taken slab has `SLAB` bytes, which nothing else uses. Its header is initialized here.
        unsafe {
            let (slab, region) = self.regions.take();
            let slab: *mut Slab = slab.cast();
            if slab.is_null() {
                return slab;
            }
            (*slab).free = [0; BIT_WORDS];
            (*slab).region = region;
            (*slab).next = null_mut();
            (*slab).previous = null_mut();
            (*slab).size = size;
            (*slab).live = 0;
            (*slab).fresh = size_of::<Slab>();
            (*slab).holes = 0;
            (*slab).lowest = BIT_WORDS;
            (*slab).listed = false;
            PyTraceMalloc_Track(0, slab.addr(), SLAB);
            slab
        }
    }

    /// Return a slab whose last block was freed to its region, or reset it if it is the current one.
    ///
    /// # Safety
    /// The GIL is held, and the slab has no live blocks.
    #[inline(never)]
    unsafe fn emptied(&mut self, slab: *mut Slab) {
        // SAFETY: the slab is not used (invariant 4).
        unsafe {
            if self.sizes[(*slab).size / WORD].current == slab {
                let used = (*slab).fresh.div_ceil(64 * WORD).min(BIT_WORDS);
                (&mut (*slab).free)[..used].fill(0);
                (*slab).fresh = size_of::<Slab>();
                (*slab).holes = 0;
                (*slab).lowest = BIT_WORDS;
                return;
            }
            if (*slab).listed {
                self.unlist(slab);
            }
            PyTraceMalloc_Untrack(0, slab.addr());
            self.regions.give_back(slab.cast(), (*slab).region);
        }
    }

    /// List a slab in which a block was freed, unless it is listed or the current one.
    ///
    /// # Safety
    /// The GIL is held, and the slab has live blocks.
    #[inline(always)]
    unsafe fn has_room(&mut self, slab: *mut Slab) {
        // SAFETY: listed slabs are alive (invariant 2).
        unsafe {
            let place = &mut self.sizes[(*slab).size / WORD];
            if (*slab).listed || place.current == slab {
                return;
            }
            (*slab).next = place.with_room;
            (*slab).previous = null_mut();
            if !place.with_room.is_null() {
                (*place.with_room).previous = slab;
            }
            place.with_room = slab;
            (*slab).listed = true;
        }
    }

    /// Remove a slab from the list of its size.
    ///
    /// # Safety
    /// The GIL is held, and the slab is listed.
    unsafe fn unlist(&mut self, slab: *mut Slab) {
        // SAFETY: the neighbors are listed, so they are alive (invariant 2).
        unsafe {
            let (next, previous) = ((*slab).next, (*slab).previous);
            if previous.is_null() {
                self.sizes[(*slab).size / WORD].with_room = next;
            } else {
                (*previous).next = next;
            }
            if !next.is_null() {
                (*next).previous = previous;
            }
            (*slab).listed = false;
        }
    }
}

impl Slab {
    /// Take freed blocks that follow each other in memory. Returns the first and their number.
    ///
    /// # Safety
    /// The GIL is held, and the slab has holes.
    unsafe fn fill_holes(&mut self, most: usize) -> (Object, usize) {
        while self.free[self.lowest] == 0 {
            self.lowest += 1;
        }
        let word = self.lowest * 64 + self.free[self.lowest].trailing_zeros() as usize;
        let mut number = 0;
        let mut next = word;
        while number < most
            && let Some(bits) = self.free.get_mut(next / 64)
            && *bits & (1 << (next % 64)) != 0
        {
            *bits &= !(1 << (next % 64));
            number += 1;
            next += self.size / WORD;
        }
        self.holes -= number;
        self.live += number;
        // SAFETY: the offset of a bit leads to a freed block of this slab (invariant 3).
        (unsafe { (&raw mut *self).byte_add(word * WORD).cast() }, number)
    }
}
