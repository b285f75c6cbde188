//! Python objects out of bytes, and out of the objects that the frame before became.
//!
//! Rules of this file, on which every block below relies: those of `unsafe_builder`; and the tree before lives as long
//! as the call, because whoever calls holds it. It is looked at only after its class or its length was asked for, and
//! never changed.

use std::ptr::NonNull;

use kwire::Stop;
use kwire::plan::Struct;
use kwire::remember::{Before, Found, Keys, Places, Remembering, decode_again};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::unsafe_builder::{Builder, Owned, Raised};
use crate::unsafe_caches::Caches;
use crate::unsafe_layout::Layout;
use crate::unsafe_prefetch::prefetch;

/// An object of the tree before.
#[derive(Clone, Copy)]
pub(crate) struct Kept(NonNull<ffi::PyObject>);

impl<'a> Remembering<'a> for Builder<'a, '_> {
    type Kept = Kept;

    fn is_struct(&self, kept: Kept, plan: &'a Struct) -> bool {
        // SAFETY: it lives.
        let class = unsafe { ffi::Py_TYPE(kept.0.as_ptr()) };
        class == self.layouts[plan.index].type_pointer()
    }

    fn is_array(&self, kept: Kept, count: usize) -> bool {
        // SAFETY: it lives, and is a tuple where its size is asked for.
        unsafe {
            ffi::PyTuple_CheckExact(kept.0.as_ptr()) != 0
                && ffi::PyTuple_GET_SIZE(kept.0.as_ptr()).cast_unsigned() == count
        }
    }

    #[inline]
    fn part(&self, kept: Kept, plan: &'a Struct, position: usize) -> Option<Kept> {
        let offset = self.layouts[plan.index].offsets[position];
        // SAFETY: the walker has asked `is_struct`, so the object is of the class whose descriptor named the offset;
        // and not of one derived from it, whose instances might be laid out otherwise. What is in the slot belongs to
        // the object, which nobody changes while the GIL is held.
        let slot = unsafe { kept.0.as_ptr().byte_add(offset).cast::<*mut ffi::PyObject>().read() };
        NonNull::new(slot).map(Kept)
    }

    #[inline(always)]
    fn element(&self, kept: Kept, index: usize) -> Option<Kept> {
        // SAFETY: the walker has asked `is_array` with a count above `index`. An element of a tuple belongs to it.
        NonNull::new(unsafe { ffi::PyTuple_GET_ITEM(kept.0.as_ptr(), index.cast_signed()) }).map(Kept)
    }

    #[inline(always)]
    fn expect(&self, kept: Kept, index: usize) {
        // SAFETY: as in `element`; what is only announced need not even be there.
        prefetch(unsafe { ffi::PyTuple_GET_ITEM(kept.0.as_ptr(), index.cast_signed()) }.cast_const());
    }

    #[inline(always)]
    fn again(&mut self, kept: Kept) -> Owned {
        // SAFETY: it lives.
        unsafe { Owned::borrowed(kept.0) }
    }
}

/// The frame before, as `build_again` needs it.
pub(crate) struct Earlier<'o, 'py> {
    pub(crate) bytes: &'o [u8],
    pub(crate) places: &'o Places,
    pub(crate) message: &'o Bound<'py, PyAny>,
}

/// What `build_again` tells beside the object.
pub(crate) struct Told<'t> {
    pub(crate) places: &'t mut Places,
    pub(crate) found: &'t mut Found,
}

/// The same as `build`, with what the frame before became.
pub(crate) fn build_again<'py>(
    py: Python<'py>,
    (plan, keys, layouts): (&kwire::Plan, &Keys, &[Layout]),
    input: &[u8],
    caches: &mut Caches,
    earlier: Option<&Earlier<'_, 'py>>,
    told: &mut Told<'_>,
) -> Result<Bound<'py, PyAny>, Result<Box<kwire::DecodeError>, PyErr>> {
    let mut builder = Builder::new(py, layouts, input, caches);
    // The caller's reference keeps that tree alive until this returns, and Rust keeps the borrow that long.
    let before = earlier.and_then(|earlier| {
        Some(Before {
            bytes: earlier.bytes,
            places: earlier.places,
            kept: Kept(NonNull::new(earlier.message.as_ptr())?),
        })
    });
    match decode_again(
        plan,
        keys,
        input,
        &mut builder,
        before.as_ref(),
        told.places,
        told.found,
    ) {
        // SAFETY: hands the one reference over.
        Ok(made) => Ok(unsafe { Bound::from_owned_ptr(py, made.into_pointer()) }),
        Err(Stop::Bytes(error)) => Err(Ok(error)),
        Err(Stop::Visitor(Raised)) => Err(Err(PyErr::fetch(py))),
    }
}
