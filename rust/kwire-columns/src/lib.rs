//! Decode many bodies of one Kafka message into one Arrow record batch.
//!
//! ```
//! use kwire::Plan;
//! use kwire_columns::{Columns, Shape};
//!
//! let plan: Plan = "Brokers v0 {brokers:[{node_id:int32 host:string}]}".parse()?;
//! let shape = Shape::parse("Brokers v0 <brokers:[<node_id:int32 host:string>]>", &[])?;
//! let columns = Columns::new(plan, None, &shape, "brokers")?;
//! let batch = columns.batch(&[Some(b"\0\0\0\x01\0\0\0\x07\0\x01h"), Some(b"\0\0\0\x01\0")], 1 << 20, &|_| true)?;
//! assert_eq!(batch.num_rows(), 2); // a broker, and an error for the truncated body
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `layout` assigns the fields of a plan and a shape (`shape`) to columns. The decoder of the kwire crate checks the bytes
//! and calls a visitor (`builder`) that fills the columns. `arrays` turns them into Arrow arrays.

#![forbid(unsafe_code)]

mod arrays;
mod builder;
mod column;
mod dictionary;
mod error;
mod layout;
mod offsets;
mod repeated;
mod room;
mod shape;
mod size;
mod text;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use kwire::{Plan, Stop};

pub use error::{BatchError, MAX_BYTES, RowsError};
pub use shape::Shape;

use crate::arrays::ArrayBuilder;
use crate::builder::BatchBuilder;
use crate::error::{Exceeded, Fault};
use crate::layout::Layout;
use crate::size::{Budget, Sizes};

/// Puts a number of bytes aside, in addition to earlier ones, so that allocations of this size in total succeed until the
/// end of the call. Returns false if memory is short.
pub type Hold<'h> = dyn Fn(usize) -> bool + 'h;

/// The columns of one message in one version.
pub struct Columns {
    plan: Plan,
    header: Option<Plan>,
    layout: Layout,
    sizes: Sizes,
    schema: SchemaRef,
}

impl Columns {
    /// Lay out the columns.
    ///
    /// `header` is the plan of what precedes each body. `rows` is the array whose elements are the rows, as field names
    /// separated by dots. If it is empty, each body is a row.
    pub fn new(plan: Plan, header: Option<Plan>, shape: &Shape, rows: &str) -> Result<Self, RowsError> {
        let layout = Layout::new(&plan, shape, rows)?;
        let (schema, sizes) = (schema(&layout), Sizes::new(&layout));
        Ok(Self {
            plan,
            header,
            layout,
            sizes,
            schema,
        })
    }

    /// Return the schema of batches. It is the same for every version of a message.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Decode frames into a batch. A frame of `None` is missing and becomes an error row.
    ///
    /// `max_bytes` limits the memory of the columns. `hold` is asked for memory before it is allocated; it may always
    /// return true where the process may end if memory is short.
    pub fn batch(
        &self,
        frames: &[Option<&[u8]>],
        max_bytes: usize,
        hold: &Hold<'_>,
    ) -> Result<RecordBatch, BatchError> {
        let sizes = frames
            .iter()
            .map(|frame| frame.map_or(1, |frame| frame.len().saturating_add(1)));
        let bytes = sizes.fold(0, usize::saturating_add);
        if bytes > MAX_BYTES {
            return Err(BatchError::TooLarge { bytes });
        }
        let mut builder = BatchBuilder::new(&self.layout, &self.sizes, bytes, Budget::new(max_bytes, hold), hold);
        let mut faults = Vec::new();
        for frame in frames {
            let fault = match frame.map(|frame| self.decode(frame, &mut builder)) {
                Some(Ok(())) => None,
                Some(Err(Stop::Visitor(exceeded))) => return Err(exceeded.into()),
                Some(Err(Stop::Bytes(error))) => Some(Fault {
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
            let added = match fault {
                None => builder.keep(),
                Some(fault) => {
                    let added = builder.replace_by_null_row(fault.path.len());
                    let row = builder.rows() - 1;
                    faults.push(Fault { row, ..fault });
                    added
                }
            };
            added?;
        }
        builder.convert();
        let paths = faults.iter().map(|fault| fault.path.len()).sum();
        builder.check_size(paths)?;
        self.finish(builder, &faults).map_err(|error| match error {
            ArrowError::OffsetOverflowError(_) => BatchError::ColumnTooLarge,
            error => BatchError::Arrow(error),
        })
    }

    fn decode<'a>(&'a self, frame: &'a [u8], builder: &mut BatchBuilder<'a, '_, '_>) -> Result<(), Stop<Exceeded>> {
        let start = match &self.header {
            Some(header) => kwire::validate_prefix(header, frame).map_err(Stop::Bytes)?,
            None => 0,
        };
        let body = frame.get(start..).unwrap_or_default();
        builder.begin(body);
        kwire::decode::decode(&self.plan, body, builder).map_err(|stop| match stop {
            Stop::Bytes(mut error) => {
                error.offset += start;
                Stop::Bytes(error)
            }
            Stop::Visitor(exceeded) => Stop::Visitor(exceeded),
        })
    }

    /// Make the arrays of columns that have been converted.
    fn finish(&self, builder: BatchBuilder<'_, '_, '_>, faults: &[Fault]) -> Result<RecordBatch, ArrowError> {
        let bad: Vec<usize> = faults.iter().map(|fault| fault.row).collect();
        let mut finished = ArrayBuilder::new(builder, &bad);
        let mut arrays = vec![finished.frames()];
        for output in &self.layout.output {
            arrays.push(finished.output_column(output.column, output.group)?);
        }
        arrays.extend(finished.error_columns(faults)?);
        let rows = arrow_array::RecordBatchOptions::new().with_row_count(Some(finished.rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &rows)
    }
}

fn schema(layout: &Layout) -> SchemaRef {
    let [frame, kind, offset, path] = layout::RESERVED;
    let mut fields = vec![Field::new(frame, DataType::UInt32, false)];
    // All columns are null in the row of an invalid frame.
    fields.extend(layout.output.iter().map(|output| {
        let data_type = layout.columns[output.column].data_type.clone();
        layout::annotated(Field::new(&output.name, data_type, true))
    }));
    let kinds = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    fields.push(Field::new(kind, kinds, true));
    fields.push(Field::new(offset, DataType::Int64, true));
    fields.push(Field::new(path, DataType::Utf8, true));
    Arc::new(Schema::new(fields))
}
