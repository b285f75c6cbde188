//! The fields of structs of uniform layout, encoded one after the other in all of them.
//!
//! The `unsafe` blocks rely on the invariants of `unsafe_source` and on these:
//! 1. There is a row of `size` bytes for each object (`Rows::new`), and `column` checks that a column is within a row. The
//!    loops write without further checks.
//! 2. The objects are instances of the class that named the offsets of the slots, and a slot with an array holds a tuple
//!    of the counted length. The callers ensure it.

use std::ptr::null_mut;

use kwire::encode::check_entries;
use kwire::plan::{Primitive, Struct};
use pyo3::ffi;

use crate::unsafe_constants::{Constants, HIGHEST, LOWEST};
use crate::unsafe_objects::elements;
use crate::unsafe_source::{Node, Objects, large_integer, slot};
use crate::unsafe_uniform_source::raw_tags;

/// An int32 array of each struct.
#[derive(Clone, Copy, Default)]
pub(crate) struct Array {
    pub(crate) slot: usize,
    pub(crate) compact: bool,
    /// The offset of its elements in an encoded struct.
    pub(crate) start: usize,
    pub(crate) count: usize,
}

/// Structs, and the bytes into which each is encoded. All methods return `None` if a value needs the encoder's checks.
///
/// The loops over structs are functions of their own: together, they have more variables than registers.
pub(crate) struct Rows<'r> {
    objects: &'r [Node],
    bytes: &'r mut [u8],
    size: usize,
    /// The offset of the next field in each struct.
    pub(crate) at: usize,
}

impl<'r> Rows<'r> {
    /// Return `None` if the bytes are not one row of `size` bytes for each object.
    pub(crate) fn new(objects: &'r [Node], bytes: &'r mut [u8], size: usize) -> Option<Self> {
        let at = 0;
        (objects.len().checked_mul(size) == Some(bytes.len())).then_some(Self {
            objects,
            bytes,
            size,
            at,
        })
    }

    /// Return the address of a column in the first row. The others follow at distances of `size`.
    #[inline(always)]
    fn column(&mut self, at: usize, width: usize) -> Option<*mut u8> {
        let end = at.checked_add(width)?;
        (end <= self.size).then_some(self.bytes.as_mut_ptr().wrapping_add(at))
    }

    /// Encode a field of fixed size.
    ///
    /// # Safety
    /// The objects are instances of the class that has this slot.
    #[inline(always)]
    pub(crate) unsafe fn fixed(&mut self, constants: &Constants, kind: Primitive, offset: usize) -> Option<()> {
        // SAFETY: the caller ensures that the objects have the slot.
        unsafe {
            match kind {
                Primitive::Bool => self.booleans(offset),
                Primitive::Int8 => self.integers::<i8, 1>(constants, offset),
                Primitive::Int16 => self.integers::<i16, 2>(constants, offset),
                Primitive::Int32 => self.integers::<i32, 4>(constants, offset),
                Primitive::Int64 => self.integers::<i64, 8>(constants, offset),
                Primitive::Uint16 => self.integers::<u16, 2>(constants, offset),
                Primitive::Uint32 => self.integers::<u32, 4>(constants, offset),
                Primitive::Float64 | Primitive::Uuid => None,
            }?;
        }
        self.at += kind.size();
        Some(())
    }

    /// Encode bools.
    ///
    /// # Safety
    /// The objects are instances of the class that has this slot.
    #[inline(never)]
    unsafe fn booleans(&mut self, offset: usize) -> Option<()> {
        let mut place = self.column(self.at, 1)?;
        for object in self.objects {
            // SAFETY: the caller ensures that the object has the slot. Constants are compared by address. The row has this
            // column.
            unsafe {
                let (held, yes, no) = (slot(*object, offset), ffi::Py_True(), ffi::Py_False());
                if held != yes && held != no {
                    return None;
                }
                place.write(u8::from(held == yes));
            }
            place = place.wrapping_add(self.size);
        }
        Some(())
    }

