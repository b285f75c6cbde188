//! Convert errors of the kwire crate to the exceptions of `kwire.errors`.

use kwire::{DecodeError, DecodeKind, EncodeError, Path, PathElement, PlanError};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

use crate::unsafe_owned::new_tuple;

/// Return a path as a tuple of names and indexes.
fn path<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyTuple>> {
    let elements = path.iter().map(|element| match element {
        PathElement::Name(name) => Ok(name.into_pyobject(py)?.into_any()),
        PathElement::Index(index) => Ok(index.into_pyobject(py)?.into_any()),
    });
    new_tuple(py, elements.collect::<PyResult<Vec<_>>>()?)
}

/// Create `kwire.errors.DecodeError`.
#[cold]
pub(crate) fn decode_error(py: Python<'_>, error: &DecodeError) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if error.kind == DecodeKind::OutOfMemory {
        return PyMemoryError::new_err(());
    }
    let made = CLASS.import(py, "kwire.errors", "DecodeError").and_then(|class| {
        class.call1((
            error.kind.name(),
            error.offset,
            path(py, &error.path)?,
            error.wanted,
            error.left,
        ))
    });
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// Create `kwire.errors.EncodeError`.
#[cold]
pub(crate) fn encode_error(py: Python<'_>, error: &EncodeError) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = CLASS
        .import(py, "kwire.errors", "EncodeError")
        .and_then(|class| class.call1((error.kind.name(), path(py, &error.path)?, error.reason.as_str())));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// Create a `ValueError`. Only handwritten plans cause it.
#[cold]
pub(crate) fn plan_error(error: &PlanError) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(error.to_string())
}
