//! Consecutive structs of the same layout, decoded together.
//!
//! The partitions of a topic differ in their numbers but rarely in the lengths of their arrays. If all length bytes of
//! a struct equal those of the struct before it, which has been checked, its parts have the same offsets; only the
//! bounds are left to check. Anything unusual, such as a tag, a long array, or an invalid length, is left to the
//! general decoder.

use crate::decode::unknown_tags_only;
use crate::plan::{LENGTH_WORD, MAX_PARTS, StepKind, Struct, parts};

/// The offsets of the parts of a struct in wire order: each run of fixed-size fields, and the elements of each array.
#[derive(Clone, Copy, Debug, Default)]
pub struct UniformLayout {
    /// The size of the struct in bytes.
    size: u32,
    /// The start and end of each part, relative to the struct.
    ranges: [(u32, u32); MAX_PARTS],
    /// The start and end of the unknown tags, without their count.
    tags: (u32, u32),
}

/// What may be part of a struct of uniform layout besides runs and int32 arrays.
#[derive(Clone, Copy)]
pub(crate) struct Allowed {
    /// Unknown tags, if all structs have the same ones.
    pub(crate) tags: bool,
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

    /// Return the range of the unknown tags, which all structs have in common: tag, size, content, one after the other,
    /// in shortest form. Only visitors with `UNIFORM` meet structs where it is not empty.
    #[inline(always)]
    pub fn unknown_tags(&self) -> std::ops::Range<usize> {
        self.tags.0 as usize..self.tags.1 as usize
    }

    /// Return the layout of all instances of a struct of fixed size.
    pub fn of_fixed(plan: &Struct) -> Self {
        let size = u32::try_from(plan.smallest).unwrap_or(0);
        let mut layout = Self {
            size,
            ..Self::default()
        };
        if let Some(range) = layout.ranges.first_mut() {
            *range = (0, size);
        }
        layout
    }

    /// Determine the layout of the struct at the start of `rest`, and count the structs of that layout, at most `max`.
    /// Returns `None` if the struct needs the general decoder.
    ///
    /// `last` has the layout of the last struct of the same plan. It is compared first.
    #[inline(always)]
    pub(crate) fn find(
        plan: &Struct,
        rest: &[u8],
        max: usize,
        allowed: Allowed,
        last: &mut Option<Matcher>,
    ) -> Option<(Self, usize)> {
        if let Some(last) = last {
            let count = last.count(rest, max);
            if count > 0 {
                return Some((last.layout, count));
            }
        }
        Self::determine(plan, rest, max, allowed, last)
    }

    #[inline(never)]
    fn determine(
        plan: &Struct,
        rest: &[u8],
        max: usize,
        allowed: Allowed,
        last: &mut Option<Matcher>,
    ) -> Option<(Self, usize)> {
        let mut found = Self::default();
        let mut lengths = Lengths::default();
        let mut at = 0u32;
        let mut ranges = found.ranges.iter_mut();
        for step in parts(&plan.steps) {
            let (compact, element) = match step.kind {
                StepKind::Fixed(_) => {
                    let end = at.checked_add(step.run)?;
                    *ranges.next()? = (at, end);
                    at = end;
                    continue;
                }
                StepKind::Int32Array { compact } => (compact, 4),
                StepKind::Other => (step.compact, step.element),
            };
            let (count, prefix) = if compact {
                match *rest.get(at as usize)? {
                    byte @ 1..=0x7f => (u32::from(byte).wrapping_sub(1), 1),
                    _ => return None,
                }
            } else {
                let word = *rest.get(at as usize..)?.first_chunk()?;
                (u32::try_from(i32::from_be_bytes(word)).ok()?, 4)
            };
            lengths.add(at, prefix)?;
            let start = at.checked_add(prefix)?;
            let end = start.checked_add(count.checked_mul(element)?)?;
            *ranges.next()? = (start, end);
            at = end;
        }
        if plan.flexible {
            let section = rest.get(at as usize..)?;
            let size = match section.first()? {
                0 => 1,
                _ if allowed.tags => unknown_tags_only(plan, section)?,
                _ => return None,
            };
            lengths.add(at, size)?;
            found.tags = (at.checked_add(1)?, at.checked_add(size)?);
            at = at.checked_add(size)?;
        }
        found.size = at;
        let first = rest.get(..at as usize)?;
        if lengths.count == 0 {
            return Some((found, max.min(rest.len() / found.size()).max(1)));
        }
        let count = if first.len() >= size_of::<Wide>() {
            let matcher = Matcher {
                layout: found,
                words: lengths.words(first)?,
            };
            let count = matcher.count(rest, max);
            *last = Some(matcher);
            count
        } else if at >= LENGTH_WORD {
            lengths.words::<u32>(first)?.count(rest, first.len(), max)
        } else {
            return None;
        };
        // At least one: the struct itself.
        Some((found, count.max(1)))
    }
}

