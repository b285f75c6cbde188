//! Errors of decoding, encoding, and parsing plans.
//!
//! An error has its kind and offset from the start. The path is added while the call stack unwinds, innermost element
//! first, so that successful calls do not pay for it. Text is formatted only on display.

use std::fmt;
use std::sync::Arc;

/// Why bytes are not a body of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeKind {
    /// A value extends beyond the end of its message or tag.
    Truncated,
    /// The remaining bytes are fewer than the smallest elements of this count take.
    CountExceedsInput,
    /// A length or count below -1.
    NegativeLength,
    /// A compact string of more than 32,767 bytes.
    TooLong,
    /// Null in a field that is not nullable.
    NullNotAllowed,
    /// A string that is not valid UTF-8.
    InvalidUtf8,
    /// A varint of more than 32 bits.
    VarintOverflow,
    /// A tag that is not greater than the previous one.
    TagOrder,
    /// A tagged value that does not use all bytes of its size.
    TagSize,
    /// A nullable struct that begins with neither 1 nor -1.
    InvalidMarker,
    /// Bytes after the message.
    TrailingBytes,
    /// The bytes may be valid, but memory is short.
    OutOfMemory,
}

impl DecodeKind {
    /// Return the kind as the Python exceptions name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::CountExceedsInput => "count_exceeds_input",
            Self::NegativeLength => "negative_length",
            Self::TooLong => "too_long",
            Self::NullNotAllowed => "null_not_allowed",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::VarintOverflow => "varint_overflow",
            Self::TagOrder => "tag_order",
            Self::TagSize => "tag_size",
            Self::InvalidMarker => "invalid_marker",
            Self::TrailingBytes => "trailing_bytes",
            Self::OutOfMemory => "out_of_memory",
        }
    }
}

/// Why a value cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EncodeKind {
    /// A number that does not fit its field.
    OutOfRange,
    /// More bytes or elements than the length prefix can express.
    TooLong,
    /// Null in a field that is not nullable.
    NullNotAllowed,
    /// A value other than the default in a field that this version lacks.
    NotInVersion,
    /// A value of another type than the field.
    WrongType,
    /// A string that has no UTF-8 encoding.
    InvalidUtf8,
    /// An unknown tag with the number of a declared one, or in a version without tags.
    TagClash,
}

impl EncodeKind {
    /// Return the kind as the Python exceptions name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfRange => "out_of_range",
            Self::TooLong => "too_long",
            Self::NullNotAllowed => "null_not_allowed",
            Self::NotInVersion => "not_in_version",
            Self::WrongType => "wrong_type",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::TagClash => "tag_clash",
        }
    }
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathElement {
    /// A field.
    Name(Arc<str>),
    /// An element of an array.
    Index(usize),
}

/// The path from a message to a value. It is collected from the inner end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(Vec<PathElement>);

impl Path {
    /// Iterate over the elements, outermost first.
    pub fn iter(&self) -> impl Iterator<Item = &PathElement> {
        self.0.iter().rev()
    }

    pub(crate) fn push_outer(&mut self, element: PathElement) {
        self.0.push(element);
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, element) in self.iter().enumerate() {
            match element {
                PathElement::Name(name) if depth == 0 => write!(f, "{name}")?,
                PathElement::Name(name) => write!(f, ".{name}")?,
                PathElement::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The bytes are not a valid body of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeKind,
    /// Where the invalid value starts, in bytes from the start of the input.
    pub offset: usize,
    /// The path of the value.
    pub path: Path,
    /// The bytes that the value needs, if too few or too many are left.
    pub wanted: Option<u64>,
    /// The bytes that are left in its message or tag, in the same cases.
    pub left: Option<usize>,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path != Path::default() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{} at byte {}", self.kind.name(), self.offset)?;
        match (self.kind, self.wanted, self.left) {
            (DecodeKind::TagSize, Some(wanted), Some(left)) => write!(f, ": {left} of {wanted} bytes not used"),
            (DecodeKind::TrailingBytes, _, Some(left)) => write!(f, ": {left} left over"),
            (_, Some(wanted), Some(left)) => write!(f, ": {wanted} bytes wanted, {left} left"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Why decoding stopped: invalid bytes, or an error of the visitor, such as lack of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop<E> {
    /// The bytes are invalid. Boxed, so that a result without an error takes one word.
    Bytes(Box<DecodeError>),
    /// The error of the visitor.
    Visitor(E),
}

impl<E> Stop<E> {
    #[cold]
    #[inline(never)]
    pub(crate) fn short(offset: usize, wanted: u64, left: usize) -> Self {
        Self::sized(DecodeKind::Truncated, offset, wanted, left)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn sized(kind: DecodeKind, offset: usize, wanted: u64, left: usize) -> Self {
        Self::Bytes(Box::new(DecodeError {
            kind,
            offset,
            path: Path::default(),
            wanted: Some(wanted),
            left: Some(left),
        }))
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn at(kind: DecodeKind, offset: usize) -> Self {
        Self::Bytes(Box::new(DecodeError {
            kind,
            offset,
            path: Path::default(),
            wanted: None,
            left: None,
        }))
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn in_field(mut self, name: &Arc<str>) -> Self {
        if let Self::Bytes(error) = &mut self {
            error.path.push_outer(PathElement::Name(Arc::clone(name)));
        }
        self
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn in_element(mut self, index: usize) -> Self {
        if let Self::Bytes(error) = &mut self {
            error.path.push_outer(PathElement::Index(index));
        }
        self
    }
}

/// A value cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// What is wrong.
    pub kind: EncodeKind,
    /// The path of the value.
    pub path: Path,
    /// What was expected and what was found.
    pub reason: String,
}

impl EncodeError {
    /// Create an error without a path. The encoder adds the path.
    #[cold]
    pub fn new(kind: EncodeKind, reason: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            kind,
            path: Path::default(),
            reason: reason.into(),
        })
    }

    /// Prepend a field to the path.
    #[cold]
    #[must_use]
    pub fn in_field(mut self: Box<Self>, name: &Arc<str>) -> Box<Self> {
        self.path.push_outer(PathElement::Name(Arc::clone(name)));
        self
    }

    #[cold]
    pub(crate) fn in_element(mut self: Box<Self>, index: usize) -> Box<Self> {
        self.path.push_outer(PathElement::Index(index));
        self
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path != Path::default() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.kind.name())?;
        if self.reason.is_empty() {
            Ok(())
        } else {
            write!(f, ": {}", self.reason)
        }
    }
}

impl std::error::Error for EncodeError {}

/// A text is not a valid plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// The offset in the text in bytes.
    pub offset: usize,
    /// What was expected there.
    pub reason: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid plan at byte {}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for PlanError {}
