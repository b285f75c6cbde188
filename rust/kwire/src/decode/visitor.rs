//! What is told of a message: the pieces that the walker finds, to whatever builds something out of them.
//!
//! Rules of this file: no piece is shown before it is known to be good, and a visitor has no part in judging it.

use crate::plan::{Primitive, Struct};
use crate::uniform::UniformLayout;

/// A string that is known to be UTF-8, and whether it is known to be ASCII. Only the walker makes one.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    bytes: &'a [u8],
    ascii: bool,
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
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
/// wire, and is ended; an array likewise. Positions are those of [`Field::position`](crate::plan::Field::position).
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
    const DISCARDS: bool = false;
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
    fn uniform_structs(&mut self, _plan: &'a Struct, _count: usize, _bytes: &'a [u8], _alike: &UniformLayout) {}
    /// With `RUNS`: another field comes next, or a tagged one. Whether to show it; its bytes are checked either way.
    #[inline(always)]
    fn enter(&mut self, _plan: &'a Struct, _position: usize) -> bool {
        true
    }

    /// An array that was built before from just these bytes, which are all of its elements: structs without structs
    /// inside, of fixed size.
    #[inline(always)]
    fn cached_array(&mut self, _plan: &'a Struct, _bytes: &'a [u8]) -> Option<Self::Value> {
        None
    }
    /// An array for which `cached_array` had nothing was built.
    #[inline(always)]
    fn cache_array(&mut self, _plan: &'a Struct, _bytes: &'a [u8], _value: &Self::Value) {}

    /// A value that was built before from bytes with which `rest` begins, and how many they are.
    ///
    /// What a struct becomes depends on its bytes alone, and no encoding of one begins another; so equal bytes may give
    /// the same value. Asked for structs without structs inside that are elements of an array.
    #[inline(always)]
    fn cached_struct(&mut self, _plan: &'a Struct, _rest: &'a [u8]) -> Option<(Self::Value, usize)> {
        None
    }
    /// A struct for which `cached_struct` had nothing was built out of `bytes`.
    #[inline(always)]
    fn cache_struct(&mut self, _plan: &'a Struct, _bytes: &'a [u8], _value: &Self::Value) {}
}
