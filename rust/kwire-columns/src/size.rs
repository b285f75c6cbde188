//! The memory that columns need.
//!
//! A frame of a few bytes can stand for many: an absent struct takes a byte, and a field above the rows is repeated for
//! each of them. So elements are charged to a budget when their number is known, before they are decoded. The exact
//! size is checked before the rows are repeated.
//!
//! Arrow, and vectors that grow, end the process when memory is short. So the budget has the caller put memory aside
//! before it is needed (`Hold`). Everything that a call allocates is proportional to what it is charged:
//!
//! - A value takes the charged bits in its column. A vector that grows by doubling allocates at most four times its final
//!   size in total, even if no block that it leaves is reused (`FACTOR`).
//! - The content of strings, entries of dictionaries, and errors are charged by `cover`, which no limit counts.
//! - `Room` asks for what it reserves beyond that.
//! - The arrays of a batch, which are made at the end, are at most copies of the columns: their size is charged again.

use kwire::plan::{Literal, Primitive};

use crate::Hold;
use crate::error::Exceeded;
use crate::layout::{Kind, Layout};

/// Bytes allocated in total for each byte of a vector that grows by doubling, at most: 2 + 1 + 1/2 + ...
const FACTOR: u64 = 4;
/// The least that is put aside at once in bits, so that small batches ask once: 64 KiB, times `FACTOR`.
const STEP: u64 = 8 << 16;

/// What values need in bits, apart from the content of strings, bytes, and lists.
pub(crate) struct Sizes {
    /// A row: its own columns, and those above it.
    pub(crate) row: u64,
    /// By group: a struct, for a level before it is repeated.
    pub(crate) groups: Vec<u64>,
    /// By column: a value.
    pub(crate) columns: Vec<u64>,
}

impl Sizes {
    pub(crate) fn new(layout: &Layout) -> Self {
        // The frame, the keys of error kinds, the offsets of errors and of paths, and the validity of all of these.
        let reserved = 32 + 32 + 64 + 32 + 4;
        let columns: Vec<u64> = (0..layout.columns.len()).map(|column| value(layout, column)).collect();
        let sum =
            |of: &mut dyn Iterator<Item = usize>| of.fold(0, |sum: u64, column| sum.saturating_add(columns[column]));
        let row = sum(&mut layout.output.iter().map(|output| output.column)).saturating_add(reserved);
        let groups = layout.groups.iter();
        let groups = groups.map(|group| sum(&mut group.columns.iter().copied()).saturating_add(64));
        let groups = groups.collect();
        Self { row, groups, columns }
    }
}

fn value(layout: &Layout, column: usize) -> u64 {
    let described = &layout.columns[column];
    let content = match &described.default {
        Literal::Text(text) => text.len(),
        Literal::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    let bits = match described.kind {
        Kind::Fixed(Primitive::Bool) => 1,
        Kind::Fixed(kind) => 8 * kind.size() as u64,
        Kind::String | Kind::Bytes if described.constant => 32 + 8 * content as u64,
        Kind::String | Kind::Bytes | Kind::StringKeys | Kind::BytesKeys | Kind::List { .. } => 32,
        Kind::Struct { group } => {
            let columns = layout.groups[group].columns.iter();
            columns.fold(0, |sum: u64, column| sum.saturating_add(value(layout, *column)))
        }
    };
    bits.saturating_add(u64::from(described.nullable))
}

/// The memory that is left for columns. All sizes are in bits.
pub(crate) struct Budget<'h> {
    max: u64,
    charged: u64,
    /// What valid frames have been charged.
    kept: u64,
    hold: &'h Hold<'h>,
    /// What memory is needed for: everything charged so far, also for invalid frames, and everything covered.
    needed: u64,
    /// What memory has been put aside for.
    held: u64,
    is_short: bool,
}

impl<'h> Budget<'h> {
    pub(crate) fn new(max_bytes: usize, hold: &'h Hold<'h>) -> Self {
        Self {
            max: bits(max_bytes),
            charged: 0,
            kept: 0,
            hold,
            needed: 0,
            held: 0,
            is_short: false,
        }
    }

    /// Charge `count` values of `bits` each.
    #[inline]
    pub(crate) fn charge(&mut self, count: usize, bits: u64) -> Result<(), Exceeded> {
        self.charged = self.charged.saturating_add(bits.saturating_mul(count as u64));
        self.check(self.charged)?;
        self.cover(bits.saturating_mul(count as u64))
    }

    /// Have memory for values of `bits` in total. Without it, every later call fails as well.
    #[inline]
    pub(crate) fn cover(&mut self, bits: u64) -> Result<(), Exceeded> {
        self.needed = self.needed.saturating_add(bits);
        if self.needed > self.held {
            self.hold_more()
        } else {
            Ok(())
        }
    }

    #[cold]
    fn hold_more(&mut self) -> Result<(), Exceeded> {
        let target = self.needed.saturating_add((self.needed / 4).max(STEP));
        let more = (target - self.held).div_ceil(8).saturating_mul(FACTOR);
        self.is_short |= !usize::try_from(more).is_ok_and(self.hold);
        if self.is_short {
            return Err(Exceeded::Memory); // nothing is held for it, so the next call asks again
        }
        self.held = target;
        Ok(())
    }

    /// Check a size in bits.
    #[inline]
    pub(crate) fn check(&self, size: u64) -> Result<(), Exceeded> {
        if size <= self.max { Ok(()) } else { Err(Exceeded::Limit) }
    }

    pub(crate) fn keep(&mut self) {
        self.kept = self.charged;
    }

    /// Return what was charged since the last `keep`.
    pub(crate) fn forget(&mut self) {
        self.charged = self.kept;
    }
}

/// Convert bytes to bits.
pub(crate) fn bits(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(8)
}
