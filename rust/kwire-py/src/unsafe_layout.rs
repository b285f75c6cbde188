//! The memory layout of the instances of a class, determined once for each plan.
//!
//! Offsets come from the slot descriptors of the class (`slot_offset`). A layout keeps alive what its template refers
//! to. `uuid.UUID` has a layout here, too, because calling its constructor takes longer than decoding a whole topic.

use kwire::plan::{Literal, Struct};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyString, PyType};

use crate::unsafe_constants::Constants;
use crate::unsafe_instances::is_adopted;
use crate::unsafe_objects::slot_offset;

/// A class and the offsets of its slots.
pub(crate) struct Layout {
    pub(crate) class: Py<PyType>,
    /// The offsets of the plan's fields, by position.
    pub(crate) offsets: Vec<usize>,
    pub(crate) unknown_tags: usize,
    /// Slots that have the same value in every instance unless a tag is present: tagged and absent fields.
    pub(crate) defaults: Vec<(usize, Py<PyAny>)>,
    /// The offsets and defaults of absent fields, for encoding.
    pub(crate) absent: Vec<(usize, Py<PyAny>)>,
    pub(crate) adopted: bool,
    /// The words of an instance of an adopted class before its fields are set: the header, defaults, and null.
    pub(crate) template: Vec<*mut ffi::PyObject>,
}

// SAFETY: `class` and `defaults` keep the objects of the template alive, which are used only while the GIL is held.
unsafe impl Send for Layout {}
// SAFETY: as above.
unsafe impl Sync for Layout {}

impl Layout {
    /// Determine the layout of `class` for a struct of a plan. `given` has the defaults of the fields that the plan
    /// lacks and of tagged structs, by name.
    pub(crate) fn new(plan: &Struct, class: &Bound<'_, PyType>, given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let py = class.py();
        let offset_of = |name: &str| slot_offset(class, &PyString::new(py, name));
        let offsets = plan
            .named()
            .map(|field| offset_of(&field.name))
            .collect::<PyResult<Vec<_>>>()?;
        let mut defaults = Vec::new();
        for tagged in &plan.tagged {
            let default = match &tagged.default {
                Literal::Struct | Literal::Fields(_) => given.as_any().get_item(&*tagged.field.name)?.unbind(),
                value => literal(py, value)?,
            };
            defaults.push((offset_of(&tagged.field.name)?, default));
        }
        let mut held_absent = Vec::new();
        for field in &plan.absent {
            let default = given.as_any().get_item(&*field.name)?.unbind();
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

    /// Report the references to the garbage collector.
    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.class)?;
        self.defaults
            .iter()
            .chain(&self.absent)
            .try_for_each(|(_, default)| visit.call(default))
    }

    /// Return whether the garbage collector must track instances, because they can be part of a cycle.
    pub(crate) fn is_tracked(&self) -> bool {
        !self.adopted
    }

    pub(crate) fn type_pointer(&self) -> *mut ffi::PyTypeObject {
        self.class.as_ptr().cast()
    }
}

/// Return the words of a new instance of an adopted class, which has a plain header (`unsafe_objects`, invariant 1).
fn template(_: Python<'_>, class: *mut ffi::PyTypeObject, defaults: &[(usize, Py<PyAny>)]) -> Vec<*mut ffi::PyObject> {
    // SAFETY: `class` is a live type. The words are those of an object that does not exist yet. Its reference count is
    // set as in a new object, and no references are counted here.
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

/// Return a default as a Python object.
fn literal(py: Python<'_>, literal: &Literal) -> PyResult<Py<PyAny>> {
    Ok(match literal {
        Literal::Null | Literal::Struct | Literal::Fields(_) => py.None(),
        Literal::Bool(value) => value.into_pyobject(py)?.to_owned().into_any().unbind(),
        Literal::Int(value) => value.into_pyobject(py)?.into_any().unbind(),
        Literal::Float(value) => value.into_pyobject(py)?.into_any().unbind(),
        Literal::Text(value) => PyString::new(py, value).into_any().unbind(),
        Literal::Bytes(value) => PyBytes::new(py, value).into_any().unbind(),
        Literal::Uuid(value) => Uuids::get(py)?.zero_or_new(py, *value)?,
        Literal::EmptyArray => pyo3::types::PyTuple::empty(py).into_any().unbind(),
    })
}

/// Return the shared mapping of objects without unknown tags.
pub(crate) fn no_tags(py: Python<'_>) -> PyResult<&Py<PyAny>> {
    static NO_TAGS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    NO_TAGS.get_or_try_init(py, || {
        Ok(py.import("kwire.declare.unknown_tags")?.getattr("NO_TAGS")?.unbind())
    })
}

/// Return the class of unknown tags.
pub(crate) fn unknown_tags_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "kwire.declare.unknown_tags", "UnknownTags")
}

