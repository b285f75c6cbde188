//! Consecutive structs whose encodings have the same layout, encoded field by field.
//!
//! The partitions of a topic differ in their numbers but rarely in the lengths of their arrays, so their encodings have
//! the same size. Each field is then encoded for all of them in a loop that knows its type, slot, and offset, instead of
//! finding out for every value. Anything unusual (a subclass, a tag, a value that needs the encoder's checks) is left to
//! the general encoder, which also reports all errors.
//!
//! The `unsafe` blocks rely on the invariants of `unsafe_source`. In addition, arrays are read as tuples only after
//! `Run::contains` has checked that they are. No Python code runs in between.

use kwire::encode::{Sink, check_entries};
use kwire::plan::{Length, Primitive, Struct, Type};
use pyo3::ffi;

use crate::unsafe_constants::Constants;
use crate::unsafe_layout::Layout;
use crate::unsafe_objects::elements;
use crate::unsafe_source::{Node, Objects, bytes_of, exact_integer, slot};

/// The most arrays in a struct.
const MAX_ARRAYS: usize = 8;
/// The most elements of an array. Compact lengths must fit one byte.
const MAX_ELEMENTS: usize = 100;
/// The most bytes of unknown tags. Their number must fit one byte.
const MAX_TAGS: usize = 100;

/// The fields of a struct that has only fixed-size fields and int32 arrays.
pub(crate) struct Columns {
    flexible: bool,
    fields: Vec<Column>,
    /// The slots of the arrays among them.
    arrays: Vec<usize>,
    /// The size of an encoded struct whose arrays are empty.
    smallest: usize,
    /// The offsets and defaults of the absent fields that must be at their defaults. The layout owns the defaults.
    absent: Vec<(usize, Node)>,
}

// SAFETY: the defaults are only compared by address.
unsafe impl Send for Columns {}
// SAFETY: as above.
unsafe impl Sync for Columns {}

/// A field and the offset of its slot.
struct Column {
    kind: ColumnKind,
    slot: usize,
}

#[derive(Clone, Copy)]
enum ColumnKind {
    Fixed(Primitive),
    Int32Array { compact: bool },
}

impl ColumnKind {
    /// The size of an encoded value, without the elements of an array.
    fn size(self) -> usize {
        match self {
            Self::Fixed(kind) => kind.size(),
            Self::Int32Array { compact: true } => 1,
            Self::Int32Array { compact: false } => 4,
        }
    }
}

impl Columns {
    /// Return the columns of a struct, `None` if it has fields of other types.
    pub(crate) fn new(plan: &Struct, layout: &Layout) -> Option<Self> {
        if !plan.tagged.is_empty() {
            return None;
        }
        let fields = plan.fields.iter().map(|field| {
            let kind = match &field.kind {
                Type::Primitive(Primitive::Float64 | Primitive::Uuid) => return None,
                Type::Primitive(kind) => ColumnKind::Fixed(*kind),
                Type::Array(
                    Length {
                        compact,
                        nullable: false,
                    },
                    element,
                ) if element.kind == Type::Primitive(Primitive::Int32) => ColumnKind::Int32Array { compact: *compact },
                _ => return None,
            };
            let slot = *layout.offsets.get(field.position)?;
            Some(Column { kind, slot })
        });
        let fields = fields.collect::<Option<Vec<_>>>()?;
        let arrays = fields
            .iter()
            .filter(|field| matches!(field.kind, ColumnKind::Int32Array { .. }));
        let arrays: Vec<_> = arrays.map(|field| field.slot).collect();
        let smallest = fields.iter().map(|field| field.kind.size()).sum::<usize>() + usize::from(plan.flexible);
        if arrays.len() > MAX_ARRAYS || smallest == 0 {
            return None;
        }
        let absent = plan.absent.iter().zip(&layout.absent);
        let absent = absent.filter(|(field, _)| !field.ignorable);
        Some(Self {
            flexible: plan.flexible,
            fields,
            arrays,
            smallest,
            absent: absent.map(|(_, (slot, default))| (*slot, default.as_ptr())).collect(),
        })
    }

