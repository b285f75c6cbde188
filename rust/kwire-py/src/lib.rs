//! The native module `kwire._kwire`: the kwire crates for Python.
//!
//! `unsafe` code is confined to the modules named `unsafe_*`. The kwire crate checks bytes and values; this crate builds
//! and reads Python objects.

#![deny(unsafe_code)]

mod columns;
mod errors;
mod immutable_bytes;
mod memo;
mod memory;
mod plan;
mod response_cache;
#[allow(unsafe_code, reason = "takes Arrow data over from other libraries")]
mod unsafe_arrow;
#[allow(unsafe_code, reason = "writes the slots of objects that it allocates")]
mod unsafe_builder;
#[allow(unsafe_code, reason = "writes a bytes object before anyone else can see it")]
mod unsafe_bytes;
#[allow(unsafe_code, reason = "sends tables of pointers to other threads between calls")]
mod unsafe_caches;
#[allow(unsafe_code, reason = "computes the addresses of the interpreter's small integers")]
mod unsafe_constants;
#[allow(unsafe_code, reason = "reads slots of objects of the previous message")]
mod unsafe_incremental;
#[allow(unsafe_code, reason = "makes object templates, and uuids without their constructor")]
mod unsafe_layout;
#[allow(unsafe_code, reason = "removes the garbage collector's header from struct classes")]
mod unsafe_objects;
#[allow(unsafe_code, reason = "calls an intrinsic of the processor")]
mod unsafe_prefetch;
#[allow(unsafe_code, reason = "reads slots of objects and elements of tuples")]
mod unsafe_source;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// Decoding many small frames into columns allocates and frees large buffers in every call. mimalloc keeps them, where
/// the system's allocator returns them to the kernel, which clears them again page by page.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The engine behind `kwire`. Its classes and functions are public only through that package.
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
