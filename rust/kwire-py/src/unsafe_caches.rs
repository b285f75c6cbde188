//! The tables of a plan that decoding uses: values by their bytes, and integers.
//!
//! The tables hold pointers without dereferencing them. The builder ensures that they are valid (its invariant 2). A
//! generation number distinguishes the entries of different calls.

use std::ptr::NonNull;

use pyo3::ffi;

use crate::memo::{Memo, ShortMemo, Worth, hash};
use crate::unsafe_prefetch::prefetch;

/// For smaller inputs, tables cost more than they save.
const SMALLEST_INPUT_FOR_MEMOS: usize = 4096;
/// Arrays and structs longer than this are not cached, because they do not repeat.
pub(crate) const MAX_CACHED: usize = 128;

/// A hit costs a third of building the array, so a table with few hits costs more than none. Measured on partitions
/// with random replicas (24,360 different triples, which fill the table) and with Kafka's own assignment.
const WORTH_OF_ARRAYS: Worth = Worth {
    distinct: 1 << 13,
    percent: 50,
};
const WORTH_OF_STRUCTS: Worth = Worth {
    distinct: 1 << 15,
    percent: 25,
};

/// The tables of one plan, kept from call to call.
pub(crate) struct Caches {
    pub(crate) arrays: ShortMemo<NonNull<ffi::PyObject>>,
    pub(crate) arrays_of_structs: Vec<Memo<NonNull<ffi::PyObject>>>,
    pub(crate) structs: Vec<StructMemo>,
    integers: Vec<(i32, u32, Option<NonNull<ffi::PyObject>>)>,
    generation: u32,
    remembers_integers: bool,
}

// SAFETY: between calls the tables hold only stale pointers, which later calls ignore because of their generation
// (`Memo`), so another thread may take the tables over. During a call the GIL is held.
unsafe impl Send for Caches {}

pub(crate) struct StructMemo {
    pub(crate) memo: Memo<NonNull<ffi::PyObject>>,
    /// The length of the last struct. The next one probably has the same.
    pub(crate) length: usize,
    /// The hashes of the elements at `ahead_of` and after it, if they have the same length.
    ahead: [u64; 2],
    ahead_of: usize,
}

const INTEGERS: usize = 1024;

impl Caches {
    pub(crate) fn new(structs: usize) -> Self {
        Self {
            arrays: ShortMemo::new(),
            arrays_of_structs: (0..structs).map(|_| Memo::new(WORTH_OF_ARRAYS)).collect(),
            structs: (0..structs)
                .map(|_| StructMemo {
                    memo: Memo::new(WORTH_OF_STRUCTS),
                    length: 0,
                    ahead: [0; 2],
                    ahead_of: usize::MAX,
                })
                .collect(),
            integers: vec![(0, 0, None); INTEGERS],
            generation: 0,
            remembers_integers: false,
        }
    }

    /// Return the object of a number that was stored in this call.
    pub(crate) fn integer(&self, number: i32) -> Option<NonNull<ffi::PyObject>> {
        match self.integers.get(Self::place(number))? {
            (held, generation, Some(object)) if *held == number && *generation == self.generation => Some(*object),
            _ => None,
        }
    }

    pub(crate) fn keep_integer(&mut self, number: i32, object: NonNull<ffi::PyObject>) {
        let generation = self.generation;
        if let Some(entry) = self
            .integers
            .get_mut(Self::place(number))
            .filter(|_| self.remembers_integers)
        {
            *entry = (number, generation, Some(object));
        }
    }

    fn place(number: i32) -> usize {
        (number.cast_unsigned().wrapping_mul(0x9e37_79b9) >> 22) as usize & (INTEGERS - 1)
    }

    /// Clear the tables and prepare them for an input.
    pub(crate) fn begin(&mut self, input: &[u8]) {
        self.arrays.begin(input.len() >= SMALLEST_INPUT_FOR_MEMOS);
        for memo in &mut self.arrays_of_structs {
            memo.begin(input, SMALLEST_INPUT_FOR_MEMOS);
        }
        for cache in &mut self.structs {
            cache.memo.begin(input, SMALLEST_INPUT_FOR_MEMOS);
            cache.length = 0;
            cache.ahead_of = usize::MAX;
        }
        self.remembers_integers = input.len() >= SMALLEST_INPUT_FOR_MEMOS;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.integers.fill((0, 0, None));
            self.generation = 1;
        }
    }
}

impl StructMemo {
    /// Return the hash of the element at the start of `rest`, which is at `start` in the input, and prefetch what the
    /// next two look-ups need. A large message has more distinct partitions than fit the processor's caches, so a
    /// look-up without prefetching would wait for three cache misses in a row.
    #[inline(always)]
    pub(crate) fn look_ahead(&mut self, input: &[u8], rest: &[u8], start: usize) -> u64 {
        let length = self.length;
        let of_element = |index: usize| rest.get(index * length..(index + 1) * length).map_or(0, hash);
        let [this, next] = if self.ahead_of == start {
            self.ahead
        } else {
            [of_element(0), of_element(1)]
        };
        let after_next = of_element(2);
        self.memo.announce(after_next);
        if let Some(value) = self.memo.approach(input, next) {
            prefetch(value.as_ptr());
        }
        self.ahead = [next, after_next];
        self.ahead_of = start + length;
        this
    }
}
