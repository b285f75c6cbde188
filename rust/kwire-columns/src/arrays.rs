//! Turn filled columns into Arrow arrays.
//!
//! Fields above the rows are collected once and repeated here for each of their rows. Columns that are all zero, which
//! are frequent, are allocated as zeroed memory instead of being written.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, ListArray, PrimitiveArray,
    StringArray, StructArray, new_null_array, types,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::{ArrowError, DataType, Fields};
use kwire::plan::{Literal, Primitive};

use crate::builder::{BatchBuilder, lengths};
use crate::column::{Column, Data, Fixed};
use crate::error::Fault;
use crate::layout::{Kind, Layout};
use crate::text::{Text, signed};

type Made = Result<ArrayRef, ArrowError>;

/// Makes the arrays of a batch.
pub(crate) struct ArrayBuilder<'l> {
    layout: &'l Layout,
    columns: Vec<Option<Column<'l>>>,
    /// For each level, where the rows of its structs end.
    ends: Vec<Vec<usize>>,
    /// The rows that are not errors. `None` if there are no errors.
    pub(crate) good: Option<NullBuffer>,
    pub(crate) rows: usize,
}

impl<'l> ArrayBuilder<'l> {
    pub(crate) fn new(mut builder: BatchBuilder<'_, 'l>, bad_rows: &[usize]) -> Self {
        builder.convert();
        let rows = builder.rows();
        let good = (!bad_rows.is_empty()).then(|| {
            let mut bits = BooleanBufferBuilder::new(rows);
            bits.append_n(rows, true);
            for row in bad_rows {
                bits.set_bit(*row, false);
            }
            NullBuffer::new(bits.finish())
        });
        let columns = builder.columns.into_iter().map(|column| {
            // Nothing is pending any more, so nothing borrows from the frames.
            let data = match column.data {
                Data::Constant => Data::Constant,
                Data::Fixed(values) => Data::Fixed(values),
                Data::Text(text) => Data::Text(text),
                Data::Keys(keys) => Data::Keys(keys),
                Data::List(list) => Data::List(crate::column::List {
                    offsets: list.offsets,
                    child: list.child,
                    pending: Vec::new(),
                }),
                Data::Struct(group) => Data::Struct(group),
            };
            Some(Column {
                data,
                validity: column.validity,
            })
        });
        Self {
            layout: builder.layout,
            columns: columns.collect(),
            ends: builder.groups.into_iter().map(|group| group.ends).collect(),
            good,
            rows,
        }
    }

    /// Return the index of the frame of each row.
    pub(crate) fn frames(&self) -> ArrayRef {
        let frame = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let frames: Vec<u32> = match self.layout.levels.first() {
            Some(level) => {
                let mut frames = Vec::with_capacity(self.rows);
                for (index, length) in lengths(&self.ends[*level]).enumerate() {
                    frames.extend(std::iter::repeat_n(frame(index), length));
                }
                frames
            }
            None => (0..self.rows).map(frame).collect(),
        };
        Arc::new(PrimitiveArray::<types::UInt32Type>::new(frames.into(), None))
    }

    /// Return a column of the batch.
    pub(crate) fn output_column(&mut self, column: usize, group: usize) -> Made {
        if self.layout.groups[group].level && !self.layout.columns[column].constant {
            let ends = std::mem::take(&mut self.ends[group]);
            let made = self.repeated(column, &ends, true);
            self.ends[group] = ends;
            return made;
        }
        let good = self.good.clone();
        self.array(column, self.rows, good)
    }

    fn nulls(validity: Option<NullBuffer>, outer: Option<NullBuffer>) -> Option<NullBuffer> {
        // A column with its own validity is null wherever the outer struct is null.
        validity.or(outer)
    }

