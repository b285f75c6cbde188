//! The tag section at the end of a flexible struct (KIP-482).
//!
//! Tags ascend, and each value takes exactly the size it states. Unknown tags are kept, in shortest form.

use super::discard::Discard;
use super::value;
use super::visitor::Visitor;
use crate::error::{DecodeKind, Stop};
use crate::plan::{Field, Struct};
use crate::reader::Reader;
use crate::sink::put_uvarint;

/// Decode the tag section if there is one. Most are empty, which is one byte.
#[inline(always)]
pub(crate) fn end_of_struct<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    body: V::Struct,
) -> Result<V::Struct, Stop<V::Error>> {
    if !plan.flexible {
        return Ok(body);
    }
    if reader.rest().first() == Some(&0) {
        reader.skip(1);
        return Ok(body);
    }
    let mut copy = *reader;
    let body = tags(plan, &mut copy, visitor, body)?;
    *reader = copy;
    Ok(body)
}

#[inline(never)]
fn tags<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    mut body: V::Struct,
) -> Result<V::Struct, Stop<V::Error>> {
    if let Some(size) = unknown_tags_only(plan, reader.rest())
        && let Some(section) = reader.try_take(size as usize)
        && let Some((_, raw)) = section.split_first()
    {
        if !V::DISCARDS {
            visitor.unknown_tags(&mut body, plan, raw).map_err(Stop::Visitor)?;
        }
        return Ok(body);
    }
    let start = reader.offset();
    let count = reader.uvarint()?;
    // A tag takes at least two bytes: its number and its size.
    let wanted = u64::from(count) * 2;
    if wanted > reader.left() as u64 {
        return Err(Stop::sized(DecodeKind::CountExceedsInput, start, wanted, reader.left()));
    }
    let mut unknown: Vec<u8> = Vec::new();
    let mut before: Option<u32> = None;
    for _ in 0..count {
        let start = reader.offset();
        let tag = reader.uvarint()?;
        if before.is_some_and(|before| tag <= before) {
            return Err(Stop::at(DecodeKind::TagOrder, start));
        }
        before = Some(tag);
        if let Ok(found) = plan.tagged.binary_search_by_key(&tag, |tagged| tagged.tag) {
            let field = &plan.tagged[found].field;
            if V::RUNS && !visitor.enter(plan, field.position) {
                let passed = tagged_value(field, reader, &mut Discard::default()).map_err(|stop| match stop {
                    Stop::Bytes(error) => Stop::Bytes(error),
                    Stop::Visitor(never) => match never {},
                });
                passed.map_err(|stop: Stop<V::Error>| stop.in_field(&field.name))?;
                continue;
            }
            let value = tagged_value(field, reader, visitor).map_err(|stop| stop.in_field(&field.name))?;
            visitor.tagged_field(&mut body, plan, field.position, value);
            continue;
        }
        let size = reader.uvarint()?;
        let content = reader.take(size as usize, reader.offset())?;
        if !V::DISCARDS {
            if unknown.try_reserve(content.len() + 2 * MAX_VARINT).is_err() {
                return Err(Stop::at(DecodeKind::OutOfMemory, start));
            }
            put_uvarint(&mut unknown, tag);
            put_uvarint(&mut unknown, size);
            unknown.extend_from_slice(content);
        }
    }
    if !unknown.is_empty() {
        visitor.unknown_tags(&mut body, plan, &unknown).map_err(Stop::Visitor)?;
    }
    Ok(body)
}

/// The longest encoding of a tag or a size in bytes.
const MAX_VARINT: usize = 5;
/// The longest tag section in bytes that is compared with those of neighboring structs.
const MAX_SECTION: usize = 16;

/// Return the size of the tag section at the start of `section` if it is valid, short, in shortest form, and has unknown
/// tags only.
#[inline(never)]
pub(crate) fn unknown_tags_only(plan: &Struct, section: &[u8]) -> Option<u32> {
    let section = section.get(..MAX_SECTION).unwrap_or(section);
    let mut reader = Reader::new(section);
    let mut before: Option<u32> = None;
    for _ in 0..shortest(&mut reader)? {
        let tag = shortest(&mut reader)?;
        let known = plan.tagged.binary_search_by_key(&tag, |tagged| tagged.tag).is_ok();
        if known || before.is_some_and(|before| tag <= before) {
            return None;
        }
        before = Some(tag);
        let size = shortest(&mut reader)?;
        reader.try_take(size as usize)?;
    }
    u32::try_from(section.len() - reader.left()).ok()
}

/// Read an unsigned varint of at most 28 bits in shortest form. Returns `None` instead of an error, which would allocate.
#[inline(always)]
fn shortest(reader: &mut Reader<'_>) -> Option<u32> {
    let mut value = 0;
    for (index, byte) in reader.rest().iter().take(4).enumerate() {
        value |= u32::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            reader.skip(index + 1);
            return (*byte != 0 || index == 0).then_some(value);
        }
    }
    None
}

fn tagged_value<'a, V: Visitor<'a>>(
    field: &'a Field,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    let size = reader.uvarint()?;
    let start = reader.offset();
    let mut content = reader.child(size as usize, start)?;
    let value = value(&field.kind, &mut content, visitor)?;
    if content.left() == 0 {
        Ok(value)
    } else {
        Err(Stop::sized(DecodeKind::TagSize, start, size.into(), content.left()))
    }
}