/// The layout of the last uniform struct, which the next one probably has as well: arrays in neighbors.
#[derive(Clone, Copy, Debug)]
pub struct Matcher {
    layout: UniformLayout,
    words: Words<Wide>,
}

impl Matcher {
    #[inline(always)]
    fn count(&self, rest: &[u8], max: usize) -> usize {
        self.words.count(rest, self.layout.size(), max)
    }
}

/// The layout of the last uniform struct, for visitors of one plan that keep one layout.
#[derive(Debug, Default)]
pub struct LastLayout {
    /// The index of the struct in the plan.
    index: usize,
    matcher: Option<Matcher>,
}

impl LastLayout {
    /// Return the place for the layout of a struct. It is empty if the last uniform struct was another one.
    #[inline(always)]
    pub fn of(&mut self, plan: &Struct) -> &mut Option<Matcher> {
        if self.index != plan.index {
            *self = Self {
                index: plan.index,
                matcher: None,
            };
        }
        &mut self.matcher
    }
}

/// The most words that are compared. Structs that need more are left to the general decoder.
const MAX_WORDS: usize = 6;

/// The bytes of a struct that another struct must have as well to be of the same layout: lengths and tags.
#[derive(Default)]
struct Lengths {
    /// Starts and sizes in ascending order.
    ranges: [(u32, u32); MAX_PARTS + 1],
    count: usize,
}

/// Requires `bytes[offset..] & mask == value`.
#[derive(Clone, Copy, Debug, Default)]
struct Expected<W> {
    at: usize,
    word: W,
    mask: W,
}

/// All bytes that a struct must have to be of a layout.
#[derive(Clone, Copy, Debug)]
struct Words<W> {
    words: [Expected<W>; MAX_WORDS],
    count: usize,
}

/// Bytes that are compared at once.
trait Word: Copy + Default + Eq {
    const SIZE: usize;
    /// Read the bytes at an offset.
    fn read(bytes: &[u8], at: usize) -> Option<Self>;
    /// Add the bits in which a word differs from this one to those found so far.
    fn add_differences(self, word: Self, found: &mut Self);
    /// Return the bits of the mask.
    fn masked(self, mask: Self) -> Self;
}

impl Word for u32 {
    const SIZE: usize = size_of::<Self>();

    #[inline(always)]
    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        Some(Self::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
    }

    #[inline(always)]
    fn add_differences(self, word: Self, found: &mut Self) {
        *found |= self ^ word;
    }

    #[inline(always)]
    fn masked(self, mask: Self) -> Self {
        self & mask
    }
}

/// Sixteen bytes. Two integers become one vector register, which a `u128` does not.
type Wide = [u64; 2];

impl Word for Wide {
    const SIZE: usize = size_of::<Self>();

    #[inline(always)]
    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        let bytes: &[u8; size_of::<Self>()] = bytes.get(at..)?.first_chunk()?;
        let ([low, high], _) = bytes.as_chunks() else {
            return None;
        };
        Some([u64::from_ne_bytes(*low), u64::from_ne_bytes(*high)])
    }

    #[inline(always)]
    fn add_differences(self, word: Self, found: &mut Self) {
        let ([low, high], [other_low, other_high]) = (self, word);
        let [found_low, found_high] = found;
        *found_low |= low ^ other_low;
        *found_high |= high ^ other_high;
    }

    #[inline(always)]
    fn masked(self, mask: Self) -> Self {
        let ([low, high], [mask_low, mask_high]) = (self, mask);
        [low & mask_low, high & mask_high]
    }
}