    /// Append the first of `objects` that can be encoded together. Returns their number, or as an error the number of
    /// objects that must be encoded one by one. `out` is then unchanged.
    ///
    /// # Safety
    /// The objects are null or alive, and so are all objects that they refer to. `plan` and `layout` are those of `Columns::new`.
    #[inline(never)]
    pub(crate) unsafe fn encode(
        &self,
        source: &Objects<'_, '_>,
        objects: &[Node],
        (plan, layout): (&Struct, &Layout),
        out: &mut impl Sink,
    ) -> Result<usize, usize> {
        let mut run = Run {
            columns: self,
            class: layout.type_pointer(),
            unknown_tags: layout.unknown_tags,
            tags: 0,
            counts: [0; MAX_ARRAYS],
            size: self.smallest,
        };
        // SAFETY: the objects are null or alive.
        let found = unsafe {
            run.measure(source, objects).ok_or(1usize)?;
            objects
                .iter()
                .take_while(|object| run.contains(source, **object))
                .count()
        };
        if found < 2 {
            return Err(1);
        }
        let start = out.len();
        if let Some(rows) = found.checked_mul(run.size).and_then(|size| out.zeros(size))
            && let Some(objects) = objects.get(..found)
            // SAFETY: the run contains these objects.
            && unsafe { run.fill(plan, source, objects, rows) }.is_some()
        {
            return Ok(found);
        }
        out.truncate(start);
        Err(found)
    }
}

/// Structs that can be encoded together.
struct Run<'s> {
    columns: &'s Columns,
    class: *mut ffi::PyTypeObject,
    unknown_tags: usize,
    /// The number of bytes of the unknown tags.
    tags: usize,
    /// The lengths of the arrays, in the order of the fields.
    counts: [usize; MAX_ARRAYS],
    /// The size of an encoded struct.
    size: usize,
}

impl Run<'_> {
    /// Take the lengths of the arrays from the first object. Returns `None` if it must be encoded alone.
    ///
    /// # Safety
    /// The objects are null or alive.
    #[inline(always)]
    unsafe fn measure(&mut self, source: &Objects<'_, '_>, objects: &[Node]) -> Option<()> {
        let first = *objects.first()?;
        // SAFETY: the object is null or alive. Slots are read once its class has been checked.
        unsafe {
            if first.is_null() || ffi::Py_TYPE(first) != self.class {
                return None;
            }
            for (array, count) in self.columns.arrays.iter().zip(&mut self.counts) {
                *count = tuple_length(slot(first, *array)).filter(|count| *count <= MAX_ELEMENTS)?;
                self.size += 4 * *count;
            }
            let tags = slot(first, self.unknown_tags);
            if tags != source.no_tags {
                self.tags = raw_tags(source, tags)?.len();
                if !self.columns.flexible || self.tags > MAX_TAGS {
                    return None;
                }
                self.size += self.tags;
            }
        }
        Some(())
    }

    /// Return whether an object is encoded with the measured lengths.
    ///
    /// # Safety
    /// The object is null or alive.
    #[inline(always)]
    unsafe fn contains(&self, source: &Objects<'_, '_>, object: Node) -> bool {
        let columns = self.columns;
        // SAFETY: as in `measure`.
        unsafe {
            !object.is_null()
                && ffi::Py_TYPE(object) == self.class
                && (slot(object, self.unknown_tags) == source.no_tags) == (self.tags == 0)
                && (self.tags == 0 || self.has_tags(source, object))
                && (columns.arrays.iter().zip(&self.counts))
                    .all(|(array, count)| tuple_length(slot(object, *array)) == Some(*count))
                && (columns.absent.iter()).all(|(absent, default)| slot(object, *absent) == *default)
        }
    }

    /// Return whether an object has unknown tags of the measured length.
    ///
    /// # Safety
    /// The object is an instance of the class.
    #[inline(never)]
    unsafe fn has_tags(&self, source: &Objects<'_, '_>, object: Node) -> bool {
        // SAFETY: as in `measure`.
        let raw = unsafe { raw_tags(source, slot(object, self.unknown_tags)) };
        raw.is_some_and(|raw| raw.len() == self.tags)
    }

    /// Encode the objects into `rows`, which are zeros. Returns `None`, with a part of them written, if a value needs
    /// the encoder's checks.
    ///
    /// # Safety
    /// The run contains the objects.
    #[inline(always)]
    unsafe fn fill(&self, plan: &Struct, source: &Objects<'_, '_>, objects: &[Node], rows: &mut [u8]) -> Option<()> {
        let mut rows = Rows {
            bytes: rows,
            size: self.size,
            at: 0,
        };
        let mut counts = self.counts.iter();
        let mut before = None;
        for column in &self.columns.fields {
            // SAFETY: the run contains the objects.
            unsafe {
                match column.kind {
                    ColumnKind::Fixed(kind) => rows.fixed(source.constants, kind, objects, column.slot)?,
                    ColumnKind::Int32Array { compact } => {
                        let array = Array {
                            slot: column.slot,
                            compact,
                            start: rows.at + column.kind.size(),
                            count: *counts.next()?,
                        };
                        match array.count {
                            0 => rows.length_prefixes(objects, &array),
                            // With a constant length, the elements are encoded without a loop.
                            1 => rows.arrays::<1>(source.constants, objects, &array, before.as_ref()),
                            2 => rows.arrays::<2>(source.constants, objects, &array, before.as_ref()),
                            3 => rows.arrays::<3>(source.constants, objects, &array, before.as_ref()),
                            _ => rows.arrays::<0>(source.constants, objects, &array, before.as_ref()),
                        }?;
                        rows.at = array.start + 4 * array.count;
                        before = Some(array);
                    }
                }
            }
        }
        if self.tags > 0 {
            // SAFETY: the run contains the objects, so all have unknown tags of this length.
            unsafe { rows.tags(plan, source, objects, self.unknown_tags) }?;
        }
        Some(())
    }
}

