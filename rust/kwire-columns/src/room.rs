//! Room for the values of a column, reserved by the progress through the frames.

use crate::Hold;

/// The progress through the frames, from which the final size of a column is estimated.
#[derive(Clone, Copy)]
pub(crate) struct Room<'h> {
    /// Bytes of frames before the first value.
    pub(crate) start: usize,
    /// Bytes of frames read so far.
    pub(crate) done: usize,
    pub(crate) total: usize,
    pub(crate) hold: &'h Hold<'h>,
}

impl Room<'_> {
    /// Reserve room for `count` values, and for the rest of the frames if they have as many values for each byte.
    #[inline]
    pub(crate) fn make<T>(self, values: &mut Vec<T>, count: usize) {
        if values.capacity() - values.len() < count {
            self.make_more(values, count);
        }
    }

    #[cold]
    fn make_more<T>(self, values: &mut Vec<T>, count: usize) {
        let to_come = self.total.saturating_sub(self.done);
        let so_far = values.len().saturating_add(count) as u128;
        // Slightly more than the estimate, but never more than the remaining bytes can hold.
        let read = self.done.saturating_sub(self.start) as u128 + 1;
        let expected = so_far * (to_come as u128 + to_come as u128 / 32) / read;
        let expected = usize::try_from(expected).unwrap_or(usize::MAX).min(to_come / 4);
        let wanted = count.saturating_add(expected).max(values.len() / 2);
        let size = values.len().saturating_add(wanted).saturating_mul(size_of::<T>());
        // Memory for `count` values is held already. Vectors grow by doubling without more.
        if (self.hold)(size) {
            values.reserve_exact(wanted);
        }
    }
}
