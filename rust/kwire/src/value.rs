//! Messages as plain Rust values, for the tests, fuzzing, and benchmarks of this crate.
//!
//! A value borrows from the input where it can. It has no fields that the version lacks.

use std::convert::Infallible;
use std::sync::Arc;

use crate::decode::{Text, Visitor, decode, unpack};
use crate::encode::{Encoded, Sink, Source, encode};
use crate::error::{DecodeError, EncodeError, EncodeKind, Stop};
use crate::index::Part;
use crate::plan::{Literal, Plan, Primitive, Struct, Type};

/// A value as it is on the wire.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// Null or an absent maybe.
    Null,
    /// A bool.
    Bool(bool),
    /// An integer of any width.
    Int(i64),
    /// A double. Compared by bits.
    Float(f64),
    /// A uuid.
    Uuid([u8; 16]),
    /// A string.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// An array of fixed-size values, still encoded.
    Packed(Primitive, &'a [u8]),
    /// An array of other values.
    Array(Box<[Self]>),
    /// A struct: its fields by position, then in flexible versions its unknown tags ([`Value::Tags`] or null).
    Struct(Box<[Self]>),
    /// Unknown tags: tag, size, content, one after the other.
    Tags(Box<[u8]>),
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Uuid(a), Self::Uuid(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Packed(a, x), Self::Packed(b, y)) => a == b && x == y,
            (Self::Array(a), Self::Array(b)) | (Self::Struct(a), Self::Struct(b)) => a == b,
            (Self::Tags(a), Self::Tags(b)) => a == b,
            // The two forms of the same array. Defaults and arrays with bools other than 0 and 1 are not packed.
            (Self::Packed(kind, bytes), Self::Array(items)) | (Self::Array(items), Self::Packed(kind, bytes)) => {
                let mut equal = items.len() == bytes.len() / kind.size();
                let Ok(()) = unpack(*kind, bytes, &mut Tree, |index, item| {
                    equal &= items.get(index) == Some(&item);
                });
                equal
            }
            _ => false,
        }
    }
}

impl<'a> Value<'a> {
    /// Decode a body.
    pub fn decode(plan: &'a Plan, input: &'a [u8]) -> Result<Self, Box<DecodeError>> {
        decode(plan, input, &mut Tree).map_err(bytes_error)
    }

    /// Decode a part of an indexed body.
    pub fn of_part(part: Part<'a>) -> Result<Self, Box<DecodeError>> {
        part.decode(&mut Tree).map_err(bytes_error)
    }

    /// Encode a body.
    pub fn encode(&'a self, plan: &Plan) -> Encoded<Vec<u8>> {
        let mut out = Vec::new();
        encode(plan, &mut Held(std::marker::PhantomData), Node::Tree(self), &mut out)?;
        Ok(out)
    }
}

fn bytes_error(stop: Stop<Infallible>) -> Box<DecodeError> {
    match stop {
        Stop::Bytes(error) => error,
        Stop::Visitor(never) => match never {},
    }
}

/// The visitor that builds values.
struct Tree;

impl<'a> Visitor<'a> for Tree {
    type Value = Value<'a>;
    type Struct = Vec<Value<'a>>;
    type Array = Vec<Value<'a>>;
    type Error = Infallible;

