//! The error of malformed record batches.

use std::fmt;

/// Why bytes are not record batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeKind {
    /// A value extends beyond the end of its record or batch.
    Truncated,
    /// The remaining bytes are fewer than the smallest elements of this count take.
    CountExceedsInput,
    /// A negative length or count.
    NegativeLength,
    /// A batch with a length that Kafka cannot address.
    TooLong,
    /// Null where the format requires a value.
    NullNotAllowed,
    /// A varint of more bits than its type.
    VarintOverflow,
    /// Bytes after a record, or after the last record of a batch.
    TrailingBytes,
    /// A magic other than 0, 1, and 2.
    InvalidMagic,
    /// A checksum that does not match the bytes.
    CrcMismatch,
    /// A compression type that the magic does not allow.
    InvalidCompression,
    /// Compressed bytes that cannot be decompressed.
    CorruptCompression,
    /// More decompressed bytes than the caller allows.
    LimitExceeded,
    /// A compressed message set with an offset after its wrapper's.
    InvalidOffset,
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
            Self::VarintOverflow => "varint_overflow",
            Self::TrailingBytes => "trailing_bytes",
            Self::InvalidMagic => "invalid_magic",
            Self::CrcMismatch => "crc_mismatch",
            Self::InvalidCompression => "invalid_compression",
            Self::CorruptCompression => "corrupt_compression",
            Self::LimitExceeded => "limit_exceeded",
            Self::InvalidOffset => "invalid_offset",
            Self::OutOfMemory => "out_of_memory",
        }
    }
}

/// One step of the path to an invalid value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field.
    Name(&'static str),
    /// An element of an array.
    Index(usize),
}

/// The bytes are not record batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeKind,
    /// Where the invalid value starts: in the input, or in the decompressed records of the batch.
    pub offset: usize,
    /// Whether `offset` counts from the start of the decompressed records.
    pub decompressed: bool,
    /// The index of the batch.
    pub batch: usize,
    /// The index of the record in the batch.
    pub record: Option<usize>,
    /// The index of the header in the record.
    pub header: Option<usize>,
    /// The name of the field.
    pub field: Option<&'static str>,
    /// The bytes that the value needs, if too few or too many are left. For `LimitExceeded`, the limit.
    pub wanted: Option<u64>,
    /// The bytes that are left in its record or batch, in the same cases.
    pub left: Option<usize>,
}

impl DecodeError {
    #[cold]
    #[inline(never)]
    pub(crate) fn at(kind: DecodeKind, offset: usize) -> Box<Self> {
        Box::new(Self {
            kind,
            offset,
            decompressed: false,
            batch: 0,
            record: None,
            header: None,
            field: None,
            wanted: None,
            left: None,
        })
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn sized(kind: DecodeKind, offset: usize, wanted: u64, left: usize) -> Box<Self> {
        let mut made = Self::at(kind, offset);
        (made.wanted, made.left) = (Some(wanted), Some(left));
        made
    }

    #[cold]
    pub(crate) fn in_field(mut self: Box<Self>, name: &'static str) -> Box<Self> {
        self.field = Some(name);
        self
    }

    #[cold]
    pub(crate) fn in_header(mut self: Box<Self>, index: usize) -> Box<Self> {
        self.header = Some(index);
        self
    }

    #[cold]
    pub(crate) fn in_record(mut self: Box<Self>, index: usize) -> Box<Self> {
        self.record = Some(index);
        self
    }

    #[cold]
    pub(crate) fn in_batch(mut self: Box<Self>, index: usize) -> Box<Self> {
        self.batch = index;
        self
    }

    #[cold]
    pub(crate) fn in_decompressed(mut self: Box<Self>) -> Box<Self> {
        self.decompressed = true;
        self
    }

    /// Return the path to the invalid value, outermost step first.
    pub fn path(&self) -> Vec<Step> {
        let mut path = vec![Step::Name("batches"), Step::Index(self.batch)];
        if let Some(record) = self.record {
            path.extend([Step::Name("records"), Step::Index(record)]);
        }
        if let Some(header) = self.header {
            path.extend([Step::Name("headers"), Step::Index(header)]);
        }
        path.extend(self.field.map(Step::Name));
        path
    }
}

/// Displays a path: `batches[0].records[3].key`.
pub(crate) struct PathText(pub(crate) Vec<Step>);

impl fmt::Display for PathText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.0.iter().enumerate() {
            match step {
                Step::Name(name) if depth == 0 => write!(f, "{name}")?,
                Step::Name(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} at byte {}",
            PathText(self.path()),
            self.kind.name(),
            self.offset
        )?;
        if self.decompressed {
            write!(f, " of the decompressed records")?;
        }
        match (self.kind, self.wanted, self.left) {
            (DecodeKind::TrailingBytes, _, Some(left)) => write!(f, ": {left} left over"),
            (DecodeKind::LimitExceeded, Some(wanted), _) => write!(f, ": more than {wanted} bytes"),
            (_, Some(wanted), Some(left)) => write!(f, ": {wanted} bytes wanted, {left} left"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for DecodeError {}