    /// Return a column as it is. `outer` is the validity of the enclosing struct.
    fn array(&mut self, index: usize, count: usize, outer: Option<NullBuffer>) -> Made {
        let layout = &self.layout.columns[index];
        let Some(Column { data, validity }) = self.columns[index].take() else {
            return Err(ArrowError::InvalidArgumentError("a column twice".into())); // unreachable
        };
        let nulls = Self::nulls(validity.and_then(|mut validity| validity.finish()), outer);
        Ok(match data {
            Data::Constant => return self.constant(index, count, nulls),
            Data::Fixed(values) => fixed(values, nulls)?,
            Data::Text(text) => text_array(text, nulls, layout.kind == Kind::String)?,
            Data::Keys(keys) => {
                let values = text_array(keys.dictionary.entries, None, layout.kind == Kind::StringKeys)?;
                keyed(keys.keys, nulls, values)?
            }
            Data::List(list) => {
                let end = list.end();
                let child = self.array(list.child, end, None)?;
                self.list(index, OffsetBuffer::new(list.offsets.into()), child, nulls)?
            }
            Data::Struct(group) => {
                let columns = self.layout.groups[group].columns.clone();
                let children = columns.into_iter().map(|column| self.array(column, count, None));
                let children = children.collect::<Result<Vec<_>, _>>()?;
                self.structs(index, children, nulls)?
            }
        })
    }

    fn list(&self, index: usize, offsets: OffsetBuffer<i32>, child: ArrayRef, nulls: Option<NullBuffer>) -> Made {
        let DataType::List(field) = &self.layout.columns[index].data_type else {
            return Err(ArrowError::InvalidArgumentError("no list".into())); // unreachable
        };
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, child, nulls)?))
    }

    fn structs(&self, index: usize, children: Vec<ArrayRef>, nulls: Option<NullBuffer>) -> Made {
        let fields = match &self.layout.columns[index].data_type {
            DataType::Struct(fields) => fields.clone(),
            _ => Fields::empty(),
        };
        Ok(Arc::new(StructArray::try_new(fields, children, nulls)?))
    }

    /// Return a column of a level, with each value repeated for the rows below it.
    fn repeated(&mut self, index: usize, ends: &[usize], outermost: bool) -> Made {
        let layout = &self.layout.columns[index];
        let Some(Column { data, validity }) = self.columns[index].take() else {
            return Err(ArrowError::InvalidArgumentError("a column twice".into())); // unreachable
        };
        let nulls = validity.and_then(|mut validity| validity.finish()).map(|nulls| {
            let bits = repeat_bits(nulls.inner(), ends, self.rows);
            NullBuffer::new(bits)
        });
        let nulls = Self::nulls(nulls, if outermost { self.good.clone() } else { None });
        Ok(match data {
            Data::Constant => return self.constant(index, self.rows, nulls),
            Data::Fixed(values) => fixed(repeat_fixed(values, ends, self.rows), nulls)?,
            Data::Keys(keys) => {
                let values = text_array(keys.dictionary.entries, None, layout.kind == Kind::StringKeys)?;
                keyed(repeat(&keys.keys, ends, self.rows), nulls, values)?
            }
            Data::Struct(group) => {
                let columns = self.layout.groups[group].columns.clone();
                let children = columns.into_iter().map(|column| self.repeated(column, ends, false));
                let children = children.collect::<Result<Vec<_>, _>>()?;
                self.structs(index, children, nulls)?
            }
            // There are no other columns above the rows.
            Data::Text(_) | Data::List(_) => new_null_array(&layout.data_type, self.rows),
        })
    }

    /// Return a column that has the same value in every row.
    fn constant(&mut self, index: usize, count: usize, outer: Option<NullBuffer>) -> Made {
        let layout = &self.layout.columns[index];
        if layout.default == Literal::Null && layout.nullable {
            return Ok(new_null_array(&layout.data_type, count));
        }
        let default = &layout.default;
        Ok(match layout.kind {
            Kind::Fixed(kind) => fixed(constant_fixed(kind, default, count), outer)?,
            Kind::String | Kind::Bytes => {
                let content = content(default);
                let size = content
                    .len()
                    .checked_mul(count)
                    .filter(|size| i32::try_from(*size).is_ok());
                let Some(size) = size else {
                    return Err(ArrowError::OffsetOverflowError(count));
                };
                let mut text = Text::new();
                text.bytes.reserve_exact(size);
                (0..count).for_each(|_| text.push(content));
                text_array(text, outer, layout.kind == Kind::String)?
            }
            Kind::StringKeys | Kind::BytesKeys => {
                let mut text = Text::new();
                text.push(content(default));
                let values = text_array(text, None, layout.kind == Kind::StringKeys)?;
                keyed(vec![0; count], outer, values)?
            }
            Kind::List { child } => {
                let child = self.array(child, 0, None)?;
                let offsets = OffsetBuffer::new(vec![0; count + 1].into());
                self.list(index, offsets, child, outer)?
            }
            Kind::Struct { group } => {
                let columns = self.layout.groups[group].columns.clone();
                let children = columns.into_iter().map(|column| self.array(column, count, None));
                let children = children.collect::<Result<Vec<_>, _>>()?;
                self.structs(index, children, outer)?
            }
        })
    }
}

