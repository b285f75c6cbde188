//! The main interpreter, the only one that loads the module.
//!
//! The types of the module, the classes that it imports, and the objects that its plans hold are created once per
//! process. Objects of one interpreter are of no use in another one: its classes are different, and an interpreter that
//! ends frees what it owns. The main interpreter outlives all others, so a module that belongs to it stays valid.
//! Others get an `ImportError`, and the package falls back to its reference codec there.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

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
