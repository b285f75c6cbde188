//! The index of a valid body: check a message once, then decode the parts that are needed.
//!
//! [`Index::new`] checks every byte as [`validate`](crate::validate()) does, and keeps the offsets of the top-level fields
//! and of the elements of their arrays of structs. The other methods take the same struct and input again and decode one
//! part. With other bytes they return an error or another value, but do not panic.

mod keys;
mod tags;

pub use self::keys::{KeyFields, KeyTable};
use crate::decode::{Discard, Visitor, check_count, end_of_struct, find, item, structure, value};
use crate::error::{DecodeError, DecodeKind, Stop};
use crate::plan::{Element, Length, Struct, Type};
use crate::reader::Reader;
use crate::uniform::Allowed;
use std::convert::Infallible;
use std::ops::Range;

/// Where the parts of a body are.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// The start of each plain field, then the end of the last one, where the tag section starts.
    fields: Vec<usize>,
    /// For each plain field that is an array of structs and not null: where its elements are.
    elements: Vec<Option<Elements>>,
}

/// Where the elements of an array are.
#[derive(Clone, Debug)]
enum Elements {
    /// Elements of a fixed size: the start of the first one, the size, and the number.
    Fixed(usize, usize, usize),
    /// The start of each element, then the end of the last one.
    Starts(Vec<usize>),
}

impl Elements {
    fn count(&self) -> usize {
        match self {
            Self::Fixed(_, _, count) => *count,
            Self::Starts(starts) => starts.len().saturating_sub(1),
        }
    }

    /// Return the start of an element, or the end of the last one for the number of elements.
    fn start(&self, index: usize) -> Option<usize> {
        match self {
            Self::Fixed(start, size, count) if index <= *count => Some(start + size * index),
            Self::Fixed(..) => None,
            Self::Starts(starts) => starts.get(index).copied(),
        }
    }
}

impl Index {
    /// Check that `input` is a body of `plan`, and create its index.
    pub fn new<'a>(plan: &'a Struct, input: &'a [u8]) -> Result<Self, Box<DecodeError>> {
        Self::checked(plan, input).map_err(|stop| match stop {
            Stop::Bytes(error) => error,
            Stop::Visitor(never) => match never {},
        })
    }

    fn checked<'a>(plan: &'a Struct, input: &'a [u8]) -> Result<Self, Stop<Infallible>> {
        let mut found = Self {
            fields: Vec::with_capacity(plan.fields.len() + 1),
            elements: Vec::with_capacity(plan.fields.len()),
        };
        let mut reader = Reader::new(input);
        let mut discard = Discard::default();
        for field in &plan.fields {
            found.fields.push(reader.offset());
            let elements = match &field.kind {
                Type::Array(length, element) if is_struct(element) => {
                    index_array(*length, element, &mut reader, &mut discard)
                }
                kind => value(kind, &mut reader, &mut discard).map(|()| None),
            };
            found
                .elements
                .push(elements.map_err(|stop| stop.in_field(&field.name))?);
        }
        found.fields.push(reader.offset());
        end_of_struct(plan, &mut reader, &mut discard, ())?;
        if reader.left() > 0 {
            let end = reader.offset();
            return Err(Stop::sized(DecodeKind::TrailingBytes, end, 0, reader.left()));
        }
        Ok(found)
    }

    /// Return the number of elements of an array of structs, `None` if it is null or the field has another type.
    pub fn count(&self, position: usize) -> Option<usize> {
        Some(self.elements.get(position)?.as_ref()?.count())
    }

    /// Return the bytes of consecutive elements of an array of structs. `None` if there are no such elements.
    pub fn range(&self, position: usize, elements: &Range<usize>) -> Option<Range<usize>> {
        let array = self.elements.get(position)?.as_ref()?;
        (elements.start <= elements.end).then_some(())?;
        Some(array.start(elements.start)?..array.start(elements.end)?)
    }

    /// Return the size of the allocations in bytes.
    pub fn size(&self) -> usize {
        let starts = self.elements.iter().flatten().map(|elements| match elements {
            Elements::Fixed(..) => 0,
            Elements::Starts(starts) => starts.capacity() * size_of::<usize>(),
        });
        self.fields.capacity() * size_of::<usize>()
            + self.elements.capacity() * size_of::<Option<Elements>>()
            + starts.sum::<usize>()
    }

    /// Return a plain field. `None` for an unknown field.
    pub fn field<'a>(&self, plan: &'a Struct, input: &'a [u8], position: usize) -> Option<Part<'a>> {
        let kind = &plan.fields.get(position)?.kind;
        let bytes = input.get(*self.fields.get(position)?..*self.fields.get(position + 1)?)?;
        Some(Part(bytes, Content::Value(kind)))
    }

    /// Return an element of an array of structs. `None` behind the last element.
    pub fn element<'a>(&self, plan: &'a Struct, input: &'a [u8], position: usize, element: usize) -> Option<Part<'a>> {
        let range = self.range(position, &(element..element.checked_add(1)?))?;
        Some(Part(input.get(range)?, Content::Struct(element_of(plan, position)?)))
    }

    /// Return consecutive elements of an array of structs as an array. `None` if there are no such elements.
    pub fn elements<'a>(
        &self,
        plan: &'a Struct,
        input: &'a [u8],
        position: usize,
        elements: &Range<usize>,
    ) -> Option<Part<'a>> {
        let bytes = input.get(self.range(position, elements)?)?;
        Some(Part(
            bytes,
            Content::Elements(element_of(plan, position)?, elements.len()),
        ))
    }

    /// Return the bytes of the tag section.
    fn tag_section<'a>(&self, input: &'a [u8]) -> &'a [u8] {
        self.fields.last().and_then(|start| input.get(*start..)).unwrap_or(&[])
    }
}

