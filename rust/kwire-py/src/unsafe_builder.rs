//! Python objects out of bytes.
//!
//! Rules of this file, on which every block below relies:
//! 1. The GIL is held from the door (`Plan::decode`) to the end; no Python code runs in between that could see what is
//!    being built: it is reachable from nowhere else, and tuples are taken from the collector as soon as they exist.
//! 2. Everything built goes into the tree at once and leaves it only when the call fails, after which nothing is looked
//!    up any more. So caches hold borrowed pointers.
//! 3. Slots are written at the offsets that their own descriptors name (`slot_offset`), each once. They hold null until
//!    then, so that an object can be let go half-way.

use std::ptr::NonNull;

use kwire::Stop;
use kwire::decode::{Text, Visitor, unpack};
use kwire::plan::{Literal, Primitive, Struct};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyType};

use crate::memo::{Memo, ShortKey, ShortMemo, Worth, hash};
use crate::unsafe_constants::Constants;
use crate::unsafe_objects::{is_adopted, slot_offset};
use crate::unsafe_prefetch::prefetch;

/// Below this size of input, tables cost more than they find.
const SMALLEST_INPUT_FOR_MEMOS: usize = 4096;
/// Arrays and structs longer than this are not remembered: nobody repeats them.
const LONGEST_REMEMBERED: usize = 128;

/// An array found costs as much as a third of an array made: rarely found, it is dearer than none. Measured on
/// partitions with random replicas (of 24,360 triples, in a table as large as that) and with Kafka's own placement.
const WORTH_OF_ARRAYS: Worth = Worth {
    distinct: 1 << 13,
    percent: 50,
};
const WORTH_OF_STRUCTS: Worth = Worth {
    distinct: 1 << 15,
    percent: 25,
};

/// A class and where its instances hold what.
pub(crate) struct Layout {
    pub(crate) class: Py<PyType>,
    /// Offsets of the plan's fields, by position.
    pub(crate) offsets: Vec<usize>,
    pub(crate) unknown_tags: usize,
    /// Slots that hold the same in every instance until a tag says otherwise: tagged and absent fields.
    pub(crate) defaults: Vec<(usize, Py<PyAny>)>,
    /// Absent fields, as encode needs them: offset, name's place in the plan, default.
    pub(crate) absent: Vec<(usize, Py<PyAny>)>,
    adopted: bool,
    /// An instance of an adopted class before its fields came: header, defaults, null elsewhere.
    template: Vec<*mut ffi::PyObject>,
}

// SAFETY: the template's pointers are kept alive by `class` and `defaults`, and are used with the GIL held only.
unsafe impl Send for Layout {}
// SAFETY: as above.
unsafe impl Sync for Layout {}

impl Layout {
    /// How instances of `class` hold a struct of `plan`; `absent` are the defaults of what the plan lacks, by name.
    pub(crate) fn new(plan: &Struct, class: &Bound<'_, PyType>, absent: &Bound<'_, PyDict>) -> PyResult<Self> {
        let py = class.py();
        let offset_of = |name: &str| slot_offset(class, &PyString::new(py, name));
        let offsets = plan
            .named()
            .map(|field| offset_of(&field.name))
            .collect::<PyResult<Vec<_>>>()?;
        let mut defaults = Vec::new();
        for tagged in &plan.tagged {
            let default = literal(py, &tagged.default)?;
            defaults.push((offset_of(&tagged.field.name)?, default));
        }
        let mut held_absent = Vec::new();
        for field in &plan.absent {
            let default = absent.as_any().get_item(&*field.name)?.unbind();
            let offset = offset_of(&field.name)?;
            defaults.push((offset, default.clone_ref(py)));
            held_absent.push((offset, default));
        }
        let unknown_tags = offset_of("unknown_tags")?;
        defaults.push((unknown_tags, no_tags(py)?.clone_ref(py)));
        let kind = class.as_type_ptr();
        let adopted = is_adopted(kind);
        let template = if adopted {
            template(py, kind, &defaults)
        } else {
            Vec::new()
        };
        Ok(Self {
            class: class.clone().unbind(),
            offsets,
            unknown_tags,
            defaults,
            absent: held_absent,
            adopted,
            template,
        })
    }

