//! A hint to the processor that an address will be read soon.

/// Fetch the cache line of an address. Any address is allowed, because the hint neither reads nor faults.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect on the results of the program, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The most bytes that are fetched ahead.
const MOST: usize = 1 << 12;
/// The size of a cache line.
const LINE: usize = 64;

/// Fetch the cache lines of `size` bytes, but not of more than `MOST`. Any address is allowed.
#[inline(always)]
pub(crate) fn prefetch_many<T>(address: *const T, size: usize) {
    for offset in (0..size.min(MOST)).step_by(LINE) {
        prefetch(address.wrapping_byte_add(offset));
    }
}