fn content(default: &Literal) -> &[u8] {
    match default {
        Literal::Text(text) => text.as_bytes(),
        Literal::Bytes(bytes) => bytes,
        _ => &[],
    }
}

fn constant_fixed(kind: Primitive, default: &Literal, count: usize) -> Fixed {
    let mut one = Fixed::new(kind);
    one.push(default);
    repeat_fixed(one, &[count], count)
}

fn text_array(text: Text, nulls: Option<NullBuffer>, is_string: bool) -> Made {
    if i32::try_from(text.bytes.len()).is_err() {
        return Err(ArrowError::OffsetOverflowError(text.bytes.len()));
    }
    let (offsets, bytes) = (OffsetBuffer::new(text.offsets.into()), Buffer::from_vec(text.bytes));
    Ok(if is_string {
        Arc::new(StringArray::try_new(offsets, bytes, nulls)?)
    } else {
        Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?)
    })
}

fn keyed(keys: Vec<i32>, nulls: Option<NullBuffer>, values: ArrayRef) -> Made {
    // If all keys are null, the dictionary may be empty, and keys of 0 would be out of range.
    if values.is_empty() && !keys.is_empty() {
        let data_type = DataType::Dictionary(Box::new(DataType::Int32), Box::new(values.data_type().clone()));
        return Ok(new_null_array(&data_type, keys.len()));
    }
    let keys = PrimitiveArray::<types::Int32Type>::try_new(keys.into(), nulls)?;
    Ok(Arc::new(DictionaryArray::try_new(keys, values)?))
}

fn fixed(values: Fixed, nulls: Option<NullBuffer>) -> Made {
    Ok(match values {
        Fixed::Bool(mut bits) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
        Fixed::Int8(values) => numbers::<types::Int8Type>(values, nulls)?,
        Fixed::Int16(values) => numbers::<types::Int16Type>(values, nulls)?,
        Fixed::Int32(values) => numbers::<types::Int32Type>(values, nulls)?,
        Fixed::Int64(values) => numbers::<types::Int64Type>(values, nulls)?,
        Fixed::Uint16(values) => numbers::<types::UInt16Type>(values, nulls)?,
        Fixed::Uint32(values) => numbers::<types::UInt32Type>(values, nulls)?,
        Fixed::Float64(values) => numbers::<types::Float64Type>(values, nulls)?,
        Fixed::Uuid(values) => Arc::new(FixedSizeBinaryArray::try_new(16, Buffer::from_vec(values), nulls)?),
    })
}

fn numbers<T: arrow_array::ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> Made {
    Ok(Arc::new(PrimitiveArray::<T>::try_new(
        ScalarBuffer::from(values),
        nulls,
    )?))
}

