//! Sets the int32 arrays of structs of uniform layout: replicas and ISR.
//!
//! Most lists were decoded before, so a loop takes tuples from the table of short arrays until one is missing. Two arrays
//! of the same length are set together: in most partitions they are equal, and one look-up serves both.
//!
//! The `unsafe` blocks rely on the invariants of `unsafe_builder`, `unsafe_caches`, and `unsafe_uniform`.

use std::ptr::NonNull;

use kwire::decode::Visitor;
use kwire::plan::Primitive;
use pyo3::ffi;

use crate::memo::{ShortKey, ShortTable, same};
use crate::unsafe_builder::Builder;
use crate::unsafe_layout::{count, count_many, write};
use crate::unsafe_owned::Raised;
use crate::unsafe_uniform::Rows;

type Object = *mut ffi::PyObject;

/// An int32 array of each row.
#[derive(Clone, Copy, Default)]
pub(crate) struct Int32s {
    /// The offset of its slot.
    pub(crate) slot: usize,
    /// The offset of its elements in a row.
    pub(crate) at: usize,
    /// The size of its elements in bytes.
    pub(crate) size: usize,
}

impl<'a> Builder<'a, '_> {
    /// Set all int32 arrays of the rows.
    #[inline(always)]
    pub(crate) fn int32_arrays(&mut self, rows: &Rows<'_, 'a>, arrays: &[Int32s]) -> Result<(), Raised> {
        // The arrays that were set with one before them.
        let mut twins = 0u32;
        for (index, array) in arrays.iter().enumerate() {
            if twins & 1 << index != 0 {
                continue;
            }
            if array.size == 0 {
                self.empty_arrays(rows, array.slot);
                continue;
            }
            let mut others = arrays.iter().enumerate().skip(index + 1);
            let twin = others.find(|(_, other)| other.size == array.size);
            let twin = twin.map(|(other, twin)| {
                twins |= 1 << other;
                *twin
            });
            match array.size {
                4 => self.short_int32_arrays::<4>(rows, *array, twin),
                8 => self.short_int32_arrays::<8>(rows, *array, twin),
                12 => self.short_int32_arrays::<12>(rows, *array, twin),
                16 => self.short_int32_arrays::<16>(rows, *array, twin),
                _ => self.long_int32_arrays(rows, *array, twin),
            }?;
        }
        Ok(())
    }

    #[inline(always)]
    fn empty_arrays(&self, rows: &Rows<'_, 'a>, slot: usize) {
        let empty = self.constants.empty_tuple.as_ptr();
        // SAFETY: the slots are still null (invariant 3 of the builder). The references are counted here.
        unsafe {
            count_many(empty, rows.objects.len());
            for object in rows.objects {
                write(*object, slot, empty);
            }
        }
    }

    #[inline(always)]
    fn short_int32_arrays<const SIZE: usize>(
        &mut self,
        rows: &Rows<'_, 'a>,
        array: Int32s,
        twin: Option<Int32s>,
    ) -> Result<(), Raised> {
        let mut row = 0;
        while row < rows.objects.len() {
            if self.caches.looks_up_short_arrays() {
                let found = known_arrays::<SIZE>(self.caches.short_arrays(), rows, row, array, twin);
                self.caches.count_short_arrays(found);
                row += found;
            }
            if let Some(object) = rows.objects.get(row) {
                self.other_arrays(rows, row, *object, array)?;
                if let Some(twin) = twin {
                    self.other_arrays(rows, row, *object, twin)?;
                }
                row += 1;
            }
        }
        Ok(())
    }

    /// Set a short int32 array of one row, which is built if it is not in the table.
    #[inline(never)]
    fn other_arrays(&mut self, rows: &Rows<'_, 'a>, row: usize, object: Object, array: Int32s) -> Result<(), Raised> {
        let start = row * rows.size + array.at;
        let bytes = rows.bytes.get(start..start + array.size).unwrap_or_default();
        let tuple = self.packed(Primitive::Int32, bytes)?;
        // SAFETY: the slot is still null (invariant 3 of the builder).
        unsafe { write(object, array.slot, tuple.into_pointer()) };
        Ok(())
    }

    #[inline(never)]
    fn long_int32_arrays(&mut self, rows: &Rows<'_, 'a>, array: Int32s, twin: Option<Int32s>) -> Result<(), Raised> {
        let other = twin.unwrap_or(array);
        let others = rows.parts(other.at..other.at + array.size);
        for ((object, bytes), (_, other)) in rows.parts(array.at..array.at + array.size).zip(others) {
            let tuple = self.other_array(Primitive::Int32, bytes)?.into_pointer();
            // SAFETY: the slots are still null (invariant 3 of the builder). The object owns the tuple then.
            unsafe {
                write(object, array.slot, tuple);
                if let Some(twin) = twin {
                    let tuple = if same(bytes, other) {
                        count(tuple);
                        tuple
                    } else {
                        self.other_array(Primitive::Int32, other)?.into_pointer()
                    };
                    write(object, twin.slot, tuple);
                }
            }
        }
        Ok(())
    }
}

/// Set an int32 array of `SIZE` bytes, and its twin, in the rows from `first` on, until one is not in the table. Returns
/// the number of rows that were set.
#[inline(never)]
fn known_arrays<const SIZE: usize>(
    table: ShortTable<'_, NonNull<ffi::PyObject>>,
    rows: &Rows<'_, '_>,
    first: usize,
    array: Int32s,
    twin: Option<Int32s>,
) -> usize {
    // An array without a twin is its own.
    let references = 1 + usize::from(twin.is_some());
    let twin = twin.unwrap_or(array);
    let skipped = first * rows.size;
    let mut place = rows.column(array.at, SIZE).wrapping_add(skipped);
    let mut other = rows.column(twin.at, SIZE).wrapping_add(skipped);
    let mut set = 0;
    for object in rows.objects.get(first..).unwrap_or_default() {
        // SAFETY: each row has both columns (invariant 1). The slots are still null (invariant 3 of the builder). The table
        // has live tuples.
        unsafe {
            let (Some(key), Some(other_key)) = (
                ShortKey::new(&*place.cast::<[u8; SIZE]>()),
                ShortKey::new(&*other.cast::<[u8; SIZE]>()),
            ) else {
                break;
            };
            let Some(tuple) = table.get(key) else { break };
            let tuple = tuple.as_ptr();
            if key == other_key {
                count_many(tuple, references);
                write(*object, array.slot, tuple);
                write(*object, twin.slot, tuple);
            } else {
                let Some(other) = table.get(other_key) else { break };
                count(tuple);
                count(other.as_ptr());
                write(*object, array.slot, tuple);
                write(*object, twin.slot, other.as_ptr());
            }
        }
        place = place.wrapping_add(rows.size);
        other = other.wrapping_add(rows.size);
        set += 1;
    }
    set
}
