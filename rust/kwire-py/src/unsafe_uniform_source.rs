//! Consecutive structs whose encodings have the same layout, encoded field by field.
//!
//! The partitions of a topic differ in their numbers but rarely in the lengths of their arrays, so their encodings have
//! the same size. Each field is then encoded for all of them in a loop that knows its type, slot, and offset, instead of
//! finding out for every value. Anything unusual (a subclass, a tag, a value that needs the encoder's checks) is left to
//! the general encoder, which also reports all errors.
//!
//! The `unsafe` blocks rely on the invariants of `unsafe_source`. In addition, arrays are read as tuples only after
//! `Run::matching` has checked that they are. No Python code runs in between.

use kwire::encode::Sink;
use kwire::plan::{Length, Primitive, Struct, Type};
use pyo3::ffi;

use crate::unsafe_encoded_rows::{Array, Rows};
use crate::unsafe_layout::Layout;
use crate::unsafe_objects::elements;
use crate::unsafe_prefetch::prefetch_many;
use crate::unsafe_source::{Node, Objects, bytes_of, slot};

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

/// The slot of an int32 field.
macro_rules! int32 {
    ($slot:pat) => {
        Column {
            kind: ColumnKind::Fixed(Primitive::Int32),
            slot: $slot,
        }
    };
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
            run.matching(source, objects)
        };
        if found < 2 {
            return Err(1);
        }
        if let [first, .., last] = objects.get(..found).unwrap_or_default() {
            // The structs of the next array probably follow those of this one in memory.
            let span = last.addr().wrapping_sub(first.addr());
            prefetch_many(last.wrapping_byte_add(span / (found - 1)), span);
        }
        let start = out.len();
        if let Some(rows) = found.checked_mul(run.size).and_then(|size| out.zeros(size))
            && let Some(objects) = objects.get(..found)
            // SAFETY: `matching` counted these objects.
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

    /// Count the objects at the start that are encoded with the measured lengths.
    ///
    /// # Safety
    /// The objects are null or alive.
    #[inline(always)]
    unsafe fn matching(&self, source: &Objects<'_, '_>, objects: &[Node]) -> usize {
        // SAFETY: the caller ensures it.
        unsafe {
            let found = match self.columns.arrays.len() {
                0 => self.matching_arrays::<0>(source, objects),
                1 => self.matching_arrays::<1>(source, objects),
                2 => self.matching_arrays::<2>(source, objects),
                3 => self.matching_arrays::<3>(source, objects),
                _ => self.matching_arrays::<MAX_ARRAYS>(source, objects),
            };
            let mut found = objects.get(..found).unwrap_or_default();
            for (absent, default) in &self.columns.absent {
                let number = found
                    .iter()
                    .take_while(|object| slot(**object, *absent) == *default)
                    .count();
                found = found.get(..number).unwrap_or_default();
            }
            found.len()
        }
    }

    /// As `matching`, without the absent fields. `N` is the number of arrays or more: with a constant number, what the loop
    /// needs stays in registers.
    ///
    /// # Safety
    /// The objects are null or alive.
    #[inline(never)]
    unsafe fn matching_arrays<const N: usize>(&self, source: &Objects<'_, '_>, objects: &[Node]) -> usize {
        // The first array instead of those beyond the last: checking it again is harmless.
        let index_of = |index| if index < self.columns.arrays.len() { index } else { 0 };
        let arrays: [usize; N] = std::array::from_fn(|index| self.columns.arrays[index_of(index)]);
        let counts: [usize; N] = std::array::from_fn(|index| self.counts[index_of(index)]);
        let mut found = 0;
        let Some(first) = objects.first() else { return found };
        let as_before: [bool; N] = std::array::from_fn(|index| index > 0 && counts[index] == counts[index - 1]);
        // SAFETY: as in `measure`, which has checked the class of the first object. The class of the others is checked
        // before their slots are read.
        unsafe {
            let held = arrays.map(|array| slot(*first, array));
            let tags = slot(*first, self.unknown_tags);
            for object in objects {
                let object = *object;
                if object.is_null() || ffi::Py_TYPE(object) != self.class {
                    break;
                }
                let own = slot(object, self.unknown_tags);
                if own != tags && (self.tags == 0 || !self.has_tags(source, object)) {
                    break;
                }
                for index in 0..N {
                    let array = slot(object, arrays[index]);
                    // Often the same tuple as in the first struct, or as the array before it, which has been checked.
                    if array != held[index]
                        && !(as_before[index] && array == slot(object, arrays[index.saturating_sub(1)]))
                        && !is_tuple_of(array, counts[index])
                    {
                        return found;
                    }
                }
                found += 1;
            }
        }
        found
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
    /// `matching` counted the objects.
    #[inline(always)]
    unsafe fn fill(&self, plan: &Struct, source: &Objects<'_, '_>, objects: &[Node], rows: &mut [u8]) -> Option<()> {
        let mut rows = Rows::new(objects, rows, self.size)?;
        let mut arrays = [Array::default(); MAX_ARRAYS];
        let mut places = arrays.iter_mut().zip(&self.counts);
        let mut columns = self.columns.fields.as_slice();
        while let [column, rest @ ..] = columns {
            // SAFETY: `matching` counted the objects.
            columns = unsafe {
                match (columns, column.kind) {
                    // With more than three, the loop has more variables than registers.
                    ([int32!(first), int32!(second), int32!(third), rest @ ..], _) => {
                        rows.int32s(source.constants, [*first, *second, *third])?;
                        rest
                    }
                    ([int32!(first), int32!(second), rest @ ..], _) => {
                        rows.int32s(source.constants, [*first, *second])?;
                        rest
                    }
                    (_, ColumnKind::Fixed(kind)) => {
                        rows.fixed(source.constants, kind, column.slot)?;
                        rest
                    }
                    (_, ColumnKind::Int32Array { compact }) => {
                        let (array, count) = places.next()?;
                        *array = Array {
                            slot: column.slot,
                            compact,
                            start: rows.at + column.kind.size(),
                            count: *count,
                        };
                        rows.at = array.start + 4 * array.count;
                        rest
                    }
                }
            };
        }
        // SAFETY: `matching` counted the objects.
        unsafe { rows.all_arrays(source.constants, arrays.get(..self.columns.arrays.len())?) }?;
        if self.tags > 0 {
            // SAFETY: `matching` counted the objects, so all have unknown tags of this length.
            unsafe { rows.tags(plan, source, self.unknown_tags) }?;
        }
        Some(())
    }
}

/// Return the bytes of unknown tags, `None` for objects of other types.
///
/// # Safety
/// The object is null or alive, and outlives the slice.
#[inline(never)]
pub(crate) unsafe fn raw_tags<'a>(source: &Objects<'_, '_>, tags: Node) -> Option<&'a [u8]> {
    // SAFETY: the object is null or alive. Its slot is read once its class has been checked.
    unsafe {
        if tags.is_null() || ffi::Py_TYPE(tags) != source.tags_class {
            return None;
        }
        let raw = slot(tags, source.raw);
        (!raw.is_null() && ffi::PyBytes_CheckExact(raw) != 0).then(|| bytes_of(raw))
    }
}

/// Return whether an object is a tuple of a length, but not of a subclass.
///
/// # Safety
/// The object is null or alive.
#[inline(always)]
unsafe fn is_tuple_of(object: Node, count: usize) -> bool {
    // SAFETY: the object is null or alive, and is read as a tuple once its type has been checked.
    unsafe {
        !object.is_null()
            && ffi::PyTuple_CheckExact(object) != 0
            && (*object.cast::<ffi::PyVarObject>()).ob_size.cast_unsigned() == count
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
