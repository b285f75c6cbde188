//! The digits of Python's integers: reading and creating them without a call for each conversion.
//!
//! An int of CPython has a header, a word with its sign and its number of digits, and then digits of 30 bits, the lowest
//! first. 3.12 changed the second word. Both forms are stable within a minor version, and the crate is compiled for
//! each. The layout is measured once all the same: if it differs (15-bit digits, a later version), nothing here
//! reads digits, and callers use the interpreter's functions.
//!
//! The `unsafe` blocks rely on these invariants:
//! 1. Digits are read only from exact ints, only if the layout was measured, and only as many as the int has.
//! 2. An int is written only while it is new and nothing else refers to it.

use std::ptr::NonNull;

use pyo3::ffi;
use pyo3::prelude::*;

/// Bits in a digit.
const BITS: u32 = 30;
const MASK: u128 = (1 << BITS) - 1;
/// A number of 128 bits has at most five digits.
const MOST_DIGITS: usize = 5;

/// The layout of an int, with as many digits as a number of 128 bits needs.
#[repr(C)]
struct Long {
    head: ffi::PyObject,
    /// Up to 3.11 the number of digits, negative for a negative number. Since 3.12 the number of digits times 8, plus
    /// the sign: 0 for positive, 1 for zero, 2 for negative numbers, and a flag in the third bit.
    tag: isize,
    digits: [u32; MOST_DIGITS],
}

/// Reads and creates ints.
#[derive(Clone, Copy)]
pub(crate) struct Digits {
    /// Whether this interpreter's ints have the layout of `Long`.
    known: bool,
}

impl Digits {
    /// Determine whether ints have the expected layout.
    pub(crate) fn measure(py: Python<'_>) -> Self {
        let samples: [i64; 10] = [
            0,
            1,
            -1,
            257,
            -1_000,
            (1 << 30) - 1,
            1 << 30,
            -(1 << 45) - 7,
            (1 << 60) - 1,
            1 - (1 << 60),
        ];
        let assumed = Self { known: true };
        let read = samples.iter().all(|sample| {
            sample.into_pyobject(py).is_ok_and(|int| {
                // SAFETY: the int is alive. Every int has a header, a word, and a digit. More digits are read only if
                // the word says so, and the samples ascend, so that a different meaning of the word is noticed before.
                unsafe { assumed.small_value(int.as_ptr()) == Some(*sample) }
            })
        });
        if !read {
            return Self { known: false };
        }
        let large = [1 << 60, u128::from(u64::MAX), 1 << 120, u128::MAX, u128::MAX / 3];
        let known = large.iter().all(|sample| {
            sample.into_pyobject(py).is_ok_and(|int| {
                // SAFETY: as above.
                unsafe { assumed.large_value(int.as_ptr()) == Some(*sample) }
            })
        });
        Self { known }
    }

    /// Return the value of an exact int of at most 60 bits. Returns `None` for other ints, whose value the interpreter's
    /// functions return.
    ///
    /// # Safety
    /// The object is a live int, and not an instance of a subclass.
    #[inline(always)]
    pub(crate) unsafe fn small_value(self, int: *mut ffi::PyObject) -> Option<i64> {
        if !self.known {
            return None;
        }
        // SAFETY: invariant 1. Digits are read up to the number that the int has.
        unsafe {
            let long = int.cast::<Long>();
            let (negative, count) = sign_and_count((*long).tag);
            let digits = (&raw const (*long).digits).cast::<u32>();
            let magnitude = match count {
                0 => return Some(0),
                1 => i64::from(digits.read()),
                2 => i64::from(digits.read()) | i64::from(digits.add(1).read()) << BITS,
                _ => return None,
            };
            // Cannot overflow: the magnitude has at most 60 bits.
            Some(if negative { magnitude.wrapping_neg() } else { magnitude })
        }
    }

    /// Return the value of an exact int that is not negative and has at most 128 bits. Returns `None` for other ints,
    /// and if the layout is not known.
    ///
    /// # Safety
    /// The object is a live int, and not an instance of a subclass.
    #[inline]
    pub(crate) unsafe fn large_value(self, int: *mut ffi::PyObject) -> Option<u128> {
        if !self.known {
            return None;
        }
        // SAFETY: invariant 1. Digits are read up to the number that the int has.
        unsafe {
            let long = int.cast::<Long>();
            let (negative, count) = sign_and_count((*long).tag);
            if negative || count > MOST_DIGITS {
                return None;
            }
            let digits = (&raw const (*long).digits).cast::<u32>();
            if count == MOST_DIGITS {
                let highest = digits.add(MOST_DIGITS - 1).read();
                // Four digits have 120 bits.
                if highest >> (u128::BITS - 4 * BITS) != 0 {
                    return None;
                }
            }
            Some(
                (0..count)
                    .rev()
                    .fold(0, |value, index| value << BITS | u128::from(digits.add(index).read())),
            )
        }
    }

    /// Create an int. Returns `None` if an exception is set.
    pub(crate) fn new_int(self, py: Python<'_>, value: u128) -> Option<NonNull<ffi::PyObject>> {
        // Numbers of fewer digits are rare: 1 of 256 uuids.
        if self.known && value >> (4 * BITS) != 0 {
            return new_long(value);
        }
        match value.into_pyobject(py) {
            Ok(int) => NonNull::new(int.into_ptr()),
            Err(never) => match never {},
        }
    }
}

/// Return whether the number is negative, and its number of digits.
#[inline(always)]
fn sign_and_count(tag: isize) -> (bool, usize) {
    if cfg!(Py_3_12) {
        (tag & 3 == 2, tag.cast_unsigned() >> 3)
    } else {
        (tag < 0, tag.unsigned_abs())
    }
}

/// Return the five digits of a number.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "a digit has 30 bits")]
fn digits_of(value: u128) -> [u32; MOST_DIGITS] {
    let mut rest = value;
    std::array::from_fn(|_| {
        let digit = (rest & MASK) as u32;
        rest >>= BITS;
        digit
    })
}

/// Create an int of five digits; the highest is not 0.
#[cfg(not(Py_3_14))]
fn new_long(value: u128) -> Option<NonNull<ffi::PyObject>> {
    unsafe extern "C" {
        /// From `longintrepr.h`; exported by CPython, but missing in the bindings. Returns a positive int of `digits`
        /// digits that are not set, or null with an exception set.
        fn _PyLong_New(digits: ffi::Py_ssize_t) -> *mut ffi::PyObject;
    }
    // SAFETY: a new int of five digits, and all are set (invariant 2).
    unsafe {
        let int = NonNull::new(_PyLong_New(MOST_DIGITS.cast_signed()))?;
        (*int.as_ptr().cast::<Long>()).digits = digits_of(value);
        Some(int)
    }
}

/// Create an int of five digits; the highest is not 0.
#[cfg(Py_3_14)]
fn new_long(value: u128) -> Option<NonNull<ffi::PyObject>> {
    let mut digits: *mut std::ffi::c_void = std::ptr::null_mut();
    // SAFETY: the writer has room for five digits of the measured layout, and all are set before it is finished.
    unsafe {
        let writer = ffi::PyLongWriter_Create(0, MOST_DIGITS.cast_signed(), &raw mut digits);
        if writer.is_null() {
            return None;
        }
        digits.cast::<[u32; MOST_DIGITS]>().write(digits_of(value));
        NonNull::new(ffi::PyLongWriter_Finish(writer))
    }
}
