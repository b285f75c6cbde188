//! Structs side by side whose lists have the same lengths, gone through as one.
//!
//! Rules of this file: the partitions of a topic differ in their numbers and hardly ever in their lengths. Where the
//! lengths of a struct are byte for byte those of the one before it, which was checked, so are all its places: what is
//! left to check is that its bytes are there. Anything unusual (a tag, a long list, a bad length) is not alike, and is
//! left to those who look closely.

use crate::plan::{Step, StepKind, Struct};

/// More parts than this are not worth a look.
const MOST_PARTS: usize = 8;
/// A word of length bytes is compared at once.
const WORD: usize = 4;

/// Where the parts of a struct are: of each run of fixed-size fields, and of the elements of each list of int32, in the
/// order of the wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alike {
    /// Bytes of the struct.
    pub size: usize,
    /// From where to where, counted from its start.
    places: [(u32, u32); MOST_PARTS],
    parts: usize,
    checks: [Check; MOST_PARTS + 1],
    checked: usize,
}

/// Bytes that must be the same.
#[derive(Clone, Copy, Debug, Default)]
struct Check {
    at: usize,
    word: u32,
    mask: u32,
}

/// Whether structs of these steps may be gone through as one.
pub(crate) fn is_flat(steps: &[Step], smallest: usize) -> bool {
    let parts = parts(steps).take_while(|step| step.kind != StepKind::Other).count();
    smallest >= WORD && parts <= MOST_PARTS && steps.iter().all(|step| step.kind != StepKind::Other)
}

/// The steps at which a run or a list begins.
fn parts(steps: &[Step]) -> impl Iterator<Item = &Step> {
    let mut position = 0;
    std::iter::from_fn(move || {
        let step = steps.get(position)?;
        position += match step.kind {
            StepKind::Fixed(_) => step.fields as usize,
            _ => 1,
        };
        Some(step)
    })
}

impl Alike {
    /// Where a part is.
    #[inline(always)]
    pub fn place(&self, part: usize) -> std::ops::Range<usize> {
        let (start, end) = self.places.get(part).copied().unwrap_or_default();
        start as usize..end as usize
    }

    /// The struct with which `rest` begins; None where it is not of the usual kind.
    #[inline]
    pub(crate) fn first(plan: &Struct, rest: &[u8]) -> Option<Self> {
        let mut found = Self::default();
        let mut at = 0usize;
        for step in parts(&plan.steps) {
            let (start, end) = match step.kind {
                StepKind::Fixed(_) => (at, at.checked_add(step.run as usize)?),
                StepKind::Int32Array { compact: true } => {
                    let byte = *rest.get(at)?;
                    if !(1..=0x7f).contains(&byte) {
                        return None;
                    }
                    found.check(rest, at, 1)?;
                    (at + 1, at + 1 + 4 * (usize::from(byte) - 1))
                }
                StepKind::Int32Array { compact: false } => {
                    let count = i32::from_be_bytes(*rest.get(at..)?.first_chunk()?);
                    let size = usize::try_from(count).ok()?.checked_mul(4)?;
                    found.check(rest, at, 4)?;
                    (at + 4, at.checked_add(4)?.checked_add(size)?)
                }
                StepKind::Other => return None,
            };
            *found.places.get_mut(found.parts)? = (u32::try_from(start).ok()?, u32::try_from(end).ok()?);
            found.parts += 1;
            at = end;
        }
        if plan.flexible {
            if *rest.get(at)? != 0 {
                return None;
            }
            found.check(rest, at, 1)?;
            at += 1;
        }
        found.size = at;
        if at < WORD || at > rest.len() {
            return None;
        }
        found.keep_inside(rest)?;
        Some(found)
    }

    /// `count` bytes at a place must be what they are now.
    #[inline(always)]
    fn check(&mut self, rest: &[u8], at: usize, count: usize) -> Option<()> {
        let mut bytes = [0; WORD];
        let mut mask = [0; WORD];
        let given = rest.get(at..)?.get(..count)?;
        bytes.get_mut(..count)?.copy_from_slice(given);
        mask.get_mut(..count)?.fill(0xff);
        *self.checks.get_mut(self.checked)? = Check {
            at,
            word: u32::from_le_bytes(bytes),
            mask: u32::from_le_bytes(mask),
        };
        self.checked += 1;
        Some(())
    }

    /// Words that would end behind the struct begin earlier.
    #[inline(always)]
    fn keep_inside(&mut self, _rest: &[u8]) -> Option<()> {
        let last = self.size.checked_sub(WORD)?;
        for check in self.checks.get_mut(..self.checked)? {
            if check.at > last {
                let bits = u32::try_from(8 * (check.at - last)).ok()?;
                *check = Check {
                    at: last,
                    word: check.word.checked_shl(bits)?,
                    mask: check.mask.checked_shl(bits)?,
                };
            }
        }
        Some(())
    }

    /// How many structs like this one, at most `most`, stand side by side at the start of `rest`.
    #[inline]
    pub(crate) fn count(&self, rest: &[u8], most: usize) -> usize {
        let checks = self.checks.get(..self.checked).unwrap_or_default();
        let same = |bytes: &[u8]| {
            let differences = checks.iter().fold(0, |differences, check| {
                let word = bytes.get(check.at..).and_then(|bytes| bytes.first_chunk());
                let word = word.map_or(!check.word, |word| u32::from_le_bytes(*word));
                differences | ((word ^ check.word) & check.mask)
            });
            differences == 0
        };
        // No division where there is no need for one: the size is not 0.
        let alike = rest.chunks_exact(self.size.max(1)).take(most);
        alike.take_while(|bytes| same(bytes)).count()
    }
}
