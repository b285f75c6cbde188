//! The interface between the decoder and what builds the values.
//!
//! The decoder passes a value to the visitor only after it has checked it.

use crate::plan::{Primitive, Struct};
use crate::uniform::{Matcher, UniformLayout};

/// A string that has been checked to be UTF-8. Only the decoder creates it.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    bytes: &'a [u8],
    ascii: bool,
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        // Most strings are ASCII, which is checked much faster than UTF-8.
        let ascii = bytes.is_ascii();
        if ascii || std::str::from_utf8(bytes).is_ok() {
            Some(Self { bytes, ascii })
        } else {
            None
        }
    }

    /// Return the string. This checks UTF-8 a second time; `as_bytes` does not.
    pub fn as_str(&self) -> &'a str {
        std::str::from_utf8(self.bytes).unwrap_or_default()
    }

    /// Return the UTF-8 bytes.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Return whether every byte is below 0x80.
    pub fn is_ascii(&self) -> bool {
        self.ascii
    }
}

/// Builds values from what the decoder finds.
///
/// A struct begins with all its tagged and absent fields at their defaults, gets its fields in wire order, and ends.
/// The same holds for arrays. Positions are those of [`Field::position`](crate::plan::Field::position).
pub trait Visitor<'a> {
    /// A decoded value.
    type Value;
    /// A struct that is being built.
    type Struct;
    /// An array that is being built.
    type Array;
    /// Why the visitor cannot continue.
    type Error;

    /// Whether the visitor builds nothing. Unknown tags are then not collected.
    const DISCARDS: bool = false;
    /// Whether the visitor takes runs of fixed-size fields and short int32 arrays as bytes (`run`, `int32s`) instead of
    /// value by value, and chooses which other fields to read (`enter`).
    const RUNS: bool = false;

    /// Build an integer of any width.
    fn integer(&mut self, value: i64) -> Result<Self::Value, Self::Error>;
    /// Build a bool.
    fn boolean(&mut self, value: bool) -> Result<Self::Value, Self::Error>;
    /// Build a double.
    fn float(&mut self, value: f64) -> Result<Self::Value, Self::Error>;
    /// Build a uuid.
    fn uuid(&mut self, bytes: [u8; 16]) -> Result<Self::Value, Self::Error>;
    /// Build a string.
    fn string(&mut self, text: Text<'a>) -> Result<Self::Value, Self::Error>;
    /// Build bytes.
    fn bytes(&mut self, bytes: &'a [u8]) -> Result<Self::Value, Self::Error>;
    /// Build null or an absent maybe.
    fn null(&mut self) -> Result<Self::Value, Self::Error>;
    /// Build an array of fixed-size elements from their bytes.
    fn packed(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<Self::Value, Self::Error>;

    /// Begin an array of `count` other elements. The input has at least `count` times their smallest size.
    fn begin_array(&mut self, count: usize) -> Result<Self::Array, Self::Error>;
    /// Add the next element.
    fn item(&mut self, array: &mut Self::Array, index: usize, value: Self::Value);
    /// Finish an array.
    fn end_array(&mut self, array: Self::Array) -> Result<Self::Value, Self::Error>;

    /// Begin a struct.
    fn begin_struct(&mut self, plan: &'a Struct) -> Result<Self::Struct, Self::Error>;
    /// Set a plain field.
    fn field(&mut self, body: &mut Self::Struct, plan: &'a Struct, position: usize, value: Self::Value);
    /// Replace the default of a tagged field.
    fn tagged_field(&mut self, body: &mut Self::Struct, plan: &'a Struct, position: usize, value: Self::Value);
    /// Set the tags that the plan does not declare: tag, size, content, one after the other, in shortest form. Not
    /// called if `DISCARDS`.
    fn unknown_tags(&mut self, body: &mut Self::Struct, plan: &'a Struct, raw: &[u8]) -> Result<(), Self::Error>;
    /// Finish a struct.
    fn end_struct(&mut self, body: Self::Struct, plan: &'a Struct) -> Result<Self::Value, Self::Error>;

    /// With `RUNS`: take a run of fixed-size fields from their bytes; the first field is at `position`.
    #[inline(always)]
    fn run(&mut self, _body: &mut Self::Struct, _plan: &'a Struct, _position: usize, _bytes: &'a [u8]) {}
    /// With `RUNS`: take an int32 array that is not nullable from the bytes of its elements.
    #[inline(always)]
    fn int32s(&mut self, _body: &mut Self::Struct, _plan: &'a Struct, _position: usize, _bytes: &'a [u8]) {}
    /// With `RUNS`: whether `uniform_structs` may be called for structs with arrays of structs.
    const NESTED: bool = false;
    /// With `RUNS`: take `count` consecutive elements of an array that have the same layout. All their parts are runs
    /// and int32 arrays, and with `NESTED` arrays of structs. No other method is called for them.
    #[inline(always)]
    fn uniform_structs(&mut self, _plan: &'a Struct, _count: usize, _bytes: &'a [u8], _alike: &UniformLayout) {}
    /// Whether the visitor takes elements of an array that have the same layout together (`uniform_items`).
    const UNIFORM: bool = false;
    /// With `UNIFORM`: return whether to do so for this struct.
    #[inline(always)]
    fn takes_uniform(&self, _plan: &'a Struct) -> bool {
        true
    }
    /// With `UNIFORM`: add `count` consecutive elements of the same layout to an array, from `index` on. Their parts are
    /// those of [`Struct::parts`]. No other method is called for them.
    #[inline(always)]
    fn uniform_items(
        &mut self,
        _array: &mut Self::Array,
        _index: usize,
        _plan: &'a Struct,
        _count: usize,
        _bytes: &'a [u8],
        _layout: &UniformLayout,
    ) -> Result<(), Self::Error> {
        Ok(())
    }
    /// With `UNIFORM` or `RUNS`: return the place for the layout of the last struct, which is compared with the next one.
    /// The place belongs to this struct of this plan.
    #[inline(always)]
    fn last_layout(&mut self, _plan: &'a Struct) -> Option<&mut Option<Matcher>> {
        None
    }
    /// With `RUNS`: return whether to read the next field that is not part of a run. Its bytes are checked in either
    /// case.
    #[inline(always)]
    fn enter(&mut self, _plan: &'a Struct, _position: usize) -> bool {
        true
    }

    /// Return the array built earlier from the same bytes. `bytes` are all elements of the array: structs of a fixed
    /// size, or, with `UNIFORM`, of the same layout.
    #[inline(always)]
    fn cached_array(&mut self, _plan: &'a Struct, _bytes: &'a [u8]) -> Option<Self::Value> {
        None
    }
    /// Store an array that `cached_array` did not find.
    #[inline(always)]
    fn cache_array(&mut self, _plan: &'a Struct, _bytes: &'a [u8], _value: &Self::Value) {}

    /// Return a value built earlier from the bytes at the start of `rest`, and the number of these bytes.
    ///
    /// A struct depends only on its bytes, and no encoding of one is a prefix of another, so equal bytes may yield the
    /// same value. Called for array elements that contain no structs, unless `takes_uniform`.
    #[inline(always)]
    fn cached_struct(&mut self, _plan: &'a Struct, _rest: &'a [u8]) -> Option<(Self::Value, usize)> {
        None
    }
    /// Store a struct that `cached_struct` did not find.
    #[inline(always)]
    fn cache_struct(&mut self, _plan: &'a Struct, _bytes: &'a [u8], _value: &Self::Value) {}
}
