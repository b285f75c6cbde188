//! The interpreters that may load the module: the main one of a CPython whose object layouts are the expected ones.
//!
//! The types of the module, the classes that it imports, and the objects that its plans hold are created once per
//! process. Objects of one interpreter are of no use in another one: its classes are different, and an interpreter that
//! ends frees what it owns. The main interpreter outlives all others, so a module that belongs to it stays valid.
//!
//! The engine reads and writes objects at offsets that were fixed when it was compiled. They differ between minor
//! versions, and nothing stops a module of one version from being loaded by another, or a later CPython from being
//! accepted by the bindings before its sources were reviewed. Each assumption that can be measured without relying
//! on it is therefore measured at import. What cannot be measured, such as the order in which CPython clears an object,
//! was reviewed for the versions up to `NEWEST`.
//!
//! Other interpreters get an `ImportError`, and the package falls back to its reference codec there. The layout of
//! ints and the addresses of small ints are not checked here: `unsafe_digits` and `unsafe_constants` measure them and do
//! without.

use std::ffi::{c_int, c_ulong, c_void};
use std::mem::size_of;

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyString, PyTuple, PyType};

use crate::unsafe_layout::{count, count_many, uncount, uncount_many};
use crate::unsafe_objects::{HEADER, MANAGED, MemberDescriptor, SLOT, elements, slot_offset};

/// The minor version of the newest CPython 3 whose sources were compared with the assumptions of the engine.
const NEWEST: u8 = 15;

/// Raise `ImportError` in a sub-interpreter. Must precede the creation of any object that outlives the call.
pub(crate) fn require_main_interpreter(_: Python<'_>) -> PyResult<()> {
    // SAFETY: the GIL is held, so the current thread belongs to an interpreter. The pointers are only compared.
    let is_main = unsafe { ffi::PyInterpreterState_Get() == ffi::PyInterpreterState_Main() };
    if is_main {
        Ok(())
    } else {
        Err(PyImportError::new_err(
            "kwire._kwire supports only the main interpreter, and this is a sub-interpreter",
        ))
    }
}

/// Raise `ImportError` if the version or a layout of the running CPython is not the expected one. Must precede any use
/// of an object's layout.
pub(crate) fn require_known_layout(py: Python<'_>) -> PyResult<()> {
    check_version(py)?;
    // The sizes come first: they guarantee that the later checks read inside of objects.
    check_sizes(py)?;
    let class = probe(py, Some(("first", "second")))?;
    check_type(&class)?;
    check_slots(&class)?;
    check_values(py)?;
    check_reference_counts(py)
}

fn require(expected: bool, problem: impl FnOnce() -> String) -> PyResult<()> {
    if expected {
        return Ok(());
    }
    Err(PyImportError::new_err(format!(
        "kwire._kwire does not know the objects of this interpreter: {}",
        problem()
    )))
}

fn check_version(py: Python<'_>) -> PyResult<()> {
    let built: u8 = env!("PYTHON_MINOR").parse()?;
    let version = py.import("sys")?.getattr("version_info")?;
    let (major, minor) = (
        version.get_item(0)?.extract::<u8>()?,
        version.get_item(1)?.extract::<u8>()?,
    );
    require((major, minor) == (3, built), || {
        format!("it is CPython {major}.{minor}, expected 3.{built}")
    })?;
    require(minor <= NEWEST, || {
        format!("it is CPython {major}.{minor}, expected 3.{NEWEST} at most")
    })
}

