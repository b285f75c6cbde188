//! Errors of batches, and of single frames.

use std::fmt;

use arrow_schema::ArrowError;

/// Why columns cannot be filled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exceeded {
    /// They need more memory than allowed.
    Limit,
    /// Memory is short.
    Memory,
}

/// A path that does not lead to an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsError {
    /// The name of the message.
    pub message: String,
    /// The requested path.
    pub rows: String,
    /// The valid paths, besides the empty one, which makes each body a row.
    pub paths: Vec<String>,
}

impl fmt::Display for RowsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has no array {:?}", self.message, self.rows)
    }
}

impl std::error::Error for RowsError {}

/// Why a batch cannot be made. Invalid bodies are not an error.
#[derive(Debug)]
pub enum BatchError {
    /// The frames exceed [`MAX_BYTES`].
    TooLarge {
        /// The total size of all frames.
        bytes: usize,
    },
    /// The columns exceed the limit of the call.
    ColumnsTooLarge,
    /// A column of strings or bytes exceeds [`MAX_BYTES`].
    ColumnTooLarge,
    /// Memory is short.
    OutOfMemory,
    /// Arrow rejects the arrays.
    Arrow(ArrowError),
}

impl From<Exceeded> for BatchError {
    fn from(exceeded: Exceeded) -> Self {
        match exceeded {
            Exceeded::Limit => Self::ColumnsTooLarge,
            Exceeded::Memory => Self::OutOfMemory,
        }
    }
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => write!(f, "{bytes} bytes of frames: a batch takes at most {MAX_BYTES}"),
            Self::ColumnsTooLarge => write!(f, "the columns exceed the limit"),
            Self::ColumnTooLarge => write!(f, "a column needs more than {MAX_BYTES} bytes"),
            Self::OutOfMemory => write!(f, "memory is short"),
            Self::Arrow(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for BatchError {}

/// The maximum size of all frames of a batch in bytes, plus one for each frame. It ensures that Arrow's 32-bit offsets
/// can count the rows, the elements of lists, and the bytes of strings.
pub const MAX_BYTES: usize = i32::MAX as usize;

/// What is wrong with the frame of a row.
pub(crate) struct Fault {
    pub(crate) row: usize,
    pub(crate) kind: &'static str,
    pub(crate) offset: Option<usize>,
    pub(crate) path: String,
}
