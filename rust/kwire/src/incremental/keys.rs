//! By what the elements of an array are told apart.
//!
//! Rules of this file: a key is a run of bytes of the element, so that it is compared without being decoded; where its
//! fields do not stand side by side there is none.

use crate::decode::size_of_value;
use crate::plan::{Plan, StepKind, Struct};

/// By which fields the elements of an array are told apart: for each struct of a plan, the first and the last, which
/// stand side by side.
pub struct Keys(Vec<Option<Key>>);

/// Where the key of a struct stands.
#[derive(Clone, Copy)]
pub(super) enum Key {
    /// From byte to byte, in every such struct.
    At(usize, usize),
    /// From field to field.
    Fields(usize, usize),
}

impl Keys {
    /// `names`: for each struct, in the order in which the plan opens them, the names of its key's fields. Those that
    /// this version lacks do not count. Without a key, or where its fields are scattered, the place tells elements
    /// apart.
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

/// The bytes of the key of a struct with which `rest` begins.
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
