//! Incremental decoding: reuse the values of the previous frame.
//!
//! A value is reused only if its bytes have been compared. A value depends on its bytes alone, and no encoding of a
//! value is a prefix of another one. So if the input continues with the bytes of a previous value, it continues with
//! that value, which also passes all bounds checks, because all its bytes are there. Everything else is decoded as
//! usual by the same functions, so results and errors do not depend on the previous frame.
//!
//! Elements of arrays are searched after the last match, and by key if they are not there. Added, removed, and moved
//! elements therefore cost one look-up each. The same search is applied to the parts of changed elements. Only the
//! offsets of top-level elements are kept from frame to frame. The offsets inside elements are computed again from the
//! previous bytes, which costs less than keeping them.

mod array;
mod changes;
mod element;
mod keys;
mod search;
mod visitor;

use self::array::{ArrayType, incremental_array};
pub use self::changes::{ArrayChanges, Changes, Offsets};
pub use self::keys::Keys;
use self::search::PreviousArray;
pub use self::visitor::IncrementalVisitor;
use crate::decode::{end_of_struct, value};
use crate::error::{DecodeKind, Stop};
use crate::plan::{Plan, Struct, Type};
use crate::reader::Reader;

/// The previous frame and its value.
pub struct PreviousFrame<'o, K> {
    /// The bytes of the frame.
    pub bytes: &'o [u8],
    /// The offsets of its parts.
    pub offsets: &'o Offsets,
    /// The decoded message.
    pub value: K,
}

/// Decode a message that takes all of `input`. `offsets` and `changes` are overwritten and are meaningful only on
/// success.
pub fn decode_incremental<'a, V: IncrementalVisitor<'a>>(
    plan: &'a Plan,
    keys: &Keys,
    input: &'a [u8],
    visitor: &mut V,
    before: Option<&PreviousFrame<'_, V::Previous>>,
    offsets: &mut Offsets,
    changes: &mut Changes,
) -> Result<V::Value, Stop<V::Error>> {
    let root = &plan.root;
    let before = before.filter(|before| visitor.is_struct(before.value, root));
    offsets.clear(root.fields.len());
    *changes = Changes::default();
    let mut reader = Reader::new(input);
    let mut body = visitor.begin_struct(root).map_err(Stop::Visitor)?;
    for (position, field) in root.fields.iter().enumerate() {
        offsets.fields.push(reader.offset());
        let old = before.and_then(|before| PreviousField::find(before, visitor, root, position));
        let done = if let Type::Array(length, element) = &field.kind
            && let Type::Struct(inner) = &element.kind
        {
            let mut differs = ArrayChanges::default();
            let value = top_level_array(
                ArrayType {
                    length: *length,
                    smallest: element.smallest,
                    inner,
                },
                keys,
                &mut reader,
                visitor,
                old,
                &mut offsets.elements[position],
                &mut differs,
            );
            let same_size = old.is_none_or(|old| old.elements.len() == offsets.elements[position].len());
            if !differs.is_empty() || !same_size {
                changes.fields.push(position);
                changes.arrays.push((position, differs));
            }
            value
        } else if let Some(old) = old.filter(|old| reader.rest().starts_with(old.bytes)) {
            reader.skip(old.bytes.len());
            Ok(visitor.reuse(old.value))
        } else {
            changes.fields.push(position);
            value(&field.kind, &mut reader, visitor)
        };
        match done {
            Ok(made) => visitor.field(&mut body, root, position, made),
            Err(stop) => return Err(stop.in_field(&field.name)),
        }
    }
    let end = reader.offset();
    offsets.fields.push(end);
    body = end_of_struct(root, &mut reader, visitor, body)?;
    changes.tags = before.is_none_or(|before| {
        let old = before.offsets.fields.last().and_then(|end| before.bytes.get(*end..));
        old != input.get(end..reader.offset())
    });
    if reader.left() > 0 {
        return Err(Stop::sized(
            DecodeKind::TrailingBytes,
            reader.offset(),
            0,
            reader.left(),
        ));
    }
    visitor.end_struct(body, root).map_err(Stop::Visitor)
}

/// A field of the previous message.
#[derive(Clone, Copy)]
struct PreviousField<'o, K> {
    /// The bytes of the field.
    bytes: &'o [u8],
    /// The offset of the field in the previous frame.
    start: usize,
    /// The offsets of its elements in the previous frame.
    elements: &'o [usize],
    /// The previous frame.
    frame: &'o [u8],
    value: K,
}

impl<'o, K: Copy> PreviousField<'o, K> {
    fn find<'a, V: IncrementalVisitor<'a, Previous = K>>(
        before: &PreviousFrame<'o, K>,
        visitor: &V,
        root: &'a Struct,
        position: usize,
    ) -> Option<Self> {
        let start = *before.offsets.fields.get(position)?;
        let end = *before.offsets.fields.get(position + 1)?;
        Some(Self {
            bytes: before.bytes.get(start..end)?,
            start,
            elements: before.offsets.elements.get(position)?,
            frame: before.bytes,
            value: visitor.previous_field(before.value, root, position)?,
        })
    }
}

/// Decode an array of structs in the body of the message.
fn top_level_array<'a, V: IncrementalVisitor<'a>>(
    shape: ArrayType<'a>,
    keys: &Keys,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    old: Option<PreviousField<'_, V::Previous>>,
    ends: &mut Vec<usize>,
    changes: &mut ArrayChanges,
) -> Result<V::Value, Stop<V::Error>> {
    if let Some(old) = old
        && reader.rest().starts_with(old.bytes)
    {
        let start = reader.offset();
        if ends.try_reserve(old.elements.len()).is_err() {
            return Err(Stop::at(DecodeKind::OutOfMemory, start));
        }
        ends.extend(old.elements.iter().map(|end| end - old.start + start));
        reader.skip(old.bytes.len());
        return Ok(visitor.reuse(old.value));
    }
    let old = old.and_then(|old| PreviousArray::new(old.frame, old.elements, old.value, visitor));
    incremental_array(shape, keys, reader, visitor, old.as_ref(), Some(ends), changes)
}