    fn integer(&mut self, value: i64) -> Result<Value<'a>, Infallible> {
        Ok(Value::Int(value))
    }
    fn boolean(&mut self, value: bool) -> Result<Value<'a>, Infallible> {
        Ok(Value::Bool(value))
    }
    fn float(&mut self, value: f64) -> Result<Value<'a>, Infallible> {
        Ok(Value::Float(value))
    }
    fn uuid(&mut self, bytes: [u8; 16]) -> Result<Value<'a>, Infallible> {
        Ok(Value::Uuid(bytes))
    }
    fn string(&mut self, text: Text<'a>) -> Result<Value<'a>, Infallible> {
        Ok(Value::Text(text.as_str()))
    }
    fn bytes(&mut self, bytes: &'a [u8]) -> Result<Value<'a>, Infallible> {
        Ok(Value::Bytes(bytes))
    }
    fn null(&mut self) -> Result<Value<'a>, Infallible> {
        Ok(Value::Null)
    }
    fn packed(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<Value<'a>, Infallible> {
        if kind == Primitive::Bool && bytes.iter().any(|byte| *byte > 1) {
            // Every non-zero byte is true and is encoded as 1.
            return Ok(Value::Array(bytes.iter().map(|byte| Value::Bool(*byte != 0)).collect()));
        }
        Ok(Value::Packed(kind, bytes))
    }
    fn begin_array(&mut self, count: usize) -> Result<Vec<Value<'a>>, Infallible> {
        Ok(Vec::with_capacity(count))
    }
    fn item(&mut self, array: &mut Vec<Value<'a>>, _: usize, value: Value<'a>) {
        array.push(value);
    }
    fn end_array(&mut self, array: Vec<Value<'a>>) -> Result<Value<'a>, Infallible> {
        Ok(Value::Array(array.into()))
    }
    fn begin_struct(&mut self, plan: &'a Struct) -> Result<Vec<Value<'a>>, Infallible> {
        let mut body = Vec::with_capacity(plan.fields.len() + plan.tagged.len() + usize::from(plan.flexible));
        if plan.flexible {
            body.resize(plan.fields.len(), Value::Null);
            body.extend(
                plan.tagged
                    .iter()
                    .map(|tagged| literal(&tagged.field.kind, &tagged.default)),
            );
            body.push(Value::Null);
        }
        Ok(body)
    }
    fn field(&mut self, body: &mut Vec<Value<'a>>, plan: &'a Struct, position: usize, value: Value<'a>) {
        match body.get_mut(position) {
            Some(place) if plan.flexible => *place = value,
            _ => body.push(value),
        }
    }
    fn tagged_field(&mut self, body: &mut Vec<Value<'a>>, _: &'a Struct, position: usize, value: Value<'a>) {
        if let Some(place) = body.get_mut(position) {
            *place = value;
        }
    }
    fn unknown_tags(&mut self, body: &mut Vec<Value<'a>>, _: &'a Struct, raw: &[u8]) -> Result<(), Infallible> {
        if let Some(last) = body.last_mut() {
            *last = Value::Tags(raw.into());
        }
        Ok(())
    }
    fn end_struct(&mut self, body: Vec<Value<'a>>, _: &'a Struct) -> Result<Value<'a>, Infallible> {
        Ok(Value::Struct(body.into()))
    }
}

/// Return the default of a tagged field as a value.
fn literal<'a>(kind: &'a Type, default: &'a Literal) -> Value<'a> {
    match default {
        Literal::Struct => default_struct(kind, &[]),
        Literal::Fields(values) => default_struct(kind, values),
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(value) => Value::Int(*value),
        Literal::Float(value) => Value::Float(*value),
        Literal::Uuid(value) => Value::Uuid(*value),
        Literal::Text(value) => Value::Text(value),
        Literal::Bytes(value) => Value::Bytes(value),
        Literal::EmptyArray => Value::Array(Box::default()),
    }
}

fn default_struct<'a>(kind: &'a Type, values: &'a [(Arc<str>, Literal)]) -> Value<'a> {
    let plan = match kind {
        Type::Struct(plan) => plan,
        Type::Maybe(inner) => return default_struct(inner, values),
        _ => return Value::Null, // unreachable: the parser has compared default and type
    };
    let untagged = plan.fields.iter().zip(values);
    let mut body: Vec<_> = untagged
        .map(|(field, (_, value))| literal(&field.kind, value))
        .collect();
    if plan.flexible {
        body.extend(
            plan.tagged
                .iter()
                .map(|tagged| literal(&tagged.field.kind, &tagged.default)),
        );
        body.push(Value::Null);
    }
    Value::Struct(body.into())
}

/// The source that reads values.
struct Held<'v>(std::marker::PhantomData<&'v Value<'v>>);

/// A value of a tree, or an element of a packed array.
#[derive(Clone, Copy)]
enum Node<'v> {
    Tree(&'v Value<'v>),
    Element(Primitive, &'v [u8]),
}

