//! What incremental decoding needs from a visitor, besides building values.

use crate::decode::Visitor;
use crate::plan::Struct;

/// A visitor that can inspect values it built earlier and use them again.
pub trait IncrementalVisitor<'a>: Visitor<'a> {
    /// A value of the previous message.
    type Previous: Copy;

    /// Return whether a value is a struct that was built for `plan`, so that its fields can be read.
    fn is_struct(&self, previous: Self::Previous, plan: &'a Struct) -> bool;
    /// Return whether a value is an array of `count` elements.
    fn is_array(&self, previous: Self::Previous, count: usize) -> bool;
    /// Return a field of a struct by position, tagged fields excluded. `None` if it is not set.
    fn previous_field(&self, previous: Self::Previous, plan: &'a Struct, position: usize) -> Option<Self::Previous>;
    /// Return an element of an array. `None` if it is not set.
    fn previous_element(&self, previous: Self::Previous, index: usize) -> Option<Self::Previous>;
    /// Prefetch an element that will probably be reused soon. The index may be out of range.
    #[inline(always)]
    fn prefetch(&self, _previous: Self::Previous, _index: usize) {}
    /// Return the same value as a new one.
    fn reuse(&mut self, previous: Self::Previous) -> Self::Value;
}