/// Creates unknown tags without calling the constructor.
pub(crate) struct TagsLayout {
    class: Py<PyType>,
    raw: usize,
    by_tag: usize,
}

impl TagsLayout {
    pub(crate) fn get(py: Python<'_>) -> PyResult<&Self> {
        static LAYOUT: PyOnceLock<TagsLayout> = PyOnceLock::new();
        LAYOUT.get_or_try_init(py, || {
            let class = unknown_tags_class(py)?;
            check_collected(class)?;
            Ok(Self {
                class: class.clone().unbind(),
                raw: slot_offset(class, &PyString::new(py, "_raw"))?,
                by_tag: slot_offset(class, &PyString::new(py, "_by_tag"))?,
            })
        })
    }

    /// Create unknown tags from their bytes, as the constructor would.
    pub(crate) fn new_tags(&self, py: Python<'_>, raw: &[u8]) -> PyResult<Py<PyAny>> {
        let raw = PyBytes::new(py, raw);
        // SAFETY: the class has a garbage collector header, as `get` has checked. The descriptors named
        // both offsets, and each slot takes over one reference. Bytes cannot be part of a cycle, so the instance
        // need not be tracked.
        unsafe {
            let made = new_instance(py, &self.class)?;
            write(made.as_ptr(), self.raw, raw.into_ptr());
            write(made.as_ptr(), self.by_tag, py.None().into_ptr());
            Ok(made.unbind())
        }
    }
}

/// Return an error if instances of a class have no garbage collector header.
fn check_collected(class: &Bound<'_, PyType>) -> PyResult<()> {
    // SAFETY: the class is alive.
    if unsafe { ffi::PyType_IS_GC(class.as_type_ptr()) } == 0 {
        return Err(PyTypeError::new_err(format!("{class} has no garbage collector header")));
    }
    Ok(())
}

/// Create an instance with empty slots, which the garbage collector does not track.
///
/// # Safety
/// The class is a heap type with a garbage collector header, and its instances consist of slots.
unsafe fn new_instance<'py>(py: Python<'py>, class: &Py<PyType>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the new object has its class and one reference. All words after them are cleared here before anything else
    // can see the object.
    unsafe {
        let class: *mut ffi::PyTypeObject = class.as_ptr().cast();
        let made = Bound::from_owned_ptr_or_err(py, ffi::PyObject_GC_New::<ffi::PyObject>(class))?;
        let slots = usize::try_from((*class).tp_basicsize).unwrap_or(0) - size_of::<ffi::PyObject>();
        let first = made.as_ptr().byte_add(size_of::<ffi::PyObject>());
        first.cast::<u8>().write_bytes(0, slots);
        Ok(made)
    }
}

