//! Validate bytes without building values.

use crate::decode::{Discard, decode, decode_prefix};
use crate::error::{DecodeError, Stop};
use crate::plan::Plan;

/// Check that `decode` would succeed. Allocates nothing unless it fails.
pub fn validate(plan: &Plan, input: &[u8]) -> Result<(), Box<DecodeError>> {
    decode(plan, input, &mut Discard::default()).map_err(|stop| match stop {
        Stop::Bytes(error) => error,
        Stop::Visitor(never) => match never {},
    })
}

/// Check a message that other bytes may follow, such as a header. Returns where it ends.
pub fn validate_prefix(plan: &Plan, input: &[u8]) -> Result<usize, Box<DecodeError>> {
    match decode_prefix(plan, input, &mut Discard::default()) {
        Ok(((), end)) => Ok(end),
        Err(Stop::Bytes(error)) => Err(error),
        Err(Stop::Visitor(never)) => match never {},
    }
}
