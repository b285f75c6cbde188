//! The fields of structs of uniform layout, encoded one after the other in all of them.
//!
//! The `unsafe` blocks rely on the invariants of `unsafe_source` and on these:
//! 1. There is a row of `size` bytes for each object (`Rows::new`), and `column` checks that a column is within a row. The
//!    loops write without further checks.
//! 2. The objects are instances of the class that named the offsets of the slots, and a slot with an array holds a tuple
//!    of the counted length. The callers ensure it.

use kwire::encode::check_entries;
use kwire::plan::{Primitive, Struct};
use pyo3::ffi;

use crate::unsafe_constants::{Constants, HIGHEST, LOWEST};
use crate::unsafe_objects::elements;
use crate::unsafe_source::{Node, Objects, large_integer, slot};
use crate::unsafe_uniform_source::raw_tags;

/// An int32 array of each struct.
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
        let mut place = self.column(self.at, N)?;
        for object in self.objects {
            // SAFETY: the caller ensures that the object has the slot. Its content is null or alive. The row has this
            // column.
            unsafe { put_integer::<T, N>(&constants, slot(*object, offset), place) }?;
            place = place.wrapping_add(self.size);
        }
        Some(())
    }

    /// Write the length prefixes of arrays: one byte, because the others are zeros.
    #[inline(always)]
    pub(crate) fn length_prefixes(&mut self, array: &Array) -> Option<()> {
        let low = u8::try_from(array.count + usize::from(array.compact)).ok()?;
        let mut place = self.column(array.start.checked_sub(1)?, 1)?;
        for _ in self.objects {
            // SAFETY: the row has this column.
            unsafe { place.write(low) };
            place = place.wrapping_add(self.size);
        }
        Some(())
    }

    /// Encode arrays of `N` elements, or of any number if `N` is 0. `before` is the array that precedes them: the ISR of
    /// a partition is often the same object as its replicas.
    ///
    /// # Safety
    /// The objects are instances of the class that has the slots of both arrays, which hold tuples of the counted
    /// lengths.
    #[inline(never)]
    pub(crate) unsafe fn arrays<const N: usize>(
        &mut self,
        constants: &Constants,
        array: &Array,
        before: Option<&Array>,
    ) -> Option<()> {
        // A copy, which stays in registers.
        let constants = *constants;
        let count = if N == 0 { array.count } else { N };
        let low = u8::try_from(count + usize::from(array.compact)).ok()?;
        let last = array.start.checked_sub(1)?;
        let mut place = self.column(last, 4 * count + 1)?;
        // Without an array of the same length before it, the array itself, whose elements are not written yet.
        let equal = before.filter(|before| before.count == count);
        let before = equal.unwrap_or(array);
        let mut written: *const u8 = self.column(before.start, 4 * count)?;
        for object in self.objects {
            // SAFETY: the caller ensures that the object has the slots and that the tuple has `count` elements, which are
            // alive. The row has both columns, which do not overlap unless they are the same.
            unsafe {
                place.write(low);
                let elements_place = place.add(1).cast::<[u8; 4]>();
                let held = slot(*object, array.slot);
                if equal.is_some() && held == slot(*object, before.slot) {
                    written.copy_to_nonoverlapping(elements_place.cast(), 4 * count);
                } else {
                    let elements = elements(held).as_ptr();
                    for index in 0..count {
                        let place = elements_place.add(index).cast();
                        put_integer::<i32, 4>(&constants, elements.add(index).read(), place)?;
                    }
                }
            }
            place = place.wrapping_add(self.size);
            written = written.wrapping_add(self.size);
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

/// Write the `N` bytes of an integer of the type `T`. Returns `None` for other objects.
///
/// # Safety
/// The object is null or alive, and there are `N` bytes at `place`.
#[inline(always)]
unsafe fn put_integer<T: TryFrom<i64>, const N: usize>(
    constants: &Constants,
    object: Node,
    place: *mut u8,
) -> Option<()> {
    let value = match constants.value(object) {
        // All small integers fit most types, which the compiler knows.
        Some(value) if T::try_from(LOWEST).is_ok() && T::try_from(HIGHEST).is_ok() => value,
        Some(value) => T::try_from(value).is_ok().then_some(value)?,
        // SAFETY: the object is null or alive.
        None => unsafe { large_integer(constants, object) }.filter(|value| T::try_from(*value).is_ok())?,
    };
    let bytes = value.to_be_bytes();
    let bytes: &[u8; N] = bytes.last_chunk()?;
    // SAFETY: the caller ensures it.
    unsafe { place.cast::<[u8; N]>().write(*bytes) };
    Some(())
}