/// Creates and reads `uuid.UUID` objects without calling the constructor, which takes longer than decoding a whole
/// topic.
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
            check_collected(&class)?;
            Ok(Self {
                number: slot_offset(&class, &PyString::new(py, "int"))?,
                is_safe: slot_offset(&class, &PyString::new(py, "is_safe"))?,
                unknown_safety: module.getattr("SafeUUID")?.getattr("unknown")?.unbind(),
                zero: py
                    .import("kwire.declare.fields")?
                    .getattr("zero_uuid")?
                    .call0()?
                    .unbind(),
                class: class.unbind(),
            })
        })
    }

    /// Return whether two objects are uuids with the same number.
    ///
    /// # Safety
    /// Both objects are alive.
    pub(crate) unsafe fn same(&self, a: *mut ffi::PyObject, b: *mut ffi::PyObject) -> bool {
        // SAFETY: both objects are alive. The slot is read only if both are instances of `uuid.UUID`.
        unsafe {
            let class: *mut ffi::PyTypeObject = self.class.as_ptr().cast();
            if ffi::Py_TYPE(a) != class || ffi::Py_TYPE(b) != class {
                return false;
            }
            let number = |uuid: *mut ffi::PyObject| uuid.byte_add(self.number).cast::<*mut ffi::PyObject>().read();
            let (a, b) = (number(a), number(b));
            // Comparing exact ints runs no Python code.
            !a.is_null()
                && !b.is_null()
                && ffi::PyLong_CheckExact(a) != 0
                && ffi::PyLong_CheckExact(b) != 0
                && ffi::PyObject_RichCompareBool(a, b, ffi::Py_EQ) == 1
        }
    }

    pub(crate) fn zero_or_new(&self, py: Python<'_>, bytes: [u8; 16]) -> PyResult<Py<PyAny>> {
        if bytes == [0; 16] {
            return Ok(self.zero.clone_ref(py));
        }
        let number = Constants::get(py).digits.new_int(py, u128::from_be_bytes(bytes));
        let number = number.ok_or_else(|| PyErr::fetch(py))?;
        // SAFETY: takes over the new reference. `class` is `uuid.UUID`, which has a garbage collector header, as `get` has
        // checked. The descriptors named both offsets, and each slot takes over one reference. The
        // instance cannot be part of a cycle, so it need not be tracked.
        unsafe {
            let number = Bound::from_owned_ptr(py, number.as_ptr());
            let made = new_instance(py, &self.class)?;
            write(made.as_ptr(), self.number, number.into_ptr());
            write(
                made.as_ptr(),
                self.is_safe,
                self.unknown_safety.clone_ref(py).into_ptr(),
            );
            Ok(made.unbind())
        }
    }
}

/// Store a reference in an empty slot.
///
/// # Safety
/// A descriptor of the object's class named the offset. The slot takes over the reference.
#[inline(always)]
pub(crate) unsafe fn write(object: *mut ffi::PyObject, offset: usize, value: *mut ffi::PyObject) {
    // SAFETY: the caller ensures that the offset belongs to a slot of the object.
    unsafe { object.byte_add(offset).cast::<*mut ffi::PyObject>().write(value) }
}

/// Set the reference count of a new object to 1.
///
/// # Safety
/// Nothing else refers to the object.
#[inline(always)]
unsafe fn set_first_reference(object: *mut ffi::PyObject) {
    // A build without a GIL has two counts. It adopts no class, so it has no templates.
    #[cfg(Py_GIL_DISABLED)]
    let _ = object;
    // SAFETY: nothing else refers to the object, and this field is its reference count.
    #[cfg(not(Py_GIL_DISABLED))]
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

/// Increment the reference count.
///
/// # Safety
/// The object is alive.
#[inline(always)]
pub(crate) unsafe fn count(object: *mut ffi::PyObject) {
    // SAFETY: the object is alive. The count cannot overflow, because each reference takes eight bytes of memory. A
    // wrapping addition is one instruction instead of four, and there are ten of them for each partition.
    unsafe {
        #[cfg(Py_3_12)]
        ffi::Py_INCREF(object);
        #[cfg(not(Py_3_12))]
        {
            (*object).ob_refcnt = (*object).ob_refcnt.wrapping_add(1);
        }
    }
}

/// Increment the reference count by `number`.
///
/// # Safety
/// The object is alive.
#[inline(always)]
pub(crate) unsafe fn count_many(object: *mut ffi::PyObject, number: usize) {
    // SAFETY: the object is alive. Up to 3.11 the count cannot overflow, as in `count`. Since 3.12 the count has 32 bits,
    // and from half of their range on the object is immortal and its count does not change any more.
    unsafe {
        #[cfg(any(
            Py_GIL_DISABLED,
            all(Py_3_12, not(all(target_pointer_width = "64", target_endian = "little")))
        ))]
        for _ in 0..number {
            ffi::Py_INCREF(object);
        }
        #[cfg(all(Py_3_12, not(Py_GIL_DISABLED), target_pointer_width = "64", target_endian = "little"))]
        {
            let low = (&raw mut (*object).ob_refcnt).cast::<u32>();
            let held = low.read();
            if held.cast_signed() >= 0 {
                low.write(held.saturating_add(u32::try_from(number).unwrap_or(u32::MAX)));
            }
        }
        #[cfg(not(any(Py_3_12, Py_GIL_DISABLED)))]
        {
            (*object).ob_refcnt = (*object).ob_refcnt.wrapping_add(number.cast_signed());
        }
    }
}

