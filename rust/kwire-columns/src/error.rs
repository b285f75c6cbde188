//! Why a batch cannot be made, and what is wrong with the frame of a row.

use std::fmt;

use arrow_schema::ArrowError;

/// A path that does not lead to an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsError {
    /// The message's name.
    pub message: String,
    /// What was asked for.
    pub rows: String,
    /// What there is, besides the empty path: a row for each body.
    pub paths: Vec<String>,
}

impl fmt::Display for RowsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has no array {:?}", self.message, self.rows)
    }
}

impl std::error::Error for RowsError {}

/// Why there is no batch. Bad bodies are no reason.
#[derive(Debug)]
pub enum BatchError {
    /// So many bytes that Arrow's 32-bit offsets might not do.
    TooLarge {
        /// All frames' bytes together.
        bytes: usize,
    },
    /// Arrow refuses what was made.
    Arrow(ArrowError),
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => write!(f, "{bytes} bytes of frames: at most {MAX_BYTES} go into one batch"),
            Self::Arrow(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for BatchError {}

/// The most bytes of frames, a byte counted for each frame, that one batch takes: so neither the elements of lists nor
/// the bytes of strings nor the rows are too many for 32 bits.
pub const MAX_BYTES: usize = i32::MAX as usize;

/// What is wrong with the frame of a row.
pub(crate) struct Fault {
    pub(crate) row: usize,
    pub(crate) kind: &'static str,
    pub(crate) offset: Option<usize>,
    pub(crate) path: String,
}
