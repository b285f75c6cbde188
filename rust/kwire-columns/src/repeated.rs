//! Columns of one repeated value, which share their memory.
//!
//! Many columns have the same value in every row: fields that a version lacks, fields of a message, errors of valid
//! frames. Zeros, which are the most frequent, serve for numbers of any size and for keys.

use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, PrimitiveArray, StringArray, new_empty_array, new_null_array, types};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, ToByteSlice};
use arrow_schema::DataType;

/// The buffers that the columns of a batch share.
#[derive(Default)]
pub(crate) struct RepeatedValues {
    /// A value other than zero, and its repetitions.
    buffers: Vec<(Box<[u8]>, Buffer)>,
    /// Offsets of lists of the same length other than zero.
    offsets: Vec<(usize, OffsetBuffer<i32>)>,
    /// Zeros, which are also the offsets of empty lists.
    zeros: Option<OffsetBuffer<i32>>,
}

/// Return whether two numbers have the same representation.
#[inline]
pub(crate) fn same_bytes<T: ArrowNativeType>(a: T, b: T) -> bool {
    a.to_byte_slice() == b.to_byte_slice()
}

impl RepeatedValues {
    /// Return `count` times a value.
    pub(crate) fn values<T: ArrowNativeType>(&mut self, value: T, count: usize) -> ScalarBuffer<T> {
        let bytes = value.to_byte_slice();
        if bytes.iter().all(|byte| *byte == 0) {
            let zeros = self.zeros(count.saturating_mul(bytes.len()));
            return ScalarBuffer::new(zeros.inner().inner().clone(), 0, count);
        }
        let long_enough = |buffer: &Buffer| buffer.len() / bytes.len() >= count;
        let found = self
            .buffers
            .iter()
            .find(|(of, buffer)| **of == *bytes && long_enough(buffer));
        if let Some((_, buffer)) = found {
            return ScalarBuffer::new(buffer.clone(), 0, count);
        }
        let buffer = Buffer::from_vec(vec![value; count]);
        self.buffers.push((bytes.into(), buffer.clone()));
        ScalarBuffer::new(buffer, 0, count)
    }

    /// Return the offsets of `count` lists of the same length.
    pub(crate) fn offsets(&mut self, length: usize, count: usize) -> OffsetBuffer<i32> {
        if length == 0 {
            return self.zeros(count.saturating_mul(size_of::<i32>())).slice(0, count);
        }
        let known = self
            .offsets
            .iter()
            .find(|(of, known)| *of == length && known.len() > count);
        if let Some((_, known)) = known {
            return known.slice(0, count);
        }
        let made = OffsetBuffer::from_repeated_length(length, count);
        self.offsets.push((length, made.clone()));
        made
    }

    /// Return at least `size` bytes of zeros, and an offset more.
    fn zeros(&mut self, size: usize) -> &OffsetBuffer<i32> {
        let count = size.div_ceil(size_of::<i32>());
        let zeros = self.zeros.take().filter(|zeros| zeros.len() > count);
        self.zeros
            .insert(zeros.unwrap_or_else(|| OffsetBuffer::new_zeroed(count)))
    }

    /// Return an array of nulls.
    pub(crate) fn nulls(&mut self, data_type: &DataType, count: usize) -> ArrayRef {
        let nulls = |count| Some(NullBuffer::new_null(count));
        match data_type {
            DataType::Int64 => Arc::new(PrimitiveArray::<types::Int64Type>::new(
                self.values(0, count),
                nulls(count),
            )),
            DataType::Utf8 => Arc::new(StringArray::new(
                self.offsets(0, count),
                Buffer::default(),
                nulls(count),
            )),
            DataType::Dictionary(keys, values) if **keys == DataType::Int32 => {
                let keys = PrimitiveArray::<types::Int32Type>::new(self.values(0, count), nulls(count));
                Arc::new(DictionaryArray::new(keys, new_empty_array(values)))
            }
            _ => new_null_array(data_type, count),
        }
    }
}