/// Decrement the reference count unless it is 1. Returns whether it was not.
///
/// # Safety
/// The object is alive, and the caller owns a reference, which is released if the result is true.
#[inline(always)]
pub(crate) unsafe fn uncount(object: *mut ffi::PyObject) -> bool {
    // SAFETY: the object is alive. The count does not become 0 here. Since 3.12 the count of an immortal object, which is
    // negative as a number of 32 bits, does not change.
    unsafe {
        #[cfg(not(any(Py_3_12, Py_GIL_DISABLED)))]
        {
            let held = (*object).ob_refcnt;
            if held == 1 {
                return false;
            }
            (*object).ob_refcnt = held.wrapping_sub(1);
        }
        #[cfg(all(Py_3_12, not(Py_GIL_DISABLED), target_pointer_width = "64", target_endian = "little"))]
        {
            let low = (&raw mut (*object).ob_refcnt).cast::<u32>();
            let held = low.read();
            if held == 1 {
                return false;
            }
            if held.cast_signed() >= 0 {
                low.write(held.wrapping_sub(1));
            }
        }
        #[cfg(any(
            Py_GIL_DISABLED,
            all(Py_3_12, not(all(target_pointer_width = "64", target_endian = "little")))
        ))]
        {
            if ffi::Py_REFCNT(object) == 1 {
                return false;
            }
            ffi::Py_DECREF(object);
        }
    }
    true
}

/// Release `number` references, at least one, unless they are the last ones: then one is left. Returns whether they
/// were not.
///
/// # Safety
/// The object is alive, and the caller owns the references. If the result is false, the caller owns the last
/// reference.
#[inline(always)]
pub(crate) unsafe fn uncount_many(object: *mut ffi::PyObject, number: usize) -> bool {
    // SAFETY: as in `uncount`. The count is not less than `number`.
    unsafe {
        #[cfg(not(any(Py_3_12, Py_GIL_DISABLED)))]
        {
            let others = (*object).ob_refcnt.wrapping_sub(number.cast_signed());
            (*object).ob_refcnt = others.max(1);
            others > 0
        }
        #[cfg(all(Py_3_12, not(Py_GIL_DISABLED), target_pointer_width = "64", target_endian = "little"))]
        {
            let low = (&raw mut (*object).ob_refcnt).cast::<u32>();
            let held = low.read();
            if held.cast_signed() < 0 {
                return true;
            }
            let others = held.saturating_sub(u32::try_from(number).unwrap_or(u32::MAX));
            low.write(others.max(1));
            others > 0
        }
        #[cfg(any(
            Py_GIL_DISABLED,
            all(Py_3_12, not(all(target_pointer_width = "64", target_endian = "little")))
        ))]
        {
            for _ in 1..number {
                ffi::Py_DECREF(object);
            }
            uncount(object)
        }
    }
}