    /// Show the collector what is held.
    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.class)?;
        self.defaults
            .iter()
            .chain(&self.absent)
            .try_for_each(|(_, default)| visit.call(default))
    }

    /// Whether the collector must see instances: they may stand in a cycle, as they have a dict, say.
    pub(crate) fn is_tracked(&self) -> bool {
        !self.adopted
    }

    pub(crate) fn type_pointer(&self) -> *mut ffi::PyTypeObject {
        self.class.as_ptr().cast()
    }
}

/// The words of a new instance of an adopted class, which has a plain header (`unsafe_objects`, rule 1).
fn template(_: Python<'_>, class: *mut ffi::PyTypeObject, defaults: &[(usize, Py<PyAny>)]) -> Vec<*mut ffi::PyObject> {
    // SAFETY: `class` is a live type. The words are those of an object that nobody refers to, not an object: its count
    // is set as in a new one, and nothing is counted here.
    unsafe {
        let words = usize::try_from((*class).tp_basicsize).unwrap_or(0) / size_of::<*mut ffi::PyObject>();
        let mut template: Vec<*mut ffi::PyObject> = vec![std::ptr::null_mut(); words];
        let object: *mut ffi::PyObject = template.as_mut_ptr().cast();
        (*object).ob_type = class;
        set_first_reference(object);
        for (offset, default) in defaults {
            write(object, *offset, default.as_ptr());
        }
        template
    }
}

/// The Python value of a default.
fn literal(py: Python<'_>, literal: &Literal) -> PyResult<Py<PyAny>> {
    Ok(match literal {
        Literal::Null | Literal::Struct => py.None(),
        Literal::Bool(value) => value.into_pyobject(py)?.to_owned().into_any().unbind(),
        Literal::Int(value) => value.into_pyobject(py)?.into_any().unbind(),
        Literal::Float(value) => value.into_pyobject(py)?.into_any().unbind(),
        Literal::Text(value) => PyString::new(py, value).into_any().unbind(),
        Literal::Bytes(value) => pyo3::types::PyBytes::new(py, value).into_any().unbind(),
        Literal::Uuid(value) => Uuids::get(py)?.zero_or_new(py, *value)?,
        Literal::EmptyArray => pyo3::types::PyTuple::empty(py).into_any().unbind(),
    })
}

/// The shared mapping of objects without unknown tags.
pub(crate) fn no_tags(py: Python<'_>) -> PyResult<&Py<PyAny>> {
    static NO_TAGS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    NO_TAGS.get_or_try_init(py, || {
        Ok(py.import("kwire.declare.unknown_tags")?.getattr("NO_TAGS")?.unbind())
    })
}

/// The class of unknown tags.
pub(crate) fn unknown_tags_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "kwire.declare.unknown_tags", "UnknownTags")
}

/// How to make and read `uuid.UUID` objects without calling their constructor, which costs more than a whole topic.
pub(crate) struct Uuids {
    pub(crate) class: Py<PyType>,
    pub(crate) number: usize,
    is_safe: usize,
    unknown_safety: Py<PyAny>,
    zero: Py<PyAny>,
}

impl Uuids {
    pub(crate) fn get(py: Python<'_>) -> PyResult<&Self> {
        static UUIDS: PyOnceLock<Uuids> = PyOnceLock::new();
        UUIDS.get_or_try_init(py, || {
            let module = py.import("uuid")?;
            let class = module.getattr("UUID")?.cast_into::<PyType>()?;
            Ok(Self {
                number: slot_offset(&class, &PyString::new(py, "int"))?,
                is_safe: slot_offset(&class, &PyString::new(py, "is_safe"))?,
                unknown_safety: module.getattr("SafeUUID")?.getattr("unknown")?.unbind(),
                zero: py
                    .import("kwire.declare.field")?
                    .getattr("zero_uuid")?
                    .call0()?
                    .unbind(),
                class: class.unbind(),
            })
        })
    }