    /// Encode integers of the type `T`, which has `N` bytes.
    ///
    /// # Safety
    /// The objects are instances of the class that has this slot.
    #[inline(never)]
    unsafe fn integers<T: TryFrom<i64>, const N: usize>(&mut self, constants: &Constants, offset: usize) -> Option<()> {
        // A copy, which stays in registers.
        let constants = *constants;
        let mut place = self.column(self.at, N)?.cast::<[u8; N]>();
        // Error codes, for example, are the same object in all structs.
        let mut before = (null_mut(), [0; N]);
        for object in self.objects {
            // SAFETY: the caller ensures that the object has the slot. Its content is null or alive. The row has this
            // column.
            unsafe {
                let held = slot(*object, offset);
                if held != before.0 || held.is_null() {
                    before = (held, integer::<T, N>(&constants, held)?);
                }
                place.write(before.1);
            }
            place = place.wrapping_byte_add(self.size);
        }
        Some(())
    }

    /// Encode `K` consecutive int32 fields, and advance by their size.
    ///
    /// # Safety
    /// The objects are instances of the class that has these slots.
    #[inline(never)]
    pub(crate) unsafe fn int32s<const K: usize>(&mut self, constants: &Constants, slots: [usize; K]) -> Option<()> {
        // A copy, which stays in registers.
        let constants = *constants;
        let mut place = self.column(self.at, 4 * K)?.cast::<[u8; 4]>();
        for object in self.objects {
            for (index, offset) in slots.iter().enumerate() {
                // SAFETY: the caller ensures that the object has the slots. Their content is null or alive. The row has
                // these columns.
                unsafe { place.add(index).write(int32(&constants, slot(*object, *offset))?) };
            }
            place = place.wrapping_byte_add(self.size);
        }
        self.at += 4 * K;
        Some(())
    }

    /// Encode all arrays of each struct. Two of the same length are encoded together: the ISR of a partition is often the
    /// same object as its replicas.
    ///
    /// # Safety
    /// The objects are instances of the class that has the slots of the arrays, which hold tuples of the counted lengths.
    #[inline(always)]
    pub(crate) unsafe fn all_arrays(&mut self, constants: &Constants, arrays: &[Array]) -> Option<()> {
        // The arrays that were encoded with one before them.
        let mut twins = 0u32;
        for (index, array) in arrays.iter().enumerate() {
            if twins & 1 << index != 0 {
                continue;
            }
            if array.count == 0 {
                self.length_prefixes(array)?;
                continue;
            }
            let mut others = arrays.iter().enumerate().skip(index + 1);
            let twin = others.find(|(_, other)| other.count == array.count);
            let twin = twin.map(|(other, twin)| {
                twins |= 1 << other;
                twin
            });
            // SAFETY: the caller ensures it.
            unsafe {
                match array.count {
                    // With a constant length, the elements are encoded without a loop.
                    1 => self.arrays::<1>(constants, array, twin),
                    2 => self.arrays::<2>(constants, array, twin),
                    3 => self.arrays::<3>(constants, array, twin),
                    _ => self.arrays::<0>(constants, array, twin),
                }?;
            }
        }
        Some(())
    }

    /// Write the length prefixes of empty arrays: one byte, because the others are zeros.
    #[inline(always)]
    fn length_prefixes(&mut self, array: &Array) -> Option<()> {
        let low = array.prefix()?;
        let mut place = self.column(array.start.checked_sub(1)?, 1)?;
        for _ in self.objects {
            // SAFETY: the row has this column.
            unsafe { place.write(low) };
            place = place.wrapping_add(self.size);
        }
        Some(())
    }

