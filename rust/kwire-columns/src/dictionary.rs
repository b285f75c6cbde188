//! A dictionary of repeated strings.
//!
//! The hash has a random seed, so that clients cannot provoke collisions. Entries of an invalid frame are removed
//! again, in time proportional to their number.

use ahash::RandomState;
use hashbrown::HashTable;

use crate::error::Exceeded;
use crate::size::{Budget, bits};
use crate::text::{Text, signed, unsigned};

/// Distinct strings in the order of their first appearance.
pub(crate) struct Dictionary {
    pub(crate) entries: Text,
    table: HashTable<Place>,
    hasher: RandomState,
    /// The number of entries of valid frames.
    kept: usize,
    /// The index of the last key. Frames of one cluster usually name topics in the same order.
    last: usize,
}

/// Bytes of an entry besides its text: an offset, and a place with a byte of control in a table filled by 7/16 at least.
const ENTRY: usize = 48;

/// The hash of an entry, stored so that growing the table does not read the entry, and its index.
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

    /// Return the key of a string, which is added if it is new.
    #[inline]
    pub(crate) fn key(&mut self, text: &[u8], budget: &mut Budget<'_>) -> Result<i32, Exceeded> {
        let next = self.last.wrapping_add(1);
        self.last = if self.entries.get(next) == Some(text) {
            next
        } else if self.entries.get(self.last) == Some(text) {
            self.last
        } else {
            self.find(text, budget)?
        };
        Ok(signed(self.last))
    }

    fn find(&mut self, text: &[u8], budget: &mut Budget<'_>) -> Result<usize, Exceeded> {
        let entries = &mut self.entries;
        let hash = self.hasher.hash_one(text);
        let same = |place: &Place| place.hash == hash && entries.get(unsigned(place.index)) == Some(text);
        if let Some(found) = self.table.find(hash, same) {
            return Ok(unsigned(found.index));
        }
        budget.cover(bits(text.len() + ENTRY))?;
        let index = entries.len();
        entries.push(text);
        let place = Place {
            hash,
            index: signed(index),
        };
        self.table.insert_unique(hash, place, |place| place.hash);
        Ok(index)
    }

    /// Keep all entries added so far.
    pub(crate) fn keep(&mut self) {
        self.kept = self.entries.len();
    }

    /// Remove the entries added since the last `keep`.
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
