//! Columns while they are filled.
//!
//! Rules of this file: values arrive as bytes that the walker has checked. Fixed-size fields and packed lists wait in
//! line, by reference, and are converted a block at a time, column by column: a tight loop for each instead of a
//! decision for each value. A reference to nothing stands for a value that is not there and reads as zero.

use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};
use kwire::plan::{Literal, Primitive};

use crate::dictionary::{Dictionary, signed, unsigned};

/// One column of a unit: of a level, of the rows, or of structs inside.
pub(crate) struct Column<'a> {
    pub(crate) data: Data<'a>,
    /// Whether each value is one; None where none can be null.
    pub(crate) validity: Option<NullBufferBuilder>,
}

/// What a column holds.
pub(crate) enum Data<'a> {
    /// The same everywhere: this version has no such field.
    Constant,
    Fixed(Fixed),
    Text(Text),
    Keys(Keys),
    List(List<'a>),
    /// A struct's fields are columns of their own, in the unit of this number.
    Struct(usize),
}

/// Values of one fixed size.
pub(crate) enum Fixed {
    Bool(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Uint16(Vec<u16>),
    Uint32(Vec<u32>),
    Float64(Vec<f64>),
    /// As they are: bytes, not numbers.
    Uuid(Vec<i128>),
}

/// Strings or bytes, one after the other.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) ends: Vec<i32>,
    pub(crate) bytes: Vec<u8>,
}

/// Strings or bytes by their place in a dictionary.
pub(crate) struct Keys {
    pub(crate) keys: Vec<i32>,
    pub(crate) dictionary: Dictionary,
}

/// Lists of the values of another column.
pub(crate) struct List<'a> {
    pub(crate) ends: Vec<i32>,
    pub(crate) child: usize,
    /// Lists of fixed-size elements, not yet converted.
    pub(crate) waiting: Vec<&'a [u8]>,
}

impl Column<'_> {
    /// How many values it has.
    pub(crate) fn len(&self, units: &[crate::fill::Unit]) -> usize {
        match &self.data {
            Data::Constant => usize::MAX,
            Data::Fixed(values) => values.len(),
            Data::Text(text) => text.ends.len(),
            Data::Keys(keys) => keys.keys.len(),
            Data::List(list) => list.ends.len() + list.waiting.len(),
            Data::Struct(unit) => units[*unit].count,
        }
    }
}

/// Part of a run of fields; zero where the run is not there.
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

    /// One value out of each run, at an offset.
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

    /// Values that stand side by side.
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

    /// A value from elsewhere; zero where it is of another type.
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

impl Text {
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(signed(self.bytes.len()));
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.bytes.truncate(self.ends.last().map_or(0, |end| unsigned(*end)));
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
    pub(crate) fn push(&mut self, text: &[u8]) {
        let key = self.dictionary.key(text);
        self.keys.push(key);
    }
}

impl List<'_> {
    pub(crate) fn new(child: usize) -> Self {
        Self {
            ends: Vec::new(),
            child,
            waiting: Vec::new(),
        }
    }

    /// Where the elements of the next list begin, nothing waiting.
    pub(crate) fn end(&self) -> usize {
        self.ends.last().map_or(0, |end| unsigned(*end))
    }
}
