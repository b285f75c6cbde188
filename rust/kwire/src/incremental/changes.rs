//! What is known of a frame: where its parts stand, and what in it differs from the one before.
//!
//! Rules of this file: positions, indexes and offsets, no bytes and no values.

/// Where the outermost parts of a message stand: fields of its body, and elements of its arrays of structs.
#[derive(Clone, Debug, Default)]
pub struct Offsets {
    /// Where each field begins, and the last one ends.
    pub(super) fields: Vec<usize>,
    /// For each field: where each of its elements begins, and the last one ends; nothing unless it is such an array.
    pub(super) elements: Vec<Vec<usize>>,
}

impl Offsets {
    /// Forget all, and keep the memory.
    pub(super) fn clear(&mut self, fields: usize) {
        self.fields.clear();
        self.elements.resize_with(fields, Vec::new);
        self.elements.iter_mut().for_each(Vec::clear);
    }

    /// How many bytes it takes.
    pub fn size(&self) -> usize {
        let elements: usize = self.elements.iter().map(Vec::capacity).sum();
        (self.fields.capacity() + elements) * size_of::<usize>()
    }
}

/// What is different from the frame before.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Fields that differ, by position, ascending.
    pub fields: Vec<usize>,
    /// Of those, the arrays of structs, and what differs in them.
    pub arrays: Vec<(usize, ArrayChanges)>,
    /// Whether the tag section differs.
    pub tags: bool,
}

/// What is different in an array of structs. All are indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayChanges {
    /// New elements, in the array now.
    pub added: Vec<usize>,
    /// Elements that changed: in the array before, and now.
    pub changed: Vec<(usize, usize)>,
    /// Which elements of the array before are in this one, as they were or changed. Whoever is not was removed.
    pub retained: Vec<bool>,
    /// Whether those that retained come in another order.
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
