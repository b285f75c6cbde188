//! Bytes into whatever a visitor builds.
//!
//! Rules of this file: the walker owns everything that can be wrong with bytes (bounds, counts, nulls, UTF-8, tags,
//! markers); a visitor only builds, so no visitor accepts what another refuses. The walker is compiled once for each
//! visitor, which is chosen at the door.

use crate::encode::put_uvarint;
use crate::error::{DecodeKind, Stop};
use crate::plan::{Element, Field, Length, Plan, Primitive, Step, Struct, Type};
use crate::reader::{LONGEST_STRING, Reader};

/// A string that is known to be UTF-8, and whether it is known to be ASCII. Only the walker makes one.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    text: &'a str,
    ascii: bool,
}

impl<'a> Text<'a> {
    /// The string.
    pub fn as_str(&self) -> &'a str {
        self.text
    }

    /// Whether every byte is below 0x80.
    pub fn is_ascii(&self) -> bool {
        self.ascii
    }
}

/// Builds something out of what the walker finds.
///
/// A struct is begun with all its tagged and absent fields at their defaults, gets its fields in the order of the
/// wire, and is ended; an array likewise. Positions are those of [`Field::position`].
pub trait Visitor<'a> {
    /// What a value becomes.
    type Value;
    /// A struct on its way.
    type Struct;
    /// An array on its way.
    type Array;
    /// Why a visitor cannot go on.
    type Error;

    /// Whether fixed-size values need not be shown: for a visitor that builds nothing.
    const BLIND: bool = false;

    /// A value of fixed size; `bytes` are exactly its size.
    fn primitive(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<Self::Value, Self::Error>;
    /// A string.
    fn string(&mut self, text: Text<'a>) -> Result<Self::Value, Self::Error>;
    /// Bytes.
    fn bytes(&mut self, bytes: &'a [u8]) -> Result<Self::Value, Self::Error>;
    /// Null, or an absent maybe.
    fn null(&mut self) -> Result<Self::Value, Self::Error>;
    /// An array of fixed-size elements; `bytes` are exactly theirs.
    fn packed(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<Self::Value, Self::Error>;

    /// An array of `count` other elements begins. Their smallest size times `count` is known to be there.
    fn begin_array(&mut self, count: usize) -> Result<Self::Array, Self::Error>;
    /// Its next element.
    fn item(&mut self, array: &mut Self::Array, index: usize, value: Self::Value);
    /// Its end.
    fn end_array(&mut self, array: Self::Array) -> Result<Self::Value, Self::Error>;

    /// A struct begins.
    fn begin_struct(&mut self, plan: &'a Struct) -> Result<Self::Struct, Self::Error>;
    /// A field that stands on the wire in every such struct.
    fn field(&mut self, body: &mut Self::Struct, plan: &'a Struct, position: usize, value: Self::Value);
    /// A field that was tagged, in the place of its default.
    fn tagged_field(&mut self, body: &mut Self::Struct, plan: &'a Struct, position: usize, value: Self::Value);
    /// Tags that the plan does not know: tag, size, content, one after the other, in shortest form.
    fn unknown_tags(&mut self, body: &mut Self::Struct, plan: &'a Struct, raw: &[u8]) -> Result<(), Self::Error>;
    /// Its end.
    fn end_struct(&mut self, body: Self::Struct, plan: &'a Struct) -> Result<Self::Value, Self::Error>;

    /// An array that was built before from just these bytes, which are all of its elements: structs without structs
    /// inside, of fixed size.
    #[inline(always)]
    fn recall_array(&mut self, _plan: &'a Struct, _bytes: &'a [u8]) -> Option<Self::Value> {
        None
    }
    /// An array for which `recall_array` had nothing was built.
    #[inline(always)]
    fn remember_array(&mut self, _plan: &'a Struct, _bytes: &'a [u8], _value: &Self::Value) {}

    /// A value that was built before from bytes with which `rest` begins, and how many they are.
    ///
    /// What a struct becomes depends on its bytes alone, and no encoding of one begins another; so equal bytes may give
    /// the same value. Asked for structs without structs inside that are elements of an array.
    #[inline(always)]
    fn recall(&mut self, _plan: &'a Struct, _rest: &'a [u8]) -> Option<(Self::Value, usize)> {
        None
    }
    /// A struct for which `recall` had nothing was built out of `bytes`.
    #[inline(always)]
    fn remember(&mut self, _plan: &'a Struct, _bytes: &'a [u8], _value: &Self::Value) {}
}

/// Walk a whole message.
pub fn decode<'a, V: Visitor<'a>>(
    plan: &'a Plan,
    input: &'a [u8],
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    let mut reader = Reader::new(input);
    let value = structure(&plan.root, &mut reader, visitor)?;
    if reader.left() == 0 {
        Ok(value)
    } else {
        Err(Stop::sized(
            DecodeKind::TrailingBytes,
            reader.offset(),
            0,
            reader.left(),
        ))
    }
}

fn structure<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    let mut body = visitor.begin_struct(plan).map_err(Stop::Visitor)?;
    for step in &plan.steps {
        match *step {
            Step::Run { first, last, size } => run(plan, &plan.fields[first..last], size, reader, visitor, &mut body)?,
            Step::Single { field } => {
                let field = &plan.fields[field];
                let value = value(&field.kind, reader, visitor).map_err(|stop| stop.in_field(&field.name))?;
                visitor.field(&mut body, plan, field.position, value);
            }
        }
    }
    if plan.flexible {
        // Nearly all tag sections are empty: one byte.
        if reader.rest().first() == Some(&0) {
            reader.skip(1);
        } else {
            tags(plan, reader, visitor, &mut body)?;
        }
    }
    visitor.end_struct(body, plan).map_err(Stop::Visitor)
}

/// Fields of fixed size: one look at the bounds for all of them.
#[inline(always)]
fn run<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    fields: &'a [Field],
    size: usize,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    body: &mut V::Struct,
) -> Result<(), Stop<V::Error>> {
    let Some((mut bytes, _)) = reader.rest().split_at_checked(size) else {
        return Err(short_run(fields, reader));
    };
    reader.skip(size);
    if V::BLIND {
        return Ok(());
    }
    for field in fields {
        let Type::Primitive(kind) = field.kind else { continue };
        let Some((value, rest)) = bytes.split_at_checked(kind.size()) else {
            break;
        };
        let value = visitor.primitive(kind, value).map_err(Stop::Visitor)?;
        visitor.field(body, plan, field.position, value);
        bytes = rest;
    }
    Ok(())
}

/// Which field of a run is short.
#[cold]
fn short_run<E>(fields: &[Field], reader: &mut Reader<'_>) -> Stop<E> {
    for field in fields {
        let size = field.kind.smallest();
        if reader.left() < size {
            return Stop::short(reader.offset(), size as u64, reader.left()).in_field(&field.name);
        }
        reader.skip(size);
    }
    // Not reached: the caller saw that the sum is short. The answer is right all the same.
    Stop::short(reader.offset(), 1, reader.left())
}

#[inline]
fn value<'a, V: Visitor<'a>>(
    kind: &'a Type,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    match kind {
        Type::Primitive(primitive) => {
            let bytes = reader.take(primitive.size(), reader.offset())?;
            visitor.primitive(*primitive, bytes).map_err(Stop::Visitor)
        }
        Type::String(length) => string(*length, reader, visitor),
        Type::Bytes(length) => {
            let start = reader.offset();
            match reader.length(length.compact, length.nullable, true)? {
                None => visitor.null().map_err(Stop::Visitor),
                Some(count) => {
                    let bytes = reader.take(count, start)?;
                    visitor.bytes(bytes).map_err(Stop::Visitor)
                }
            }
        }
        Type::Array(length, element) => array(*length, element, reader, visitor),
        Type::Struct(body) => structure(body, reader, visitor),
        Type::NullableStruct(body) => {
            let start = reader.offset();
            match i8::from_be_bytes(reader.array()?) {
                1 => structure(body, reader, visitor),
                -1 => visitor.null().map_err(Stop::Visitor),
                _ => Err(Stop::at(DecodeKind::InvalidMarker, start)),
            }
        }
        Type::Maybe(inner) => match reader.array()? {
            [0] => visitor.null().map_err(Stop::Visitor),
            _ => value(inner, reader, visitor),
        },
    }
}

#[inline]
fn string<'a, V: Visitor<'a>>(
    length: Length,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    let start = reader.offset();
    let Some(count) = reader.length(length.compact, length.nullable, false)? else {
        return visitor.null().map_err(Stop::Visitor);
    };
    if count > LONGEST_STRING {
        return Err(Stop::at(DecodeKind::TooLong, start));
    }
    let bytes = reader.take(count, start)?;
    match std::str::from_utf8(bytes) {
        Ok(text) => visitor
            .string(Text {
                text,
                ascii: !V::BLIND && bytes.is_ascii(),
            })
            .map_err(Stop::Visitor),
        Err(_) => Err(Stop::at(DecodeKind::InvalidUtf8, start)),
    }
}

#[inline]
fn array<'a, V: Visitor<'a>>(
    length: Length,
    element: &'a Element,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    let start = reader.offset();
    let Some(count) = reader.length(length.compact, length.nullable, true)? else {
        return visitor.null().map_err(Stop::Visitor);
    };
    // A count is believed only when that many smallest elements fit into what is left. Neither factor passes 32 bits
    // by much, so the product does not overflow 64.
    let wanted = (count as u64).saturating_mul(element.smallest as u64);
    if wanted > reader.left() as u64 {
        return Err(Stop::sized(DecodeKind::CountExceedsInput, start, wanted, reader.left()));
    }
    match &element.kind {
        Type::Primitive(primitive) => {
            let bytes = reader.take(count * primitive.size(), start)?;
            visitor.packed(*primitive, bytes).map_err(Stop::Visitor)
        }
        Type::Struct(body) => {
            // Elements of fixed size: the array is these bytes.
            let fixed = if body.fixed {
                reader.rest().get(..count * element.smallest)
            } else {
                None
            };
            if let Some(bytes) = fixed
                && let Some(value) = visitor.recall_array(body, bytes)
            {
                reader.skip(bytes.len());
                return Ok(value);
            }
            let mut items = visitor.begin_array(count).map_err(Stop::Visitor)?;
            for index in 0..count {
                let value = item(body, reader, visitor).map_err(|stop| stop.in_element(index))?;
                visitor.item(&mut items, index, value);
            }
            let value = visitor.end_array(items).map_err(Stop::Visitor)?;
            if let Some(bytes) = fixed {
                visitor.remember_array(body, bytes, &value);
            }
            Ok(value)
        }
        kind => {
            let mut items = visitor.begin_array(count).map_err(Stop::Visitor)?;
            for index in 0..count {
                let value = value(kind, reader, visitor).map_err(|stop| stop.in_element(index))?;
                visitor.item(&mut items, index, value);
            }
            visitor.end_array(items).map_err(Stop::Visitor)
        }
    }
}

/// A struct that is an element of an array, by memory or by its bytes.
#[inline(always)]
fn item<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    if !plan.leaf {
        return structure(plan, reader, visitor);
    }
    let before = reader.rest();
    if let Some((value, count)) = visitor.recall(plan, before) {
        reader.skip(count);
        return Ok(value);
    }
    let value = structure(plan, reader, visitor)?;
    let (bytes, _) = before.split_at(before.len() - reader.left());
    visitor.remember(plan, bytes, &value);
    Ok(value)
}

#[inline(never)]
fn tags<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    body: &mut V::Struct,
) -> Result<(), Stop<V::Error>> {
    let start = reader.offset();
    let count = reader.uvarint()?;
    // A tag takes two bytes at least: its number and its size.
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
        match plan.tagged.binary_search_by_key(&tag, |tagged| tagged.tag) {
            Ok(found) => {
                let field = &plan.tagged[found].field;
                let value = tagged_value(field, reader, visitor).map_err(|stop| stop.in_field(&field.name))?;
                visitor.tagged_field(body, plan, field.position, value);
            }
            Err(_) => {
                let size = reader.uvarint()?;
                let content = reader.take(size as usize, reader.offset())?;
                if !V::BLIND {
                    put_uvarint(&mut unknown, tag);
                    put_uvarint(&mut unknown, size);
                    unknown.extend_from_slice(content);
                }
            }
        }
    }
    if unknown.is_empty() {
        Ok(())
    } else {
        visitor.unknown_tags(body, plan, &unknown).map_err(Stop::Visitor)
    }
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
