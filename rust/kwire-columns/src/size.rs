//! The memory that columns need.
//!
//! A frame of a few bytes can stand for many: an absent struct takes a byte, and a field above the rows is repeated for
//! each of them. So elements are charged to a budget when their number is known, before they are decoded. The exact
//! size is checked before the rows are repeated.

use kwire::plan::{Literal, Primitive};

use crate::layout::{Kind, Layout};

/// The columns need more memory than allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exceeded;

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

/// The memory that is left for columns.
pub(crate) struct Budget {
    max: u64,
    charged: u64,
    /// What valid frames have been charged.
    kept: u64,
}

impl Budget {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max: bits(max_bytes),
            charged: 0,
            kept: 0,
        }
    }

    /// Charge `count` values of `bits` each.
    #[inline]
    pub(crate) fn charge(&mut self, count: usize, bits: u64) -> Result<(), Exceeded> {
        self.charged = self.charged.saturating_add(bits.saturating_mul(count as u64));
        self.check(self.charged)
    }

    /// Check a size in bits.
    #[inline]
    pub(crate) fn check(&self, size: u64) -> Result<(), Exceeded> {
        if size <= self.max { Ok(()) } else { Err(Exceeded) }
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
