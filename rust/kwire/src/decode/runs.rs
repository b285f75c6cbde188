//! The decoder for visitors that take runs of fixed-size fields, int32 arrays, and structs of uniform layout as bytes.
//!
//! The bounds of a run are checked once. Only if that fails, the decoder determines which field is truncated. Callees
//! get copies of the reader, so that it stays in a register from struct to struct.

use super::discard::Discard;
use super::visitor::Visitor;
use super::{check_count, end_of_struct, find, value};
use crate::error::Stop;
use crate::plan::{Length, Primitive, StepKind, Struct, Type};
use crate::reader::Reader;
use crate::uniform::Allowed;

/// Decode the fields of a struct.
#[inline(always)]
pub(super) fn runs<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    mut body: V::Struct,
) -> Result<V::Struct, Stop<V::Error>> {
    let mut position = 0;
    while let Some(step) = plan.steps.get(position) {
        match step.kind {
            StepKind::Fixed(_) => {
                let Some(bytes) = reader.try_take(step.run as usize) else {
                    return Err(short_run(plan, position, *reader));
                };
                visitor.run(&mut body, plan, position, bytes);
                position = position.saturating_add(step.fields as usize);
                continue;
            }
            StepKind::Int32Array { compact } => {
                if let Some(bytes) = short_array(compact, reader) {
                    visitor.int32s(&mut body, plan, position, bytes);
                } else {
                    let length = Length {
                        compact,
                        nullable: false,
                    };
                    match int32s(length, *reader) {
                        Ok((bytes, after)) => {
                            *reader = after;
                            visitor.int32s(&mut body, plan, position, bytes);
                        }
                        Err(stop) => return Err(stop.in_field(&plan.fields[position].name)),
                    }
                }
            }
            StepKind::Other => {
                let field = &plan.fields[position];
                let mut copy = *reader;
                let shown = if visitor.enter(plan, position) {
                    value(&field.kind, &mut copy, visitor).map(|value| visitor.field(&mut body, plan, position, value))
                } else {
                    skip_value(&field.kind, &mut copy)
                };
                *reader = copy;
                if let Err(stop) = shown {
                    return Err(stop.in_field(&field.name));
                }
            }
        }
        position += 1;
    }
    end_of_struct(plan, reader, visitor, body)
}

/// Determine which field of a truncated run is truncated.
#[cold]
#[inline(never)]
fn short_run<E>(plan: &Struct, start: usize, mut reader: Reader<'_>) -> Stop<E> {
    for (step, field) in plan.steps.iter().zip(&plan.fields).skip(start) {
        if let StepKind::Fixed(kind) = step.kind
            && let Err(stop) = reader.take::<E>(kind.size(), reader.offset())
        {
            return stop.in_field(&field.name);
        }
    }
    // Unreachable: if no field is truncated, the run is not.
    Stop::short(reader.offset(), 0, reader.left())
}

/// Check a value without building it.
#[inline(never)]
fn skip_value<'a, E>(kind: &'a Type, reader: &mut Reader<'a>) -> Result<(), Stop<E>> {
    value(kind, reader, &mut Discard::default()).map_err(|stop| match stop {
        Stop::Bytes(error) => Stop::Bytes(error),
        Stop::Visitor(never) => match never {},
    })
}

/// Take the elements of a valid int32 array that has less than 127 elements if compact. Returns `None`, and takes
/// nothing, for other arrays, which the general decoder handles.
#[inline(always)]
fn short_array<'a>(compact: bool, reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let (prefix, size) = if compact {
        match reader.rest().first() {
            Some(byte @ 1..=0x7f) => (1, 4 * (usize::from(*byte) - 1)),
            _ => return None,
        }
    } else {
        let count = i32::from_be_bytes(*reader.rest().first_chunk()?);
        (4, usize::try_from(count).ok()?.checked_mul(4)?)
    };
    let (bytes, rest) = reader.rest().get(prefix..)?.split_at_checked(size)?;
    reader.continue_at(rest);
    Some(bytes)
}

/// Decode an int32 array of any form. Returns its elements and the reader behind them.
#[inline(never)]
fn int32s<E>(length: Length, mut reader: Reader<'_>) -> Result<(&[u8], Reader<'_>), Stop<E>> {
    let start = reader.offset();
    // Null is an error here, because the length is not nullable.
    let count = reader
        .length(length.compact, length.nullable, true)?
        .unwrap_or_default();
    let size = check_count(count, Primitive::Int32.size(), start, reader)?;
    let bytes = reader.take(size, start)?;
    Ok((bytes, reader))
}

/// Decode the structs of an array.
pub(super) fn runs_of_structs<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    count: usize,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    items: &mut V::Array,
) -> Result<(), Stop<V::Error>> {
    let mut cursor = *reader;
    let mut index = 0;
    while index < count {
        let uniform = if V::NESTED { plan.uniform } else { plan.flat };
        let allowed = Allowed { tags: V::DISCARDS };
        if uniform
            && let Some((alike, found)) = find(visitor, plan, cursor.rest(), count - index, allowed)
            && let Some(bytes) = cursor.try_take(found * alike.size())
        {
            visitor.uniform_structs(plan, found, bytes, &alike);
            index += found;
            continue;
        }
        let body = visitor.begin_struct(plan).map_err(Stop::Visitor)?;
        let body = match runs(plan, &mut cursor, visitor, body) {
            Ok(body) => body,
            Err(stop) => return Err(stop.in_element(index)),
        };
        let value = visitor.end_struct(body, plan).map_err(Stop::Visitor)?;
        visitor.item(items, index, value);
        index += 1;
    }
    *reader = cursor;
    Ok(())
}
