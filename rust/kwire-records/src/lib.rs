//! Kafka's record batches of magic 0, 1, and 2.
//!
//! [`Batches`] splits bytes into batches. A [`Decoder`] walks the records of a batch, decompressing them first, and calls
//! a [`Visitor`], which builds the values. An [`Encoder`] writes batches. The walker checks everything that can be wrong
//! with bytes, so a visitor only builds. The crate does not depend on Python.
//!
//! Kafka describes the formats in `DefaultRecordBatch`, `DefaultRecord`, and `LegacyRecord`
//! (`org.apache.kafka.common.record`). Magic 0 and 1 are message sets: each entry is a batch, which is a single record
//! or, if it is compressed, wraps a message set.

#![forbid(unsafe_code)]

mod batch;
mod columns;
mod compression;
mod decode;
mod encode;
mod encode_error;
mod error;
mod legacy;
mod reader;
mod varint;

pub use batch::{Batches, Header, RawBatch};
pub use columns::{Chunk, ColumnsError, columns, schema};
pub use compression::{Budget, Compression, Hold, Limits};
pub use decode::{Decoder, Record, Stop, Visitor};
pub use encode::{BatchFields, Encoder, NewRecord, RecordHeader};
pub use encode_error::{EncodeError, Problem};
pub use error::{DecodeError, DecodeKind, Step};
