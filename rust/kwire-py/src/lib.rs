//! The native module `kwire._kwire`: the kwire crate, handed to Python.
//!
//! Rules of this crate: `unsafe` stands in the files named for it and nowhere else; everything that can be wrong with
//! bytes or values is found by the kwire crate, everything Python-shaped is here.

#![deny(unsafe_code)]

mod columns;
mod errors;
mod memo;
mod memory;
mod plan;
mod response_cache;
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "is an allocator")]
mod unsafe_allocator;
#[allow(unsafe_code, reason = "takes Arrow data over from other libraries")]
mod unsafe_arrow;
#[allow(unsafe_code, reason = "writes slots of objects that it allocates")]
mod unsafe_builder;
#[allow(unsafe_code, reason = "writes a bytes object while it is still nobody else's")]
mod unsafe_bytes;
#[allow(unsafe_code, reason = "sends tables of pointers from call to call")]
mod unsafe_caches;
#[allow(unsafe_code, reason = "knows where the interpreter keeps its small integers")]
mod unsafe_constants;
#[allow(unsafe_code, reason = "makes templates of objects, and uuids")]
mod unsafe_layout;
#[allow(
    unsafe_code,
    reason = "takes the collector's header from classes whose instances need none"
)]
mod unsafe_objects;
#[allow(unsafe_code, reason = "hints to the processor")]
mod unsafe_prefetch;
#[allow(unsafe_code, reason = "reads slots of objects that were built before")]
mod unsafe_remembered;
#[allow(unsafe_code, reason = "reads slots of objects and elements of tuples")]
mod unsafe_source;

use pyo3::prelude::*;

/// The engine behind `kwire`; its functions are public through that package only.
#[pymodule(gil_used = true)]
mod _kwire {
    #[pymodule_export]
    use crate::columns::{Batch, Columns, Schema};
    #[pymodule_export]
    use crate::memory::Memory;
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::response_cache::ResponseCache;
    #[pymodule_export]
    use crate::unsafe_objects::adopt;
}
