//! Columns of one repeated value, which share their memory.
//!
//! Many columns have the same value in every row: fields that a version lacks, fields of a message, errors of valid
//! frames. Zeros, which are the most frequent, serve for numbers of any size and for keys.

use std::sync::Arc;

use arrow_array::{ArrayRef, PrimitiveArray, new_null_array, types};
use arrow_buffer::{ArrowNativeType, Buffer, MutableBuffer, NullBuffer, ScalarBuffer, ToByteSlice};
use arrow_schema::DataType;

/// The buffers that the columns of a batch share.
#[derive(Default)]
pub(crate) struct RepeatedValues {
    /// A value other than zero, and its repetitions.
    buffers: Vec<(Box<[u8]>, Buffer)>,
    zeros: Option<Buffer>,
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
            return ScalarBuffer::new(self.zeros(count.saturating_mul(bytes.len())), 0, count);
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

    fn zeros(&mut self, size: usize) -> Buffer {
        match &self.zeros {
            Some(zeros) if zeros.len() >= size => zeros.clone(),
            _ => {
                let zeros = Buffer::from(MutableBuffer::from_len_zeroed(size));
                self.zeros = Some(zeros.clone());
                zeros
            }
        }
    }

    /// Return an array of nulls.
    pub(crate) fn nulls(&mut self, data_type: &DataType, count: usize) -> ArrayRef {
        match data_type {
            DataType::Int64 => {
                let nulls = NullBuffer::new_null(count);
                Arc::new(PrimitiveArray::<types::Int64Type>::new(
                    self.values(0, count),
                    Some(nulls),
                ))
            }
            // Not shared: checking the offsets or keys of each row takes longer than clearing memory for them.
            _ => new_null_array(data_type, count),
        }
    }
}
