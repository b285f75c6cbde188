//! The native module `kwire._kwire`: the kwire crate, handed to Python.

use pyo3::prelude::*;

/// The engine behind `kwire`; its functions are public through that package only.
#[pymodule(gil_used = true)]
mod _kwire {}