    /// Encode arrays of `N` elements, or of any number if `N` is 0, and their twins of the same length.
    ///
    /// # Safety
    /// The objects are instances of the class that has the slots of both arrays, which hold tuples of the counted
    /// lengths.
    #[inline(never)]
    unsafe fn arrays<const N: usize>(
        &mut self,
        constants: &Constants,
        array: &Array,
        twin: Option<&Array>,
    ) -> Option<()> {
        // A copy, which stays in registers.
        let constants = *constants;
        let count = if N == 0 { array.count } else { N };
        // An array without a twin is its own.
        let twin = twin.unwrap_or(array);
        let (low, other_low) = (array.prefix()?, twin.prefix()?);
        let mut place = self.column(array.start.checked_sub(1)?, 4 * count + 1)?;
        let mut other = self.column(twin.start.checked_sub(1)?, 4 * count + 1)?;
        for object in self.objects {
            // SAFETY: the caller ensures that the object has the slots and that the tuples have `count` elements, which are
            // alive. The row has both columns.
            unsafe {
                place.write(low);
                other.write(other_low);
                let (held, twin_held) = (slot(*object, array.slot), slot(*object, twin.slot));
                let (words, other_words) = (place.add(1).cast::<[u8; 4]>(), other.add(1).cast::<[u8; 4]>());
                let elements = elements(held).as_ptr();
                for index in 0..count {
                    let word = int32(&constants, elements.add(index).read())?;
                    words.add(index).write(word);
                    other_words.add(index).write(word);
                }
                if held != twin_held {
                    put_elements(&constants, twin_held, other_words)?;
                }
            }
            place = place.wrapping_add(self.size);
            other = other.wrapping_add(self.size);
        }
        Some(())
    }

    /// Write the unknown tags at the end of each struct.
    ///
    /// # Safety
    /// The objects are instances of the class that has this slot.
    #[inline(never)]
    pub(crate) unsafe fn tags(&mut self, plan: &Struct, source: &Objects<'_, '_>, offset: usize) -> Option<()> {
        let mut before: (&[u8], u8) = (&[], 0);
        for (object, row) in self.objects.iter().zip(self.bytes.chunks_mut(self.size)) {
            // SAFETY: the caller ensures that the object has the slot.
            let raw = unsafe { raw_tags(source, slot(*object, offset)) }?;
            if raw != before.0 {
                let count = u8::try_from(check_entries(plan, raw).ok()?).ok()?;
                before = (raw, count);
            }
            let (count, entries) = row.get_mut(self.at..)?.split_first_mut()?;
            *count = before.1;
            entries.get_mut(..raw.len())?.copy_from_slice(raw);
        }
        Some(())
    }
}

impl Array {
    /// Return the last byte of the length, `None` if the length has more.
    #[inline(always)]
    fn prefix(&self) -> Option<u8> {
        u8::try_from(self.count + usize::from(self.compact)).ok()
    }
}

/// Encode the elements of a tuple.
///
/// # Safety
/// The object is a live tuple, and there are four bytes at `place` for each of its elements.
#[inline(never)]
unsafe fn put_elements(constants: &Constants, tuple: Node, place: *mut [u8; 4]) -> Option<()> {
    // SAFETY: the caller ensures it.
    unsafe {
        for (index, element) in elements(tuple).iter().enumerate() {
            place.add(index).write(int32(constants, *element)?);
        }
    }
    Some(())
}

/// Return the bytes of an int32. Returns `None` for other objects.
///
/// # Safety
/// The object is null or alive.
#[inline(always)]
unsafe fn int32(constants: &Constants, object: Node) -> Option<[u8; 4]> {
    let value = match constants.value(object) {
        // Arithmetic of 32 bits takes an instruction less. All small integers fit.
        #[allow(clippy::cast_possible_truncation, reason = "a small integer")]
        Some(value) => value as i32,
        // SAFETY: the caller ensures it.
        None => unsafe { large_integer(constants, object) }.and_then(|value| i32::try_from(value).ok())?,
    };
    Some(value.to_be_bytes())
}

/// Return the `N` bytes of an integer of the type `T`. Returns `None` for other objects.
///
/// # Safety
/// The object is null or alive.
#[inline(always)]
unsafe fn integer<T: TryFrom<i64>, const N: usize>(constants: &Constants, object: Node) -> Option<[u8; N]> {
    let value = match constants.value(object) {
        // All small integers fit most types, which the compiler knows.
        Some(value) if T::try_from(LOWEST).is_ok() && T::try_from(HIGHEST).is_ok() => value,
        Some(value) => T::try_from(value).is_ok().then_some(value)?,
        // SAFETY: the object is null or alive.
        None => unsafe { large_integer(constants, object) }.filter(|value| T::try_from(*value).is_ok())?,
    };
    value.to_be_bytes().last_chunk().copied()
}
