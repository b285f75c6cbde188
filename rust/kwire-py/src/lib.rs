//! The native module `kwire._kwire`: the kwire crates for Python.
//!
//! `unsafe` code is confined to the modules named `unsafe_*`. The kwire crate checks bytes and values; this crate builds
//! and reads Python objects.

#![deny(unsafe_code)]

mod columns;
mod errors;
mod immutable_bytes;
mod index;
mod memo;
mod memory;
mod pattern;
mod plan;
mod records;
mod response_cache;
#[allow(unsafe_code, reason = "allocates the memory of this module")]
mod unsafe_allocator;
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
#[allow(unsafe_code, reason = "reads and writes the digits of integers")]
mod unsafe_digits;
#[allow(unsafe_code, reason = "reads slots of objects and writes rows of known size")]
mod unsafe_encoded_rows;
#[allow(unsafe_code, reason = "reads slots of objects of the previous message")]
mod unsafe_incremental;
#[allow(unsafe_code, reason = "takes over the references that the builder returns")]
mod unsafe_index;
#[allow(unsafe_code, reason = "allocates and frees instances of struct classes")]
mod unsafe_instances;
#[allow(
    unsafe_code,
    reason = "asks which interpreter runs, and reads its objects to check their layout"
)]
mod unsafe_interpreter;
#[allow(unsafe_code, reason = "makes object templates, and uuids without their constructor")]
mod unsafe_layout;
#[allow(unsafe_code, reason = "removes the garbage collector's header from struct classes")]
mod unsafe_objects;
#[allow(unsafe_code, reason = "counts the references of objects")]
mod unsafe_owned;
#[allow(unsafe_code, reason = "calls an intrinsic of the processor")]
mod unsafe_prefetch;
#[allow(unsafe_code, reason = "writes the slots of records")]
mod unsafe_record_builder;
#[allow(unsafe_code, reason = "reads the slots of records")]
mod unsafe_record_source;
#[allow(unsafe_code, reason = "maps the memory of slabs")]
mod unsafe_regions;
#[allow(unsafe_code, reason = "allocates the memory of instances")]
mod unsafe_slabs;
#[allow(unsafe_code, reason = "reads slots of objects and elements of tuples")]
mod unsafe_source;
#[allow(
    unsafe_code,
    reason = "writes the slots of objects that it allocates, many at a time"
)]
mod unsafe_uniform;
#[allow(unsafe_code, reason = "writes tuples into the slots of new objects")]
mod unsafe_uniform_arrays;
#[allow(unsafe_code, reason = "reads slots of objects and elements of tuples")]
mod unsafe_uniform_source;

use pyo3::prelude::*;

use crate::unsafe_allocator::{Allocator, require_reserve};
use crate::unsafe_interpreter::{require_known_layout, require_main_interpreter};

/// Decoding many small frames into columns allocates and frees large buffers in every call. mimalloc keeps them, where
/// the system's allocator returns them to the kernel, which clears them again page by page.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// The engine behind `kwire`. Its classes and functions are public only through that package.
///
/// A function, because a module declared with `mod` would create its classes before it can check the interpreter.
#[pymodule(gil_used = true)]
fn _kwire(module: &Bound<'_, PyModule>) -> PyResult<()> {
    require_main_interpreter(module.py())?;
    require_known_layout(module.py())?;
    require_reserve()?;
    module.add_class::<columns::Batch>()?;
    module.add_class::<columns::Columns>()?;
    module.add_class::<columns::Schema>()?;
    module.add_class::<index::Index>()?;
    module.add_class::<memory::Memory>()?;
    module.add_class::<pattern::Pattern>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<records::Records>()?;
    module.add_class::<response_cache::ResponseCache>()?;
    module.add_function(wrap_pyfunction!(unsafe_objects::adopt, module)?)
}
