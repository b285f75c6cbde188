//! Bytes into whatever a visitor builds.
//!
//! Rules of this file: the walker owns everything that can be wrong with bytes (bounds, counts, nulls, UTF-8, tags,
//! markers); a visitor only builds, so no visitor accepts what another refuses. The walker is compiled once for each
//! visitor, which is chosen at the door.

pub use crate::alike::Alike;
use crate::error::{DecodeKind, Stop};
use crate::plan::{Element, Field, Length, Plan, Primitive, StepKind, Struct, Type};
use crate::reader::{LONGEST_STRING, Reader};
use crate::sink::put_uvarint;
use crate::validate::Nothing;

/// A string that is known to be UTF-8, and whether it is known to be ASCII. Only the walker makes one.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    bytes: &'a [u8],
    ascii: bool,
}

impl<'a> Text<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        // Nearly all is ASCII, which is found out much faster than UTF-8 is checked.
        let ascii = bytes.is_ascii();
        if ascii || std::str::from_utf8(bytes).is_ok() {
            Some(Self { bytes, ascii })
        } else {
            None
        }
    }

    /// The string. It is checked a second time; visitors in a hurry take the bytes.
    pub fn as_str(&self) -> &'a str {
        std::str::from_utf8(self.bytes).unwrap_or_default()
    }

    /// Its UTF-8.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
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

    /// Whether it builds nothing: then unknown tags need not be gathered.
    const BLIND: bool = false;
    /// Whether it takes fixed-size fields by the run and short lists of int32 as they are (`run`, `int32s`), rather than
    /// value by value, and says before every other field whether it wants it (`enter`).
    const RUNS: bool = false;

    /// An integer of any width.
    fn integer(&mut self, value: i64) -> Result<Self::Value, Self::Error>;
    /// A bool.
    fn boolean(&mut self, value: bool) -> Result<Self::Value, Self::Error>;
    /// A double.
    fn float(&mut self, value: f64) -> Result<Self::Value, Self::Error>;
    /// A uuid.
    fn uuid(&mut self, bytes: [u8; 16]) -> Result<Self::Value, Self::Error>;
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
    /// Tags that the plan does not know: tag, size, content, one after the other, in shortest form. Not shown to the
    /// blind.
    fn unknown_tags(&mut self, body: &mut Self::Struct, plan: &'a Struct, raw: &[u8]) -> Result<(), Self::Error>;
    /// Its end.
    fn end_struct(&mut self, body: Self::Struct, plan: &'a Struct) -> Result<Self::Value, Self::Error>;

    /// With `RUNS`: fixed-size fields side by side, the first of them at `position`; `bytes` are exactly theirs.
    #[inline(always)]
    fn run(&mut self, _body: &mut Self::Struct, _plan: &'a Struct, _position: usize, _bytes: &'a [u8]) {}
    /// With `RUNS`: a list of int32 that cannot be null; `bytes` are exactly its elements'.
    #[inline(always)]
    fn int32s(&mut self, _body: &mut Self::Struct, _plan: &'a Struct, _position: usize, _bytes: &'a [u8]) {}
    /// With `RUNS`: so many structs, elements of an array, side by side and with their parts at the same places: all are
    /// runs and lists of int32. They are not shown in any other way.
    #[inline(always)]
    fn alike(&mut self, _plan: &'a Struct, _count: usize, _bytes: &'a [u8], _alike: &Alike) {}
    /// With `RUNS`: another field comes next, or a tagged one. Whether to show it; its bytes are checked either way.
    #[inline(always)]
    fn enter(&mut self, _plan: &'a Struct, _position: usize) -> bool {
        true
    }

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
    let (value, end) = decode_prefix(plan, input, visitor)?;
    if end == input.len() {
        Ok(value)
    } else {
        Err(Stop::sized(DecodeKind::TrailingBytes, end, 0, input.len() - end))
    }
}

/// Walk a whole message that other bytes may follow: a header, say. The value, and where it ends.
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
    // A copy, so that the place stays in registers between calls.
    let mut cursor = *reader;
    let value = structure_here(plan, &mut cursor, visitor);
    *reader = cursor;
    value
}

