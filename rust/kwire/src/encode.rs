//! Encode the values of a source by a plan.
//!
//! The encoder checks everything that can be wrong with a value: ranges, nulls, lengths, and tags. A source only
//! returns what it holds. An error names the first wrong value in wire order, with its path.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{EncodeError, EncodeKind};
use crate::plan::{Element, Length, Literal, Plan, Primitive, StepKind, Struct, Tagged, Type};
use crate::reader::MAX_STRING;
use crate::sink::put_uvarint;
use crate::unknown_tags::{Entries, in_unknown_tags, tag_clash};

pub use crate::sink::{Cursor, Sink};
pub use crate::unknown_tags::check_entries;

/// The result of everything that can find a wrong value.
pub type Encoded<T> = Result<T, Box<EncodeError>>;

/// Holds the values to encode. A node is a value somewhere in it.
///
/// Every method that reads a type returns `WrongType` if the node has another type, and `NullNotAllowed` for null.
pub trait Source<'s> {
    /// A value.
    type Node: Copy;
    /// A struct that has been checked to be of the right type.
    type Body: Copy;

    /// Return whether a node is null.
    fn is_null(&self, node: Self::Node) -> bool;
    /// Read an integer. Returns `OutOfRange` if it does not fit 64 bits.
    fn integer(&self, node: Self::Node) -> Encoded<i64>;
    /// Read a bool.
    fn boolean(&self, node: Self::Node) -> Encoded<bool>;
    /// Read a double.
    fn float(&self, node: Self::Node) -> Encoded<f64>;
    /// Read the bytes of a uuid.
    fn uuid(&self, node: Self::Node) -> Encoded<[u8; 16]>;
    /// Pass the UTF-8 of a string to `show`. Returns `InvalidUtf8` if it has none.
    fn string<T>(&self, node: Self::Node, show: impl FnOnce(&[u8]) -> Encoded<T>) -> Encoded<T>;
    /// Read bytes.
    fn bytes(&self, node: Self::Node) -> Encoded<&'s [u8]>;
    /// Return the number of elements of an array.
    fn array(&self, node: Self::Node) -> Encoded<usize>;
    /// Return an element of an array.
    fn item(&self, array: Self::Node, index: usize) -> Self::Node;
    /// Check that a node is an instance of this struct, and that every field this version lacks is at its default or
    /// ignorable. Otherwise returns `NotInVersion` with the field's name in the path.
    fn structure(&self, node: Self::Node, plan: &Struct) -> Encoded<Self::Body>;
    /// Return a field of a struct by [`crate::plan::Field::position`].
    fn field(&self, body: Self::Body, position: usize) -> Self::Node;
    /// Return the unknown tags of a struct in the form of [`crate::decode::Visitor::unknown_tags`].
    fn unknown_tags(&self, body: Self::Body, plan: &Struct) -> Encoded<&'s [u8]>;
    /// Append all elements of an array of fixed-size values, if the source has a faster way than one by one.
    ///
    /// Returns false, and leaves `out` unchanged, if it has none or if a value needs the encoder's checks.
    fn packed(&self, _array: Self::Node, _kind: Primitive, _out: &mut impl Sink) -> bool {
        false
    }
    /// Append elements of an array of structs from `index` on, as many as the source has a faster way for than one by
    /// one, and return their number. An error is the number of elements for which it has none.
    #[inline(always)]
    fn uniform_structs(
        &self,
        _array: Self::Node,
        _index: usize,
        _plan: &Struct,
        _out: &mut impl Sink,
    ) -> Result<usize, usize> {
        Err(usize::MAX)
    }
    /// Return whether two nodes are the same object. The ISR of a partition is often the same object as its replicas.
    #[inline(always)]
    fn is_identical(&self, _a: Self::Node, _b: Self::Node) -> bool {
        false
    }

    /// Called when encoding continues in another buffer, so that offsets into the previous one must not be used.
    fn buffer_changed(&mut self) {}
}

/// Append a message to `out`. After an error, `out` holds part of it.
pub fn encode<'s, S: Source<'s>, O: Sink>(plan: &Plan, source: &mut S, root: S::Node, out: &mut O) -> Encoded<()> {
    structure(&plan.root, source, root, out)
}

fn structure<'s, S: Source<'s>, O: Sink>(plan: &Struct, source: &mut S, node: S::Node, out: &mut O) -> Encoded<()> {
    inlined_structure(plan, source, node, out)
}

