//! What can be wrong with bytes, with values and with plans.
//!
//! Rules of this file: an error says kind and place at once; the path is gathered while the walkers unwind, innermost
//! element first, so that the way down costs nothing. Text is made when somebody prints.

use std::fmt;
use std::sync::Arc;

/// Why bytes are not a body of the message that a plan describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeKind {
    /// A value goes on beyond the end of its message or tag.
    Truncated,
    /// So many elements could not fit into what is left, however small.
    CountExceedsInput,
    /// A length or count below -1.
    NegativeLength,
    /// A compact string of more than 32,767 bytes.
    TooLong,
    /// Null, where the field knows none.
    NullNotAllowed,
    /// A string that is not UTF-8.
    InvalidUtf8,
    /// A varint of more than 32 bits.
    VarintOverflow,
    /// A tag that is not greater than the one before.
    TagOrder,
    /// A tagged value that does not fill its size.
    TagSize,
    /// A nullable struct that begins with neither 1 nor -1.
    InvalidMarker,
    /// Bytes after the message.
    TrailingBytes,
}

impl DecodeKind {
    /// The name that the Python exceptions carry.
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
        }
    }
}

/// Why a value cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EncodeKind {
    /// A number that does not fit its field.
    OutOfRange,
    /// More bytes than the length before them can say.
    TooLong,
    /// Null, where the field knows none.
    NullNotAllowed,
    /// A value in a field that this version does not have.
    NotInVersion,
    /// A value of another type than the field's.
    WrongType,
    /// A string that has no UTF-8.
    InvalidUtf8,
    /// An unknown tag with the number of a known one, or in a version without tags.
    TagClash,
}

impl EncodeKind {
    /// The name that the Python exceptions carry.
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

/// One step from a message down to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathElement {
    /// Into a field.
    Name(Arc<str>),
    /// Into an element of an array.
    Index(usize),
}

/// The way from a message down to a value; gathered from the inner end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(Vec<PathElement>);

impl Path {
    /// The elements from the message down.
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

/// The peer's fault: bytes that are no such message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeKind,
    /// Where the faulty value begins, in bytes from the start of the input.
    pub offset: usize,
    /// Which value it is.
    pub path: Path,
    /// Bytes that the value needed, where the fault is one of length.
    pub wanted: Option<u64>,
    /// Bytes that were left in its message or tag, likewise.
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

/// Why decoding stopped: because of the bytes, or because a visitor could not go on (out of memory, say).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop<E> {
    /// The bytes are wrong. Boxed, so that the happy path returns one word.
    Bytes(Box<DecodeError>),
    /// The visitor's own reason.
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

/// The caller's fault: a value that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// What is wrong.
    pub kind: EncodeKind,
    /// Which value it is.
    pub path: Path,
    /// The rest of the sentence, for a person.
    pub reason: String,
}

impl EncodeError {
    /// An error at the place where the walker stands; it adds the path.
    #[cold]
    pub fn new(kind: EncodeKind, reason: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            kind,
            path: Path::default(),
            reason: reason.into(),
        })
    }

    /// The same error, one field further out.
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

/// The plan's author's fault: a text that is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// Where in the text, in bytes.
    pub offset: usize,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plan, character {}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for PlanError {}