/// Compare the sizes that classes report with those of the structs here.
fn check_sizes(py: Python<'_>) -> PyResult<()> {
    let sizes = [
        ("builtins", "object", "__basicsize__", size_of::<ffi::PyObject>()),
        ("builtins", "float", "__basicsize__", size_of::<ffi::PyFloatObject>()),
        // The struct contains one item, the size does not.
        (
            "builtins",
            "tuple",
            "__basicsize__",
            size_of::<ffi::PyTupleObject>() - SLOT,
        ),
        ("builtins", "tuple", "__itemsize__", SLOT),
        (
            "types",
            "MemberDescriptorType",
            "__basicsize__",
            size_of::<MemberDescriptor>(),
        ),
    ];
    for (module, name, attribute, expected) in sizes {
        let size: usize = py.import(module)?.getattr(name)?.getattr(attribute)?.extract()?;
        require(size == expected, || {
            format!("{name}.{attribute} is {size}, expected {expected}")
        })?;
    }
    Ok(())
}

/// Create a class with two slots, or one with a dict and weak references.
fn probe<'py>(py: Python<'py>, slots: Option<(&str, &str)>) -> PyResult<Bound<'py, PyType>> {
    let namespace = PyDict::new(py);
    if let Some(slots) = slots {
        namespace.set_item("__slots__", slots)?;
    }
    let class = py
        .get_type::<PyType>()
        .call1(("Probe", PyTuple::empty(py), namespace))?;
    Ok(class.cast_into::<PyType>()?)
}

/// Return the flags in a class, which are atomic on builds without a GIL.
///
/// # Safety
/// The class is alive.
unsafe fn flags(class: *mut ffi::PyTypeObject) -> c_ulong {
    // SAFETY: the class is alive. An atomic number has the layout of the number.
    unsafe { (&raw const (*class).tp_flags).cast::<c_ulong>().read() }
}

/// Compare the fields of a class that `adopt` reads and writes with what the interpreter's own functions return.
fn check_type(class: &Bound<'_, PyType>) -> PyResult<()> {
    let py = class.py();
    let plain = probe(py, None)?;
    for class in [class, &plain] {
        // SAFETY: a live class. `PyType_GetSlot` returns the function or the class in a slot, or null.
        let (numbers, slots) = unsafe {
            let kind = class.as_type_ptr();
            let slot = |id: c_int| ffi::PyType_GetSlot(kind, id);
            let numbers = [
                ("__basicsize__", (*kind).tp_basicsize),
                ("__itemsize__", (*kind).tp_itemsize),
                ("__dictoffset__", (*kind).tp_dictoffset),
                ("__weakrefoffset__", (*kind).tp_weaklistoffset),
                ("__flags__", isize::try_from(flags(kind)).unwrap_or(-1)),
            ];
            let slots = [
                ("tp_alloc", address((*kind).tp_alloc), slot(ffi::Py_tp_alloc)),
                ("tp_base", (*kind).tp_base.cast(), slot(ffi::Py_tp_base)),
                ("tp_clear", address((*kind).tp_clear), slot(ffi::Py_tp_clear)),
                ("tp_dealloc", address((*kind).tp_dealloc), slot(ffi::Py_tp_dealloc)),
                ("tp_del", address((*kind).tp_del), slot(ffi::Py_tp_del)),
                ("tp_finalize", address((*kind).tp_finalize), slot(ffi::Py_tp_finalize)),
                ("tp_free", address((*kind).tp_free), slot(ffi::Py_tp_free)),
                ("tp_hash", address((*kind).tp_hash), slot(ffi::Py_tp_hash)),
                (
                    "tp_richcompare",
                    address((*kind).tp_richcompare),
                    slot(ffi::Py_tp_richcompare),
                ),
                ("tp_traverse", address((*kind).tp_traverse), slot(ffi::Py_tp_traverse)),
            ];
            (numbers, slots)
        };
        for (name, read) in numbers {
            let reported: isize = class.getattr(name)?.extract()?;
            require(read == reported, || {
                format!("{name} of a class is read as {read}, expected {reported}")
            })?;
        }
        for (name, read, reported) in slots {
            require(read == reported, || {
                format!("{name} of a class is not where it is expected")
            })?;
        }
    }
    // SAFETY: as above.
    let (with_slots, with_dict) = unsafe { (flags(class.as_type_ptr()), flags(plain.as_type_ptr())) };
    require(with_slots & MANAGED == 0 && with_dict & MANAGED == MANAGED, || {
        "a dict or weak references have other flags".to_owned()
    })
}