/// Inlined variant of `structure` for loops.
#[inline(always)]
fn inlined_structure<'s, S: Source<'s>, O: Sink>(
    plan: &Struct,
    source: &mut S,
    node: S::Node,
    out: &mut O,
) -> Encoded<()> {
    let body = source.structure(node, plan)?;
    if !plan.flexible && !source.unknown_tags(body, plan).map_err(in_unknown_tags)?.is_empty() {
        return Err(tag_clash("this version has no tags".into()));
    }
    let mut cursor = out.open();
    let mut before = None;
    for (position, step) in plan.steps.iter().enumerate() {
        let held = source.field(body, position);
        let done = match step.kind {
            StepKind::Fixed(kind) => fixed(kind, source, held, &mut cursor),
            StepKind::Int32Array { compact } => match source.array(held) {
                Ok(count) if count > MAX_SHORT => {
                    cursor.close();
                    let done = long_int32_array(compact, count, source, held, out);
                    cursor = out.open();
                    done
                }
                Ok(count) => short_int32_array(compact, count, source, held, &mut cursor, &mut before),
                Err(error) => Err(error),
            },
            StepKind::Other => {
                cursor.close();
                let done = value(&plan.fields[position].kind, source, held, out);
                cursor = out.open();
                done
            }
        };
        if let Err(error) = done {
            return Err(error.in_field(&plan.fields[position].name));
        }
    }
    if plan.flexible {
        let unknown = source.unknown_tags(body, plan).map_err(in_unknown_tags)?;
        if unknown.is_empty() && plan.tagged.is_empty() {
            cursor.push([0]);
        } else {
            cursor.close();
            return tags(plan, unknown, source, body, out);
        }
    }
    cursor.close();
    Ok(())
}

/// Encode a value of fixed size.
#[inline(always)]
fn fixed<'s, S: Source<'s>>(kind: Primitive, source: &S, node: S::Node, cursor: &mut impl Cursor) -> Encoded<()> {
    match kind {
        Primitive::Bool => cursor.push([source.boolean(node)?.into()]),
        Primitive::Int8 => cursor.push(fit::<i8>(source.integer(node)?)?.to_be_bytes()),
        Primitive::Int16 => cursor.push(fit::<i16>(source.integer(node)?)?.to_be_bytes()),
        Primitive::Int32 => cursor.push(fit::<i32>(source.integer(node)?)?.to_be_bytes()),
        Primitive::Int64 => cursor.push(source.integer(node)?.to_be_bytes()),
        Primitive::Uint16 => cursor.push(fit::<u16>(source.integer(node)?)?.to_be_bytes()),
        Primitive::Uint32 => cursor.push(fit::<u32>(source.integer(node)?)?.to_be_bytes()),
        Primitive::Float64 => cursor.push(source.float(node)?.to_bits().to_be_bytes()),
        Primitive::Uuid => cursor.push(source.uuid(node)?),
    }
    Ok(())
}

/// Return the value if it fits `N`.
#[inline(always)]
fn fit<N: TryFrom<i64>>(value: i64) -> Encoded<N> {
    N::try_from(value).map_err(|_| unfit::<N>(value))
}

#[cold]
fn unfit<N>(value: i64) -> Box<EncodeError> {
    EncodeError::new(
        EncodeKind::OutOfRange,
        format!("{value} does not fit {} bytes", size_of::<N>()),
    )
}

/// The longest int32 array that is encoded through the cursor. Sinks repeat that many bytes as one block.
const MAX_SHORT: usize = 7;

/// Encode an int32 array that cannot be null; most hold the few replicas of a partition. `before` is the last of these
/// arrays and the range of its encoded bytes.
#[inline(always)]
fn short_int32_array<'s, S: Source<'s>>(
    compact: bool,
    count: usize,
    source: &S,
    node: S::Node,
    cursor: &mut impl Cursor,
    before: &mut Option<(S::Node, Range<usize>)>,
) -> Encoded<()> {
    if let Some((of, written)) = before
        && source.is_identical(*of, node)
    {
        cursor.repeat(written.clone());
        return Ok(());
    }
    let start = cursor.position();
    let [.., low] = count.to_be_bytes();
    if compact {
        cursor.push([low + 1]);
    } else {
        cursor.push([0, 0, 0, low]);
    }
    for index in 0..count {
        match source.integer(source.item(node, index)).and_then(fit::<i32>) {
            Ok(value) => cursor.push(value.to_be_bytes()),
            Err(error) => return Err(error.in_element(index)),
        }
    }
    *before = Some((node, start..cursor.position()));
    Ok(())
}

