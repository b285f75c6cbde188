//! Incremental decoding of an element that has changed.
//!
//! The previous bytes are read in parallel with the current ones. They were valid; if they are not any more, nothing is
//! reused and everything is decoded.

use super::array::{ArrayType, incremental_array};
use super::changes::ArrayChanges;
use super::keys::Keys;
use super::search::PreviousArray;
use super::visitor::IncrementalVisitor;
use crate::decode::{end_of_struct, fixed, size_of_value, skip_struct, value};
use crate::error::Stop;
use crate::plan::{Length, Primitive, StepKind, Struct, Type};
use crate::reader::Reader;

/// Decodes a changed element.
pub(super) struct ElementDecoder<'k> {
    pub(super) keys: &'k Keys,
    /// Whether enough was reused to justify the search.
    pub(super) reused: bool,
}

impl ElementDecoder<'_> {
    /// Decode a struct, given the bytes and the value of the previous one.
    pub(super) fn structure<'a, V: IncrementalVisitor<'a>>(
        &mut self,
        plan: &'a Struct,
        reader: &mut Reader<'a>,
        visitor: &mut V,
        old: &[u8],
        kept: V::Previous,
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

    fn field<'a, V: IncrementalVisitor<'a>>(
        &mut self,
        plan: &'a Struct,
        position: usize,
        reader: &mut Reader<'a>,
        visitor: &mut V,
        old: &mut Reader<'_>,
        kept: V::Previous,
    ) -> Result<V::Value, Stop<V::Error>> {
        let kind = &plan.fields[position].kind;
        let before = old.rest();
        let part = visitor.previous_field(kept, plan, position);
        if let Type::Array(length, element) = kind
            && let Type::Struct(inner) = &element.kind
            && let Some(part) = part
            && let Some(ends) = ends_of(*length, inner, before)
        {
            let size = ends.last().copied().unwrap_or_default();
            old.skip(size);
            if before.get(..size).is_some_and(|bytes| reader.rest().starts_with(bytes)) {
                reader.skip(size);
                return Ok(visitor.reuse(part));
            }
            let shape = ArrayType {
                length: *length,
                smallest: element.smallest,
                inner,
            };
            let elements = PreviousArray::new(before, &ends, part, visitor);
            let mut changes = ArrayChanges::default();
            let made = incremental_array(shape, self.keys, reader, visitor, elements.as_ref(), None, &mut changes);
            self.reused |= changes.retained.iter().filter(|retained| **retained).count() > changes.changed.len();
            return made;
        }
        // The previous bytes were valid, so they have a size. If they do not, nothing is reused.
        let size = size_of_value(kind, before).unwrap_or_default();
        old.skip(size);
        match (part, before.get(..size)) {
            (Some(part), Some(bytes)) if size > 0 && reader.rest().starts_with(bytes) => {
                reader.skip(size);
                Ok(visitor.reuse(part))
            }
            _ => value(kind, reader, visitor),
        }
    }
}

/// Return where each struct of an array starts and the last one ends, relative to the first byte of the array.
fn ends_of<'x>(length: Length, inner: &'x Struct, array: &'x [u8]) -> Option<Vec<usize>> {
    let mut reader = Reader::new(array);
    let count = reader
        .length::<()>(length.compact, length.nullable, true)
        .ok()?
        .unwrap_or(0);
    let mut ends = Vec::new();
    ends.try_reserve_exact(count.min(array.len()) + 1).ok()?;
    ends.push(reader.offset());
    for _ in 0..count {
        skip_struct(inner, &mut reader)?;
        ends.push(reader.offset());
    }
    Some(ends)
}
