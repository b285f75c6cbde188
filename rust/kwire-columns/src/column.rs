//! Columns that are being filled.
//!
//! Values arrive as bytes that have been checked. Runs of fixed-size fields and packed lists are collected as slices
//! and converted a block at a time, column by column, so that the type of a column is tested once a block. An empty
//! slice stands for a missing struct and reads as zeros.

use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};
use kwire::decode::UniformLayout;
use kwire::plan::{Literal, Primitive};

use crate::dictionary::Dictionary;
use crate::error::Exceeded;
use crate::offsets::Offsets;
use crate::room::Room;
use crate::size::Budget;
use crate::text::Text;

/// A column of a group.
pub(crate) struct Column<'a> {
    pub(crate) data: Data<'a>,
    /// The validity of each value. `None` if no value can be null.
    pub(crate) validity: Option<NullBufferBuilder>,
}

/// The values of a column.
pub(crate) enum Data<'a> {
    /// The same value in every row, because this version lacks the field.
    Constant,
    Fixed(Fixed),
    Text(Text),
    Keys(Keys),
    List(List<'a>),
    /// The index of the group with the columns of a struct's fields.
    Struct(usize),
}

/// Values of a fixed size.
pub(crate) enum Fixed {
    Bool(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Uint16(Vec<u16>),
    Uint32(Vec<u32>),
    Float64(Vec<f64>),
    /// The bytes as they are, in native order.
    Uuid(Vec<i128>),
}

/// Consecutive structs of the same layout.
pub(crate) struct Block<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) count: usize,
    pub(crate) layout: UniformLayout,
}

/// Strings or bytes as keys of a dictionary.
pub(crate) struct Keys {
    pub(crate) keys: Vec<i32>,
    pub(crate) dictionary: Dictionary,
}

/// Lists. Their values are in another column.
pub(crate) struct List<'a> {
    pub(crate) offsets: Offsets,
    pub(crate) child: usize,
    /// Lists of fixed-size elements that have not been converted yet.
    pub(crate) pending: Vec<&'a [u8]>,
}