impl Lengths {
    /// Require bytes to be equal.
    #[inline(always)]
    fn add(&mut self, at: u32, size: u32) -> Option<()> {
        *self.ranges.get_mut(self.count)? = (at, size);
        self.count += 1;
        Some(())
    }

    /// Collect the bytes of the first struct in words.
    #[inline(always)]
    fn words<W: Word>(&self, first: &[u8]) -> Option<Words<W>> {
        let mut words = [Expected::<W>::default(); MAX_WORDS];
        let mut masks = [[0u8; size_of::<Wide>()]; MAX_WORDS];
        let mut count = 0usize;
        let last = first.len().checked_sub(W::SIZE)?;
        for (start, size) in self.ranges.get(..self.count)? {
            for at in *start as usize..start.checked_add(*size)? as usize {
                let open = count.wrapping_sub(1);
                let begin = words.get(open).map_or(0, |word| word.at);
                if let Some(mask) = masks.get_mut(open)
                    && at.wrapping_sub(begin) < W::SIZE
                {
                    *mask.get_mut(at.wrapping_sub(begin))? = 0xff;
                    continue;
                }
                let begin = at.min(last);
                *words.get_mut(count)? = Expected {
                    at: begin,
                    word: W::read(first, begin)?,
                    mask: W::default(),
                };
                *masks.get_mut(count)?.get_mut(at.wrapping_sub(begin))? = 0xff;
                count = count.wrapping_add(1);
            }
        }
        for (word, mask) in words.iter_mut().zip(&masks).take(count) {
            word.mask = W::read(mask, 0)?;
        }
        Some(Words { words, count })
    }
}

impl<W: Word> Words<W> {
    /// Count the structs of `size` bytes from the start of `rest` that match, at most `max`.
    #[inline(always)]
    fn count(&self, rest: &[u8], size: usize, max: usize) -> usize {
        // Usually all of them do.
        if let Some(bytes) = max.checked_mul(size).and_then(|all| rest.get(..all))
            && self.match_all(bytes, size)
        {
            return max;
        }
        let mut count = 0usize;
        let mut rows = rest;
        while count < max
            && let Some((row, after)) = rows.split_at_checked(size)
            && self.match_all(row, size)
        {
            rows = after;
            count = count.wrapping_add(1);
        }
        count
    }

    /// Return whether all structs of `size` bytes in `bytes` match.
    #[inline(always)]
    fn match_all(&self, bytes: &[u8], size: usize) -> bool {
        // With a constant number, the words stay in registers.
        match self.count {
            1 => self.first_match::<1>(bytes, size),
            2 => self.first_match::<2>(bytes, size),
            3 => self.first_match::<3>(bytes, size),
            4 => self.first_match::<4>(bytes, size),
            _ => self.first_match::<MAX_WORDS>(bytes, size),
        }
    }

    /// As `match_all` for the first `N` words. Unused ones have an empty mask.
    #[inline(never)]
    fn first_match<const N: usize>(&self, bytes: &[u8], size: usize) -> bool {
        let Some(expected) = self.words.first_chunk::<N>() else {
            return false;
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (block, others) = rest.split_at_checked(size.saturating_mul(BLOCK)).unwrap_or((rest, &[]));
            // Differences are collected, because a branch for each word would take most of the time.
            let mut found = [W::default(); N];
            let mut rows = block;
            while let Some((row, after)) = rows.split_at_checked(size) {
                for (expected, found) in expected.iter().zip(&mut found) {
                    match W::read(row, expected.at) {
                        Some(word) => word.add_differences(expected.word, found),
                        None => return false,
                    }
                }
                rows = after;
            }
            for (expected, found) in expected.iter().zip(found) {
                if found.masked(expected.mask) != W::default() {
                    return false;
                }
            }
            rest = others;
        }
        true
    }
}

/// The number of structs that are compared before the first difference is noticed.
const BLOCK: usize = 32;
