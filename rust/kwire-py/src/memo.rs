//! Caches of values by the bytes from which they were built.
//!
//! A table of values of the same call (`Memo`) stores offsets in the input instead of bytes. A look-up compares the bytes at both offsets, so neither a
//! hash collision nor a stale entry can return a wrong value. A generation number distinguishes entries of earlier
//! calls. A table with too few hits turns itself off for the rest of the call.

use crate::unsafe_prefetch::prefetch;

/// The maximum number of entries. A larger table displaces more of the processor's caches than it saves.
const MOST_ENTRIES: usize = 1 << 15;
const FEWEST_ENTRIES: usize = 1 << 8;
/// The number of input bytes for each look-up, at least.
const BYTES_A_LOOK_UP: usize = 48;

/// When a table is worth its look-ups.
///
/// A table is evaluated for the first time after n = 10 sqrt(N) of the N look-ups that an input of this length leads
/// to, or after N / 10 if that is less. With D distinct values, about n²/2D of n look-ups are hits, so the number of
/// hits is an estimate of D long before the table is full.
#[derive(Clone, Copy)]
pub(crate) struct Worth {
    /// The maximum number of distinct values. With more, the cache misses of a hit cost more than it saves.
    pub(crate) distinct: usize,
    /// The percentage of hits that later evaluations require. They take place whenever half of the table could have
    /// been replaced.
    pub(crate) percent: usize,
}

/// A look-up of a long value costs little compared to building it: a few hits suffice. The first evaluation takes place
/// after a quarter of the look-ups, at most 128, which have at least one hit if there are at most 5,000 distinct values.
const WORTH_OF_LONG_VALUES: Worth = Worth {
    distinct: 1 << 13,
    percent: 5,
};
const FIRST_EVALUATION_OF_LONG_VALUES: (usize, usize) = (1 << 4, 1 << 7);
/// Values with more bytes are long.
const LONG: usize = 128;
const MOST_LONG_ENTRIES: usize = 1 << 12;

/// A direct-mapped table from bytes of one input to values.
pub(crate) struct Memo<T> {
    entries: Vec<Entry<T>>,
    generation: u32,
    asked: usize,
    found: usize,
    judged_at: usize,
    judged: bool,
    worth: Worth,
    /// `worth`, or the worth of long values if the first value of this input was long.
    worth_now: Worth,
    wanted: usize,
    /// The number of look-ups that the input leads to. 0 before the first one.
    look_ups: usize,
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
            judged_at: 0,
            judged: false,
            worth,
            worth_now: worth,
            wanted: 0,
            look_ups: 0,
            on: false,
        }
    }

    /// Clear the table and prepare it for an input. Small inputs do not justify a table. Offsets beyond 4 GiB do not
    /// fit its entries.
    pub(crate) fn begin(&mut self, input: &[u8], smallest_input: usize) {
        self.on = input.len() >= smallest_input && u32::try_from(input.len()).is_ok();
        if !self.on {
            return;
        }
        self.look_ups = 0;
        (self.asked, self.found, self.judged) = (0, 0, false);
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.entries.clear();
            self.generation = 1;
        }
    }

    /// Estimate the number of look-ups from the length of the first value.
    #[cold]
    fn expect(&mut self, input: usize, length: usize) {
        self.look_ups = (input / length.max(BYTES_A_LOOK_UP)).max(1);
        if length > LONG {
            self.worth_now = WORTH_OF_LONG_VALUES;
            self.wanted = self
                .look_ups
                .next_power_of_two()
                .clamp(FEWEST_ENTRIES, MOST_LONG_ENTRIES);
            let (fewest, most) = FIRST_EVALUATION_OF_LONG_VALUES;
            self.judged_at = (self.look_ups / 4).clamp(fewest, most);
        } else {
            self.worth_now = self.worth;
            self.worth_now.distinct = self.worth.distinct.min(self.look_ups);
            self.wanted = self.look_ups.next_power_of_two().clamp(FEWEST_ENTRIES, MOST_ENTRIES);
            self.judged_at = (self.look_ups * 100).isqrt().min(self.look_ups / 10).max(1);
        }
    }

    /// Return the value that was stored for exactly these bytes. `hash` is their hash.
    #[inline]
    pub(crate) fn get(&mut self, input: &[u8], bytes: &[u8], hash: u64) -> Option<T> {
        if self.look_ups == 0 {
            self.expect(input.len(), bytes.len());
        }
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
        let equal = if bytes.len() > LONG {
            before == bytes
        } else {
            same(before, bytes)
        };
        if equal {
            self.found += 1;
            entry.value
        } else {
            None
        }
    }

    /// Prefetch the entry of a hash that is needed by the look-up after the next one.
    #[inline(always)]
    pub(crate) fn announce(&self, hash: u64) {
        if let Some(entry) = self.entries.get(self.place(hash)) {
            prefetch(entry);
        }
    }

    /// Prefetch the bytes of an entry that is needed by the next look-up. Returns the value without checking it.
    #[inline(always)]
    pub(crate) fn approach(&self, input: &[u8], hash: u64) -> Option<T> {
        let entry = self.entries.get(self.place(hash))?;
        prefetch(input.get(entry.start as usize)?);
        entry.value
    }

    #[cold]
    fn judge(&mut self) {
        self.on = if self.judged {
            self.found * 100 >= self.asked * self.worth_now.percent
        } else {
            // The estimate of D must be below the maximum.
            self.asked * self.asked <= 2 * self.found * self.worth_now.distinct
        };
        self.judged = true;
        self.judged_at = (self.entries.len() / 2).max(1);
        self.asked = 0;
        self.found = 0;
    }

    /// Store the value of `bytes`, which start at `start` in the input.
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

    /// Entries are allocated with the first value: the tables of most plans stay empty.
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
        // Uses the length of the table itself. A mask kept beside it could go out of date.
        lower_half(hash >> 32) & self.entries.len().wrapping_sub(1)
    }
}

