//! Search for the elements of an array in the previous array.
//!
//! Each previous element is matched at most once. The next element is expected after the last match. Only if it is not
//! there, an index of all keys is built, once for each array.

use std::collections::HashMap;
use std::ops::Range;

use super::changes::ArrayChanges;
use super::keys::{Key, key_of};
use super::visitor::IncrementalVisitor;
use crate::plan::Struct;

/// The elements of an array of the previous frame.
pub(super) struct PreviousArray<'o, K> {
    bytes: &'o [u8],
    /// The start of each element in `bytes`, then the end of the last one.
    pub(super) ends: &'o [usize],
    pub(super) kept: K,
}

impl<'o, K: Copy> PreviousArray<'o, K> {
    /// Return the array, or `None` if it was null or empty.
    pub(super) fn new<'a, V: IncrementalVisitor<'a, Previous = K>>(
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

    /// Return the bytes of this element and all later ones.
    fn from(&self, index: usize) -> &'o [u8] {
        self.bytes
            .get(self.ends[index]..self.ends[self.count()])
            .unwrap_or_default()
    }
}

/// A previous element with the same identity as the current one.
#[derive(Clone, Copy)]
pub(super) struct Match {
    pub(super) index: usize,
    /// Whether the bytes are equal.
    pub(super) unchanged: bool,
}

/// The state of the search in the previous array.
pub(super) struct Search<'o, 's, K> {
    pub(super) old: Option<&'s PreviousArray<'o, K>>,
    key: Option<Key>,
    /// The index at which the next element is expected.
    at: usize,
    /// The first element of each key. Built when an element is not at the expected index.
    by_key: Option<HashMap<&'o [u8], usize>>,
    last: Option<usize>,
    changes: &'s mut ArrayChanges,
    /// Memory is short, so the changes are incomplete.
    pub(super) is_short: bool,
}

impl<'o, 's, K: Copy> Search<'o, 's, K> {
    pub(super) fn new(old: Option<&'s PreviousArray<'o, K>>, key: Option<Key>, changes: &'s mut ArrayChanges) -> Self {
        let count = old.map_or(0, PreviousArray::count);
        let is_short = changes.retained.try_reserve_exact(count).is_err();
        if !is_short {
            changes.retained.resize(count, false);
        }
        Self {
            old,
            key,
            at: 0,
            by_key: None,
            last: None,
            changes,
            is_short,
        }
    }

    fn is_free(&self, index: usize) -> bool {
        self.changes.retained.get(index) == Some(&false)
    }

    /// Return the elements from `at` on whose bytes `rest` starts with, at most `most`.
    pub(super) fn common_run(&self, rest: &[u8], most: usize) -> Range<usize> {
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

    pub(super) fn retain(&mut self, same: Range<usize>) {
        if same.is_empty() {
            return;
        }
        self.check_order(same.start);
        self.last = same.clone().last();
        self.at = same.end;
        if let Some(retained) = self.changes.retained.get_mut(same) {
            retained.fill(true);
        }
    }

    fn check_order(&mut self, index: usize) {
        self.changes.moved |= self.last.is_some_and(|last| index < last);
    }

    /// Find the previous element with the identity of the current one, changed or not.
    pub(super) fn find_match(&mut self, plan: &Struct, rest: &[u8]) -> Option<Match> {
        let old = self.old?;
        let Some(key) = self.key else {
            // Without a key, elements are identified by index.
            return self.is_free(self.at).then_some(Match {
                index: self.at,
                unchanged: false,
            });
        };
        let wanted = key_of(plan, key, rest)?;
        if self.is_free(self.at) && key_of(plan, key, old.element(self.at)) == Some(wanted) {
            return Some(Match {
                index: self.at,
                unchanged: false,
            });
        }
        if self.by_key.is_none() {
            let mut by_key = HashMap::new();
            if by_key.try_reserve(old.count()).is_err() {
                self.is_short = true;
                return None;
            }
            for index in 0..old.count() {
                if let Some(key) = key_of(plan, key, old.element(index)) {
                    by_key.entry(key).or_insert(index);
                }
            }
            self.by_key = Some(by_key);
        }
        let index = *self.by_key.as_ref()?.get(wanted)?;
        if !self.is_free(index) {
            return None;
        }
        let unchanged = rest.starts_with(old.element(index));
        if unchanged {
            self.at = index;
        }
        Some(Match { index, unchanged })
    }

    pub(super) fn previous_element_of<'a, V: IncrementalVisitor<'a, Previous = K>>(
        &self,
        index: usize,
        plan: &'a Struct,
        visitor: &V,
    ) -> Option<(&'o [u8], K)> {
        let old = self.old?;
        let kept = visitor.previous_element(old.kept, index)?;
        visitor.is_struct(kept, plan).then(|| (old.element(index), kept))
    }

    pub(super) fn changed(&mut self, matched: Option<usize>, index: usize) {
        self.is_short |= self.changes.added.try_reserve(1).is_err() || self.changes.changed.try_reserve(1).is_err();
        if self.is_short {
            return;
        }
        let Some(matched) = matched else {
            self.changes.added.push(index);
            return;
        };
        self.check_order(matched);
        self.changes.changed.push((matched, index));
        self.changes.retained[matched] = true;
        self.last = Some(matched);
        self.at = matched + 1;
    }
}

/// Return the length of the common prefix.
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
