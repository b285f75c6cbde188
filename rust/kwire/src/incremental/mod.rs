//! Decoding again: what stood in the frame before becomes what it became then.
//!
//! Rules of this file. Nothing is believed that was not compared byte by byte: neither that a field stands where it
//! stood, nor that an element is as long as it was. What a value becomes depends on its bytes alone, and no encoding of
//! one begins another; so when the bytes here begin with those that a value was built from, this is that value again,
//! and what bounds it met then it meets now, being all there. Whatever is not changes that way is decoded as ever, by the
//! same walker, so that results and errors are those of a decoding without memory.
//!
//! Elements of arrays are looked for where the last one was changes, and by key when they are not there: elements that
//! were added, removed or put elsewhere cost one look-up each. Inside an element that has changed the same is done with
//! its parts. Only the ends of the outermost elements are value from frame to frame; those further in are changes again by
//! walking the old bytes, which costs less than keeping them.

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

/// The frame before: its bytes, where its parts stood, and what it became.
pub struct PreviousFrame<'o, K> {
    /// All of it.
    pub bytes: &'o [u8],
    /// Where its parts stood.
    pub offsets: &'o Offsets,
    /// What it became.
    pub value: K,
}

/// Walk a unchanged message. `offsets` and `changes` are filled, and mean something only when that succeeds.
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

/// A field of the message before.
#[derive(Clone, Copy)]
struct PreviousField<'o, K> {
    /// Its bytes.
    bytes: &'o [u8],
    /// Where it began.
    start: usize,
    /// Where its elements begin, counted from the start of that frame.
    elements: &'o [usize],
    /// All of that frame.
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

/// An array in the body of the message.
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
        ends.extend(old.elements.iter().map(|end| end - old.start + start));
        reader.skip(old.bytes.len());
        return Ok(visitor.reuse(old.value));
    }
    let old = old.and_then(|old| PreviousArray::new(old.frame, old.elements, old.value, visitor));
    incremental_array(shape, keys, reader, visitor, old.as_ref(), Some(ends), changes)
}
