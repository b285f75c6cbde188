//! Where instances of a class hold what: read once for each plan, used for every object.
//!
//! Rules of this file: offsets come from the class's own slot descriptors (`slot_offset`), never from counting. What a
//! template refers to is kept alive by the layout beside it. `uuid.UUID` is laid out here too, since calling it costs
//! more than a whole topic.

use kwire::plan::{Literal, Struct};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyType};

use crate::unsafe_objects::{is_adopted, slot_offset};

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
    pub(crate) adopted: bool,
    /// An instance of an adopted class before its fields came: header, defaults, null elsewhere.
    pub(crate) template: Vec<*mut ffi::PyObject>,
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

    pub(crate) fn zero_or_new(&self, py: Python<'_>, bytes: [u8; 16]) -> PyResult<Py<PyAny>> {
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
pub(crate) unsafe fn write(object: *mut ffi::PyObject, offset: usize, value: *mut ffi::PyObject) {
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
pub(crate) unsafe fn count(object: *mut ffi::PyObject) {
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
