//! Turn filled columns into Arrow arrays.
//!
//! Fields above the rows are collected once and repeated here for each of their rows. Columns in which all values are the
//! same, which are frequent, share their memory (`repeated`).

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, ListArray, PrimitiveArray,
    StringArray, StructArray, types,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::{ArrowError, DataType, Fields};
use kwire::plan::Literal;

use crate::builder::{BatchBuilder, lengths};
use crate::column::{Column, Data, Fixed};
use crate::error::Fault;
use crate::layout::{Kind, Layout};
use crate::repeated::{RepeatedValues, same_bytes};
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
    repeated: RepeatedValues,
}

impl<'l> ArrayBuilder<'l> {
    /// Take the columns of a builder that has converted everything.
    pub(crate) fn new(builder: BatchBuilder<'_, 'l, '_>, bad_rows: &[usize]) -> Self {
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
            repeated: RepeatedValues::default(),
        }
    }

    /// Return the index of the frame of each row.
    pub(crate) fn frames(&mut self) -> ArrayRef {
        let frame = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let frames = match self.layout.levels.first() {
            Some(level) => {
                let ends = &self.ends[*level];
                let frames: Vec<u32> = (0..ends.len()).map(frame).collect();
                repeat(frames, ends, self.rows, &mut self.repeated)
            }
            None => (0..self.rows).map(frame).collect(),
        };
        Arc::new(PrimitiveArray::<types::UInt32Type>::new(frames, None))
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

    /// Return the kind, offset, and path columns of the errors.
    pub(crate) fn error_columns(&mut self, faults: &[Fault]) -> Result<[ArrayRef; 3], ArrowError> {
        let rows = self.rows;
        if faults.is_empty() {
            let kinds = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
            return Ok([kinds, DataType::Int64, DataType::Utf8].map(|data_type| self.repeated.nulls(&data_type, rows)));
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
        paths.offsets.reserve_exact(rows);
        for fault in faults {
            paths.offsets.resize(fault.row + 1, signed(paths.bytes.len()));
            paths.push(fault.path.as_bytes());
        }
        paths.offsets.resize(rows + 1, signed(paths.bytes.len()));
        Ok([
            keyed(keys.into(), nulls(&|_| true), kinds, &mut self.repeated)?,
            Arc::new(PrimitiveArray::<types::Int64Type>::new(offsets.into(), located.clone())),
            text_array(paths, located, true)?,
        ])
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
                keyed(fitted(keys.keys).into(), nulls, values, &mut self.repeated)?
            }
            Data::List(list) => {
                let end = list.end();
                let child = self.array(list.child, end, None)?;
                let offsets = list.offsets.finish(&mut self.repeated);
                self.list(index, offsets, child, nulls)?
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
            Data::Fixed(values) => repeat_fixed(values, ends, self.rows, nulls, &mut self.repeated)?,
            Data::Keys(keys) => {
                let values = text_array(keys.dictionary.entries, None, layout.kind == Kind::StringKeys)?;
                let keys = repeat(keys.keys, ends, self.rows, &mut self.repeated);
                keyed(keys, nulls, values, &mut self.repeated)?
            }
            Data::Struct(group) => {
                let columns = self.layout.groups[group].columns.clone();
                let children = columns.into_iter().map(|column| self.repeated(column, ends, false));
                let children = children.collect::<Result<Vec<_>, _>>()?;
                self.structs(index, children, nulls)?
            }
            // There are no other columns above the rows.
            Data::Text(_) | Data::List(_) => self.repeated.nulls(&layout.data_type, self.rows),
        })
    }

    /// Return a column that has the same value in every row.
    fn constant(&mut self, index: usize, count: usize, outer: Option<NullBuffer>) -> Made {
        let layout = &self.layout.columns[index];
        if layout.default == Literal::Null && layout.nullable {
            return Ok(self.repeated.nulls(&layout.data_type, count));
        }
        let default = &layout.default;
        Ok(match layout.kind {
            Kind::Fixed(kind) => {
                let mut one = Fixed::new(kind);
                one.push(default);
                repeat_fixed(one, &[count], count, outer, &mut self.repeated)?
            }
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
                let keys = self.repeated.values(0, count);
                keyed(keys, outer, values, &mut self.repeated)?
            }
            Kind::List { child } => {
                let child = self.array(child, 0, None)?;
                let offsets = self.repeated.offsets(0, count);
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

fn text_array(text: Text, nulls: Option<NullBuffer>, is_string: bool) -> Made {
    if i32::try_from(text.bytes.len()).is_err() {
        return Err(ArrowError::OffsetOverflowError(text.bytes.len()));
    }
    let (offsets, bytes) = (
        OffsetBuffer::new(fitted(text.offsets).into()),
        Buffer::from_vec(fitted(text.bytes)),
    );
    Ok(if is_string {
        Arc::new(StringArray::try_new(offsets, bytes, nulls)?)
    } else {
        Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?)
    })
}

fn keyed(keys: ScalarBuffer<i32>, nulls: Option<NullBuffer>, values: ArrayRef, repeated: &mut RepeatedValues) -> Made {
    // If all keys are null, the dictionary may be empty, and keys of 0 would be out of range.
    if values.is_empty() && !keys.is_empty() {
        let data_type = DataType::Dictionary(Box::new(DataType::Int32), Box::new(values.data_type().clone()));
        return Ok(repeated.nulls(&data_type, keys.len()));
    }
    let keys = PrimitiveArray::<types::Int32Type>::try_new(keys, nulls)?;
    Ok(Arc::new(DictionaryArray::try_new(keys, values)?))
}

fn fixed(values: Fixed, nulls: Option<NullBuffer>) -> Made {
    Ok(match values {
        Fixed::Bool(mut bits) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
        Fixed::Int8(values) => numbers::<types::Int8Type>(fitted(values).into(), nulls)?,
        Fixed::Int16(values) => numbers::<types::Int16Type>(fitted(values).into(), nulls)?,
        Fixed::Int32(values) => numbers::<types::Int32Type>(fitted(values).into(), nulls)?,
        Fixed::Int64(values) => numbers::<types::Int64Type>(fitted(values).into(), nulls)?,
        Fixed::Uint16(values) => numbers::<types::UInt16Type>(fitted(values).into(), nulls)?,
        Fixed::Uint32(values) => numbers::<types::UInt32Type>(fitted(values).into(), nulls)?,
        Fixed::Float64(values) => numbers::<types::Float64Type>(fitted(values).into(), nulls)?,
        Fixed::Uuid(values) => uuids(fitted(values).into(), nulls)?,
    })
}

fn numbers<T: arrow_array::ArrowPrimitiveType>(values: ScalarBuffer<T::Native>, nulls: Option<NullBuffer>) -> Made {
    Ok(Arc::new(PrimitiveArray::<T>::try_new(values, nulls)?))
}

fn uuids(values: ScalarBuffer<i128>, nulls: Option<NullBuffer>) -> Made {
    Ok(Arc::new(FixedSizeBinaryArray::try_new(16, values.into_inner(), nulls)?))
}

/// Return memory that was reserved in vain if it is as much as the values take.
pub(crate) fn fitted<T>(mut values: Vec<T>) -> Vec<T> {
    if values.capacity() / 2 > values.len() {
        values.shrink_to_fit();
    }
    values
}

fn repeat_fixed(
    values: Fixed,
    ends: &[usize],
    rows: usize,
    nulls: Option<NullBuffer>,
    repeated: &mut RepeatedValues,
) -> Made {
    macro_rules! numbers {
        ($type:ty, $values:expr) => {
            numbers::<$type>(repeat($values, ends, rows, repeated), nulls)?
        };
    }
    Ok(match values {
        Fixed::Bool(mut bits) => Arc::new(BooleanArray::new(repeat_bits(&bits.finish(), ends, rows), nulls)),
        Fixed::Int8(values) => numbers!(types::Int8Type, values),
        Fixed::Int16(values) => numbers!(types::Int16Type, values),
        Fixed::Int32(values) => numbers!(types::Int32Type, values),
        Fixed::Int64(values) => numbers!(types::Int64Type, values),
        Fixed::Uint16(values) => numbers!(types::UInt16Type, values),
        Fixed::Uint32(values) => numbers!(types::UInt32Type, values),
        Fixed::Float64(values) => numbers!(types::Float64Type, values),
        Fixed::Uuid(values) => uuids(repeat(values, ends, rows, repeated), nulls)?,
    })
}

/// Repeat each value up to its end.
fn repeat<T: ArrowNativeType>(
    values: Vec<T>,
    ends: &[usize],
    rows: usize,
    repeated: &mut RepeatedValues,
) -> ScalarBuffer<T> {
    if let Some(first) = values.first()
        && values.iter().all(|value| same_bytes(*value, *first))
    {
        return repeated.values(*first, rows);
    }
    if values.len() == rows && lengths(ends).all(|length| length == 1) {
        return fitted(values).into();
    }
    let mut repeated = Vec::with_capacity(rows);
    for (value, length) in values.iter().zip(lengths(ends)) {
        repeated.extend(std::iter::repeat_n(*value, length));
    }
    repeated.into()
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
