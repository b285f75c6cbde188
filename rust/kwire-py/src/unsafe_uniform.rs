//! Builds structs of uniform layout column by column.
//!
//! All objects of a run are allocated first, with their constant slots set; then each field is set in all of them. So
//! the kind of a field, its offset in the input, and its slot are looked up once for each run instead of once for each
//! object, and references to the class and to defaults are counted once.
//!
//! The `unsafe` blocks rely on the invariants of `unsafe_builder` and on these:
//! 1. `Rows` has as many objects as rows, each row has `size` bytes, and every column lies within a row. `Rows::new` and
//!    the functions that read columns check this once for each run, so rows are read without further checks.
//! 2. The objects are new instances of the class that named the offsets. They are elements of a tuple that nothing else
//!    refers to, so they are released with it if decoding fails.

use std::ops::Range;

use kwire::decode::{UniformLayout, Visitor, unpack};
use kwire::plan::{Field, MAX_PARTS, Part, Primitive, Struct, Type};
use pyo3::ffi;

use crate::memo::hash_of_sample;
use crate::unsafe_builder::Builder;
use crate::unsafe_constants::{LOWEST, STRIDE};
use crate::unsafe_layout::{Layout, count, count_many, write};
use crate::unsafe_owned::{Owned, Raised};
use crate::unsafe_slabs::take;
use crate::unsafe_uniform_arrays::Int32s;

type Object = *mut ffi::PyObject;

/// New objects, and the bytes of each.
pub(crate) struct Rows<'o, 'a> {
    pub(crate) objects: &'o [Object],
    pub(crate) bytes: &'a [u8],
    pub(crate) size: usize,
}

impl<'o, 'a> Rows<'o, 'a> {
    fn new(objects: &'o [Object], bytes: &'a [u8], size: usize) -> Self {
        assert!(bytes.len() / size >= objects.len(), "each object has a row");
        Self { objects, bytes, size }
    }

    /// Return the address of a column in the first row.
    #[inline(always)]
    pub(crate) fn column(&self, at: usize, width: usize) -> *const u8 {
        assert!(
            width <= self.size && at <= self.size - width,
            "the column is within a row"
        );
        self.bytes.as_ptr().wrapping_add(at)
    }

    /// Return the bytes of a column if all rows have the same. `first` is its address in the first row.
    #[inline(always)]
    fn shared<const N: usize>(&self, first: *const u8) -> Option<[u8; N]> {
        let mut rest = self.objects.len();
        // SAFETY: each row has the column (invariant 1), and there is a row for each object.
        unsafe {
            let bytes = first.cast::<[u8; N]>().read();
            let mut place = first;
            while rest > 1 {
                place = place.wrapping_add(self.size);
                if place.cast::<[u8; N]>().read() != bytes {
                    return None;
                }
                rest -= 1;
            }
            (rest == 1).then_some(bytes)
        }
    }

    /// Iterate over the objects, with the bytes of a part of their rows.
    #[inline(always)]
    pub(crate) fn parts(&self, range: Range<usize>) -> impl Iterator<Item = (Object, &'a [u8])> {
        let rows = self.bytes.chunks_exact(self.size);
        let parts = rows.map(move |row| row.get(range.clone()).unwrap_or_default());
        self.objects.iter().copied().zip(parts)
    }
}

/// The most int32 fields that are set in one loop. With more, the loop has more variables than registers.
const MOST_TOGETHER: usize = 3;

/// Consecutive int32 fields whose values differ from row to row.
#[derive(Clone, Copy, Default)]
struct Varying {
    slots: [usize; MOST_TOGETHER],
    number: usize,
    /// The offset of the first one in a row.
    at: usize,
}

