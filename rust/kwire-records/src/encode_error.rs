//! The error of batches that cannot be encoded.

use std::fmt;

/// Why a batch cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// An offset too far from the base offset.
    OutOfRange,
    /// More bytes than a length field can express.
    TooLong,
    /// A value that the magic has no place for.
    NotInVersion,
    /// The values are valid, but memory is short.
    OutOfMemory,
}

impl Problem {
    /// Return the kind as the Python exceptions name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfRange => "out_of_range",
            Self::TooLong => "too_long",
            Self::NotInVersion => "not_in_version",
            Self::OutOfMemory => "out_of_memory",
        }
    }
}

/// A batch cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// What is wrong.
    pub problem: Problem,
    /// The index of the record, if one is at fault.
    pub record: Option<usize>,
    /// The field of the record or of the batch.
    pub field: &'static str,
    /// What was expected and what was found.
    pub reason: String,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(record) = self.record {
            write!(f, "records[{record}].")?;
        }
        write!(f, "{}: {}: {}", self.field, self.problem.name(), self.reason)
    }
}

impl std::error::Error for EncodeError {}

#[cold]
pub(crate) fn error(problem: Problem, record: Option<usize>, field: &'static str, reason: String) -> Box<EncodeError> {
    Box::new(EncodeError {
        problem,
        record,
        field,
        reason,
    })
}

#[cold]
pub(crate) fn out_of_memory<E>(_: E) -> Box<EncodeError> {
    error(Problem::OutOfMemory, None, "records", String::new())
}
