//! The keys that identify elements of an array.
//!
//! A key is a contiguous range of an element's bytes, so it can be compared without decoding it. A struct whose key
//! fields are not adjacent has no key here.

use crate::decode::size_of_value;
use crate::plan::{Plan, StepKind, Struct};

/// The key fields of each struct of a plan: the first and the last, which are adjacent.
pub struct Keys(Vec<Option<Key>>);

/// The location of the key in a struct.
#[derive(Clone, Copy)]
pub(super) enum Key {
    /// A byte range that is the same in every instance.
    At(usize, usize),
    /// The first and the last field.
    Fields(usize, usize),
}

impl Keys {
    /// Create the keys from the names of the key fields, for each struct in the order in which the plan opens them.
    ///
    /// Fields that the version lacks are ignored. Without a key, or if its fields are not adjacent, elements are
    /// identified by their index.
    pub fn new<N: AsRef<str>>(plan: &Plan, names: &[Vec<N>]) -> Self {
        let mut keys = vec![None; plan.structs];
        plan.root.each_struct(&mut |body| {
            if let (Some(key), Some(names)) = (keys.get_mut(body.index), names.get(body.index)) {
                *key = side_by_side(body, names);
            }
        });
        Self(keys)
    }

    pub(super) fn of(&self, body: &Struct) -> Option<Key> {
        self.0.get(body.index).copied().flatten()
    }
}

fn side_by_side<N: AsRef<str>>(body: &Struct, names: &[N]) -> Option<Key> {
    let offsets = names.iter().filter_map(|name| {
        let name = name.as_ref();
        body.fields.iter().position(|field| &*field.name == name)
    });
    let mut offsets: Vec<_> = offsets.collect();
    offsets.sort_unstable();
    let (first, last) = (*offsets.first()?, *offsets.last()?);
    if last - first + 1 != offsets.len() {
        return None;
    }
    let (mut start, mut end) = (0, 0);
    for (position, step) in body.steps.iter().enumerate().take(last + 1) {
        let StepKind::Fixed(kind) = step.kind else {
            return Some(Key::Fields(first, last));
        };
        if position == first {
            start = end;
        }
        end += kind.size();
    }
    Some(Key::At(start, end))
}

/// Return the bytes of the key of the struct at the start of `rest`.
#[inline]
pub(super) fn key_of<'b>(plan: &Struct, key: Key, rest: &'b [u8]) -> Option<&'b [u8]> {
    let (first, last) = match key {
        Key::At(start, end) => return rest.get(start..end),
        Key::Fields(first, last) => (first, last),
    };
    let (mut start, mut end) = (0, 0);
    for (position, field) in plan.fields.get(..=last)?.iter().enumerate() {
        if position == first {
            start = end;
        }
        end += size_of_value(&field.kind, rest.get(end..)?)?;
    }
    rest.get(start..end)
}