/// A table for keys of 4 to 16 bytes, which are part of the entries. It holds the replica lists that partitions repeat.
///
/// It keeps its values from call to call, at most `SHORT_ENTRIES` of them: in a message with a thousand partitions, most
/// lists occur for the first time. Each key has a set of two entries: with one, 5 % of the look-ups of 870 lists
/// replaced each other's values.
pub(crate) struct ShortMemo<T> {
    sets: Vec<[ShortEntry<T>; 2]>,
    asked: usize,
    found: usize,
    pub(crate) on: bool,
}

#[derive(Clone, Copy)]
struct ShortEntry<T> {
    key: ShortKey,
    value: Option<T>,
}

/// The first and last eight bytes of a key, which may overlap, or its four bytes; and its length, 0 in an unused entry.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct ShortKey {
    start: u64,
    end: u64,
    length: u64,
}

impl ShortKey {
    /// Return the key, or `None` for another length. `bytes` must be the input itself and not a copy: a copy that was
    /// written a moment ago cannot be read as overlapping words without waiting for it.
    #[inline(always)]
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let (start, end) = match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(start), Some(end)) if bytes.len() <= 16 => (u64::from_ne_bytes(*start), u64::from_ne_bytes(*end)),
            _ => match <[u8; 4]>::try_from(bytes) {
                Ok(word) => (u32::from_ne_bytes(word).into(), 0),
                Err(_) => return None,
            },
        };
        Some(Self {
            start,
            end,
            length: bytes.len() as u64,
        })
    }

    /// Return the place of the key in a table whose length is a power of two.
    #[inline(always)]
    fn place(self, length: usize) -> usize {
        // The constants prevent a factor of zero, which would make the other word irrelevant.
        let mixed = fold(self.start ^ 0x9e37_79b9_7f4a_7c15, self.end ^ 0xd6e8_feb8_6659_fd93);
        lower_half(mixed) & length.wrapping_sub(1)
    }
}

/// A short table is evaluated again and again. Two of five look-ups must be hits.
const SHORT_ENTRIES: usize = 1 << 13;
const SHORT_SAMPLE: usize = 1 << 11;

/// The entries of a `ShortMemo` for consecutive look-ups, none while it is off.
#[derive(Clone, Copy)]
pub(crate) struct ShortTable<'m, T> {
    sets: &'m [[ShortEntry<T>; 2]],
}

impl<T: Copy> ShortTable<'_, T> {
    #[inline(always)]
    pub(crate) fn get(self, key: ShortKey) -> Option<T> {
        let [newer, older] = self.sets.get(key.place(self.sets.len()))?;
        if newer.key == key {
            newer.value
        } else if older.key == key {
            older.value
        } else {
            None
        }
    }
}

impl<T: Copy> ShortMemo<T> {
    pub(crate) fn new() -> Self {
        Self {
            sets: Vec::new(),
            asked: 0,
            found: 0,
            on: false,
        }
    }

    /// Prepare the table for an input.
    pub(crate) fn begin(&mut self, on: bool) {
        (self.on, self.asked, self.found) = (on, 0, 0);
    }

