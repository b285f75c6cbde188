//! A codec for Kafka's protocol that is driven by plans.
//!
//! A plan says, in one line of text, what a message looks like in one version:
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
//! Plan text is parsed (`parse`) into a [`Plan`] (`plan`); one walker reads bytes by it into whatever a
//! [`decode::Visitor`] builds, another writes bytes by it out of whatever an [`encode::Source`] holds. [`Value`] is the
//! visitor and source of this crate's own tests; Python objects are another pair, in a crate of their own. A visitor whose
//! values can be used again is spared what stood in the frame before (`remember`). This crate knows no Python: it is tested, fuzzed and measured with plans
//! and bytes alone.

#![forbid(unsafe_code)]

pub mod decode;
pub mod encode;
mod error;
pub mod incremental;
mod parse;
pub mod plan;
mod reader;
mod sink;
mod uniform;
mod validate;
mod value;

pub use error::{DecodeError, DecodeKind, EncodeError, EncodeKind, Path, PathElement, PlanError, Stop};
pub use plan::Plan;
pub use validate::{validate, validate_prefix};
pub use value::Value;
