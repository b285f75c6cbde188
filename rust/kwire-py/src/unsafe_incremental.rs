//! Python objects out of bytes, and out of the objects that the frame before became.
//!
//! Rules of this file, on which every block below relies: those of `unsafe_builder`; and the tree before lives as long
//! as the call, because whoever calls holds it. It is looked at only after its class or its length was asked for, and
//! never changed.

use std::ptr::NonNull;

use kwire::Stop;
use kwire::incremental::{Changes, IncrementalVisitor, Keys, Offsets, PreviousFrame, decode_incremental};
use kwire::plan::Struct;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::unsafe_builder::{Builder, Owned, Raised};
use crate::unsafe_caches::Caches;
use crate::unsafe_layout::Layout;
use crate::unsafe_prefetch::prefetch;

/// An object of the tree before.
#[derive(Clone, Copy)]
pub(crate) struct Previous(NonNull<ffi::PyObject>);

impl<'a> IncrementalVisitor<'a> for Builder<'a, '_> {
    type Previous = Previous;

    fn is_struct(&self, previous: Previous, plan: &'a Struct) -> bool {
        // SAFETY: it lives.
        let class = unsafe { ffi::Py_TYPE(previous.0.as_ptr()) };
        class == self.layouts[plan.index].type_pointer()
    }

    fn is_array(&self, previous: Previous, count: usize) -> bool {
        // SAFETY: it lives, and is a tuple where its size is asked for.
        unsafe {
            ffi::PyTuple_CheckExact(previous.0.as_ptr()) != 0
                && ffi::PyTuple_GET_SIZE(previous.0.as_ptr()).cast_unsigned() == count
        }
    }

    #[inline]
    fn previous_field(&self, previous: Previous, plan: &'a Struct, position: usize) -> Option<Previous> {
        let offset = self.layouts[plan.index].offsets[position];
        // SAFETY: the walker has asked `is_struct`, so the object is of the class whose descriptor named the offset;
        // and not of one derived from it, whose instances might be laid out otherwise. What is in the slot belongs to
        // the object, which nobody changes while the GIL is held.
        let slot = unsafe { previous.0.as_ptr().byte_add(offset).cast::<*mut ffi::PyObject>().read() };
        NonNull::new(slot).map(Previous)
    }

    #[inline(always)]
    fn previous_element(&self, previous: Previous, index: usize) -> Option<Previous> {
        // SAFETY: the walker has asked `is_array` with a count above `index`. An element of a tuple belongs to it.
        NonNull::new(unsafe { ffi::PyTuple_GET_ITEM(previous.0.as_ptr(), index.cast_signed()) }).map(Previous)
    }

    #[inline(always)]
    fn prefetch(&self, previous: Previous, index: usize) {
        // SAFETY: as in `element`; what is only announced need not even be there.
        prefetch(unsafe { ffi::PyTuple_GET_ITEM(previous.0.as_ptr(), index.cast_signed()) }.cast_const());
    }

    #[inline(always)]
    fn reuse(&mut self, previous: Previous) -> Owned {
        // SAFETY: it lives.
        unsafe { Owned::borrowed(previous.0) }
    }
}

/// The frame before, as `build_incremental` needs it.
pub(crate) struct PreviousMessage<'o, 'py> {
    pub(crate) bytes: &'o [u8],
    pub(crate) offsets: &'o Offsets,
    pub(crate) message: &'o Bound<'py, PyAny>,
}

/// What `build_incremental` tells beside the object.
pub(crate) struct Output<'t> {
    pub(crate) offsets: &'t mut Offsets,
    pub(crate) changes: &'t mut Changes,
}

/// The same as `build`, with what the frame before became.
pub(crate) fn build_incremental<'py>(
    py: Python<'py>,
    (plan, keys, layouts): (&kwire::Plan, &Keys, &[Layout]),
    input: &[u8],
    caches: &mut Caches,
    previous_message: Option<&PreviousMessage<'_, 'py>>,
    output: &mut Output<'_>,
) -> Result<Bound<'py, PyAny>, Result<Box<kwire::DecodeError>, PyErr>> {
    let mut builder = Builder::new(py, layouts, input, caches);
    // The caller's reference keeps that tree alive until this returns, and Rust keeps the borrow that long.
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
        // SAFETY: hands the one reference over.
        Ok(made) => Ok(unsafe { Bound::from_owned_ptr(py, made.into_pointer()) }),
        Err(Stop::Bytes(error)) => Err(Ok(error)),
        Err(Stop::Visitor(Raised)) => Err(Err(PyErr::fetch(py))),
    }
}
