//! The visitor of incremental decoding: it reuses objects of the previous message.
//!
//! The `unsafe` blocks rely on the invariants of `unsafe_builder` and on these:
//! 1. The previous message is alive during the call, because the caller holds a reference to it.
//! 2. Its objects are read only after their class or length has been checked, and are never modified.

use std::ptr::NonNull;

use kwire::Stop;
use kwire::incremental::{Changes, IncrementalVisitor, Keys, Offsets, PreviousFrame, decode_incremental};
use kwire::plan::Struct;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::unsafe_builder::Builder;
use crate::unsafe_caches::Caches;
use crate::unsafe_layout::Layout;
use crate::unsafe_owned::{Owned, Raised};
use crate::unsafe_prefetch::prefetch;

/// An object of the previous message.
#[derive(Clone, Copy)]
pub(crate) struct Previous(NonNull<ffi::PyObject>);

impl<'a> IncrementalVisitor<'a> for Builder<'a, '_> {
    type Previous = Previous;

    fn is_struct(&self, previous: Previous, plan: &'a Struct) -> bool {
        // SAFETY: the object is alive (invariant 1).
        let class = unsafe { ffi::Py_TYPE(previous.0.as_ptr()) };
        class == self.layouts[plan.index].type_pointer()
    }

    fn is_array(&self, previous: Previous, count: usize) -> bool {
        // SAFETY: the object is alive (invariant 1), and its size is read only if it is a tuple.
        unsafe {
            ffi::PyTuple_CheckExact(previous.0.as_ptr()) != 0
                && ffi::PyTuple_GET_SIZE(previous.0.as_ptr()).cast_unsigned() == count
        }
    }

    #[inline]
    fn previous_field(&self, previous: Previous, plan: &'a Struct, position: usize) -> Option<Previous> {
        let offset = self.layouts[plan.index].offsets[position];
        // SAFETY: the decoder has called `is_struct`, so the object is an instance of the class whose descriptor named
        // the offset, and not of a subclass, which could have another layout. The object owns what is in the slot, and
        // no other code modifies it while the GIL is held.
        let slot = unsafe { previous.0.as_ptr().byte_add(offset).cast::<*mut ffi::PyObject>().read() };
        NonNull::new(slot).map(Previous)
    }

    #[inline(always)]
    fn previous_element(&self, previous: Previous, index: usize) -> Option<Previous> {
        // SAFETY: the decoder has called `is_array` with a count above `index`. The tuple owns its elements.
        NonNull::new(unsafe { ffi::PyTuple_GET_ITEM(previous.0.as_ptr(), index.cast_signed()) }).map(Previous)
    }

    #[inline(always)]
    fn prefetch(&self, previous: Previous, index: usize) {
        // SAFETY: as in `previous_element`. The prefetched address does not have to be valid.
        prefetch(unsafe { ffi::PyTuple_GET_ITEM(previous.0.as_ptr(), index.cast_signed()) }.cast_const());
    }

    #[inline(always)]
    fn reuse(&mut self, previous: Previous) -> Owned {
        // SAFETY: the object is alive (invariant 1).
        unsafe { Owned::borrowed(previous.0) }
    }
}

/// The previous frame, its offsets, and its message.
pub(crate) struct PreviousMessage<'o, 'py> {
    pub(crate) bytes: &'o [u8],
    pub(crate) offsets: &'o Offsets,
    pub(crate) message: &'o Bound<'py, PyAny>,
}

/// The results of `build_incremental` besides the message.
pub(crate) struct Output<'t> {
    pub(crate) offsets: &'t mut Offsets,
    pub(crate) changes: &'t mut Changes,
}

/// Decode `input` like `build`, reusing the previous message.
pub(crate) fn build_incremental<'py>(
    py: Python<'py>,
    (plan, keys, layouts): (&kwire::Plan, &Keys, &[Layout]),
    input: &[u8],
    caches: &mut Caches,
    previous_message: Option<&PreviousMessage<'_, 'py>>,
    output: &mut Output<'_>,
) -> Result<Bound<'py, PyAny>, Result<Box<kwire::DecodeError>, PyErr>> {
    let mut builder = Builder::new(py, layouts, input, caches);
    // The caller's reference keeps the previous message alive until this function returns; the borrow ensures it.
    let before = previous_message.and_then(|previous_message| {
        Some(PreviousFrame {
            bytes: previous_message.bytes,
            offsets: previous_message.offsets,
            value: Previous(NonNull::new(previous_message.message.as_ptr())?),
        })
    });
    match decode_incremental(
        plan,
        keys,
        input,
        &mut builder,
        before.as_ref(),
        output.offsets,
        output.changes,
    ) {
        // SAFETY: transfers the owned reference.
        Ok(made) => Ok(unsafe { Bound::from_owned_ptr(py, made.into_pointer()) }),
        Err(Stop::Bytes(error)) => Err(Ok(error)),
        Err(Stop::Visitor(Raised)) => Err(Err(PyErr::fetch(py))),
    }
}
