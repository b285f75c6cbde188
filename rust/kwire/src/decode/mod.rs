//! Decode bytes by a plan into what a visitor builds.
//!
//! The decoder checks everything that can be wrong with bytes: bounds, counts, nulls, UTF-8, tags, and markers. A
//! visitor only builds, so no visitor can accept what another one rejects. The decoder is compiled once for each
//! visitor.

mod discard;
mod runs;
mod tags;
mod visitor;

pub(crate) use discard::Discard;
use runs::{runs, runs_of_structs};
pub(crate) use tags::{end_of_struct, unknown_tags_only};
pub use visitor::{Text, Visitor};

use crate::error::{DecodeKind, Stop};
use crate::plan::{Element, Length, Plan, Primitive, StepKind, Struct, Type};
use crate::reader::{MAX_STRING, Reader};
use crate::uniform::Allowed;
pub use crate::uniform::{LastLayout, Matcher, UniformLayout};

/// Decode a message that takes all of `input`.
pub fn decode<'a, V: Visitor<'a>>(
    plan: &'a Plan,
    input: &'a [u8],
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    let (value, end) = decode_prefix(plan, input, visitor)?;
    if end == input.len() {
        Ok(value)
    } else {
        Err(Stop::sized(DecodeKind::TrailingBytes, end, 0, input.len() - end))
    }
}

/// Decode a message that other bytes may follow, such as a header. Returns the value and where it ends.
pub fn decode_prefix<'a, V: Visitor<'a>>(
    plan: &'a Plan,
    input: &'a [u8],
    visitor: &mut V,
) -> Result<(V::Value, usize), Stop<V::Error>> {
    let mut reader = Reader::new(input);
    let value = structure(&plan.root, &mut reader, visitor)?;
    Ok((value, reader.offset()))
}

pub(crate) fn structure<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    // A local copy, so that the reader stays in registers between calls.
    let mut cursor = *reader;
    let value = inlined_structure(plan, &mut cursor, visitor);
    *reader = cursor;
    value
}

/// Inlined variant of `structure` for loops. Callees that are not inlined must get copies of the reader: once its
/// address escapes, LLVM keeps it in memory, which costs more than decoding the fields.
#[inline(always)]
fn inlined_structure<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    let mut body = visitor.begin_struct(plan).map_err(Stop::Visitor)?;
    if V::RUNS {
        body = runs(plan, reader, visitor, body)?;
        return visitor.end_struct(body, plan).map_err(Stop::Visitor);
    }
    for (position, step) in plan.steps.iter().enumerate() {
        let mut put = |visitor: &mut V, value| visitor.field(&mut body, plan, position, value);
        // Every arm stores its own value. Storing it once after the match would test each result for an error again.
        let done = match step.kind {
            StepKind::Fixed(kind) => fixed(kind, reader, visitor, put),
            StepKind::Int32Array { compact } => {
                let length = Length {
                    compact,
                    nullable: false,
                };
                packed(length, Primitive::Int32, reader, visitor).map(|value| put(visitor, value))
            }
            StepKind::Other => {
                let mut copy = *reader;
                let value = value(&plan.fields[position].kind, &mut copy, visitor);
                *reader = copy;
                value.map(|value| put(visitor, value))
            }
        };
        if let Err(stop) = done {
            return Err(stop.in_field(&plan.fields[position].name));
        }
    }
    body = end_of_struct(plan, reader, visitor, body)?;
    visitor.end_struct(body, plan).map_err(Stop::Visitor)
}

/// Return the encoded size of the value at the start of `rest`, `None` if it is invalid.
pub(crate) fn size_of_value<'a>(kind: &'a Type, rest: &'a [u8]) -> Option<usize> {
    let mut reader = Reader::new(rest);
    value(kind, &mut reader, &mut Discard::default()).ok()?;
    Some(reader.offset())
}

/// Skip a struct. Returns `None` if it is invalid.
#[inline]
pub(crate) fn skip_struct<'a>(plan: &'a Struct, reader: &mut Reader<'a>) -> Option<()> {
    structure(plan, reader, &mut Discard::default()).ok()
}

