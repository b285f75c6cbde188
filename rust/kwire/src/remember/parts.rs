//! The parts of an element that has changed.
//!
//! Rules of this file: the old bytes are walked beside the new ones. They were good then; were they not, nothing would be
//! found, and all be decoded anew.

use super::Remembering;
use super::array::{Shape, array_again};
use super::found::FoundArray;
use super::keys::Keys;
use super::search::OldArray;
use crate::decode::{end_of_struct, fixed, pass_over_struct, size_of_value, value};
use crate::error::Stop;
use crate::plan::{Length, Primitive, StepKind, Struct, Type};
use crate::reader::Reader;

/// Goes into an element that has changed.
pub(super) struct Again<'k> {
    pub(super) keys: &'k Keys,
    /// Whether anything in it was found again that was worth looking for.
    pub(super) anything: bool,
}

impl Again<'_> {
    /// A struct of which the bytes before are known.
    pub(super) fn structure<'a, V: Remembering<'a>>(
        &mut self,
        plan: &'a Struct,
        reader: &mut Reader<'a>,
        visitor: &mut V,
        old: &[u8],
        kept: V::Kept,
    ) -> Result<V::Value, Stop<V::Error>> {
        let mut body = visitor.begin_struct(plan).map_err(Stop::Visitor)?;
        let mut old = Reader::new(old);
        for (position, step) in plan.steps.iter().enumerate() {
            let field = &plan.fields[position];
            let done = if let StepKind::Fixed(kind) = step.kind
                && kind != Primitive::Uuid
            {
                old.skip(kind.size());
                fixed(kind, reader, visitor, |_, value| value)
            } else {
                self.field(plan, position, reader, visitor, &mut old, kept)
            };
            match done {
                Ok(made) => visitor.field(&mut body, plan, position, made),
                Err(stop) => return Err(stop.in_field(&field.name)),
            }
        }
        body = end_of_struct(plan, reader, visitor, body)?;
        visitor.end_struct(body, plan).map_err(Stop::Visitor)
    }

    fn field<'a, V: Remembering<'a>>(
        &mut self,
        plan: &'a Struct,
        position: usize,
        reader: &mut Reader<'a>,
        visitor: &mut V,
        old: &mut Reader<'_>,
        kept: V::Kept,
    ) -> Result<V::Value, Stop<V::Error>> {
        let kind = &plan.fields[position].kind;
        let before = old.rest();
        let part = visitor.part(kept, plan, position);
        if let Type::Array(length, element) = kind
            && let Type::Struct(inner) = &element.kind
            && let Some(part) = part
            && let Some(ends) = ends_of(*length, inner, before)
        {
            let size = ends.last().copied().unwrap_or_default();
            old.skip(size);
            if before.get(..size).is_some_and(|bytes| reader.rest().starts_with(bytes)) {
                reader.skip(size);
                return Ok(visitor.again(part));
            }
            let shape = Shape {
                length: *length,
                smallest: element.smallest,
                inner,
            };
            let elements = OldArray::new(before, &ends, part, visitor);
            let mut found = FoundArray::default();
            let made = array_again(shape, self.keys, reader, visitor, elements.as_ref(), None, &mut found);
            self.anything |= found.stayed.iter().filter(|stayed| **stayed).count() > found.changed.len();
            return made;
        }
        // The bytes before were good then, so they have a size now; had they none, nothing would be found.
        let size = size_of_value(kind, before).unwrap_or_default();
        old.skip(size);
        match (part, before.get(..size)) {
            (Some(part), Some(bytes)) if size > 0 && reader.rest().starts_with(bytes) => {
                reader.skip(size);
                Ok(visitor.again(part))
            }
            _ => value(kind, reader, visitor),
        }
    }
}

/// Where the structs of an array begin and the last one ends, counted from the array's first byte.
fn ends_of<'x>(length: Length, inner: &'x Struct, array: &'x [u8]) -> Option<Vec<usize>> {
    let mut reader = Reader::new(array);
    let count = reader
        .length::<()>(length.compact, length.nullable, true)
        .ok()?
        .unwrap_or(0);
    let mut ends = Vec::with_capacity(count.min(array.len()) + 1);
    ends.push(reader.offset());
    for _ in 0..count {
        pass_over_struct(inner, &mut reader)?;
        ends.push(reader.offset());
    }
    Some(ends)
}