    /// Whether two objects are uuids of the same number.
    pub(crate) unsafe fn same(&self, a: *mut ffi::PyObject, b: *mut ffi::PyObject) -> bool {
        // SAFETY: callers pass live objects; the slot is read once both are known to be `uuid.UUID`.
        unsafe {
            let class: *mut ffi::PyTypeObject = self.class.as_ptr().cast();
            if ffi::Py_TYPE(a) != class || ffi::Py_TYPE(b) != class {
                return false;
            }
            let number = |uuid: *mut ffi::PyObject| uuid.byte_add(self.number).cast::<*mut ffi::PyObject>().read();
            let (a, b) = (number(a), number(b));
            // Exact ints compare without anybody's code.
            !a.is_null()
                && !b.is_null()
                && ffi::PyLong_CheckExact(a) != 0
                && ffi::PyLong_CheckExact(b) != 0
                && ffi::PyObject_RichCompareBool(a, b, ffi::Py_EQ) == 1
        }
    }

    fn zero_or_new(&self, py: Python<'_>, bytes: [u8; 16]) -> PyResult<Py<PyAny>> {
        if bytes == [0; 16] {
            return Ok(self.zero.clone_ref(py));
        }
        let number = u128::from_be_bytes(bytes).into_pyobject(py)?;
        // SAFETY: `class` is `uuid.UUID`, a heap type; its allocator gives an instance with empty slots at the offsets
        // that the descriptors named, each of which takes one reference. It cannot stand in a cycle.
        unsafe {
            let class: *mut ffi::PyTypeObject = self.class.as_ptr().cast();
            let made = Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class, 0))?;
            write(made.as_ptr(), self.number, number.into_any().unbind().into_ptr());
            write(
                made.as_ptr(),
                self.is_safe,
                self.unknown_safety.clone_ref(py).into_ptr(),
            );
            ffi::PyObject_GC_UnTrack(made.as_ptr().cast());
            Ok(made.unbind())
        }
    }
}

/// Put a reference into an empty slot.
#[inline(always)]
unsafe fn write(object: *mut ffi::PyObject, offset: usize, value: *mut ffi::PyObject) {
    // SAFETY: callers pass an offset that a descriptor of the object's class named.
    unsafe { object.byte_add(offset).cast::<*mut ffi::PyObject>().write(value) }
}

/// Make the count of a new object 1.
#[inline(always)]
unsafe fn set_first_reference(object: *mut ffi::PyObject) {
    // SAFETY: the object is ours, and this field is its count.
    unsafe {
        #[cfg(Py_3_12)]
        {
            (*object).ob_refcnt.ob_refcnt = 1;
        }
        #[cfg(not(Py_3_12))]
        {
            (*object).ob_refcnt = 1;
        }
    }
}

/// Count one more reference.
#[inline(always)]
unsafe fn count(object: *mut ffi::PyObject) {
    // SAFETY: callers pass a live object. No count wraps: each reference takes eight bytes somewhere. Said so, it is one
    // instruction instead of four, ten times a partition.
    unsafe {
        #[cfg(Py_3_12)]
        ffi::Py_INCREF(object);
        #[cfg(not(Py_3_12))]
        {
            (*object).ob_refcnt = (*object).ob_refcnt.wrapping_add(1);
        }
    }
}

/// A reference that goes when decoding stops half-way.
pub(crate) struct Owned(NonNull<ffi::PyObject>);

impl Owned {
    /// Take over a new reference; null says that an exception is set.
    #[inline(always)]
    unsafe fn new(pointer: *mut ffi::PyObject) -> Result<Self, Raised> {
        NonNull::new(pointer).map(Self).ok_or(Raised)
    }

    /// Another reference to a live object.
    #[inline(always)]
    unsafe fn borrowed(pointer: NonNull<ffi::PyObject>) -> Self {
        // SAFETY: the caller knows that it lives.
        unsafe { count(pointer.as_ptr()) };
        Self(pointer)
    }

