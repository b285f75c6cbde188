//! Decoding again: what stood in the frame before becomes what it became then.
//!
//! Rules of this file. Nothing is believed that was not compared byte by byte: neither that a field stands where it
//! stood, nor that an element is as long as it was. What a value becomes depends on its bytes alone, and no encoding of
//! one begins another; so when the bytes here begin with those that a value was built from, this is that value again,
//! and what bounds it met then it meets now, being all there. Whatever is not found that way is decoded as ever, by the
//! same walker, so that results and errors are those of a decoding without memory.
//!
//! Elements of arrays are looked for where the last one was found, and by key when they are not there: elements that
//! were added, removed or put elsewhere cost one look-up each. Inside an element that has changed the same is done with
//! its parts. Only the ends of the outermost elements are kept from frame to frame; those further in are found again by
//! walking the old bytes, which costs less than keeping them.

mod array;
mod found;
mod keys;
mod parts;
mod search;

use self::array::{Shape, array_again};
pub use self::found::{Found, FoundArray, Places};
pub use self::keys::Keys;
use self::search::OldArray;
use crate::decode::{Visitor, end_of_struct, value};
use crate::error::{DecodeKind, Stop};
use crate::plan::{Plan, Struct, Type};
use crate::reader::Reader;

/// A visitor whose values can be taken apart, and used again.
pub trait Remembering<'a>: Visitor<'a> {
    /// A value built earlier, or a part of one.
    type Kept: Copy;

    /// Whether it is a struct that was built by `plan`, whose parts can be taken.
    fn is_struct(&self, kept: Self::Kept, plan: &'a Struct) -> bool;
    /// Whether it is an array of so many elements.
    fn is_array(&self, kept: Self::Kept, count: usize) -> bool;
    /// A field of a struct, of those that stand on the wire in every one; None if it is not there.
    fn part(&self, kept: Self::Kept, plan: &'a Struct, position: usize) -> Option<Self::Kept>;
    /// An element of an array; None if it is not there.
    fn element(&self, kept: Self::Kept, index: usize) -> Option<Self::Kept>;
    /// The element of this index, if there is one, will be wanted soon.
    #[inline(always)]
    fn expect(&self, _kept: Self::Kept, _index: usize) {}
    /// The same value, as a new one would come.
    fn again(&mut self, kept: Self::Kept) -> Self::Value;
}

/// The frame before: its bytes, where its parts stood, and what it became.
pub struct Before<'o, K> {
    /// All of it.
    pub bytes: &'o [u8],
    /// Where its parts stood.
    pub places: &'o Places,
    /// What it became.
    pub kept: K,
}

/// Walk a whole message. `places` and `found` are filled, and mean something only when that succeeds.
pub fn decode_again<'a, V: Remembering<'a>>(
    plan: &'a Plan,
    keys: &Keys,
    input: &'a [u8],
    visitor: &mut V,
    before: Option<&Before<'_, V::Kept>>,
    places: &mut Places,
    found: &mut Found,
) -> Result<V::Value, Stop<V::Error>> {
    let root = &plan.root;
    let before = before.filter(|before| visitor.is_struct(before.kept, root));
    places.clear(root.fields.len());
    *found = Found::default();
    let mut reader = Reader::new(input);
    let mut body = visitor.begin_struct(root).map_err(Stop::Visitor)?;
    for (position, field) in root.fields.iter().enumerate() {
        places.fields.push(reader.offset());
        let old = before.and_then(|before| OldField::find(before, visitor, root, position));
        let done = if let Type::Array(length, element) = &field.kind
            && let Type::Struct(inner) = &element.kind
        {
            let mut differs = FoundArray::default();
            let value = outermost(
                Shape {
                    length: *length,
                    smallest: element.smallest,
                    inner,
                },
                keys,
                &mut reader,
                visitor,
                old,
                &mut places.elements[position],
                &mut differs,
            );
            let same_size = old.is_none_or(|old| old.elements.len() == places.elements[position].len());
            if !differs.is_nothing() || !same_size {
                found.fields.push(position);
                found.arrays.push((position, differs));
            }
            value
        } else if let Some(old) = old.filter(|old| reader.rest().starts_with(old.bytes)) {
            reader.skip(old.bytes.len());
            Ok(visitor.again(old.kept))
        } else {
            found.fields.push(position);
            value(&field.kind, &mut reader, visitor)
        };
        match done {
            Ok(made) => visitor.field(&mut body, root, position, made),
            Err(stop) => return Err(stop.in_field(&field.name)),
        }
    }
    let end = reader.offset();
    places.fields.push(end);
    body = end_of_struct(root, &mut reader, visitor, body)?;
    found.tags = before.is_none_or(|before| {
        let old = before.places.fields.last().and_then(|end| before.bytes.get(*end..));
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
struct OldField<'o, K> {
    /// Its bytes.
    bytes: &'o [u8],
    /// Where it began.
    start: usize,
    /// Where its elements begin, counted from the start of that frame.
    elements: &'o [usize],
    /// All of that frame.
    frame: &'o [u8],
    kept: K,
}

impl<'o, K: Copy> OldField<'o, K> {
    fn find<'a, V: Remembering<'a, Kept = K>>(
        before: &Before<'o, K>,
        visitor: &V,
        root: &'a Struct,
        position: usize,
    ) -> Option<Self> {
        let start = *before.places.fields.get(position)?;
        let end = *before.places.fields.get(position + 1)?;
        Some(Self {
            bytes: before.bytes.get(start..end)?,
            start,
            elements: before.places.elements.get(position)?,
            frame: before.bytes,
            kept: visitor.part(before.kept, root, position)?,
        })
    }
}

/// An array in the body of the message.
fn outermost<'a, V: Remembering<'a>>(
    shape: Shape<'a>,
    keys: &Keys,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    old: Option<OldField<'_, V::Kept>>,
    ends: &mut Vec<usize>,
    found: &mut FoundArray,
) -> Result<V::Value, Stop<V::Error>> {
    if let Some(old) = old
        && reader.rest().starts_with(old.bytes)
    {
        let start = reader.offset();
        ends.extend(old.elements.iter().map(|end| end - old.start + start));
        reader.skip(old.bytes.len());
        return Ok(visitor.again(old.kept));
    }
    let old = old.and_then(|old| OldArray::new(old.frame, old.elements, old.kept, visitor));
    array_again(shape, keys, reader, visitor, old.as_ref(), Some(ends), found)
}