#[inline(never)]
fn long_int32_array<'s, S: Source<'s>, O: Sink>(
    compact: bool,
    count: usize,
    source: &S,
    node: S::Node,
    out: &mut O,
) -> Encoded<()> {
    put_length(
        Length {
            compact,
            nullable: false,
        },
        count,
        true,
        out,
    )?;
    out.reserve(count.saturating_mul(4));
    if source.packed(node, Primitive::Int32, out) {
        return Ok(());
    }
    for index in 0..count {
        match source.integer(source.item(node, index)).and_then(fit::<i32>) {
            Ok(value) => out.put_array(value.to_be_bytes()),
            Err(error) => return Err(error.in_element(index)),
        }
    }
    Ok(())
}

fn value<'s, S: Source<'s>, O: Sink>(kind: &Type, source: &mut S, node: S::Node, out: &mut O) -> Encoded<()> {
    match kind {
        Type::Primitive(kind) => {
            let mut cursor = out.open();
            fixed(*kind, source, node, &mut cursor)?;
            cursor.close();
            Ok(())
        }
        Type::String(length) => {
            if length.nullable && source.is_null(node) {
                put_null(*length, false, out);
                return Ok(());
            }
            source.string(node, |text| {
                if text.len() > MAX_STRING {
                    return Err(EncodeError::new(
                        EncodeKind::TooLong,
                        format!("{} bytes: a string has at most {MAX_STRING}", text.len()),
                    ));
                }
                put_length(*length, text.len(), false, out)?;
                out.put(text);
                Ok(())
            })
        }
        Type::Bytes(length) => {
            if length.nullable && source.is_null(node) {
                put_null(*length, true, out);
                return Ok(());
            }
            let bytes = source.bytes(node)?;
            put_length(*length, bytes.len(), true, out)?;
            out.put(bytes);
            Ok(())
        }
        Type::Array(length, element) => {
            if length.nullable && source.is_null(node) {
                put_null(*length, true, out);
                return Ok(());
            }
            array(*length, element, source, node, out)
        }
        Type::Struct(body) => structure(body, source, node, out),
        Type::NullableStruct(body) => {
            if source.is_null(node) {
                out.put_array([0xff]);
                return Ok(());
            }
            out.put_array([1]);
            structure(body, source, node, out)
        }
        Type::Maybe(inner) => {
            if source.is_null(node) {
                out.put_array([0]);
                return Ok(());
            }
            out.put_array([1]);
            value(inner, source, node, out)
        }
    }
}

#[inline]
fn array<'s, S: Source<'s>, O: Sink>(
    length: Length,
    element: &Element,
    source: &mut S,
    node: S::Node,
    out: &mut O,
) -> Encoded<()> {
    let count = source.array(node)?;
    put_length(length, count, true, out)?;
    // One reservation for each array. If it is too small, the buffer grows by doubling.
    out.reserve(count.saturating_mul(element.smallest));
    match &element.kind {
        Type::Primitive(kind) => {
            if source.packed(node, *kind, out) {
                return Ok(());
            }
            let mut cursor = out.open();
            for index in 0..count {
                let item = source.item(node, index);
                fixed(*kind, source, item, &mut cursor).map_err(|error| error.in_element(index))?;
            }
            cursor.close();
        }
        Type::Struct(body) => {
            let mut index = 0;
            while index < count {
                match source.uniform_structs(node, index, body, out) {
                    Ok(written) => index = index.saturating_add(written.max(1)),
                    Err(others) => {
                        let end = index.saturating_add(others.max(1)).min(count);
                        while index < end {
                            let item = source.item(node, index);
                            let written = if body.leaf {
                                inlined_structure(body, source, item, out)
                            } else {
                                structure(body, source, item, out)
                            };
                            written.map_err(|error| error.in_element(index))?;
                            index += 1;
                        }
                    }
                }
            }
        }
        kind => {
            for index in 0..count {
                let item = source.item(node, index);
                value(kind, source, item, out).map_err(|error| error.in_element(index))?;
            }
        }
    }
    Ok(())
}