    #[inline(always)]
    pub(crate) fn into_pointer(self) -> *mut ffi::PyObject {
        let pointer = self.0.as_ptr();
        std::mem::forget(self);
        pointer
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it owns one reference, and the GIL is held (rule 1).
        unsafe { ffi::Py_DECREF(self.0.as_ptr()) }
    }
}

/// A Python exception is set.
#[derive(Debug)]
pub(crate) struct Raised;

/// A struct on its way: a whole object, null in the slots not reached yet.
pub(crate) struct Draft<'a> {
    object: Owned,
    layout: &'a Layout,
}

/// An array on its way: a tuple, filled from the left, null beyond.
pub(crate) struct Items {
    tuple: Owned,
}

/// Tables of one plan, kept from call to call.
pub(crate) struct Caches {
    arrays: ShortMemo<NonNull<ffi::PyObject>>,
    arrays_of_structs: Vec<Memo<NonNull<ffi::PyObject>>>,
    structs: Vec<StructMemo>,
    integers: Vec<(i32, u32, Option<NonNull<ffi::PyObject>>)>,
    generation: u32,
    remembers_integers: bool,
}

// SAFETY: between calls the tables hold stale pointers only, which no generation of a later call believes (`Memo`), so
// another thread may take them over. Within a call the GIL is held.
unsafe impl Send for Caches {}

struct StructMemo {
    memo: Memo<NonNull<ffi::PyObject>>,
    /// How long the last one was: the next is likely as long.
    length: usize,
    /// Hashes of the elements that stand at and behind `ahead_of`, if they are as long.
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

