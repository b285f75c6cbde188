//! A visitor that builds nothing, for validation and for fields that are not read.

use super::visitor::{Text, Visitor};
use crate::plan::{Primitive, Struct};
use crate::uniform::{LastLayout, Matcher};

/// Builds nothing. Used for structs of one plan only.
#[derive(Default)]
pub(crate) struct Discard {
    last_layout: LastLayout,
}

impl<'a> Visitor<'a> for Discard {
    type Value = ();
    type Struct = ();
    type Array = ();
    type Error = std::convert::Infallible;

    const DISCARDS: bool = true;
    const RUNS: bool = true;
    const NESTED: bool = true;

    #[inline(always)]
    fn last_layout(&mut self, plan: &'a Struct) -> Option<&mut Option<Matcher>> {
        Some(self.last_layout.of(plan))
    }

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