fn tags<'s, S: Source<'s>, O: Sink>(
    plan: &Struct,
    unknown: &'s [u8],
    source: &mut S,
    body: S::Body,
    out: &mut O,
) -> Encoded<()> {
    let entries = check_entries(plan, unknown)?;
    let mut known = Vec::new();
    for Tagged { tag, field, default } in &plan.tagged {
        let held = source.field(body, field.position);
        // A value of another type is not the default. Encoding it below returns the error.
        if !is_default(&field.kind, source, held, default).unwrap_or(false) {
            known.push((*tag, field, held));
        }
    }
    put_uvarint(out, u32::try_from(known.len() + entries).unwrap_or(u32::MAX));
    if known.is_empty() {
        out.put(unknown);
        return Ok(());
    }
    let mut unknown = Entries(unknown).peekable();
    // A tagged value is encoded into this buffer, because its size precedes it.
    let mut content: Vec<u8> = Vec::with_capacity(256);
    for (tag, field, held) in known {
        while let Some((_, entry)) = unknown.next_if(|(unknown, _)| *unknown < tag) {
            out.put(entry);
        }
        content.clear();
        source.buffer_changed();
        let written = value(&field.kind, source, held, &mut content).and_then(|()| {
            let too_long = |_| EncodeError::new(EncodeKind::TooLong, "a tagged value must be smaller than 4 GiB");
            u32::try_from(content.len()).map_err(too_long)
        });
        source.buffer_changed();
        let size = written.map_err(|error| error.in_field(&field.name))?;
        put_uvarint(out, tag);
        put_uvarint(out, size);
        out.put(&content);
    }
    for (_, entry) in unknown {
        out.put(entry);
    }
    Ok(())
}

/// Return whether a value is the field's default. Returns an error if it has another type.
fn is_default<'s, S: Source<'s>>(kind: &Type, source: &S, node: S::Node, default: &Literal) -> Encoded<bool> {
    if source.is_null(node) {
        return Ok(matches!(default, Literal::Null));
    }
    Ok(match (kind, default) {
        (Type::Primitive(Primitive::Bool), Literal::Bool(default)) => source.boolean(node)? == *default,
        (Type::Primitive(Primitive::Float64), Literal::Float(default)) => {
            source.float(node)?.to_bits() == default.to_bits()
        }
        (Type::Primitive(Primitive::Uuid), Literal::Uuid(default)) => source.uuid(node)? == *default,
        (Type::Primitive(_), Literal::Int(default)) => source.integer(node)? == *default,
        (Type::String(_), Literal::Text(default)) => source.string(node, |text| Ok(text == default.as_bytes()))?,
        (Type::Bytes(_), Literal::Bytes(default)) => source.bytes(node)? == &**default,
        (Type::Array(..), Literal::EmptyArray) => source.array(node)? == 0,
        (Type::Maybe(inner), _) => is_default(inner, source, node, default)?,
        (Type::Struct(plan), Literal::Struct) => is_default_struct(plan, source, node, &[])?,
        (Type::Struct(plan), Literal::Fields(values)) => is_default_struct(plan, source, node, values)?,
        _ => false,
    })
}

/// Return whether a struct has these plain fields, and otherwise only defaults and no unknown tags.
fn is_default_struct<'s, S: Source<'s>>(
    plan: &Struct,
    source: &S,
    node: S::Node,
    values: &[(Arc<str>, Literal)],
) -> Encoded<bool> {
    let body = source.structure(node, plan)?;
    let untagged = plan.fields.iter().zip(values.iter().map(|(_, value)| value));
    let tagged = plan.tagged.iter().map(|tagged| (&tagged.field, &tagged.default));
    for (field, value) in untagged.chain(tagged) {
        if !is_default(&field.kind, source, source.field(body, field.position), value)? {
            return Ok(false);
        }
    }
    Ok(source.unknown_tags(body, plan)?.is_empty())
}

#[inline]
fn put_length<O: Sink>(length: Length, count: usize, wide: bool, out: &mut O) -> Encoded<()> {
    let too_long = || EncodeError::new(EncodeKind::TooLong, format!("{count} does not fit its length prefix"));
    let count = i32::try_from(count).map_err(|_| too_long())?;
    if length.compact {
        put_uvarint(out, count.unsigned_abs() + 1);
    } else if wide {
        out.put_array(count.to_be_bytes());
    } else {
        out.put_array(i16::try_from(count).map_err(|_| too_long())?.to_be_bytes());
    }
    Ok(())
}

fn put_null<O: Sink>(length: Length, wide: bool, out: &mut O) {
    match (length.compact, wide) {
        (true, _) => out.put_array([0]),
        (false, true) => out.put(&(-1i32).to_be_bytes()),
        (false, false) => out.put(&(-1i16).to_be_bytes()),
    }
}