/// An int32 array of each struct.
struct Array {
    slot: usize,
    compact: bool,
    /// The offset of its elements in an encoded struct.
    start: usize,
    count: usize,
}

/// The encoded structs, one after the other. All methods return `None` if a value needs the encoder's checks.
///
/// The loops over structs are functions of their own: together, they have more variables than registers.
struct Rows<'r> {
    bytes: &'r mut [u8],
    size: usize,
    /// The offset of the next field in each struct.
    at: usize,
}

impl Rows<'_> {
    /// Encode a field of fixed size.
    ///
    /// # Safety
    /// The objects are instances of the class that has this slot.
    #[inline(always)]
    unsafe fn fixed(&mut self, constants: &Constants, kind: Primitive, objects: &[Node], offset: usize) -> Option<()> {
        // SAFETY: the caller ensures that the objects have the slot.
        unsafe {
            match kind {
                Primitive::Bool => self.booleans(objects, offset),
                Primitive::Int8 => self.integers(constants, objects, offset, i8::to_be_bytes),
                Primitive::Int16 => self.integers(constants, objects, offset, i16::to_be_bytes),
                Primitive::Int32 => self.integers(constants, objects, offset, i32::to_be_bytes),
                Primitive::Int64 => self.integers(constants, objects, offset, i64::to_be_bytes),
                Primitive::Uint16 => self.integers(constants, objects, offset, u16::to_be_bytes),
                Primitive::Uint32 => self.integers(constants, objects, offset, u32::to_be_bytes),
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
    unsafe fn booleans(&mut self, objects: &[Node], offset: usize) -> Option<()> {
        let at = self.at;
        for_each_row(self.bytes, self.size, objects, |row, object| {
            // SAFETY: the caller ensures that the object has the slot. Constants are compared by address.
            let (held, yes, no) = unsafe { (slot(object, offset), ffi::Py_True(), ffi::Py_False()) };
            if held != yes && held != no {
                return None;
            }
            *row.get_mut(at)? = u8::from(held == yes);
            Some(())
        })
    }

    /// Encode integers of the type `T`.
    ///
    /// # Safety
    /// The objects are instances of the class that has this slot.
    #[inline(never)]
    unsafe fn integers<T: TryFrom<i64>, const N: usize>(
        &mut self,
        constants: &Constants,
        objects: &[Node],
        offset: usize,
        to_bytes: impl Fn(T) -> [u8; N],
    ) -> Option<()> {
        // A copy, which stays in registers.
        let constants = *constants;
        let (start, end) = (self.at, self.at.checked_add(N)?);
        for_each_row(self.bytes, self.size, objects, |row, object| {
            let place = row.get_mut(start..end)?.first_chunk_mut()?;
            // SAFETY: the caller ensures that the object has the slot. Its content is null or alive.
            let value = unsafe { exact_integer(&constants, slot(object, offset)) }?;
            match T::try_from(value) {
                Ok(value) => *place = to_bytes(value),
                Err(_) => return None,
            }
            Some(())
        })
    }

    /// Write the length prefixes of arrays: one byte, because the others are zeros.
    #[inline(always)]
    fn length_prefixes(&mut self, objects: &[Node], array: &Array) -> Option<()> {
        let low = u8::try_from(array.count + usize::from(array.compact)).ok()?;
        let at = array.start.checked_sub(1)?;
        for_each_row(self.bytes, self.size, objects, |row, _| {
            *row.get_mut(at)? = low;
            Some(())
        })
    }

    /// Encode arrays of `N` elements, or of any number if `N` is 0. `before` is the array that precedes them: the ISR of
    /// a partition is often the same object as its replicas.
    ///
    /// # Safety
    /// The objects are instances of the class that has the slots of both arrays, which hold tuples.
    #[inline(never)]
    unsafe fn arrays<const N: usize>(
        &mut self,
        constants: &Constants,
        objects: &[Node],
        array: &Array,
        before: Option<&Array>,
    ) -> Option<()> {
        // A copy, which stays in registers.
        let constants = *constants;
        let size = 4 * if N == 0 { array.count } else { N };
        let (start, end) = (array.start, array.start.checked_add(size)?);
        let low = u8::try_from(array.count + usize::from(array.compact)).ok()?;
        let last = start.checked_sub(1)?;
        // Without an array of the same length before it, the array itself, whose elements are not written yet.
        let equal = before.filter(|before| before.count == array.count);
        let before = equal.unwrap_or(array);
        for_each_row(self.bytes, self.size, objects, |row, object| {
            *row.get_mut(last)? = low;
            // SAFETY: the caller ensures that the object has the slots.
            let (held, held_before) = unsafe { (slot(object, array.slot), slot(object, before.slot)) };
            if equal.is_some() && held == held_before {
                let (written, rest) = row.split_at_mut_checked(start)?;
                let written = written.get(before.start..)?.get(..size)?;
                rest.get_mut(..size)?.copy_from_slice(written);
                return Some(());
            }
            // SAFETY: the caller ensures that the slot holds a tuple.
            let elements = unsafe { elements(held) };
            let (places, _) = row.get_mut(start..end)?.as_chunks_mut();
            for (place, element) in places.iter_mut().zip(elements) {
                // SAFETY: the elements of a tuple are alive.
                let value = unsafe { exact_integer(&constants, *element) }?;
                *place = i32::try_from(value).ok()?.to_be_bytes();
            }
            Some(())
        })
    }

    /// Write the unknown tags at the end of each struct.
    ///
    /// # Safety
    /// The objects are instances of the class that has this slot.
    #[inline(never)]
    unsafe fn tags(&mut self, plan: &Struct, source: &Objects<'_, '_>, objects: &[Node], offset: usize) -> Option<()> {
        let at = self.at;
        let mut before: (&[u8], u8) = (&[], 0);
        for_each_row(self.bytes, self.size, objects, |row, object| {
            // SAFETY: the caller ensures that the object has the slot.
            let raw = unsafe { raw_tags(source, slot(object, offset)) }?;
            if raw != before.0 {
                let count = u8::try_from(check_entries(plan, raw).ok()?).ok()?;
                before = (raw, count);
            }
            let (count, entries) = row.get_mut(at..)?.split_first_mut()?;
            *count = before.1;
            entries.get_mut(..raw.len())?.copy_from_slice(raw);
            Some(())
        })
    }
}

/// Call `write` with each object and its row. An iterator over chunks would divide to know their number.
#[inline(always)]
fn for_each_row(
    bytes: &mut [u8],
    size: usize,
    objects: &[Node],
    mut write: impl FnMut(&mut [u8], Node) -> Option<()>,
) -> Option<()> {
    let mut rest = bytes;
    for object in objects {
        let (row, after) = rest.split_at_mut_checked(size)?;
        write(row, *object)?;
        rest = after;
    }
    Some(())
}

/// Return the bytes of unknown tags, `None` for objects of other types.
///
/// # Safety
/// The object is null or alive, and outlives the slice.
#[inline(never)]
unsafe fn raw_tags<'a>(source: &Objects<'_, '_>, tags: Node) -> Option<&'a [u8]> {
    // SAFETY: the object is null or alive. Its slot is read once its class has been checked.
    unsafe {
        if tags.is_null() || ffi::Py_TYPE(tags) != source.tags_class {
            return None;
        }
        let raw = slot(tags, source.raw);
        (!raw.is_null() && ffi::PyBytes_CheckExact(raw) != 0).then(|| bytes_of(raw))
    }
}

/// Return the length of an object if it is a tuple, but not of a subclass.
///
/// # Safety
/// The object is null or alive.
#[inline(always)]
unsafe fn tuple_length(object: Node) -> Option<usize> {
    // SAFETY: the object is null or alive, and is read as a tuple once its type has been checked.
    unsafe { (!object.is_null() && ffi::PyTuple_CheckExact(object) != 0).then(|| elements(object).len()) }
}