    fn begin(&mut self, input: &[u8]) {
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

/// Builds Python objects.
pub(crate) struct Builder<'a, 'py> {
    py: Python<'py>,
    layouts: &'a [Layout],
    input: &'a [u8],
    caches: &'a mut Caches,
    constants: &'static Constants,
    last_short_array: Option<(ShortKey, NonNull<ffi::PyObject>)>,
    last_array: Option<(Primitive, &'a [u8], NonNull<ffi::PyObject>)>,
    tracked: bool,
}

impl<'a, 'py> Builder<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, layouts: &'a [Layout], input: &'a [u8], caches: &'a mut Caches) -> Self {
        caches.begin(input);
        // One class that may stand in a cycle makes everything that may hold an instance of it the collector's.
        let tracked = layouts.iter().any(Layout::is_tracked);
        Self {
            py,
            layouts,
            input,
            caches,
            constants: Constants::get(py),
            last_short_array: None,
            last_array: None,
            tracked,
        }
    }

    fn start_of(&self, bytes: &[u8]) -> usize {
        bytes.as_ptr() as usize - self.input.as_ptr() as usize
    }

    #[inline(never)]
    fn large_integer(&mut self, value: i64) -> Result<Owned, Raised> {
        // SAFETY: makes a new reference, or null with an exception set. Cached pointers live by rule 2.
        unsafe {
            let (true, Ok(key)) = (self.caches.remembers_integers, i32::try_from(value)) else {
                return Owned::new(ffi::PyLong_FromLongLong(value));
            };
            let place = (key.cast_unsigned().wrapping_mul(0x9e37_79b9) >> 22) as usize & (INTEGERS - 1);
            let generation = self.caches.generation;
            if let Some((held, of, Some(object))) = self.caches.integers.get(place)
                && *held == key
                && *of == generation
            {
                return Ok(Owned::borrowed(*object));
            }
            let made = Owned::new(ffi::PyLong_FromLongLong(value))?;
            if let Some(entry) = self.caches.integers.get_mut(place) {
                *entry = (key, generation, Some(made.0));
            }
            Ok(made)
        }
    }

    fn tuple(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<Owned, Raised> {
        let count = bytes.len() / kind.size();
        let items = self.new_tuple(count)?;
        unpack(kind, bytes, self, |index, item| {
            // SAFETY: `index` is below `count`; the tuple is ours alone.
            unsafe { ffi::PyTuple_SET_ITEM(items.0.as_ptr(), index.cast_signed(), item.into_pointer()) };
        })?;
        Ok(items)
    }

    #[inline]
    fn short_array(&mut self, key: ShortKey, bytes: &'a [u8]) -> Result<Owned, Raised> {
        let found = if self.caches.arrays.on {
            self.caches.arrays.get(key)
        } else {
            None
        };
        let made = if let Some(found) = found {
            // SAFETY: rule 2.
            unsafe { Owned::borrowed(found) }
        } else {
            let made = self.tuple(Primitive::Int32, bytes)?;
            if self.caches.arrays.on {
                self.caches.arrays.put(key, made.0);
            }
            made
        };
        self.last_short_array = Some((key, made.0));
        Ok(made)
    }

    fn other_array(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<Owned, Raised> {
        match self.last_array {
            // SAFETY: rule 2.
            Some((before, of, tuple)) if before == kind && of == bytes => Ok(unsafe { Owned::borrowed(tuple) }),
            _ => {
                let made = self.tuple(kind, bytes)?;
                self.last_array = Some((kind, bytes, made.0));
                Ok(made)
            }
        }
    }

    #[inline]
    fn new_tuple(&mut self, count: usize) -> Result<Owned, Raised> {
        // SAFETY: a new tuple with null elements, or null with an exception set. Its count fits: that many bytes are
        // in the input. Without the collector's eye on it, nobody sees it half-filled; it cannot stand in a cycle
        // unless something tracked comes into it, and then it stays tracked.
        unsafe {
            if count == 0 {
                return Ok(Owned::borrowed(self.constants.empty_tuple));
            }
            let tuple = Owned::new(ffi::PyTuple_New(count.cast_signed()))?;
            if !self.tracked {
                ffi::PyObject_GC_UnTrack(tuple.0.as_ptr().cast());
            }
            Ok(tuple)
        }
    }
}

impl<'a> Visitor<'a> for Builder<'a, '_> {
    type Value = Owned;
    type Struct = Draft<'a>;
    type Array = Items;
    type Error = Raised;

    #[inline(always)]
    fn integer(&mut self, value: i64) -> Result<Owned, Raised> {
        // The interpreter has its own objects for small numbers; to ask it for one costs more than to know it.
        match self.constants.small(value) {
            // SAFETY: it lives for ever.
            Some(small) => Ok(unsafe { Owned::borrowed(small) }),
            None => self.large_integer(value),
        }
    }

    #[inline]
    fn boolean(&mut self, value: bool) -> Result<Owned, Raised> {
        // SAFETY: True and False live for ever.
        unsafe { Owned::new(ffi::Py_NewRef(if value { ffi::Py_True() } else { ffi::Py_False() })) }
    }

    fn float(&mut self, value: f64) -> Result<Owned, Raised> {
        // SAFETY: makes a new reference, or null with an exception set.
        unsafe { Owned::new(ffi::PyFloat_FromDouble(value)) }
    }

    fn uuid(&mut self, bytes: [u8; 16]) -> Result<Owned, Raised> {
        let made = Uuids::get(self.py).and_then(|uuids| uuids.zero_or_new(self.py, bytes));
        // SAFETY: takes over the new reference.
        made.map_err(|error| raise(self.py, error))
            .and_then(|made| unsafe { Owned::new(made.into_ptr()) })
    }

    #[inline]
    fn string(&mut self, text: Text<'a>) -> Result<Owned, Raised> {
        let bytes = text.as_bytes();
        // SAFETY: `bytes` are UTF-8, and ASCII where said so: then a compact ASCII string of that length has just that
        // many bytes at its data pointer, ours to fill. Strings of less than two characters are the interpreter's own.
        unsafe {
            if text.is_ascii() && bytes.len() > 1 {
                let made = Owned::new(ffi::PyUnicode_New(bytes.len().cast_signed(), 127))?;
                let data = ffi::PyUnicode_DATA(made.0.as_ptr()).cast::<u8>();
                data.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                return Ok(made);
            }
            Owned::new(ffi::PyUnicode_FromStringAndSize(
                bytes.as_ptr().cast(),
                bytes.len().cast_signed(),
            ))
        }
    }

    fn bytes(&mut self, bytes: &'a [u8]) -> Result<Owned, Raised> {
        // SAFETY: copies the bytes into a new object, or sets an exception.
        unsafe {
            Owned::new(ffi::PyBytes_FromStringAndSize(
                bytes.as_ptr().cast(),
                bytes.len().cast_signed(),
            ))
        }
    }

    #[inline]
    fn null(&mut self) -> Result<Owned, Raised> {
        // SAFETY: None lives for ever.
        unsafe { Owned::new(ffi::Py_NewRef(ffi::Py_None())) }
    }

    #[inline(always)]
    fn packed(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<Owned, Raised> {
        if kind == Primitive::Int32 {
            if let Some(key) = ShortKey::new(bytes) {
                // The array before this one, since a partition's ISR mostly is its replicas.
                return match self.last_short_array {
                    // SAFETY: rule 2.
                    Some((before, tuple)) if before == key => Ok(unsafe { Owned::borrowed(tuple) }),
                    _ => self.short_array(key, bytes),
                };
            }
            if bytes.is_empty() {
                return self.new_tuple(0);
            }
        }
        self.other_array(kind, bytes)
    }

    #[inline]
    fn begin_array(&mut self, count: usize) -> Result<Items, Raised> {
        Ok(Items {
            tuple: self.new_tuple(count)?,
        })
    }

    #[inline(always)]
    fn item(&mut self, array: &mut Items, index: usize, value: Owned) {
        // SAFETY: the walker counts from 0 to below the `count` of `begin_array`; the tuple is ours alone.
        unsafe { ffi::PyTuple_SET_ITEM(array.tuple.0.as_ptr(), index.cast_signed(), value.into_pointer()) };
    }

    #[inline(always)]
    fn end_array(&mut self, array: Items) -> Result<Owned, Raised> {
        Ok(array.tuple)
    }

    #[inline]
    fn begin_struct(&mut self, plan: &'a Struct) -> Result<Draft<'a>, Raised> {
        let layout = &self.layouts[plan.index];
        // SAFETY: an adopted class is allocated as its own `PyType_GenericAlloc` would do it, and the template is what an
        // instance begins as; what it refers to is counted here. Others come from their own allocator.
        unsafe {
            let object = if layout.adopted {
                let memory: *mut *mut ffi::PyObject = ffi::PyObject_Malloc(size_of_val(&*layout.template)).cast();
                if memory.is_null() {
                    ffi::PyErr_NoMemory();
                    return Err(Raised);
                }
                for (index, word) in layout.template.iter().enumerate() {
                    memory.add(index).write(*word);
                }
                count(layout.class.as_ptr());
                for (_, default) in &layout.defaults {
                    count(default.as_ptr());
                }
                memory.cast()
            } else {
                let object = ffi::PyType_GenericAlloc(layout.type_pointer(), 0);
                if object.is_null() {
                    return Err(Raised);
                }
                for (offset, default) in &layout.defaults {
                    write(object, *offset, default.clone_ref(self.py).into_ptr());
                }
                object
            };
            Ok(Draft {
                object: Owned::new(object)?,
                layout,
            })
        }
    }

    #[inline(always)]
    fn field(&mut self, body: &mut Draft<'a>, _: &'a Struct, position: usize, value: Owned) {
        // SAFETY: rule 3. The walker's positions are those of the plan's fields, for each of which there is an offset,
        // named by the field's own descriptor.
        unsafe {
            let offset = *body.layout.offsets.get_unchecked(position);
            write(body.object.0.as_ptr(), offset, value.into_pointer());
        }
    }

    fn tagged_field(&mut self, body: &mut Draft<'a>, _: &'a Struct, position: usize, value: Owned) {
        // SAFETY: the slot holds the default since `begin_struct`; it is exchanged for the value. The default stays
        // alive in the layout.
        unsafe {
            let slot = body
                .object
                .0
                .as_ptr()
                .byte_add(body.layout.offsets[position])
                .cast::<*mut ffi::PyObject>();
            ffi::Py_DECREF(slot.replace(value.into_pointer()));
        }
    }

    fn unknown_tags(&mut self, body: &mut Draft<'a>, _: &'a Struct, raw: &[u8]) -> Result<(), Raised> {
        let made = unknown_tags_class(self.py).and_then(|class| class.call1((raw,)));
        let made = made.map_err(|error| raise(self.py, error))?;
        // SAFETY: as in `tagged_field`.
        unsafe {
            let slot = body
                .object
                .0
                .as_ptr()
                .byte_add(body.layout.unknown_tags)
                .cast::<*mut ffi::PyObject>();
            ffi::Py_DECREF(slot.replace(made.unbind().into_ptr()));
        }
        Ok(())
    }

    #[inline(always)]
    fn end_struct(&mut self, body: Draft<'a>, _: &'a Struct) -> Result<Owned, Raised> {
        Ok(body.object)
    }

    #[inline]
    fn recall_array(&mut self, plan: &'a Struct, bytes: &'a [u8]) -> Option<Owned> {
        let memo = self.caches.arrays_of_structs.get_mut(plan.index)?;
        if !memo.on || bytes.is_empty() || bytes.len() > LONGEST_REMEMBERED {
            return None;
        }
        let found = memo.get(self.input, bytes, hash(bytes))?;
        // SAFETY: rule 2.
        Some(unsafe { Owned::borrowed(found) })
    }

    #[inline]
    fn remember_array(&mut self, plan: &'a Struct, bytes: &'a [u8], value: &Owned) {
        let start = self.start_of(bytes);
        let Some(memo) = self.caches.arrays_of_structs.get_mut(plan.index) else {
            return;
        };
        if memo.on && bytes.len() <= LONGEST_REMEMBERED {
            memo.put(start, bytes, hash(bytes), value.0);
        }
    }

    #[inline(always)]
    fn recall(&mut self, plan: &'a Struct, rest: &'a [u8]) -> Option<(Owned, usize)> {
        let start = self.start_of(rest);
        let cache = self.caches.structs.get_mut(plan.index)?;
        if !cache.memo.on || cache.length == 0 {
            return None;
        }
        let bytes = rest.get(..cache.length)?;
        let hash = cache.look_ahead(self.input, rest, start);
        let found = cache.memo.get(self.input, bytes, hash)?;
        // SAFETY: rule 2.
        Some((unsafe { Owned::borrowed(found) }, bytes.len()))
    }

    #[inline(always)]
    fn remember(&mut self, plan: &'a Struct, bytes: &'a [u8], value: &Owned) {
        let start = self.start_of(bytes);
        let Some(cache) = self.caches.structs.get_mut(plan.index) else {
            return;
        };
        if cache.memo.on && bytes.len() <= LONGEST_REMEMBERED {
            cache.length = bytes.len();
            cache.memo.put(start, bytes, hash(bytes), value.0);
        }
    }
}

impl StructMemo {
    /// The hash of the element with which `rest`, at `start`, begins; and see that what the next two will need is on its
    /// way from memory. A large message has more distinct partitions than fit the nearer caches: found one by one, each
    /// would cost three misses, one after the other.
    #[inline(always)]
    fn look_ahead(&mut self, input: &[u8], rest: &[u8], start: usize) -> u64 {
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

/// Set an exception.
#[cold]
fn raise(py: Python<'_>, error: PyErr) -> Raised {
    error.restore(py);
    Raised
}

/// Walk `input` and give the object, or why there is none.
pub(crate) fn build<'py>(
    py: Python<'py>,
    plan: &kwire::Plan,
    layouts: &[Layout],
    input: &[u8],
    caches: &mut Caches,
) -> Result<Bound<'py, PyAny>, Result<Box<kwire::DecodeError>, PyErr>> {
    let mut builder = Builder::new(py, layouts, input, caches);
    match kwire::decode::decode(plan, input, &mut builder) {
        // SAFETY: hands the one reference over.
        Ok(made) => Ok(unsafe { Bound::from_owned_ptr(py, made.into_pointer()) }),
        Err(Stop::Bytes(error)) => Err(Ok(error)),
        Err(Stop::Visitor(Raised)) => Err(Err(PyErr::fetch(py))),
    }
}
