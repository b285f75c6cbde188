//! Many bodies of one Kafka message into one Arrow record batch.
//!
//! ```
//! use kwire::Plan;
//! use kwire_columns::{Columns, Shape};
//!
//! let plan: Plan = "Brokers v0 {brokers:[{node_id:int32 host:string}]}".parse()?;
//! let shape = Shape::parse("Brokers v0 <brokers:[<node_id:int32 host:string>]>", &[])?;
//! let columns = Columns::new(plan, None, &shape, "brokers")?;
//! let batch = columns.batch(&[Some(b"\0\0\0\x01\0\0\0\x07\0\x01h"), Some(b"\0\0\0\x01\0")])?;
//! assert_eq!(batch.num_rows(), 2); // a broker, and a body that ends too soon
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The walker of the kwire crate finds what there is and what is wrong with it; a visitor (`fill`) puts it into columns
//! as they were laid out (`layout`) for a plan, a shape (`shape`) and a path to the rows; `finish` makes arrays of them.

#![forbid(unsafe_code)]

mod column;
mod dictionary;
mod fill;
mod finish;
mod layout;
mod shape;

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use kwire::{DecodeError, Plan, Stop};

pub use shape::Shape;

use crate::fill::Fill;
use crate::finish::Finish;
use crate::layout::Layout;

/// How to make columns of one message at one version.
pub struct Columns {
    plan: Plan,
    header: Option<Plan>,
    layout: Layout,
    schema: SchemaRef,
}

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
            Self::TooLarge { bytes } => write!(f, "{bytes} bytes of frames: at most {MOST_BYTES} go into one batch"),
            Self::Arrow(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for BatchError {}

/// The most bytes of frames, a byte counted for each frame, that one batch takes: so neither the elements of lists nor
/// the bytes of strings nor the rows are too many for 32 bits.
pub const MOST_BYTES: usize = i32::MAX as usize;

/// What is wrong with the frame of a row.
pub(crate) struct Fault {
    pub(crate) row: usize,
    pub(crate) kind: &'static str,
    pub(crate) offset: Option<usize>,
    pub(crate) path: String,
}

impl Columns {
    /// `header`: what stands before each body, if anything does. `rows`: the array whose elements are the rows, as
    /// names with dots between them; empty for a row for each body.
    pub fn new(plan: Plan, header: Option<Plan>, shape: &Shape, rows: &str) -> Result<Self, RowsError> {
        let layout = layout::lay_out(&plan, shape, rows)?;
        let schema = schema(&layout);
        Ok(Self {
            plan,
            header,
            layout,
            schema,
        })
    }

    /// What batches look like; the same for every version of a message.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Frames, None for those that are missing, as one batch.
    pub fn batch(&self, frames: &[Option<&[u8]>]) -> Result<RecordBatch, BatchError> {
        let sizes = frames
            .iter()
            .map(|frame| frame.map_or(1, |frame| frame.len().saturating_add(1)));
        let bytes = sizes.fold(0, usize::saturating_add);
        if bytes > MOST_BYTES {
            return Err(BatchError::TooLarge { bytes });
        }
        let mut fill = Fill::new(&self.layout, bytes);
        let mut faults = Vec::new();
        for frame in frames {
            let fault = match frame {
                Some(frame) => self.fill(frame, &mut fill).err().map(|error| Fault {
                    row: 0,
                    kind: error.kind.name(),
                    offset: Some(error.offset),
                    path: error.path.to_string(),
                }),
                None => Some(Fault {
                    row: 0,
                    kind: "null_frame",
                    offset: None,
                    path: String::new(),
                }),
            };
            match fault {
                None => fill.keep(),
                Some(fault) => {
                    fill.replace_by_nothing();
                    let row = fill.rows() - 1;
                    faults.push(Fault { row, ..fault });
                }
            }
        }
        self.finish(fill, &faults).map_err(BatchError::Arrow)
    }

    fn fill<'a>(&'a self, frame: &'a [u8], fill: &mut Fill<'a, '_>) -> Result<(), Box<DecodeError>> {
        let start = match &self.header {
            Some(header) => kwire::validate_prefix(header, frame)?,
            None => 0,
        };
        let body = frame.get(start..).unwrap_or_default();
        fill.begin(body);
        kwire::decode::decode(&self.plan, body, fill).map_err(|stop| match stop {
            Stop::Bytes(mut error) => {
                error.offset += start;
                error
            }
            Stop::Visitor(never) => match never {},
        })
    }

    fn finish(&self, fill: Fill<'_, '_>, faults: &[Fault]) -> Result<RecordBatch, ArrowError> {
        let bad: Vec<usize> = faults.iter().map(|fault| fault.row).collect();
        let mut finish = Finish::new(fill, &bad);
        let mut arrays = vec![finish.frames()];
        for top in &self.layout.top {
            arrays.push(finish.top(top.column, top.unit)?);
        }
        arrays.extend(finish::errors(faults, finish.rows)?);
        let rows = arrow_array::RecordBatchOptions::new().with_row_count(Some(finish.rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &rows)
    }
}

fn schema(layout: &Layout) -> SchemaRef {
    let [frame, kind, offset, path] = layout::OWN;
    let mut fields = vec![Field::new(frame, DataType::UInt32, false)];
    // The row of a bad frame is null in all of them.
    fields.extend(layout.top.iter().map(|top| {
        let data_type = layout.columns[top.column].data_type.clone();
        layout::annotated(Field::new(&top.name, data_type, true))
    }));
    let kinds = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    fields.push(Field::new(kind, kinds, true));
    fields.push(Field::new(offset, DataType::Int64, true));
    fields.push(Field::new(path, DataType::Utf8, true));
    Arc::new(Schema::new(fields))
}