/// Decode a value of fixed size and pass it to `put`.
#[inline(always)]
pub(crate) fn fixed<'a, V: Visitor<'a>, T>(
    kind: Primitive,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    mut put: impl FnMut(&mut V, V::Value) -> T,
) -> Result<T, Stop<V::Error>> {
    macro_rules! put {
        ($made:expr) => {
            match $made {
                Ok(value) => Ok(put(visitor, value)),
                Err(error) => Err(Stop::Visitor(error)),
            }
        };
    }
    match kind {
        Primitive::Bool => put!(visitor.boolean(reader.array()? != [0])),
        Primitive::Int8 => put!(visitor.integer(i8::from_be_bytes(reader.array()?).into())),
        Primitive::Int16 => put!(visitor.integer(i16::from_be_bytes(reader.array()?).into())),
        Primitive::Int32 => put!(visitor.integer(i32::from_be_bytes(reader.array()?).into())),
        Primitive::Int64 => put!(visitor.integer(i64::from_be_bytes(reader.array()?))),
        Primitive::Uint16 => put!(visitor.integer(u16::from_be_bytes(reader.array()?).into())),
        Primitive::Uint32 => put!(visitor.integer(u32::from_be_bytes(reader.array()?).into())),
        Primitive::Float64 => put!(visitor.float(f64::from_bits(u64::from_be_bytes(reader.array()?)))),
        Primitive::Uuid => put!(visitor.uuid(reader.array()?)),
    }
}

/// Decode the elements of a packed array one by one, for visitors that need them.
#[inline(always)]
pub fn unpack<'a, V: Visitor<'a>>(
    kind: Primitive,
    bytes: &'a [u8],
    visitor: &mut V,
    mut take: impl FnMut(usize, V::Value),
) -> Result<(), V::Error> {
    let mut reader = Reader::new(bytes);
    for index in 0..bytes.len() / kind.size() {
        match fixed(kind, &mut reader, visitor, |_, value| take(index, value)) {
            Ok(()) => {}
            Err(Stop::Visitor(error)) => return Err(error),
            // Unreachable: the bytes are a whole number of elements.
            Err(Stop::Bytes(_)) => break,
        }
    }
    Ok(())
}

/// Decode an array of fixed-size values.
#[inline(always)]
fn packed<'a, V: Visitor<'a>>(
    length: Length,
    kind: Primitive,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    let start = reader.offset();
    let Some(count) = reader.length(length.compact, length.nullable, true)? else {
        return visitor.null().map_err(Stop::Visitor);
    };
    let size = check_count(count, kind.size(), start, *reader)?;
    let bytes = reader.take(size, start)?;
    visitor.packed(kind, bytes).map_err(Stop::Visitor)
}

/// Check that `count` elements of the smallest size fit into the remaining bytes, and return their size.
#[inline(always)]
pub(crate) fn check_count<E>(
    count: usize,
    smallest: usize,
    start: usize,
    reader: Reader<'_>,
) -> Result<usize, Stop<E>> {
    match count.checked_mul(smallest) {
        Some(wanted) if wanted <= reader.left() => Ok(wanted),
        wanted => {
            let wanted = wanted.map_or(u64::MAX, |wanted| wanted as u64);
            Err(Stop::sized(DecodeKind::CountExceedsInput, start, wanted, reader.left()))
        }
    }
}

#[inline]
pub(crate) fn value<'a, V: Visitor<'a>>(
    kind: &'a Type,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    match kind {
        Type::Primitive(kind) => fixed(*kind, reader, visitor, |_, value| value),
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
    if count > MAX_STRING {
        return Err(Stop::at(DecodeKind::TooLong, start));
    }
    let bytes = reader.take(count, start)?;
    match Text::new(bytes) {
        Some(text) => visitor.string(text).map_err(Stop::Visitor),
        None => Err(Stop::at(DecodeKind::InvalidUtf8, start)),
    }
}