impl<'a> Builder<'a, '_> {
    /// Build `number` instances from `bytes` and store them in the places from `first` on.
    ///
    /// # Safety
    /// The places are elements of a new tuple, and are null. All classes of the plan are adopted.
    pub(crate) unsafe fn build_uniform(
        &mut self,
        first: *mut Object,
        number: usize,
        plan: &'a Struct,
        bytes: &'a [u8],
        layout: &UniformLayout,
    ) -> Result<(), Raised> {
        let slots = &self.layouts[plan.index];
        // SAFETY: the places are valid and null, and nothing else refers to them.
        let objects = unsafe {
            new_objects(slots, first, number)?;
            std::slice::from_raw_parts(first, number)
        };
        let rows = Rows::new(objects, bytes, layout.size());
        let mut arrays = [Int32s::default(); MAX_PARTS];
        let mut places = arrays.iter_mut();
        for (index, part) in plan.parts().enumerate() {
            let range = layout.range(index);
            match part {
                Part::Run(fields) => self.run(&rows, slots, fields, range.start)?,
                Part::Int32s(field) => {
                    if let Some(place) = places.next() {
                        *place = Int32s {
                            slot: slots.offsets[field.position],
                            at: range.start,
                            size: range.len(),
                        };
                    }
                }
                Part::Structs(field, body) => self.struct_arrays(&rows, slots.offsets[field.position], body, range)?,
            }
        }
        let others = places.len();
        self.int32_arrays(&rows, &arrays[..MAX_PARTS - others])?;
        let tags = bytes.get(layout.unknown_tags()).unwrap_or_default();
        if !tags.is_empty() {
            let tags = self.tags(tags)?.into_pointer();
            // SAFETY: invariant 2. The slot has held its default since the object was created; the default stays alive in
            // the layout. `tags` itself owns the reference of the first object.
            unsafe {
                count_many(tags, number.saturating_sub(1));
                for object in objects {
                    let slot = object.byte_add(slots.unknown_tags).cast::<Object>();
                    ffi::Py_DECREF(slot.replace(tags));
                }
            }
        }
        Ok(())
    }

    /// Set consecutive fields of fixed size, whose bytes start at `at` in each row.
    #[inline(always)]
    fn run(&mut self, rows: &Rows<'_, 'a>, layout: &Layout, fields: &[Field], mut at: usize) -> Result<(), Raised> {
        let mut varying = Varying::default();
        for field in fields {
            let Type::Primitive(kind) = field.kind else { break };
            let slot = layout.offsets[field.position];
            if kind != Primitive::Int32 {
                self.varying(rows, &mut varying)?;
                self.numbers(rows, slot, kind, at)?;
            } else if self.shared_integers(rows, slot, at, |bytes| i32::from_be_bytes(bytes).into())? {
                self.varying(rows, &mut varying)?;
            } else {
                if varying.number == 0 {
                    varying.at = at;
                }
                varying.slots[varying.number] = slot;
                varying.number += 1;
                if varying.number == MOST_TOGETHER {
                    self.varying(rows, &mut varying)?;
                }
            }
            at += kind.size();
        }
        self.varying(rows, &mut varying)
    }

    /// Set a field of fixed size, whose bytes start at `at` in each row.
    #[inline(always)]
    fn numbers(&mut self, rows: &Rows<'_, 'a>, offset: usize, kind: Primitive, at: usize) -> Result<(), Raised> {
        match kind {
            Primitive::Int8 => self.integers(rows, offset, at, |bytes| i8::from_be_bytes(bytes).into()),
            Primitive::Int16 => self.integers(rows, offset, at, |bytes| i16::from_be_bytes(bytes).into()),
            Primitive::Int32 => self.integers(rows, offset, at, |bytes| i32::from_be_bytes(bytes).into()),
            Primitive::Int64 => self.integers(rows, offset, at, i64::from_be_bytes),
            Primitive::Uint16 => self.integers(rows, offset, at, |bytes| u16::from_be_bytes(bytes).into()),
            Primitive::Uint32 => self.integers(rows, offset, at, |bytes| u32::from_be_bytes(bytes).into()),
            Primitive::Bool | Primitive::Float64 | Primitive::Uuid => {
                for (object, bytes) in rows.parts(at..at + kind.size()) {
                    // SAFETY: the slot is still null (invariant 3 of the builder).
                    unpack(kind, bytes, self, |_, value| unsafe {
                        write(object, offset, value.into_pointer());
                    })?;
                }
                Ok(())
            }
        }
    }

    /// Set an integer of `N` bytes.
    #[inline(always)]
    fn integers<const N: usize>(
        &mut self,
        rows: &Rows<'_, 'a>,
        offset: usize,
        at: usize,
        value_of: impl Fn([u8; N]) -> i64,
    ) -> Result<(), Raised> {
        if self.shared_integers(rows, offset, at, &value_of)? {
            return Ok(());
        }
        let mut place = rows.column(at, N);
        let smalls = self.constants.smalls();
        for object in rows.objects {
            // SAFETY: each row has the column (invariant 1). The slot is still null (invariant 3 of the builder).
            unsafe {
                let value = value_of(place.cast::<[u8; N]>().read());
                place = place.wrapping_add(rows.size);
                let index = value.wrapping_sub(smalls.1).cast_unsigned();
                write(*object, offset, self.number(smalls, index, value)?);
            }
        }
        Ok(())
    }

    /// Set an integer of `N` bytes if it is the same in all rows. Returns whether it is.
    #[inline(always)]
    fn shared_integers<const N: usize>(
        &mut self,
        rows: &Rows<'_, 'a>,
        offset: usize,
        at: usize,
        value_of: impl Fn([u8; N]) -> i64,
    ) -> Result<bool, Raised> {
        let Some(bytes) = rows.shared::<N>(rows.column(at, N)) else {
            return Ok(false);
        };
        let number = self.integer(value_of(bytes))?.into_pointer();
        // SAFETY: the number is alive, and its first reference is owned. The slots are still null (invariant 3 of the
        // builder).
        unsafe {
            count_many(number, rows.objects.len() - 1);
            for object in rows.objects {
                write(*object, offset, number);
            }
        }
        Ok(true)
    }

    /// Return a new reference to the object of `value`, which is at `index` among the small integers if it is one of them.
    #[inline(always)]
    fn number(&mut self, (small, _, first): (u64, i64, Object), index: u64, value: i64) -> Result<Object, Raised> {
        if index >= small {
            return Ok(self.large_integer(value)?.into_pointer());
        }
        let number = first.wrapping_byte_add(usize::try_from(index).unwrap_or(0) * STRIDE);
        // Since 3.12 they are immortal.
        if cfg!(not(Py_3_12)) {
            // SAFETY: the objects of small integers are consecutive, and `index` is one of them.
            unsafe { count(number) };
        }
        Ok(number)
    }

    /// Set the fields that were collected, and forget them.
    #[inline(always)]
    fn varying(&mut self, rows: &Rows<'_, 'a>, fields: &mut Varying) -> Result<(), Raised> {
        let Varying { slots, number, at } = std::mem::take(fields);
        match (number, slots) {
            (0, _) => Ok(()),
            (1, [first, ..]) => self.int32s(rows, [first], at),
            (2, [first, second, _]) => self.int32s(rows, [first, second], at),
            _ => self.int32s(rows, slots, at),
        }
    }

    /// Set consecutive int32 fields, whose bytes start at `at` in each row.
    #[inline(never)]
    fn int32s<const K: usize>(&mut self, rows: &Rows<'_, 'a>, slots: [usize; K], at: usize) -> Result<(), Raised> {
        let mut place = rows.column(at, K * size_of::<i32>()).cast::<[u8; 4]>();
        let smalls = self.constants.smalls();
        #[allow(clippy::cast_possible_truncation, reason = "the lowest small integer")]
        let lowest = LOWEST as i32;
        for object in rows.objects {
            for (index, slot) in slots.iter().enumerate() {
                // SAFETY: each row has the columns (invariant 1). The slot is still null (invariant 3 of the builder).
                unsafe {
                    let value = i32::from_be_bytes(place.add(index).read());
                    // Numbers of 32 bits take two instructions less than those of 64.
                    let distance = value.wrapping_sub(lowest).cast_unsigned();
                    write(*object, *slot, self.number(smalls, distance.into(), value.into())?);
                }
            }
            place = place.wrapping_byte_add(rows.size);
        }
        Ok(())
    }

    /// Set an array of structs of fixed size.
    #[inline(never)]
    fn struct_arrays(
        &mut self,
        rows: &Rows<'_, 'a>,
        offset: usize,
        body: &'a Struct,
        range: Range<usize>,
    ) -> Result<(), Raised> {
        let layout = UniformLayout::of_fixed(body);
        for (object, bytes) in rows.parts(range) {
            let tuple = if let Some(found) = self.find_array(body, bytes) {
                found
            } else {
                let hash = self.last_hash;
                let number = bytes.len() / layout.size();
                let made = self.new_tuple(number)?;
                if number > 0 {
                    // SAFETY: the tuple is new and has `number` elements, which are null.
                    unsafe { self.build_uniform(made.elements(), number, body, bytes, &layout)? };
                }
                let made = self.complete(made);
                self.keep_array(body, bytes, Some(hash), &made);
                made
            };
            // SAFETY: the slot is still null (invariant 3 of the builder).
            unsafe { write(object, offset, tuple.into_pointer()) };
        }
        Ok(())
    }

    /// Return the array that was built from the same bytes in this call.
    #[inline]
    pub(crate) fn find_array(&mut self, plan: &'a Struct, bytes: &'a [u8]) -> Option<Owned> {
        let memo = self.caches.arrays_of_structs.get_mut(plan.index)?;
        if !memo.on || bytes.is_empty() {
            return None;
        }
        self.last_hash = hash_of_sample(bytes);
        let found = memo.get(self.input, bytes, self.last_hash)?;
        // SAFETY: the object is alive by invariant 2 of the builder.
        Some(unsafe { Owned::borrowed(found) })
    }

    /// Keep an array for the rest of the call. `hash` is the hash of the bytes if it is known.
    #[inline]
    pub(crate) fn keep_array(&mut self, plan: &'a Struct, bytes: &'a [u8], hash: Option<u64>, array: &Owned) {
        let start = self.start_of(bytes);
        if let Some(memo) = self.caches.arrays_of_structs.get_mut(plan.index)
            && memo.on
            && !bytes.is_empty()
        {
            let hash = hash.unwrap_or_else(|| hash_of_sample(bytes));
            memo.put(start, bytes, hash, array.pointer());
        }
    }
}