fn repeat_fixed(values: Fixed, ends: &[usize], rows: usize) -> Fixed {
    match values {
        Fixed::Bool(mut bits) => {
            let mut repeated = BooleanBufferBuilder::new(0);
            repeated.append_buffer(&repeat_bits(&bits.finish(), ends, rows));
            Fixed::Bool(repeated)
        }
        Fixed::Int8(values) => Fixed::Int8(repeat(&values, ends, rows)),
        Fixed::Int16(values) => Fixed::Int16(repeat(&values, ends, rows)),
        Fixed::Int32(values) => Fixed::Int32(repeat(&values, ends, rows)),
        Fixed::Int64(values) => Fixed::Int64(repeat(&values, ends, rows)),
        Fixed::Uint16(values) => Fixed::Uint16(repeat(&values, ends, rows)),
        Fixed::Uint32(values) => Fixed::Uint32(repeat(&values, ends, rows)),
        Fixed::Float64(values) => Fixed::Float64(repeat(&values, ends, rows)),
        Fixed::Uuid(values) => Fixed::Uuid(repeat(&values, ends, rows)),
    }
}

/// Repeat each value up to its end.
fn repeat<T: ArrowNativeType>(values: &[T], ends: &[usize], rows: usize) -> Vec<T> {
    let zero = T::default();
    if values.iter().all(|value| *value == zero) {
        // Allocating zeroed memory is faster than writing it.
        return vec![zero; rows];
    }
    let mut repeated = Vec::with_capacity(rows);
    for (value, length) in values.iter().zip(lengths(ends)) {
        repeated.extend(std::iter::repeat_n(*value, length));
    }
    repeated
}

fn repeat_bits(bits: &BooleanBuffer, ends: &[usize], rows: usize) -> BooleanBuffer {
    let set = bits.count_set_bits();
    if set == 0 {
        return BooleanBuffer::new_unset(rows);
    }
    if set == bits.len() {
        return BooleanBuffer::new_set(rows);
    }
    let mut repeated = BooleanBufferBuilder::new(rows);
    for (bit, length) in bits.iter().zip(lengths(ends)) {
        repeated.append_n(length, bit);
    }
    repeated.finish()
}

/// Return the kind, offset, and path columns of the errors.
pub(crate) fn error_columns(faults: &[Fault], rows: usize) -> Result<[ArrayRef; 3], ArrowError> {
    if faults.is_empty() {
        let kinds = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        return Ok([kinds, DataType::Int64, DataType::Utf8].map(|data_type| new_null_array(&data_type, rows)));
    }
    let nulls = |present: &dyn Fn(&Fault) -> bool| {
        let mut bits = BooleanBufferBuilder::new(rows);
        bits.append_n(rows, false);
        let present = faults.iter().filter(|fault| present(fault));
        present.for_each(|fault| bits.set_bit(fault.row, true));
        Some(NullBuffer::new(bits.finish()))
    };
    let mut kinds: Vec<&str> = Vec::new();
    let mut keys = vec![0; rows];
    let mut offsets = vec![0; rows];
    for fault in faults {
        let known = kinds.iter().position(|kind| *kind == fault.kind);
        keys[fault.row] = signed(known.unwrap_or_else(|| {
            kinds.push(fault.kind);
            kinds.len() - 1
        }));
        offsets[fault.row] = fault
            .offset
            .and_then(|offset| i64::try_from(offset).ok())
            .unwrap_or_default();
    }
    let kinds: ArrayRef = Arc::new(StringArray::from(kinds));
    let located = nulls(&|fault| fault.offset.is_some());
    let mut paths = Text::new();
    for fault in faults {
        paths.offsets.resize(fault.row + 1, signed(paths.bytes.len()));
        paths.push(fault.path.as_bytes());
    }
    paths.offsets.resize(rows + 1, signed(paths.bytes.len()));
    Ok([
        keyed(keys, nulls(&|_| true), kinds)?,
        Arc::new(PrimitiveArray::<types::Int64Type>::new(offsets.into(), located.clone())),
        text_array(paths, located, true)?,
    ])
}
