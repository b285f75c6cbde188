//! Strings that repeat, each kept once.
//!
//! Rules of this file: what comes from the wire is looked up by a hash with a secret seed, so that nobody can make all
//! of them collide; what a bad frame brought along is taken out again, at the cost of what it brought.

use ahash::RandomState;
use hashbrown::HashTable;

/// Distinct strings in the order of their first appearance.
pub(crate) struct Dictionary {
    pub(crate) ends: Vec<i32>,
    pub(crate) bytes: Vec<u8>,
    table: HashTable<u32>,
    hasher: RandomState,
    /// How many entries good frames have brought.
    kept: usize,
    /// Where the last one was found: frames of one cluster name their topics in the same order.
    last: usize,
}

impl Dictionary {
    pub(crate) fn new() -> Self {
        Self {
            ends: Vec::new(),
            bytes: Vec::new(),
            table: HashTable::new(),
            hasher: RandomState::new(),
            kept: 0,
            last: usize::MAX,
        }
    }

    fn entry(&self, index: usize) -> Option<&[u8]> {
        entry(&self.ends, &self.bytes, index)
    }

    /// The key of a string, which is entered if it is new.
    #[inline]
    pub(crate) fn key(&mut self, text: &[u8]) -> i32 {
        for guess in [self.last, self.last.wrapping_add(1), 0] {
            if self.entry(guess) == Some(text) {
                self.last = guess;
                return signed(guess);
            }
        }
        self.last = self.find(text);
        signed(self.last)
    }

    fn find(&mut self, text: &[u8]) -> usize {
        let Self {
            ends, bytes, hasher, ..
        } = self;
        let hash = hasher.hash_one(text);
        let same = |index: &u32| entry(ends, bytes, *index as usize) == Some(text);
        if let Some(found) = self.table.find(hash, same) {
            return *found as usize;
        }
        let new = ends.len();
        bytes.extend_from_slice(text);
        ends.push(signed(bytes.len()));
        let rehash = |index: &u32| hasher.hash_one(entry(ends, bytes, *index as usize).unwrap_or_default());
        // Fewer than 2^31, as there are no more bytes than that.
        self.table
            .insert_unique(hash, u32::try_from(new).unwrap_or(u32::MAX), rehash);
        new
    }

    /// What was entered until now stays.
    pub(crate) fn keep(&mut self) {
        self.kept = self.ends.len();
    }

    /// What was entered since then goes.
    pub(crate) fn forget(&mut self) {
        for index in self.kept..self.ends.len() {
            let hash = self.hasher.hash_one(self.entry(index).unwrap_or_default());
            if let Ok(found) = self.table.find_entry(hash, |other| *other as usize == index) {
                found.remove();
            }
        }
        self.ends.truncate(self.kept);
        self.bytes.truncate(self.ends.last().map_or(0, |end| unsigned(*end)));
    }
}

fn entry<'d>(ends: &[i32], bytes: &'d [u8], index: usize) -> Option<&'d [u8]> {
    let end = unsigned(*ends.get(index)?);
    let start = index.checked_sub(1).map_or(0, |before| unsigned(ends[before]));
    bytes.get(start..end)
}

/// As Arrow counts. No batch has so much in it that this does not fit: the door sees to it.
#[inline(always)]
pub(crate) fn signed(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[inline(always)]
pub(crate) fn unsigned(count: i32) -> usize {
    usize::try_from(count).unwrap_or_default()
}
