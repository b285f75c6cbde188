//! The tables of a plan that decoding uses: values by their bytes, and integers.
//!
//! Most tables hold pointers to objects of the message that is being built, without dereferencing them. The builder
//! ensures that they are valid (its invariant 2). A generation number distinguishes the entries of different calls.
//!
//! The table of short int32 arrays keeps its tuples between calls. The `unsafe` blocks rely on these invariants:
//! 1. The table owns one reference to each of its tuples, so `short_array` returns a live object at any time. A tuple
//!    is released when another one replaces it and when the tables are dropped.
//! 2. These are tuples of exact ints: releasing one runs no Python code, and they cannot be part of a cycle.
//! 3. The table has a fixed number of entries, so the memory it holds is bounded whatever is decoded: about 2 MB for
//!    each plan if every list has four ids over 256.

use std::ptr::NonNull;

use kwire::decode::Matcher;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::memo::{Memo, ShortKey, ShortMemo, ShortTable, Worth, hash};
use crate::unsafe_layout::count;
use crate::unsafe_prefetch::prefetch;

/// For smaller inputs, tables cost more than they save.
const SMALLEST_INPUT_FOR_MEMOS: usize = 4096;
/// Structs longer than this are not cached, because they do not repeat.
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
    short_arrays: ShortMemo<NonNull<ffi::PyObject>>,
    pub(crate) arrays_of_structs: Vec<Memo<NonNull<ffi::PyObject>>>,
    pub(crate) structs: Vec<StructMemo>,
    /// The layouts of the last uniform structs, by struct of the plan.
    pub(crate) layouts: Vec<Option<Matcher>>,
    integers: Vec<(i32, u32, Option<NonNull<ffi::PyObject>>)>,
    generation: u32,
    remembers_integers: bool,
}

// SAFETY: between calls the tables hold stale pointers, which later calls ignore because of their generation (`Memo`),
// and references to immutable objects, which are used only while the GIL is held. So another thread may take the tables
// over.
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
            short_arrays: ShortMemo::new(),
            arrays_of_structs: (0..structs).map(|_| Memo::new(WORTH_OF_ARRAYS)).collect(),
            structs: (0..structs)
                .map(|_| StructMemo {
                    memo: Memo::new(WORTH_OF_STRUCTS),
                    length: 0,
                    ahead: [0; 2],
                    ahead_of: usize::MAX,
                })
                .collect(),
            layouts: vec![None; structs],
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

    /// Return the tuple of a short int32 array that was decoded before.
    #[inline(always)]
    pub(crate) fn short_array(&mut self, key: ShortKey) -> Option<NonNull<ffi::PyObject>> {
        if !self.short_arrays.on {
            return None;
        }
        let found = self.short_arrays.table().get(key);
        self.short_arrays.count(1, usize::from(found.is_some()));
        found
    }

    /// Return the tuples of short int32 arrays that were decoded before. They stay alive until a tuple is kept.
    #[inline(always)]
    pub(crate) fn short_arrays(&self) -> ShortTable<'_, NonNull<ffi::PyObject>> {
        self.short_arrays.table()
    }

    /// Return whether short int32 arrays are looked up.
    #[inline(always)]
    pub(crate) fn looks_up_short_arrays(&self) -> bool {
        self.short_arrays.on
    }

    /// Count successful look-ups in `short_arrays`.
    #[inline(always)]
    pub(crate) fn count_short_arrays(&mut self, number: usize) {
        self.short_arrays.count(number, number);
    }

    /// Keep the tuple of a short int32 array if that is worthwhile.
    ///
    /// # Safety
    /// `tuple` is a live tuple of exact ints, and the GIL is held.
    pub(crate) unsafe fn keep_short_array(&mut self, key: ShortKey, tuple: NonNull<ffi::PyObject>) {
        if !self.short_arrays.on {
            return;
        }
        // SAFETY: the tuple is alive; the table owns this new reference, and the returned reference (invariant 1).
        unsafe {
            count(tuple.as_ptr());
            if let Some(replaced) = self.short_arrays.put(key, tuple) {
                ffi::Py_DECREF(replaced.as_ptr());
            }
        }
    }

    fn place(number: i32) -> usize {
        (number.cast_unsigned().wrapping_mul(0x9e37_79b9) >> 22) as usize & (INTEGERS - 1)
    }

    /// Clear the tables and prepare them for an input.
    pub(crate) fn begin(&mut self, input: &[u8]) {
        self.short_arrays.begin(input.len() >= SMALLEST_INPUT_FOR_MEMOS);
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

impl Drop for Caches {
    fn drop(&mut self) {
        // Plans are dropped with the GIL held. If the interpreter is not running any more, the tuples are leaked.
        let _ = Python::try_attach(|_| {
            for tuple in self.short_arrays.drain() {
                // SAFETY: the table owns the reference (invariant 1), and the GIL is held.
                unsafe { ffi::Py_DECREF(tuple.as_ptr()) };
            }
        });
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
