//! The visitor that builds Python objects.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. The GIL is held from `Plan::decode` to the end. No Python code that runs in between can see the objects that are
//!    being built: nothing refers to them, and the garbage collector tracks none of them before it is complete.
//! 2. Every object that is built becomes part of the message at once and is released only when the call fails, after
//!    which no cache is read. Therefore caches hold borrowed pointers, unless they outlive the call
//!    (`unsafe_caches`).
//! 3. A slot is written once, at the offset that its own descriptor names (`slot_offset`). Until then it is null, so
//!    that an incomplete object can be released.

use std::ptr::NonNull;

use kwire::Stop;
use kwire::decode::{Matcher, Text, UniformLayout, Visitor, unpack};
use kwire::plan::{Primitive, Struct};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::memo::{ShortKey, hash};
use crate::unsafe_caches::{Caches, MAX_CACHED};
use crate::unsafe_constants::Constants;
use crate::unsafe_layout::{Layout, TagsLayout, Uuids, write};
use crate::unsafe_owned::{Owned, Raised};
use crate::unsafe_uniform::new_objects;

/// A struct that is being built: a complete object with null in the slots that have not been set.
pub(crate) struct Draft<'a> {
    object: Owned,
    layout: &'a Layout,
}

/// An array that is being built: a tuple, filled from the left, with null in the other places.
pub(crate) struct Items {
    tuple: Owned,
}

impl Items {
    /// Return the address of the first element.
    pub(crate) fn elements(&self) -> *mut *mut ffi::PyObject {
        // SAFETY: the object is a live tuple. Only an address is computed.
        unsafe { (&raw mut (*self.tuple.pointer().as_ptr().cast::<ffi::PyTupleObject>()).ob_item).cast() }
    }
}