impl<'v> Node<'v> {
    /// Read the value. Elements of packed arrays are decoded first.
    fn with<T>(self, wanted: &str, read: impl FnOnce(&Value<'v>) -> Option<T>) -> Encoded<T> {
        let found = match self {
            Self::Tree(value) => read(value),
            Self::Element(kind, bytes) => {
                let mut found = Value::Null;
                let Ok(()) = unpack(kind, bytes, &mut Tree, |_, value| found = value);
                read(&found)
            }
        };
        found.ok_or_else(|| self.not(wanted))
    }

    #[cold]
    fn not(self, wanted: &str) -> Box<EncodeError> {
        let kind = if matches!(self, Self::Tree(Value::Null)) {
            EncodeKind::NullNotAllowed
        } else {
            EncodeKind::WrongType
        };
        EncodeError::new(kind, format!("expected {wanted}"))
    }
}

impl<'v> Source<'v> for Held<'v> {
    type Node = Node<'v>;
    type Body = &'v [Value<'v>];

    fn is_null(&self, node: Node<'v>) -> bool {
        matches!(node, Node::Tree(Value::Null))
    }
    fn integer(&self, node: Node<'v>) -> Encoded<i64> {
        node.with("an integer", |value| {
            if let Value::Int(value) = value {
                Some(*value)
            } else {
                None
            }
        })
    }
    fn boolean(&self, node: Node<'v>) -> Encoded<bool> {
        node.with("a bool", |value| {
            if let Value::Bool(value) = value {
                Some(*value)
            } else {
                None
            }
        })
    }
    fn float(&self, node: Node<'v>) -> Encoded<f64> {
        node.with("a float", |value| {
            if let Value::Float(value) = value {
                Some(*value)
            } else {
                None
            }
        })
    }
    fn uuid(&self, node: Node<'v>) -> Encoded<[u8; 16]> {
        node.with("a uuid", |value| {
            if let Value::Uuid(value) = value {
                Some(*value)
            } else {
                None
            }
        })
    }
    fn string<T>(&self, node: Node<'v>, show: impl FnOnce(&[u8]) -> Encoded<T>) -> Encoded<T> {
        match node {
            Node::Tree(Value::Text(text)) => show(text.as_bytes()),
            _ => Err(node.not("a string")),
        }
    }
    fn bytes(&self, node: Node<'v>) -> Encoded<&'v [u8]> {
        match node {
            Node::Tree(Value::Bytes(bytes)) => Ok(bytes),
            _ => Err(node.not("bytes")),
        }
    }
    fn array(&self, node: Node<'v>) -> Encoded<usize> {
        match node {
            Node::Tree(Value::Array(items)) => Ok(items.len()),
            Node::Tree(Value::Packed(kind, bytes)) => Ok(bytes.len() / kind.size()),
            _ => Err(node.not("an array")),
        }
    }
    fn item(&self, array: Node<'v>, index: usize) -> Node<'v> {
        let found = match array {
            Node::Tree(Value::Array(items)) => items.get(index).map(Node::Tree),
            Node::Tree(Value::Packed(kind, bytes)) => bytes
                .chunks_exact(kind.size())
                .nth(index)
                .map(|bytes| Node::Element(*kind, bytes)),
            _ => None,
        };
        found.unwrap_or(Node::Tree(&Value::Null))
    }
    fn structure(&self, node: Node<'v>, plan: &Struct) -> Encoded<Self::Body> {
        let wanted = plan.fields.len() + plan.tagged.len() + usize::from(plan.flexible);
        match node {
            Node::Tree(Value::Struct(fields)) if fields.len() == wanted => Ok(fields),
            _ => Err(node.not("a struct")),
        }
    }
    fn field(&self, body: Self::Body, position: usize) -> Node<'v> {
        Node::Tree(body.get(position).unwrap_or(&Value::Null))
    }
    fn unknown_tags(&self, body: Self::Body, plan: &Struct) -> Encoded<&'v [u8]> {
        match body.last() {
            Some(Value::Tags(raw)) if plan.flexible => Ok(raw),
            _ => Ok(&[]),
        }
    }
    fn packed(&self, array: Node<'v>, kind: Primitive, out: &mut impl Sink) -> bool {
        match array {
            Node::Tree(Value::Packed(held, bytes)) if *held == kind => {
                out.put(bytes);
                true
            }
            _ => false,
        }
    }
}
