//! The offsets of a frame's parts, and the differences from the previous frame. Both hold positions only, no bytes or
//! values.

/// The offsets of the top-level parts of a message: the fields of its body, and the elements of its arrays of structs.
#[derive(Clone, Debug, Default)]
pub struct Offsets {
    /// The start of each field, then the end of the last one.
    pub(super) fields: Vec<usize>,
    /// For each field that is an array of structs: the start of each element, then the end of the last one. Empty for
    /// other fields.
    pub(super) elements: Vec<Vec<usize>>,
}

impl Offsets {
    /// Remove all offsets, but keep the allocations.
    pub(super) fn clear(&mut self, fields: usize) {
        self.fields.clear();
        self.elements.resize_with(fields, Vec::new);
        self.elements.iter_mut().for_each(Vec::clear);
    }

    /// Return the size of the allocations in bytes.
    pub fn size(&self) -> usize {
        let elements: usize = self.elements.iter().map(Vec::capacity).sum();
        (self.fields.capacity() + elements) * size_of::<usize>()
    }
}

/// The differences from the previous frame.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The positions of fields that differ, in ascending order.
    pub fields: Vec<usize>,
    /// Those of them that are arrays of structs, with the differences.
    pub arrays: Vec<(usize, ArrayChanges)>,
    /// Whether the tag section differs.
    pub tags: bool,
}

/// The differences between two arrays of structs, as element indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayChanges {
    /// New elements, as indexes of the current array.
    pub added: Vec<usize>,
    /// Changed elements, as indexes of the previous and the current array.
    pub changed: Vec<(usize, usize)>,
    /// For each element of the previous array whether it is in the current one, changed or not. Other elements were
    /// removed.
    pub retained: Vec<bool>,
    /// Whether retained elements have another order.
    pub moved: bool,
}

impl ArrayChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.changed.is_empty()
            && !self.moved
            && self.retained.iter().all(|retained| *retained)
    }
}