/// Create instances of an adopted class and store them in the places from `first` on.
///
/// # Safety
/// The places are valid and null.
#[inline(always)]
pub(crate) unsafe fn new_objects(layout: &Layout, first: *mut Object, number: usize) -> Result<(), Raised> {
    /// Copy the template into new blocks. With a constant size, it stays in registers. Returns the number of blocks.
    #[inline(always)]
    unsafe fn copies<const WORDS: usize>(template: *const Object, first: *mut Object, number: usize) -> usize {
        // SAFETY: the template and each block have `WORDS` words.
        unsafe {
            let words = template.cast::<[Object; WORDS]>().read();
            let mut made = 0;
            while made < number {
                let (blocks, taken) = take(WORDS, number - made);
                if blocks.is_null() {
                    break;
                }
                let blocks = blocks.cast::<[Object; WORDS]>();
                for index in 0..taken {
                    let block = blocks.add(index);
                    block.write(words);
                    first.add(made + index).write(block.cast());
                }
                made += taken;
            }
            made
        }
    }
    // SAFETY: an instance of an adopted class is its template. The references in it are counted for the instances that
    // were created, also if memory is exhausted before the last one.
    unsafe {
        let template = layout.template.as_ptr();
        let made = match layout.template.len() {
            4 => copies::<4>(template, first, number),
            5 => copies::<5>(template, first, number),
            6 => copies::<6>(template, first, number),
            7 => copies::<7>(template, first, number),
            8 => copies::<8>(template, first, number),
            9 => copies::<9>(template, first, number),
            10 => copies::<10>(template, first, number),
            11 => copies::<11>(template, first, number),
            12 => copies::<12>(template, first, number),
            words => {
                let mut made = 0;
                while made < number {
                    let (block, _) = take(words, 1);
                    if block.is_null() {
                        break;
                    }
                    block.cast::<Object>().copy_from_nonoverlapping(template, words);
                    first.add(made).write(block);
                    made += 1;
                }
                made
            }
        };
        count_many(layout.class.as_ptr(), made);
        for (_, default) in &layout.defaults {
            count_many(default.as_ptr(), made);
        }
        if made < number {
            ffi::PyErr_NoMemory();
            return Err(Raised);
        }
        Ok(())
    }
}