/// The same without a call, for loops. What is not inlined into it gets copies: a reader or a body whose address goes to
/// a call lives in memory from then on, which costs more than the fields.
#[inline(always)]
fn structure_here<'a, V: Visitor<'a>>(
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
        // Every arm stores its own value: one place for all would ask each again whether it is an error.
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

/// The tag section, where there is one. Nearly all are empty: one byte.
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

/// Go through the fields of a struct for a visitor that takes runs: one look at the bounds for each.
///
/// Calls get copies of the reader, so that the place itself stays in a register, from struct to struct.
#[inline(always)]
fn runs<'a, V: Visitor<'a>>(
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
                    pass_over(&field.kind, &mut copy)
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

/// One field of a run is short: find out which.
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
    // Not reached: were no field short, the run would not be.
    Stop::short(reader.offset(), 0, reader.left())
}

/// Check a value and build nothing of it.
#[inline(never)]
fn pass_over<'a, E>(kind: &'a Type, reader: &mut Reader<'a>) -> Result<(), Stop<E>> {
    value(kind, reader, &mut Nothing).map_err(|stop| match stop {
        Stop::Bytes(error) => Stop::Bytes(error),
        Stop::Visitor(never) => match never {},
    })
}

/// How many bytes the value takes with which `rest` begins; None for bytes that are none.
pub(crate) fn size_of_value<'a>(kind: &'a Type, rest: &'a [u8]) -> Option<usize> {
    let mut reader = Reader::new(rest);
    value(kind, &mut reader, &mut Nothing).ok()?;
    Some(reader.offset())
}

/// Go behind a struct; None for bytes that are none.
#[inline]
pub(crate) fn pass_over_struct<'a>(plan: &'a Struct, reader: &mut Reader<'a>) -> Option<()> {
    structure(plan, reader, &mut Nothing).ok()
}

/// The elements of an array of int32 that is well-formed and, if compact, has less than 127 elements: nearly every one.
/// None, and nothing taken, for any other, which then is looked at closely.
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

/// The elements of an array of int32, and what follows.
#[inline(never)]
fn int32s<E>(length: Length, mut reader: Reader<'_>) -> Result<(&[u8], Reader<'_>), Stop<E>> {
    let start = reader.offset();
    // Null is an error here already.
    let count = reader
        .length(length.compact, length.nullable, true)?
        .unwrap_or_default();
    let size = believe(count, Primitive::Int32.size(), start, reader)?;
    let bytes = reader.take(size, start)?;
    Ok((bytes, reader))
}

/// The structs of an array, likewise.
fn runs_of_structs<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    count: usize,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    items: &mut V::Array,
) -> Result<(), Stop<V::Error>> {
    let mut cursor = *reader;
    let mut index = 0;
    while index < count {
        if plan.flat
            && let Some((alike, found)) = Alike::find(plan, cursor.rest(), count - index)
            && let Some(bytes) = cursor.try_take(found * alike.size())
        {
            visitor.alike(plan, found, bytes, &alike);
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

/// A value of fixed size, handed on to `put`.
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

/// Show a visitor the elements of a packed array, one by one, for those that take them apart.
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
            // Not reached: that many whole elements are there.
            Err(Stop::Bytes(_)) => break,
        }
    }
    Ok(())
}

/// An array of fixed-size values.
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
    let size = believe(count, kind.size(), start, *reader)?;
    let bytes = reader.take(size, start)?;
    visitor.packed(kind, bytes).map_err(Stop::Visitor)
}

/// How many bytes so many smallest elements take: a count is believed only when they fit into what is left.
#[inline(always)]
pub(crate) fn believe<E>(count: usize, smallest: usize, start: usize, reader: Reader<'_>) -> Result<usize, Stop<E>> {
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
    if count > LONGEST_STRING {
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
    let size = believe(count, element.smallest, start, *reader)?;
    match &element.kind {
        Type::Struct(body) => {
            // Elements of fixed size: the array is these bytes.
            let fixed = if body.fixed { reader.rest().get(..size) } else { None };
            if let Some(bytes) = fixed
                && let Some(value) = visitor.recall_array(body, bytes)
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
    if let Some((value, count)) = visitor.recall(plan, before) {
        reader.skip(count);
        return Ok(value);
    }
    let value = structure_here(plan, reader, visitor)?;
    let (bytes, _) = before.split_at(before.len() - reader.left());
    visitor.remember(plan, bytes, &value);
    Ok(value)
}

#[inline(never)]
fn tags<'a, V: Visitor<'a>>(
    plan: &'a Struct,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    mut body: V::Struct,
) -> Result<V::Struct, Stop<V::Error>> {
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
        if let Ok(found) = plan.tagged.binary_search_by_key(&tag, |tagged| tagged.tag) {
            let field = &plan.tagged[found].field;
            if V::RUNS && !visitor.enter(plan, field.position) {
                let passed = tagged_value(field, reader, &mut Nothing).map_err(|stop| match stop {
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
        if !V::BLIND {
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