/// Return the address of a function, null for none.
fn address<F: Copy>(function: Option<F>) -> *mut c_void {
    const { assert!(size_of::<Option<F>>() == size_of::<*mut c_void>()) };
    // SAFETY: an optional function pointer has the size of a pointer and is null for none.
    unsafe { std::mem::transmute_copy(&function) }
}

/// Compare what is read at the offsets of slots with what was stored.
fn check_slots(class: &Bound<'_, PyType>) -> PyResult<()> {
    let py = class.py();
    let instance = class.call0()?;
    for (index, name) in ["first", "second"].into_iter().enumerate() {
        let name = PyString::new(py, name);
        instance.setattr(&name, &name)?;
        let offset = slot_offset(class, &name)?;
        require(offset == HEADER + index * SLOT, || {
            format!(
                "slot {index} of an object is at {offset}, expected {}",
                HEADER + index * SLOT
            )
        })?;
        // SAFETY: the offset is inside of the instance, as the check above and the size of the class say.
        let read = unsafe { instance.as_ptr().byte_add(offset).cast::<*mut ffi::PyObject>().read() };
        require(read == name.as_ptr(), || {
            "the slots of an object are not where they are expected".to_owned()
        })?;
    }
    Ok(())
}

/// Compare values that are read without a call with the values that the objects were created from.
fn check_values(py: Python<'_>) -> PyResult<()> {
    let float = PyFloat::new(py, 1.5);
    let text = PyString::new(py, "kwire");
    let bytes = PyBytes::new(py, b"kwire");
    let tuple = PyTuple::new(py, [text.as_any(), bytes.as_any()])?;
    // SAFETY: live objects of these types. `check_sizes` has compared the sizes of floats and tuples; the others have
    // their length behind the header, or are larger than the struct by which the length is read.
    let matches = unsafe {
        let items = elements(tuple.as_ptr());
        ffi::PyFloat_AS_DOUBLE(float.as_ptr()).to_bits() == 1.5_f64.to_bits()
            && ffi::PyUnicode_GET_LENGTH(text.as_ptr()) == 5
            && (*bytes.as_ptr().cast::<ffi::PyVarObject>()).ob_size == 5
            && items.len() == 2
            && items[0] == text.as_ptr()
            && items[1] == bytes.as_ptr()
    };
    require(matches, || {
        "a float, str, bytes, or tuple has another layout".to_owned()
    })
}

/// Count references of an ordinary object and of one that may be immortal, and compare with the interpreter's counts.
fn check_reference_counts(py: Python<'_>) -> PyResult<()> {
    let refcount = py.import("sys")?.getattr("getrefcount")?;
    let counted = |object: &Bound<'_, PyAny>| refcount.call1((object,))?.extract::<usize>();
    for object in [PyDict::new(py).into_any(), py.None().into_bound(py)] {
        let before = counted(&object)?;
        // SAFETY: the object is alive. The references that are counted here are released here.
        let (more, balanced) = unsafe {
            let pointer = object.as_ptr();
            count(pointer);
            count_many(pointer, 3);
            let more = counted(&object);
            (more, uncount_many(pointer, 3) && uncount(pointer))
        };
        let immortal = object.is_none() && cfg!(Py_3_12);
        let expected = if immortal { before } else { before + 4 };
        require(more? == expected && balanced && counted(&object)? == before, || {
            "references are counted in another way".to_owned()
        })?;
    }
    // SAFETY: a new object with one reference, the last one, which `uncount` must not release.
    let last = unsafe {
        let object = ffi::PyDict_New();
        let last = !object.is_null() && !uncount(object);
        ffi::Py_XDECREF(object);
        last
    };
    require(last, || "references are counted in another way".to_owned())
}