/// Builds Python objects.
pub(crate) struct Builder<'a, 'py> {
    py: Python<'py>,
    pub(crate) layouts: &'a [Layout],
    pub(crate) input: &'a [u8],
    pub(crate) caches: &'a mut Caches,
    pub(crate) constants: &'static Constants,
    last_short_array: Option<(ShortKey, NonNull<ffi::PyObject>)>,
    last_array: Option<(Primitive, &'a [u8], NonNull<ffi::PyObject>)>,
    /// The hash of the last array of structs that was looked up.
    pub(crate) last_hash: u64,
    /// The unknown tags of the last struct that has some, and their bytes.
    last_tags: Option<(Vec<u8>, NonNull<ffi::PyObject>)>,
    tracked: bool,
}

/// The longest unknown tags in bytes that are compared with those of the next struct.
const MAX_REMEMBERED_TAGS: usize = 4096;

impl<'a, 'py> Builder<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, layouts: &'a [Layout], input: &'a [u8], caches: &'a mut Caches) -> Self {
        caches.begin(input);
        // If instances of one class can be part of a cycle, the garbage collector must track everything that may hold
        // one.
        let tracked = layouts.iter().any(Layout::is_tracked);
        Self {
            py,
            layouts,
            input,
            caches,
            constants: Constants::get(py),
            last_short_array: None,
            last_array: None,
            last_hash: 0,
            last_tags: None,
            tracked,
        }
    }

    pub(crate) fn start_of(&self, bytes: &[u8]) -> usize {
        bytes.as_ptr() as usize - self.input.as_ptr() as usize
    }

    #[inline(never)]
    pub(crate) fn large_integer(&mut self, value: i64) -> Result<Owned, Raised> {
        // SAFETY: both calls return a new reference, or null with an exception set. Cached objects are alive by
        // invariant 2.
        unsafe {
            let Ok(number) = i32::try_from(value) else {
                return Owned::new(ffi::PyLong_FromLongLong(value));
            };
            if let Some(kept) = self.caches.integer(number) {
                return Ok(Owned::borrowed(kept));
            }
            let made = Owned::new(ffi::PyLong_FromLongLong(value))?;
            self.caches.keep_integer(number, made.pointer());
            Ok(made)
        }
    }

    fn tuple(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<Owned, Raised> {
        let items = self.new_tuple(bytes.len() / kind.size())?;
        unpack(kind, bytes, self, |index, item| {
            // SAFETY: `index` is below the number of elements, and nothing else refers to the tuple.
            unsafe { items.elements().add(index).write(item.into_pointer()) };
        })?;
        // Numbers and uuids cannot be part of a cycle, so the tuple need not be tracked.
        Ok(items.tuple)
    }

    /// Build a short int32 array, and keep it for others with the same key.
    #[inline(never)]
    fn new_short_array(&mut self, key: ShortKey, bytes: &'a [u8]) -> Result<Owned, Raised> {
        let made = self.tuple(Primitive::Int32, bytes)?;
        // SAFETY: the tuple is complete and has exact ints only. The GIL is held (invariant 1).
        unsafe { self.caches.keep_short_array(key, made.pointer()) };
        Ok(made)
    }

    #[inline]
    fn short_array(&mut self, key: ShortKey, bytes: &'a [u8]) -> Result<Owned, Raised> {
        let made = match self.caches.short_array(key) {
            // SAFETY: the table owns the tuple.
            Some(found) => unsafe { Owned::borrowed(found) },
            None => self.new_short_array(key, bytes)?,
        };
        self.last_short_array = Some((key, made.pointer()));
        Ok(made)
    }

    pub(crate) fn other_array(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<Owned, Raised> {
        match self.last_array {
            // SAFETY: the object is alive by invariant 2.
            Some((before, of, tuple)) if before == kind && of == bytes => Ok(unsafe { Owned::borrowed(tuple) }),
            _ => {
                let made = self.tuple(kind, bytes)?;
                self.last_array = Some((kind, bytes, made.pointer()));
                Ok(made)
            }
        }
    }

    /// Create unknown tags. In most messages with unknown tags, many structs have the same.
    pub(crate) fn tags(&mut self, raw: &[u8]) -> Result<Owned, Raised> {
        if let Some((of, tags)) = &self.last_tags
            && of == raw
        {
            // SAFETY: the object is alive by invariant 2.
            return Ok(unsafe { Owned::borrowed(*tags) });
        }
        let made = TagsLayout::get(self.py).and_then(|layout| layout.new_tags(self.py, raw));
        // SAFETY: takes over the new reference.
        let made = made
            .map_err(|error| raise(self.py, error))
            .and_then(|made| unsafe { Owned::new(made.into_ptr()) })?;
        if raw.len() <= MAX_REMEMBERED_TAGS {
            self.last_tags = Some((raw.to_vec(), made.pointer()));
        }
        Ok(made)
    }

    /// Create a tuple of null elements, which the garbage collector does not track yet.
    #[inline]
    pub(crate) fn new_tuple(&mut self, count: usize) -> Result<Items, Raised> {
        // SAFETY: the call returns a new tuple with null elements, or null with an exception set. The count fits, because
        // the input has at least that many bytes. No collection takes place between its creation and its untracking.
        unsafe {
            if count == 0 {
                let tuple = Owned::borrowed(self.constants.empty_tuple);
                return Ok(Items { tuple });
            }
            let tuple = Owned::new(ffi::PyTuple_New(count.cast_signed()))?;
            ffi::PyObject_GC_UnTrack(tuple.pointer().as_ptr().cast());
            Ok(Items { tuple })
        }
    }

    /// Return a complete array.
    #[inline(always)]
    pub(crate) fn complete(&self, array: Items) -> Owned {
        // Without classes that have a garbage collector header, the tuple cannot be part of a cycle.
        if self.tracked {
            self.track(array.tuple.pointer());
        }
        array.tuple
    }

    /// Let the garbage collector track a complete object whose class has its header.
    #[cold]
    fn track(&self, object: NonNull<ffi::PyObject>) {
        let object = object.as_ptr();
        // SAFETY: the object is alive and has a header. The empty tuple is never tracked.
        unsafe {
            if object != self.constants.empty_tuple.as_ptr() && ffi::PyObject_GC_IsTracked(object) == 0 {
                ffi::PyObject_GC_Track(object.cast());
            }
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
        // The interpreter has one object for each small number. Computing its address costs less than asking for it.
        match self.constants.small(value) {
            // SAFETY: small integers are never freed.
            Some(small) => Ok(unsafe { Owned::borrowed(small) }),
            None => self.large_integer(value),
        }
    }

    #[inline]
    fn boolean(&mut self, value: bool) -> Result<Owned, Raised> {
        // SAFETY: True and False are never freed.
        unsafe { Owned::new(ffi::Py_NewRef(if value { ffi::Py_True() } else { ffi::Py_False() })) }
    }

    fn float(&mut self, value: f64) -> Result<Owned, Raised> {
        // SAFETY: the call returns a new reference, or null with an exception set.
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
        // SAFETY: `bytes` are UTF-8, and ASCII if `is_ascii` says so. A compact ASCII string of their length has
        // exactly as many bytes at its data pointer, and nothing else refers to it yet. Strings of less than two
        // characters are shared by the interpreter, so they are not written to.
        unsafe {
            if text.is_ascii() && bytes.len() > 1 {
                let made = Owned::new(ffi::PyUnicode_New(bytes.len().cast_signed(), 127))?;
                let data = ffi::PyUnicode_DATA(made.pointer().as_ptr()).cast::<u8>();
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
        // SAFETY: the call copies the bytes into a new object, or returns null with an exception set.
        unsafe {
            Owned::new(ffi::PyBytes_FromStringAndSize(
                bytes.as_ptr().cast(),
                bytes.len().cast_signed(),
            ))
        }
    }

    #[inline]
    fn null(&mut self) -> Result<Owned, Raised> {
        // SAFETY: None is never freed.
        unsafe { Owned::new(ffi::Py_NewRef(ffi::Py_None())) }
    }

    #[inline(always)]
    fn packed(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<Owned, Raised> {
        if kind == Primitive::Int32 {
            if let Some(key) = ShortKey::new(bytes) {
                // First compare with the previous array: the ISR of a partition usually equals its replicas.
                return match self.last_short_array {
                    // SAFETY: the object is alive by invariant 2.
                    Some((before, tuple)) if before == key => Ok(unsafe { Owned::borrowed(tuple) }),
                    _ => self.short_array(key, bytes),
                };
            }
            if bytes.is_empty() {
                return Ok(self.new_tuple(0)?.tuple);
            }
        }
        self.other_array(kind, bytes)
    }

    #[inline]
    fn begin_array(&mut self, count: usize) -> Result<Items, Raised> {
        self.new_tuple(count)
    }

    #[inline(always)]
    fn item(&mut self, array: &mut Items, index: usize, value: Owned) {
        // SAFETY: the decoder counts from 0 to below the `count` of `begin_array`, and nothing else refers to the
        // tuple.
        unsafe { array.elements().add(index).write(value.into_pointer()) };
    }

    #[inline(always)]
    fn end_array(&mut self, array: Items) -> Result<Owned, Raised> {
        Ok(self.complete(array))
    }

    #[inline]
    fn begin_struct(&mut self, plan: &'a Struct) -> Result<Draft<'a>, Raised> {
        let layout = &self.layouts[plan.index];
        // SAFETY: an instance of an adopted class is allocated as `PyType_GenericAlloc` would do it. The template has
        // the initial words of an instance, and the references in it are counted here. Instances of other classes come
        // from their own allocator.
        unsafe {
            let object = if layout.adopted {
                let mut object = std::ptr::null_mut();
                new_objects(layout, &raw mut object, 1)?;
                object
            } else {
                let object = ffi::PyType_GenericAlloc(layout.type_pointer(), 0);
                if object.is_null() {
                    return Err(Raised);
                }
                if ffi::PyObject_IS_GC(object) != 0 {
                    ffi::PyObject_GC_UnTrack(object.cast());
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
        // SAFETY: the position is one of the plan's fields. For each of them the layout has the offset of a slot of
        // this class, which has not been written yet (invariant 3).
        unsafe {
            let offset = *body.layout.offsets.get_unchecked(position);
            write(body.object.pointer().as_ptr(), offset, value.into_pointer());
        }
    }

    fn tagged_field(&mut self, body: &mut Draft<'a>, _: &'a Struct, position: usize, value: Owned) {
        // SAFETY: the slot has held the default since `begin_struct`, so replacing it returns an owned reference. The
        // default stays alive in the layout.
        unsafe {
            let slot = body
                .object
                .pointer()
                .as_ptr()
                .byte_add(body.layout.offsets[position])
                .cast::<*mut ffi::PyObject>();
            ffi::Py_DECREF(slot.replace(value.into_pointer()));
        }
    }

    fn unknown_tags(&mut self, body: &mut Draft<'a>, _: &'a Struct, raw: &[u8]) -> Result<(), Raised> {
        let made = self.tags(raw)?;
        // SAFETY: as in `tagged_field`.
        unsafe {
            let slot = body
                .object
                .pointer()
                .as_ptr()
                .byte_add(body.layout.unknown_tags)
                .cast::<*mut ffi::PyObject>();
            ffi::Py_DECREF(slot.replace(made.into_pointer()));
        }
        Ok(())
    }

    #[inline(always)]
    fn end_struct(&mut self, body: Draft<'a>, _: &'a Struct) -> Result<Owned, Raised> {
        // SAFETY: the object is alive.
        if self.tracked && unsafe { ffi::PyObject_IS_GC(body.object.pointer().as_ptr()) } != 0 {
            self.track(body.object.pointer());
        }
        Ok(body.object)
    }

    const UNIFORM: bool = true;

    #[inline(always)]
    fn last_layout(&mut self, plan: &'a Struct) -> Option<&mut Option<Matcher>> {
        self.caches.layouts.get_mut(plan.index)
    }

    #[inline(always)]
    fn takes_uniform(&self, _: &'a Struct) -> bool {
        !self.tracked
    }

    fn uniform_items(
        &mut self,
        array: &mut Items,
        index: usize,
        plan: &'a Struct,
        count: usize,
        bytes: &'a [u8],
        layout: &UniformLayout,
    ) -> Result<(), Raised> {
        // SAFETY: the decoder counts from 0 to below the `count` of `begin_array`, so these elements are null. All
        // classes are adopted, because the message is not tracked.
        unsafe { self.build_uniform(array.elements().add(index), count, plan, bytes, layout) }
    }

    #[inline]
    fn cached_array(&mut self, plan: &'a Struct, bytes: &'a [u8]) -> Option<Owned> {
        self.find_array(plan, bytes)
    }

    #[inline]
    fn cache_array(&mut self, plan: &'a Struct, bytes: &'a [u8], value: &Owned) {
        self.keep_array(plan, bytes, None, value);
    }

    #[inline(always)]
    fn cached_struct(&mut self, plan: &'a Struct, rest: &'a [u8]) -> Option<(Owned, usize)> {
        let start = self.start_of(rest);
        let cache = self.caches.structs.get_mut(plan.index)?;
        if !cache.memo.on || cache.length == 0 {
            return None;
        }
        let bytes = rest.get(..cache.length)?;
        let hash = cache.look_ahead(self.input, rest, start);
        let found = cache.memo.get(self.input, bytes, hash)?;
        // SAFETY: the object is alive by invariant 2.
        Some((unsafe { Owned::borrowed(found) }, bytes.len()))
    }

    #[inline(always)]
    fn cache_struct(&mut self, plan: &'a Struct, bytes: &'a [u8], value: &Owned) {
        let start = self.start_of(bytes);
        let Some(cache) = self.caches.structs.get_mut(plan.index) else {
            return;
        };
        if cache.memo.on && bytes.len() <= MAX_CACHED {
            cache.length = bytes.len();
            cache.memo.put(start, bytes, hash(bytes), value.pointer());
        }
    }
}

/// Set an exception.
#[cold]
fn raise(py: Python<'_>, error: PyErr) -> Raised {
    error.restore(py);
    Raised
}

/// Decode `input` and return the message, or the error of the bytes or of Python.
pub(crate) fn build<'py>(
    py: Python<'py>,
    plan: &kwire::Plan,
    layouts: &[Layout],
    input: &[u8],
    caches: &mut Caches,
) -> Result<Bound<'py, PyAny>, Result<Box<kwire::DecodeError>, PyErr>> {
    let mut builder = Builder::new(py, layouts, input, caches);
    match kwire::decode::decode(plan, input, &mut builder) {
        // SAFETY: transfers the owned reference.
        Ok(made) => Ok(unsafe { Bound::from_owned_ptr(py, made.into_pointer()) }),
        Err(Stop::Bytes(error)) => Err(Ok(error)),
        Err(Stop::Visitor(Raised)) => Err(Err(PyErr::fetch(py))),
    }
}
