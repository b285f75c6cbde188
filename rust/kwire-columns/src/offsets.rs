//! The ends of lists.
//!
//! In most columns, all lists have the same length: the replication factor of a cluster, or zero. As long as that is so,
//! one number stands for all of them, and columns with the same length share their offsets in the end.

use arrow_buffer::OffsetBuffer;

use crate::repeated::RepeatedValues;
use crate::room::Room;
use crate::text::{signed, unsigned};

/// The lengths of consecutive lists, as Arrow's offsets if they differ.
#[derive(Default)]
pub(crate) struct Offsets {
    /// The number of lists.
    count: usize,
    /// The length of each list, if all are the same.
    length: usize,
    /// Zero, then the end of each list. Empty if all lengths are the same.
    ends: Vec<i32>,
}

impl Offsets {
    /// Return the number of lists.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Return the number of elements of all lists.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        match self.ends.last() {
            Some(end) => unsigned(*end),
            // Never saturates, because the elements exist.
            None => self.length.saturating_mul(self.count),
        }
    }

    /// Append a list.
    #[inline]
    pub(crate) fn push(&mut self, length: usize) {
        self.extend(length, 1, None);
    }

    /// Append `count` lists of the same length.
    #[inline]
    pub(crate) fn extend(&mut self, length: usize, count: usize, room: Option<Room<'_>>) {
        if self.count == 0 {
            self.length = length;
        }
        if self.ends.is_empty() {
            if length == self.length {
                self.count += count;
                return;
            }
            self.make_ends();
        }
        if let Some(room) = room {
            room.make(&mut self.ends, count);
        }
        let end = signed(self.end());
        // Never wraps, because a batch has fewer bytes than 31 bits can count.
        let length = signed(length);
        self.ends
            .extend((1..=signed(count)).map(|list| length.wrapping_mul(list).wrapping_add(end)));
        self.count += count;
    }

    #[cold]
    fn make_ends(&mut self) {
        let length = signed(self.length);
        self.ends
            .extend((0..=signed(self.count)).map(|list| length.wrapping_mul(list)));
    }

    /// Keep the first `count` lists.
    pub(crate) fn truncate(&mut self, count: usize) {
        if count == 0 {
            *self = Self::default();
        } else if count < self.count {
            self.count = count;
            self.ends.truncate(count + 1);
        }
    }

    /// Return Arrow's offsets.
    pub(crate) fn finish(self, repeated: &mut RepeatedValues) -> OffsetBuffer<i32> {
        if self.ends.is_empty() {
            repeated.offsets(self.length, self.count)
        } else {
            OffsetBuffer::new(crate::arrays::fitted(self.ends).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(lengths: &[usize]) -> Vec<i32> {
        let mut offsets = Offsets::default();
        for length in lengths {
            offsets.push(*length);
        }
        offsets.finish(&mut RepeatedValues::default()).to_vec()
    }

    #[test]
    fn lists_of_the_same_length_and_of_others() {
        assert_eq!(offsets(&[]), [0]);
        assert_eq!(offsets(&[0, 0]), [0, 0, 0]);
        assert_eq!(offsets(&[3, 3]), [0, 3, 6]);
        assert_eq!(offsets(&[3, 3, 1]), [0, 3, 6, 7]);
        assert_eq!(offsets(&[0, 2, 2]), [0, 0, 2, 4]);
    }

    #[test]
    fn truncated_lists_are_replaced_by_others() {
        for kept in 0..4 {
            for lengths in [[2, 2, 2, 2], [1, 2, 3, 4], [2, 2, 2, 5]] {
                let mut truncated = Offsets::default();
                for length in lengths {
                    truncated.push(length);
                }
                truncated.truncate(kept);
                assert_eq!(truncated.len(), kept);
                let end: usize = lengths.iter().take(kept).sum();
                assert_eq!(truncated.end(), end);
                truncated.extend(7, 2, None);
                let expected: Vec<usize> = lengths.iter().copied().take(kept).chain([7, 7]).collect();
                let found = truncated.finish(&mut RepeatedValues::default());
                assert_eq!(found.to_vec(), offsets(&expected));
            }
        }
    }
}
