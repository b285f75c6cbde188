//! Consecutive structs of the same layout, decoded together.
//!
//! The partitions of a topic differ in their numbers but rarely in the lengths of their arrays. If all length bytes of
//! a struct equal those of the struct before it, which has been checked, its parts have the same offsets; only the
//! bounds are left to check. Anything unusual, such as a tag, a long array, or an invalid length, is left to the
//! general decoder.

use crate::plan::{LENGTH_WORD as WORD, MAX_PARTS, StepKind, Struct, parts};

/// The offsets of the parts of a struct in wire order: each run of fixed-size fields, and the elements of each int32
/// array.
#[derive(Clone, Copy, Debug, Default)]
pub struct UniformLayout {
    /// The size of the struct in bytes.
    size: u32,
    /// The start and end of each part, relative to the struct.
    ranges: [(u32, u32); MAX_PARTS],
}

/// What the bytes of another struct must satisfy to have the same layout.
#[derive(Default)]
pub(crate) struct Checks {
    checks: [Check; MAX_PARTS + 1],
    count: usize,
}

/// Bytes at an offset that must have a certain value.
#[derive(Clone, Copy, Default)]
struct Check {
    at: u32,
    word: u32,
    mask: u32,
}

impl UniformLayout {
    /// Return the size of the struct in bytes. Never 0.
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.size.max(1) as usize
    }

    /// Return the range of a part.
    #[inline(always)]
    pub fn range(&self, part: usize) -> std::ops::Range<usize> {
        let (start, end) = self.ranges.get(part).copied().unwrap_or_default();
        start as usize..end as usize
    }

    /// Determine the layout of the struct at the start of `rest`, and count the structs of that layout, at most `max`.
    /// Returns `None` if the struct needs the general decoder.
    #[inline]
    pub(crate) fn find(plan: &Struct, rest: &[u8], max: usize) -> Option<(Self, usize)> {
        let mut found = Self::default();
        let mut checks = Checks::default();
        let mut at = 0u32;
        let mut ranges = found.ranges.iter_mut();
        for step in parts(&plan.steps) {
            let (start, end) = match step.kind {
                StepKind::Fixed(_) => (at, at.checked_add(step.run)?),
                StepKind::Int32Array { compact: true } => {
                    let byte = *rest.get(at as usize)?;
                    if !(1..=0x7f).contains(&byte) {
                        return None;
                    }
                    checks.add(at, byte.into(), 0xff)?;
                    let start = at.checked_add(1)?;
                    (start, start.checked_add(4 * (u32::from(byte) - 1))?)
                }
                StepKind::Int32Array { compact: false } => {
                    let word = *rest.get(at as usize..)?.first_chunk()?;
                    checks.add(at, u32::from_le_bytes(word), u32::MAX)?;
                    let size = u32::try_from(i32::from_be_bytes(word)).ok()?.checked_mul(4)?;
                    let start = at.checked_add(4)?;
                    (start, start.checked_add(size)?)
                }
                StepKind::Other => return None,
            };
            *ranges.next()? = (start, end);
            at = end;
        }
        if plan.flexible {
            if *rest.get(at as usize)? != 0 {
                return None;
            }
            checks.add(at, 0, 0xff)?;
            at = at.checked_add(1)?;
        }
        found.size = at;
        if at < WORD || at as usize > rest.len() {
            return None;
        }
        checks.end_before(at);
        // At least one: the struct itself.
        Some((found, checks.count(rest, at as usize, max).max(1)))
    }
}

impl Checks {
    /// Require the bytes at an offset to have their current value.
    #[inline(always)]
    fn add(&mut self, at: u32, word: u32, mask: u32) -> Option<()> {
        *self.checks.get_mut(self.count)? = Check { at, word, mask };
        self.count += 1;
        Some(())
    }

    /// Move words that would extend beyond the end to the front.
    #[inline(always)]
    fn end_before(&mut self, end: u32) {
        let last = end.saturating_sub(WORD);
        for check in self.checks.get_mut(..self.count).unwrap_or_default() {
            if check.at > last {
                // By three bytes at most: only single length bytes are so close to the end.
                let bits = 8 * (check.at - last);
                *check = Check {
                    at: last,
                    word: check.word.wrapping_shl(bits),
                    mask: check.mask.wrapping_shl(bits),
                };
            }
        }
    }

    /// Count the structs of `size` bytes from the start of `rest` that pass, at most `max`.
    #[inline(always)]
    fn count(&self, rest: &[u8], size: usize, max: usize) -> usize {
        // With a constant number, the checks stay in registers.
        match self.checks {
            [one, ..] if self.count == 1 => count(&[one], rest, size, max),
            [one, two, ..] if self.count == 2 => count(&[one, two], rest, size, max),
            [one, two, three, ..] if self.count == 3 => count(&[one, two, three], rest, size, max),
            [one, two, three, four, ..] if self.count == 4 => count(&[one, two, three, four], rest, size, max),
            _ => count(self.checks.get(..self.count).unwrap_or_default(), rest, size, max),
        }
    }
}

#[inline(always)]
fn count(checks: &[Check], rest: &[u8], size: usize, max: usize) -> usize {
    let same = |bytes: &[u8]| {
        let differences = checks.iter().fold(0, |differences, check| {
            let word = bytes.get(check.at as usize..).and_then(|bytes| bytes.first_chunk());
            let word = word.map_or(!check.word, |word| u32::from_le_bytes(*word));
            differences | ((word ^ check.word) & check.mask)
        });
        differences == 0
    };
    let alike = rest.chunks_exact(size).take(max);
    alike.take_while(|bytes| same(bytes)).count()
}
