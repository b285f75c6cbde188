//! Where an element of an array stood in the array before.
//!
//! Rules of this file: each element of the array before is given out once. The next one is expected behind the last;
//! only when it is not there are all keys written down, once an array.

use std::collections::HashMap;
use std::ops::Range;

use super::Remembering;
use super::found::FoundArray;
use super::keys::{Key, key_of};
use crate::plan::Struct;

/// The elements of an array of the frame before.
pub(super) struct OldArray<'o, K> {
    bytes: &'o [u8],
    /// Where each begins in `bytes`, and the last one ends.
    pub(super) ends: &'o [usize],
    pub(super) kept: K,
}

impl<'o, K: Copy> OldArray<'o, K> {
    /// None for one that was null or empty.
    pub(super) fn new<'a, V: Remembering<'a, Kept = K>>(
        bytes: &'o [u8],
        ends: &'o [usize],
        kept: K,
        visitor: &V,
    ) -> Option<Self> {
        (ends.len() > 1 && visitor.is_array(kept, ends.len() - 1)).then_some(Self { bytes, ends, kept })
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len() - 1
    }

    fn element(&self, index: usize) -> &'o [u8] {
        self.bytes
            .get(self.ends[index]..self.ends[index + 1])
            .unwrap_or_default()
    }

    /// All elements from this one on.
    fn from(&self, index: usize) -> &'o [u8] {
        self.bytes
            .get(self.ends[index]..self.ends[self.count()])
            .unwrap_or_default()
    }
}

/// An element of the array before that this one seems to be.
#[derive(Clone, Copy)]
pub(super) struct Partner {
    pub(super) index: usize,
    /// Whether it has not changed.
    pub(super) whole: bool,
}

/// Where to look for the next element in the array before.
pub(super) struct Search<'o, 's, K> {
    pub(super) old: Option<&'s OldArray<'o, K>>,
    key: Option<Key>,
    /// Where the next one is expected.
    at: usize,
    /// By key, the first element that has it; made when one is not where it is expected.
    by_key: Option<HashMap<&'o [u8], usize>>,
    last: Option<usize>,
    found: &'s mut FoundArray,
}

impl<'o, 's, K: Copy> Search<'o, 's, K> {
    pub(super) fn new(old: Option<&'s OldArray<'o, K>>, key: Option<Key>, found: &'s mut FoundArray) -> Self {
        found.stayed = vec![false; old.map_or(0, OldArray::count)];
        Self {
            old,
            key,
            at: 0,
            by_key: None,
            last: None,
            found,
        }
    }

    fn is_free(&self, index: usize) -> bool {
        self.found.stayed.get(index) == Some(&false)
    }

    /// The elements from `at` on with which `rest` begins, at most so many.
    pub(super) fn stretch(&self, rest: &[u8], most: usize) -> Range<usize> {
        let nothing = self.at..self.at;
        let Some(old) = self.old else { return nothing };
        if !self.is_free(self.at) {
            return nothing;
        }
        let common = common_prefix(rest, old.from(self.at));
        let start = old.ends[self.at];
        let mut end = self.at;
        while end - self.at < most && self.is_free(end) && old.ends[end + 1] - start <= common {
            end += 1;
        }
        self.at..end
    }

    pub(super) fn stayed(&mut self, same: Range<usize>) {
        if same.is_empty() {
            return;
        }
        self.goes_on_at(same.start);
        self.last = same.clone().last();
        self.at = same.end;
        if let Some(stayed) = self.found.stayed.get_mut(same) {
            stayed.fill(true);
        }
    }

    fn goes_on_at(&mut self, index: usize) {
        self.found.moved |= self.last.is_some_and(|last| index < last);
    }

    /// Which element of the array before this one is, changed or not.
    pub(super) fn partner(&mut self, plan: &Struct, rest: &[u8]) -> Option<Partner> {
        let old = self.old?;
        let Some(key) = self.key else {
            // Without a key, the place is all that there is.
            return self.is_free(self.at).then_some(Partner {
                index: self.at,
                whole: false,
            });
        };
        let wanted = key_of(plan, key, rest)?;
        if self.is_free(self.at) && key_of(plan, key, old.element(self.at)) == Some(wanted) {
            return Some(Partner {
                index: self.at,
                whole: false,
            });
        }
        let by_key = self.by_key.get_or_insert_with(|| {
            let mut by_key = HashMap::with_capacity(old.count());
            for index in 0..old.count() {
                if let Some(key) = key_of(plan, key, old.element(index)) {
                    by_key.entry(key).or_insert(index);
                }
            }
            by_key
        });
        let index = *by_key.get(wanted)?;
        if !self.is_free(index) {
            return None;
        }
        let whole = rest.starts_with(old.element(index));
        if whole {
            self.at = index;
        }
        Some(Partner { index, whole })
    }

    pub(super) fn old_element<'a, V: Remembering<'a, Kept = K>>(
        &self,
        index: usize,
        plan: &'a Struct,
        visitor: &V,
    ) -> Option<(&'o [u8], K)> {
        let old = self.old?;
        let kept = visitor.element(old.kept, index)?;
        visitor.is_struct(kept, plan).then(|| (old.element(index), kept))
    }

    pub(super) fn changed(&mut self, partner: Option<usize>, index: usize) {
        let Some(partner) = partner else {
            self.found.added.push(index);
            return;
        };
        self.goes_on_at(partner);
        self.found.changed.push((partner, index));
        self.found.stayed[partner] = true;
        self.last = Some(partner);
        self.at = partner + 1;
    }
}

/// With how many bytes both begin.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 512;
    const WORD: usize = 8;
    let shorter = a.len().min(b.len());
    let mut length = 0;
    while shorter - length >= BLOCK && a[length..length + BLOCK] == b[length..length + BLOCK] {
        length += BLOCK;
    }
    while shorter - length >= WORD && a[length..length + WORD] == b[length..length + WORD] {
        length += WORD;
    }
    while length < shorter && a[length] == b[length] {
        length += 1;
    }
    length
}