/// A part of an indexed body.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a>(&'a [u8], Content<'a>);

#[derive(Clone, Copy, Debug)]
enum Content<'a> {
    Value(&'a Type),
    Struct(&'a Struct),
    Elements(&'a Struct, usize),
}

impl<'a> Part<'a> {
    /// Return the bytes of the part.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Decode the part. Several elements become an array. Offsets of errors count from the start of the part.
    pub fn decode<V: Visitor<'a>>(self, visitor: &mut V) -> Result<V::Value, Stop<V::Error>> {
        let mut reader = Reader::new(self.0);
        match self.1 {
            Content::Value(kind) => value(kind, &mut reader, visitor),
            Content::Struct(body) => structure(body, &mut reader, visitor),
            Content::Elements(body, count) => {
                let mut items = visitor.begin_array(count).map_err(Stop::Visitor)?;
                for index in 0..count {
                    let made = item(body, &mut reader, visitor)?;
                    visitor.item(&mut items, index, made);
                }
                visitor.end_array(items).map_err(Stop::Visitor)
            }
        }
    }
}

fn is_struct(element: &Element) -> bool {
    matches!(element.kind, Type::Struct(_))
}

/// Return the struct of the elements of an array.
fn element_of(plan: &Struct, position: usize) -> Option<&Struct> {
    match &plan.fields.get(position)?.kind {
        Type::Array(_, element) => match &element.kind {
            Type::Struct(body) => Some(body),
            _ => None,
        },
        _ => None,
    }
}

/// Check an array of structs and find its elements. Returns `None` for null.
fn index_array<'a>(
    length: Length,
    element: &'a Element,
    reader: &mut Reader<'a>,
    discard: &mut Discard,
) -> Result<Option<Elements>, Stop<Infallible>> {
    let Type::Struct(body) = &element.kind else {
        return Ok(None); // the caller has checked the type
    };
    let start = reader.offset();
    let Some(count) = reader.length(length.compact, length.nullable, true)? else {
        return Ok(None);
    };
    let size = check_count(count, element.smallest, start, *reader)?;
    if body.fixed {
        // Every combination of bytes is valid, and `check_count` has checked that all of them are there.
        let start = reader.offset();
        reader.skip(size);
        return Ok(Some(Elements::Fixed(start, element.smallest, count)));
    }
    // At most one word for each element, and each element has at least one byte of input.
    let mut starts = Vec::new();
    if starts.try_reserve_exact(count + 1).is_err() {
        return Err(Stop::at(DecodeKind::OutOfMemory, start));
    }
    let mut cursor = *reader;
    while starts.len() < count {
        if body.uniform
            && let Some((alike, found)) = find(
                discard,
                body,
                cursor.rest(),
                count - starts.len(),
                Allowed { tags: true },
            )
        {
            let first = cursor.offset();
            if cursor.try_take(found * alike.size()).is_some() {
                starts.extend((0..found).map(|index| first + index * alike.size()));
                continue;
            }
        }
        let index = starts.len();
        starts.push(cursor.offset());
        structure(body, &mut cursor, discard).map_err(|stop| stop.in_element(index))?;
    }
    starts.push(cursor.offset());
    *reader = cursor;
    Ok(Some(Elements::Starts(starts)))
}
