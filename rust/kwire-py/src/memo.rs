//! Values that were built before in the same call, found again by the bytes they were built from.
//!
//! Rules of this file: a table remembers places in the input, not bytes, and a find is believed only after the bytes at
//! both places were compared; so no hash, stale entry or foreign mask can give a wrong value. Entries of earlier calls
//! are told apart by a generation. A table that rarely finds anything switches itself off for the rest of the call.

/// Tables stay below this many entries: beyond it they crowd out of the cache what they are to save.
const MOST_ENTRIES: usize = 1 << 15;
const FEWEST_ENTRIES: usize = 1 << 8;
/// A table is judged after this many look-ups for the first time, then whenever half of it could have been filled anew.
const FIRST_JUDGEMENT: usize = 2048;

/// How often a table must find something to be worth its look-ups, in percent.
#[derive(Clone, Copy)]
pub(crate) struct Worth {
    /// At the first judgement. What repeats at all repeats more and more as the table fills.
    pub(crate) first: usize,
    /// Later.
    pub(crate) later: usize,
}

/// A direct-mapped table from bytes of one input to values.
pub(crate) struct Memo<T> {
    entries: Vec<Entry<T>>,
    generation: u32,
    asked: usize,
    found: usize,
    judged_at: usize,
    worth: Worth,
    wanted: usize,
    pub(crate) on: bool,
}

#[derive(Clone, Copy)]
struct Entry<T> {
    generation: u32,
    start: u32,
    length: u32,
    value: Option<T>,
}

impl<T: Copy> Memo<T> {
    pub(crate) fn new(worth: Worth) -> Self {
        let entries = Vec::new();
        Self {
            entries,
            generation: 0,
            asked: 0,
            found: 0,
            judged_at: FIRST_JUDGEMENT,
            worth,
            wanted: 0,
            on: false,
        }
    }

    /// Forget everything and get ready for an input. Small inputs are not worth a table, those past 4 GiB have no room
    /// in its entries.
    pub(crate) fn begin(&mut self, input: &[u8], smallest_input: usize) {
        self.asked = 0;
        self.found = 0;
        self.judged_at = FIRST_JUDGEMENT;
        self.on = input.len() >= smallest_input && u32::try_from(input.len()).is_ok();
        if !self.on {
            return;
        }
        self.wanted = (input.len() / 48)
            .next_power_of_two()
            .clamp(FEWEST_ENTRIES, MOST_ENTRIES);
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.entries.clear();
            self.generation = 1;
        }
    }

    /// The value that was put for exactly `bytes`. `hash` is theirs.
    #[inline]
    pub(crate) fn get(&mut self, input: &[u8], bytes: &[u8], hash: u64) -> Option<T> {
        self.asked += 1;
        if self.asked == self.judged_at {
            self.judge();
        }
        let place = self.place(hash);
        let entry = self.entries.get(place)?;
        if entry.generation != self.generation || entry.length as usize != bytes.len() {
            return None;
        }
        let before = input.get(entry.start as usize..)?.get(..bytes.len())?;
        if same(before, bytes) {
            self.found += 1;
            entry.value
        } else {
            None
        }
    }

    #[cold]
    fn judge(&mut self) {
        let first = self.judged_at == FIRST_JUDGEMENT;
        let wanted = if first { self.worth.first } else { self.worth.later };
        self.on = self.found * 100 >= self.asked * wanted;
        self.judged_at = FIRST_JUDGEMENT.max(self.entries.len() / 2) + 1;
        self.asked = 0;
        self.found = 0;
    }

    /// Remember the value of `bytes`, which begin at `start` of the input.
    #[inline]
    pub(crate) fn put(&mut self, start: usize, bytes: &[u8], hash: u64, value: T) {
        if self.entries.len() < self.wanted {
            self.make_entries();
        }
        let place = self.place(hash);
        let (generation, Ok(start), Ok(length)) = (self.generation, u32::try_from(start), u32::try_from(bytes.len()))
        else {
            return;
        };
        if let Some(entry) = self.entries.get_mut(place) {
            *entry = Entry {
                generation,
                start,
                length,
                value: Some(value),
            };
        }
    }

    /// Entries are made when there is something to put: most plans have tables that nobody asks.
    #[cold]
    fn make_entries(&mut self) {
        self.entries.clear();
        self.entries.resize(
            self.wanted,
            Entry {
                generation: 0,
                start: 0,
                length: 0,
                value: None,
            },
        );
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        // The table's own length, always: a mask kept beside it was somebody's memory bug once.
        (hash >> 32) as usize & self.entries.len().wrapping_sub(1)
    }
}

/// Equality of short byte strings without a call to `memcmp`.
#[inline(always)]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match (a.last_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(a_end), Some(b_end)) => {
            let chunks = a.chunks_exact(8).zip(b.chunks_exact(8));
            u64::from_ne_bytes(*a_end) == u64::from_ne_bytes(*b_end) && chunks.into_iter().all(|(a, b)| a == b)
        }
        _ => a.iter().zip(b).all(|(a, b)| a == b),
    }
}

/// A hash for tables in memory: quick, and good enough in its upper half. Nothing is believed because of it.
#[inline(always)]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = bytes.len() as u64;
    let mut mix = |word: u64| hash = (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        mix(chunk.first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk)));
    }
    if let Some(end) = bytes.last_chunk::<8>() {
        mix(u64::from_le_bytes(*end));
    } else {
        mix(chunks
            .remainder()
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }
    hash ^ hash >> 29
}
