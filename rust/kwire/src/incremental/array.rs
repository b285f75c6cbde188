//! Incremental decoding of an array of structs.
//!
//! Consecutive unchanged elements are reused together. Changed elements are decoded field by field, new ones as usual.
//! After several changed elements in a row without anything to reuse, the search inside elements stops until an
//! unchanged one is found.

use super::changes::ArrayChanges;
use super::element::ElementDecoder;
use super::keys::Keys;
use super::search::{PreviousArray, Search};
use super::visitor::IncrementalVisitor;
use crate::decode::{check_count, item, structure};
use crate::error::{DecodeKind, Stop};
use crate::plan::{Length, Struct};
use crate::reader::Reader;

/// The type of an array of structs.
#[derive(Clone, Copy)]
pub(super) struct ArrayType<'a> {
    pub(super) length: Length,
    pub(super) smallest: usize,
    pub(super) inner: &'a Struct,
}

/// After this many changed elements in a row without reused parts, no changed element is searched until an unchanged
/// one is found.
const MAX_MISSES: usize = 8;
/// The same limit for arrays inside an element.
const MAX_MISSES_INSIDE: usize = 4;

/// How many elements ahead the next reusable element is prefetched.
const PREFETCH_DISTANCE: usize = 12;

pub(super) fn incremental_array<'a, V: IncrementalVisitor<'a>>(
    shape: ArrayType<'a>,
    keys: &Keys,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    old: Option<&PreviousArray<'_, V::Previous>>,
    mut ends: Option<&mut Vec<usize>>,
    changes: &mut ArrayChanges,
) -> Result<V::Value, Stop<V::Error>> {
    let start = reader.offset();
    let Some(count) = reader.length(shape.length.compact, shape.length.nullable, true)? else {
        return visitor.null().map_err(Stop::Visitor);
    };
    check_count(count, shape.smallest, start, *reader)?;
    let mut items = visitor.begin_array(count).map_err(Stop::Visitor)?;
    if let Some(ends) = ends.as_deref_mut() {
        if ends.try_reserve(count + 1).is_err() {
            return Err(Stop::at(DecodeKind::OutOfMemory, start));
        }
        ends.push(reader.offset());
    }
    let mut search = Search::new(old, keys.of(shape.inner), changes);
    let mut misses = 0usize;
    let mut index = 0;
    // For the caller's report of changes, all matches are needed. Inside an element, the search must pay off.
    let thorough = ends.is_some();
    while index < count {
        if !thorough && misses >= MAX_MISSES_INSIDE {
            let made = structure(shape.inner, reader, visitor).map_err(|stop| stop.in_element(index))?;
            visitor.item(&mut items, index, made);
            index += 1;
            continue;
        }
        let same = search.common_run(reader.rest(), count - index);
        if let Some(old) = search.old.filter(|_| !same.is_empty()) {
            misses = 0;
            let first = same.start;
            let mut done = first;
            for at in same {
                let Some(kept) = visitor.previous_element(old.kept, at) else {
                    search.old = None; // the previous message was modified
                    break;
                };
                if at + PREFETCH_DISTANCE < old.count() {
                    visitor.prefetch(old.kept, at + PREFETCH_DISTANCE);
                }
                let reused = visitor.reuse(kept);
                visitor.item(&mut items, index, reused);
                reader.skip(old.ends[at + 1] - old.ends[at]);
                if let Some(ends) = ends.as_deref_mut() {
                    ends.push(reader.offset());
                }
                index += 1;
                done = at + 1;
            }
            search.retain(first..done);
            continue;
        }
        let matched = search.find_match(shape.inner, reader.rest());
        if matched.is_some_and(|matched| matched.unchanged) {
            continue; // the run continues there
        }
        // A struct without structs costs less to decode than to compare field by field.
        let searchable = matched.filter(|_| !shape.inner.leaf && misses < MAX_MISSES);
        let made = match searchable.and_then(|matched| search.previous_element_of(matched.index, shape.inner, visitor))
        {
            Some((bytes, kept)) => {
                let mut again = ElementDecoder { keys, reused: false };
                let made = again.structure(shape.inner, reader, visitor, bytes, kept);
                misses = if again.reused { 0 } else { misses + 1 };
                made
            }
            None if thorough => item(shape.inner, reader, visitor),
            None => {
                misses += 1;
                // Too few elements are decoded here for the visitor's cache to pay off.
                structure(shape.inner, reader, visitor)
            }
        };
        match made {
            Ok(made) => visitor.item(&mut items, index, made),
            Err(stop) => return Err(stop.in_element(index)),
        }
        search.changed(matched.map(|matched| matched.index), index);
        if search.is_short {
            return Err(Stop::at(DecodeKind::OutOfMemory, start));
        }
        if let Some(ends) = ends.as_deref_mut() {
            ends.push(reader.offset());
        }
        index += 1;
    }
    visitor.end_array(items).map_err(Stop::Visitor)
}
