//! A codec for Kafka's protocol that is driven by plans.
//!
//! A plan is one line of text that describes a message in one version:
//!
//! ```
//! use kwire::{Plan, Value};
//!
//! let plan: Plan = "Brokers v0 {brokers:[{node_id:int32 host:string}]}".parse()?;
//! let value = Value::decode(&plan, b"\0\0\0\x01\0\0\0\x07\0\x01h")?;
//! assert_eq!(value.encode(&plan)?, b"\0\0\0\x01\0\0\0\x07\0\x01h");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The parser (`parse`) turns text into a [`Plan`] (`plan`). The decoder reads bytes by a plan and calls a
//! [`decode::Visitor`], which builds the values. The encoder reads values from an [`encode::Source`] and writes bytes.
//! [`Value`] is the visitor and source of this crate's tests, fuzzers, and benchmarks, behind the feature `value`; Python
//! objects and Arrow columns have theirs in other crates.
//! `incremental` decodes a frame that resembles the previous one and reuses its values. The crate does not depend on Python:
//! it is tested, fuzzed, and measured with plans and bytes alone.

#![forbid(unsafe_code)]

pub mod decode;
pub mod encode;
mod error;
pub mod incremental;
pub mod index;
mod parse;
pub mod plan;
mod plan_text;
mod reader;
mod sink;
mod uniform;
mod unknown_tags;
mod validate;
#[cfg(feature = "value")]
mod value;

pub use error::{DecodeError, DecodeKind, EncodeError, EncodeKind, Path, PathElement, PlanError, Stop};
pub use plan::Plan;
pub use validate::{validate, validate_prefix};
#[cfg(feature = "value")]
pub use value::Value;