    /// Return the entries for look-ups that `count` counts afterwards.
    #[inline(always)]
    pub(crate) fn table(&self) -> ShortTable<'_, T> {
        let sets = if self.on { self.sets.as_slice() } else { &[] };
        ShortTable { sets }
    }

    /// Count look-ups and hits, and evaluate the table if it is time.
    #[inline(always)]
    pub(crate) fn count(&mut self, asked: usize, found: usize) {
        self.asked = self.asked.wrapping_add(asked);
        self.found = self.found.wrapping_add(found);
        if self.asked >= SHORT_SAMPLE {
            self.judge();
        }
    }

    /// Store a value. Returns the replaced value.
    #[inline]
    #[must_use]
    pub(crate) fn put(&mut self, key: ShortKey, value: T) -> Option<T> {
        if self.sets.is_empty() {
            let key = ShortKey {
                start: 0,
                end: 0,
                length: 0,
            };
            self.sets
                .resize(SHORT_ENTRIES / 2, [ShortEntry { key, value: None }; 2]);
        }
        let place = key.place(self.sets.len());
        let [newer, older] = self.sets.get_mut(place)?;
        let replaced = std::mem::replace(older, *newer).value;
        let value = Some(value);
        *newer = ShortEntry { key, value };
        replaced
    }

    /// Remove all values.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.sets.drain(..).flatten().filter_map(|entry| entry.value)
    }

    #[cold]
    fn judge(&mut self) {
        self.on = self.found * 5 >= self.asked * 2;
        (self.asked, self.found) = (0, 0);
    }
}

/// Compare short byte strings without calling `memcmp`.
#[inline(always)]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match (a.last_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(a_end), Some(b_end)) => {
            let whole = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
            let differences = whole.fold(0, |all, (a, b)| all | (u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b)));
            differences | (u64::from_ne_bytes(*a_end) ^ u64::from_ne_bytes(*b_end)) == 0
        }
        _ => match (
            a.first_chunk::<4>(),
            b.first_chunk::<4>(),
            a.last_chunk::<4>(),
            b.last_chunk::<4>(),
        ) {
            (Some(a_start), Some(b_start), Some(a_end), Some(b_end)) => {
                u32::from_ne_bytes(*a_start) == u32::from_ne_bytes(*b_start)
                    && u32::from_ne_bytes(*a_end) == u32::from_ne_bytes(*b_end)
            }
            _ => a.iter().zip(b).all(|(a, b)| a == b),
        },
    }
}

/// A hash of a few words of a long value: enough to tell most values apart, at a constant cost.
#[inline]
pub(crate) fn hash_of_sample(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    const WORDS: usize = 8;
    if bytes.len() <= LONG {
        return hash(bytes);
    }
    let step = (bytes.len() - 8) / (WORDS - 1);
    let word = |index: usize| {
        let word = bytes.get(index * step..).and_then(|rest| rest.first_chunk());
        u64::from_le_bytes(*word.unwrap_or(&[0; 8]))
    };
    // Two independent chains, because each step waits for the one before it.
    let mut chains = [FACTOR ^ bytes.len() as u64, FACTOR];
    for index in (0..WORDS).step_by(2) {
        chains[0] = fold(chains[0] ^ word(index), FACTOR);
        chains[1] = fold(chains[1] ^ word(index + 1), FACTOR);
    }
    fold(chains[0] ^ FACTOR, chains[1])
}

/// A hash for tables in memory. It is fast and good enough in its upper half. Look-ups always compare the bytes.
#[inline(always)]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = FACTOR ^ bytes.len() as u64;
    let mut mix = |word: u64| hash = fold(hash ^ word, FACTOR);
    let (chunks, remainder) = bytes.as_chunks::<8>();
    for chunk in chunks {
        mix(u64::from_le_bytes(*chunk));
    }
    match (bytes.last_chunk::<8>(), remainder.first_chunk::<4>()) {
        _ if remainder.is_empty() => {}
        (Some(end), _) => mix(u64::from_le_bytes(*end)),
        (None, Some(start)) => {
            mix(u32::from_le_bytes(*start).into());
            mix(remainder
                .iter()
                .skip(4)
                .fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
        (None, None) => mix(remainder.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))),
    }
    hash
}

/// Combine both halves of a product. In network byte order, the varying byte would be lost in the lower half alone.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = (u128::from(a) * u128::from(b)).to_le_bytes();
    let (halves, _) = product.as_chunks::<8>();
    halves.iter().fold(0, |folded, half| folded ^ u64::from_le_bytes(*half))
}

/// Return the lower 32 bits as an index.
#[inline(always)]
fn lower_half(word: u64) -> usize {
    (word & 0xffff_ffff) as usize
}
