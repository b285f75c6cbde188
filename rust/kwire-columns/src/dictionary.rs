//! Strings that repeat, each kept once.
//!
//! Rules of this file: what comes from the wire is looked up by a hash with a secret seed, so that nobody can make all
//! of them collide; what a bad frame brought along is taken out again, at the cost of what it brought.

use ahash::RandomState;
use hashbrown::HashTable;

use crate::text::{Text, signed, unsigned};

/// Distinct strings in the order of their first appearance.
pub(crate) struct Dictionary {
    pub(crate) entries: Text,
    table: HashTable<Place>,
    hasher: RandomState,
    /// How many entries good frames have brought.
    kept: usize,
    /// Where the last one was found: frames of one cluster name their topics in the same order.
    last: usize,
}

/// The hash of an entry, so that it need not be read again, and its index.
struct Place {
    hash: u64,
    index: i32,
}

impl Dictionary {
    pub(crate) fn new() -> Self {
        Self {
            entries: Text::new(),
            table: HashTable::new(),
            hasher: RandomState::new(),
            kept: 0,
            last: usize::MAX,
        }
    }

    /// The key of a string, which is entered if it is new.
    #[inline]
    pub(crate) fn key(&mut self, text: &[u8]) -> i32 {
        let next = self.last.wrapping_add(1);
        self.last = if self.entries.get(next) == Some(text) {
            next
        } else if self.entries.get(self.last) == Some(text) {
            self.last
        } else {
            self.find(text)
        };
        signed(self.last)
    }

    fn find(&mut self, text: &[u8]) -> usize {
        let entries = &mut self.entries;
        let hash = self.hasher.hash_one(text);
        let same = |place: &Place| place.hash == hash && entries.get(unsigned(place.index)) == Some(text);
        if let Some(found) = self.table.find(hash, same) {
            return unsigned(found.index);
        }
        let index = entries.len();
        entries.push(text);
        let place = Place {
            hash,
            index: signed(index),
        };
        self.table.insert_unique(hash, place, |place| place.hash);
        index
    }

    /// What was entered until now stays.
    pub(crate) fn keep(&mut self) {
        self.kept = self.entries.len();
    }

    /// What was entered since then goes.
    pub(crate) fn forget(&mut self) {
        for index in self.kept..self.entries.len() {
            let hash = self.hasher.hash_one(self.entries.get(index).unwrap_or_default());
            if let Ok(found) = self.table.find_entry(hash, |place| unsigned(place.index) == index) {
                found.remove();
            }
        }
        self.entries.truncate(self.kept);
    }
}