#[inline]
fn array<'a, V: Visitor<'a>>(
    length: Length,
    element: &'a Element,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    if let Type::Primitive(kind) = element.kind {
        return packed(length, kind, reader, visitor);
    }
    let start = reader.offset();
    let Some(count) = reader.length(length.compact, length.nullable, true)? else {
        return visitor.null().map_err(Stop::Visitor);
    };
    let size = check_count(count, element.smallest, start, *reader)?;
    match &element.kind {
        Type::Struct(body) => {
            if V::UNIFORM && body.uniform && count > 0 && visitor.takes_uniform(body) {
                return uniform_array(body, count, reader, visitor);
            }
            // Structs of a fixed size: the size of the array is known before it is decoded.
            let fixed = if body.fixed { reader.rest().get(..size) } else { None };
            if let Some(bytes) = fixed
                && let Some(value) = visitor.cached_array(body, bytes)
            {
                reader.skip(bytes.len());
                return Ok(value);
            }
            let mut items = visitor.begin_array(count).map_err(Stop::Visitor)?;
            if V::RUNS {
                runs_of_structs(body, count, reader, visitor, &mut items)?;
                return visitor.end_array(items).map_err(Stop::Visitor);
            }
            let mut cursor = *reader;
            for index in 0..count {
                let value = item(body, &mut cursor, visitor).map_err(|stop| stop.in_element(index))?;
                visitor.item(&mut items, index, value);
            }
            *reader = cursor;
            let value = visitor.end_array(items).map_err(Stop::Visitor)?;
            if let Some(bytes) = fixed {
                visitor.cache_array(body, bytes, &value);
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

/// Decode an array of structs, those of the same layout together.
#[inline(never)]
fn uniform_array<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    count: usize,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    const ALLOWED: Allowed = Allowed { tags: true };
    let mut cursor = *reader;
    let mut found = find(visitor, plan, cursor.rest(), count, ALLOWED);
    // If all elements have the same layout, the size of the array is known before it is decoded.
    let whole = match &found {
        Some((layout, of)) if *of == count => cursor.rest().get(..count * layout.size()),
        _ => None,
    };
    if let Some(bytes) = whole
        && let Some(value) = visitor.cached_array(plan, bytes)
    {
        reader.skip(bytes.len());
        return Ok(value);
    }
    let mut items = visitor.begin_array(count).map_err(Stop::Visitor)?;
    let mut index = 0;
    loop {
        if let Some((layout, of)) = &found
            && let Some(bytes) = cursor.try_take(of * layout.size())
        {
            let added = visitor.uniform_items(&mut items, index, plan, *of, bytes, layout);
            added.map_err(Stop::Visitor)?;
            index += of;
        } else {
            let value = structure(plan, &mut cursor, visitor).map_err(|stop| stop.in_element(index))?;
            visitor.item(&mut items, index, value);
            index += 1;
        }
        if index >= count {
            break;
        }
        found = find(visitor, plan, cursor.rest(), count - index, ALLOWED);
    }
    *reader = cursor;
    let value = visitor.end_array(items).map_err(Stop::Visitor)?;
    if let Some(bytes) = whole {
        visitor.cache_array(plan, bytes, &value);
    }
    Ok(value)
}

/// Find structs of the same layout at the start of `rest`, at most `max`, and their number.
#[inline(always)]
pub(crate) fn find<'a, V: Visitor<'a>>(
    visitor: &mut V,
    plan: &'a Struct,
    rest: &[u8],
    max: usize,
    allowed: Allowed,
) -> Option<(UniformLayout, usize)> {
    let mut none = None;
    let last = visitor.last_layout(plan).unwrap_or(&mut none);
    UniformLayout::find(plan, rest, max, allowed, last)
}

/// Decode a struct that is an element of an array, unless the visitor has cached it.
#[inline(always)]
pub(crate) fn item<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    reader: &mut Reader<'a>,
    visitor: &mut V,
) -> Result<V::Value, Stop<V::Error>> {
    if !plan.leaf {
        let mut copy = *reader;
        let value = structure(plan, &mut copy, visitor);
        *reader = copy;
        return value;
    }
    let before = reader.rest();
    if let Some((value, count)) = visitor.cached_struct(plan, before) {
        reader.skip(count);
        return Ok(value);
    }
    let value = inlined_structure(plan, reader, visitor)?;
    let (bytes, _) = before.split_at(before.len() - reader.left());
    visitor.cache_struct(plan, bytes, &value);
    Ok(value)
}