/// Return bytes of a run, zeros if the run is missing.
#[inline(always)]
fn part<const N: usize>(run: &[u8], offset: usize) -> [u8; N] {
    run.get(offset..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .unwrap_or([0; N])
}

impl Fixed {
    pub(crate) fn new(kind: Primitive) -> Self {
        match kind {
            Primitive::Bool => Self::Bool(BooleanBufferBuilder::new(0)),
            Primitive::Int8 => Self::Int8(Vec::new()),
            Primitive::Int16 => Self::Int16(Vec::new()),
            Primitive::Int32 => Self::Int32(Vec::new()),
            Primitive::Int64 => Self::Int64(Vec::new()),
            Primitive::Uint16 => Self::Uint16(Vec::new()),
            Primitive::Uint32 => Self::Uint32(Vec::new()),
            Primitive::Float64 => Self::Float64(Vec::new()),
            Primitive::Uuid => Self::Uuid(Vec::new()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bool(bits) => bits.len(),
            Self::Int8(values) => values.len(),
            Self::Int16(values) => values.len(),
            Self::Int32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Uint16(values) => values.len(),
            Self::Uint32(values) => values.len(),
            Self::Float64(values) => values.len(),
            Self::Uuid(values) => values.len(),
        }
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        match self {
            Self::Bool(bits) => bits.truncate(len),
            Self::Int8(values) => values.truncate(len),
            Self::Int16(values) => values.truncate(len),
            Self::Int32(values) => values.truncate(len),
            Self::Int64(values) => values.truncate(len),
            Self::Uint16(values) => values.truncate(len),
            Self::Uint32(values) => values.truncate(len),
            Self::Float64(values) => values.truncate(len),
            Self::Uuid(values) => values.truncate(len),
        }
    }

    /// Append one value of each run.
    pub(crate) fn extend_from_runs(&mut self, runs: &[&[u8]], offset: usize) {
        match self {
            Self::Bool(bits) => runs.iter().for_each(|run| bits.append(part(run, offset) != [0])),
            Self::Int8(values) => values.extend(runs.iter().map(|run| i8::from_be_bytes(part(run, offset)))),
            Self::Int16(values) => values.extend(runs.iter().map(|run| i16::from_be_bytes(part(run, offset)))),
            Self::Int32(values) => values.extend(runs.iter().map(|run| i32::from_be_bytes(part(run, offset)))),
            Self::Int64(values) => values.extend(runs.iter().map(|run| i64::from_be_bytes(part(run, offset)))),
            Self::Uint16(values) => values.extend(runs.iter().map(|run| u16::from_be_bytes(part(run, offset)))),
            Self::Uint32(values) => values.extend(runs.iter().map(|run| u32::from_be_bytes(part(run, offset)))),
            Self::Float64(values) => values.extend(runs.iter().map(|run| f64::from_be_bytes(part(run, offset)))),
            Self::Uuid(values) => values.extend(runs.iter().map(|run| i128::from_ne_bytes(part(run, offset)))),
        }
    }

    /// Append one value of each struct of the blocks, at an offset in one of its parts.
    pub(crate) fn extend_from_blocks(&mut self, blocks: &[Block<'_>], part: usize, offset: usize, room: Room<'_>) {
        macro_rules! numbers {
            ($values:ident, $from:expr) => {{
                room.make($values, blocks.iter().map(|block| block.count).sum());
                for block in blocks {
                    let at = block.layout.range(part).start + offset;
                    let rows = block.bytes.chunks_exact(block.layout.size());
                    $values.extend(rows.map(|row| $from(self::part(row, at))));
                }
            }};
        }
        match self {
            Self::Bool(bits) => {
                for block in blocks {
                    let at = block.layout.range(part).start + offset;
                    for row in block.bytes.chunks_exact(block.layout.size()) {
                        bits.append(self::part(row, at) != [0]);
                    }
                }
            }
            Self::Int8(values) => numbers!(values, i8::from_be_bytes),
            Self::Int16(values) => numbers!(values, i16::from_be_bytes),
            Self::Int32(values) => numbers!(values, i32::from_be_bytes),
            Self::Int64(values) => numbers!(values, i64::from_be_bytes),
            Self::Uint16(values) => numbers!(values, u16::from_be_bytes),
            Self::Uint32(values) => numbers!(values, u32::from_be_bytes),
            Self::Float64(values) => numbers!(values, f64::from_be_bytes),
            Self::Uuid(values) => numbers!(values, i128::from_ne_bytes),
        }
    }

    /// Append consecutive values.
    #[inline]
    pub(crate) fn extend_from_packed(&mut self, bytes: &[u8]) {
        macro_rules! numbers {
            ($values:ident, $number:ty) => {
                $values.extend(
                    bytes
                        .as_chunks()
                        .0
                        .iter()
                        .map(|chunk| <$number>::from_be_bytes(*chunk)),
                )
            };
        }
        match self {
            Self::Bool(bits) => bytes.iter().for_each(|byte| bits.append(*byte != 0)),
            Self::Int8(values) => numbers!(values, i8),
            Self::Int16(values) => numbers!(values, i16),
            Self::Int32(values) => numbers!(values, i32),
            Self::Int64(values) => numbers!(values, i64),
            Self::Uint16(values) => numbers!(values, u16),
            Self::Uint32(values) => numbers!(values, u32),
            Self::Float64(values) => numbers!(values, f64),
            Self::Uuid(values) => {
                values.extend(bytes.as_chunks().0.iter().map(|chunk| i128::from_ne_bytes(*chunk)));
            }
        }
    }

    /// Append a literal, or zero if it has another type.
    pub(crate) fn push(&mut self, value: &Literal) {
        macro_rules! push {
            ($values:ident) => {
                $values.push(match value {
                    Literal::Int(value) => (*value).try_into().unwrap_or_default(),
                    _ => 0,
                })
            };
        }
        match self {
            Self::Bool(bits) => bits.append(matches!(value, Literal::Bool(true))),
            Self::Int8(values) => push!(values),
            Self::Int16(values) => push!(values),
            Self::Int32(values) => push!(values),
            Self::Int64(values) => push!(values),
            Self::Uint16(values) => push!(values),
            Self::Uint32(values) => push!(values),
            Self::Float64(values) => values.push(match value {
                Literal::Float(value) => *value,
                _ => 0.0,
            }),
            Self::Uuid(values) => values.push(match value {
                Literal::Uuid(bytes) => i128::from_ne_bytes(*bytes),
                _ => 0,
            }),
        }
    }
}

impl Keys {
    pub(crate) fn new() -> Self {
        Self {
            keys: Vec::new(),
            dictionary: Dictionary::new(),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, text: &[u8], budget: &mut Budget<'_>) -> Result<(), Exceeded> {
        let key = self.dictionary.key(text, budget)?;
        self.keys.push(key);
        Ok(())
    }
}

impl List<'_> {
    pub(crate) fn new(child: usize) -> Self {
        Self {
            offsets: Offsets::default(),
            child,
            pending: Vec::new(),
        }
    }

    /// Return the number of converted lists.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Return where the elements of the next list begin. Nothing may be pending.
    pub(crate) fn end(&self) -> usize {
        self.offsets.end()
    }

    /// Convert the pending lists.
    pub(crate) fn convert(&mut self, values: Option<&mut Fixed>) {
        if let Some(values) = values {
            for list in self.pending.drain(..) {
                let before = values.len();
                values.extend_from_packed(list);
                self.offsets.push(values.len() - before);
            }
        } else {
            // Pending lists of elements without a fixed size are empty.
            self.offsets.extend(0, self.pending.len(), None);
            self.pending.clear();
        }
    }

    /// Append a list of each struct of the blocks.
    pub(crate) fn extend_from_blocks(
        &mut self,
        values: &mut Vec<i32>,
        blocks: &[Block<'_>],
        part: usize,
        room: Room<'_>,
    ) {
        for (block, places) in places(values, blocks, |block| block.layout.range(part).len() / 4, room) {
            let place = block.layout.range(part);
            let (size, at) = (block.layout.size(), place.start);
            // Most lists are short, so each short length gets a loop of its own.
            match place.len() {
                0 => {}
                4 => lists::<1>(block.bytes, size, at, places),
                8 => lists::<2>(block.bytes, size, at, places),
                12 => lists::<3>(block.bytes, size, at, places),
                16 => lists::<4>(block.bytes, size, at, places),
                20 => lists::<5>(block.bytes, size, at, places),
                length => {
                    let rows = block.bytes.chunks_exact(size).zip(places.chunks_exact_mut(length / 4));
                    for (row, places) in rows {
                        let numbers = row.get(place.clone()).unwrap_or_default().as_chunks().0;
                        for (number, place) in numbers.iter().zip(places) {
                            *place = i32::from_be_bytes(*number);
                        }
                    }
                }
            }
        }
        for block in blocks {
            self.offsets
                .extend(block.layout.range(part).len() / 4, block.count, Some(room));
        }
    }
}

/// Copy a list of `N` numbers from each row.
#[inline]
fn lists<const N: usize>(rows: &[u8], size: usize, at: usize, places: &mut [i32]) {
    for (row, places) in rows.chunks_exact(size).zip(places.as_chunks_mut::<N>().0) {
        let numbers = row
            .get(at..)
            .and_then(|rest| rest.as_chunks::<4>().0.first_chunk::<N>());
        *places = numbers.map_or([0; N], |numbers| numbers.map(i32::from_be_bytes));
    }
}

/// Append room for the values of each block, `each` for one struct, and return it with the block.
fn places<'v, 'b, 'a, T: Copy + Default>(
    values: &'v mut Vec<T>,
    blocks: &'b [Block<'a>],
    each: impl Fn(&Block<'a>) -> usize + 'b,
    room: Room<'_>,
) -> impl Iterator<Item = (&'b Block<'a>, &'v mut [T])> {
    let start = values.len();
    let more = blocks.iter().map(|block| each(block) * block.count).sum();
    room.make(values, more);
    values.resize(start + more, T::default());
    let mut rest = values.get_mut(start..).unwrap_or_default();
    blocks.iter().map(move |block| {
        let (places, after) = std::mem::take(&mut rest).split_at_mut(each(block) * block.count);
        rest = after;
        (block, places)
    })
}
