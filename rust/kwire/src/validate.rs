//! Checks bytes and builds nothing.

use crate::decode::{Text, Visitor, decode, decode_prefix};
use crate::error::{DecodeError, Stop};
use crate::plan::{Plan, Primitive, Struct};

/// Everything that `decode` would refuse, at the cost of looking; allocates nothing unless it fails.
pub fn validate(plan: &Plan, input: &[u8]) -> Result<(), Box<DecodeError>> {
    decode(plan, input, &mut Nothing).map_err(|stop| match stop {
        Stop::Bytes(error) => error,
        Stop::Visitor(never) => match never {},
    })
}

/// The same for a message that other bytes may follow: where it ends.
pub fn validate_prefix(plan: &Plan, input: &[u8]) -> Result<usize, Box<DecodeError>> {
    match decode_prefix(plan, input, &mut Nothing) {
        Ok(((), end)) => Ok(end),
        Err(Stop::Bytes(error)) => Err(error),
        Err(Stop::Visitor(never)) => match never {},
    }
}

/// Builds nothing.
pub(crate) struct Nothing;

impl<'a> Visitor<'a> for Nothing {
    type Value = ();
    type Struct = ();
    type Array = ();
    type Error = std::convert::Infallible;

    const BLIND: bool = true;
    const RUNS: bool = true;

    fn integer(&mut self, _: i64) -> Result<(), Self::Error> {
        Ok(())
    }
    fn boolean(&mut self, _: bool) -> Result<(), Self::Error> {
        Ok(())
    }
    fn float(&mut self, _: f64) -> Result<(), Self::Error> {
        Ok(())
    }
    fn uuid(&mut self, _: [u8; 16]) -> Result<(), Self::Error> {
        Ok(())
    }
    fn string(&mut self, _: Text<'a>) -> Result<(), Self::Error> {
        Ok(())
    }
    fn bytes(&mut self, _: &'a [u8]) -> Result<(), Self::Error> {
        Ok(())
    }
    fn null(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
    fn packed(&mut self, _: Primitive, _: &'a [u8]) -> Result<(), Self::Error> {
        Ok(())
    }
    fn begin_array(&mut self, _: usize) -> Result<(), Self::Error> {
        Ok(())
    }
    fn item(&mut self, (): &mut (), _: usize, (): ()) {}
    fn end_array(&mut self, (): ()) -> Result<(), Self::Error> {
        Ok(())
    }
    fn begin_struct(&mut self, _: &'a Struct) -> Result<(), Self::Error> {
        Ok(())
    }
    fn field(&mut self, (): &mut (), _: &'a Struct, _: usize, (): ()) {}
    fn tagged_field(&mut self, (): &mut (), _: &'a Struct, _: usize, (): ()) {}
    fn unknown_tags(&mut self, (): &mut (), _: &'a Struct, _: &[u8]) -> Result<(), Self::Error> {
        Ok(())
    }
    fn end_struct(&mut self, (): (), _: &'a Struct) -> Result<(), Self::Error> {
        Ok(())
    }
}
