//! An array of structs of which the bytes before are known.
//!
//! Rules of this file: elements that are there as they were are taken in one go; those that changed are looked into, and
//! those that are new decoded. Where nothing is changes again several times over, looking is given up until something is.

use super::changes::ArrayChanges;
use super::element::ElementDecoder;
use super::keys::Keys;
use super::search::{PreviousArray, Search};
use super::visitor::IncrementalVisitor;
use crate::decode::{check_count, item, structure};
use crate::error::Stop;
use crate::plan::{Length, Struct};
use crate::reader::Reader;

/// What an array looks like on the wire.
#[derive(Clone, Copy)]
pub(super) struct ArrayType<'a> {
    pub(super) length: Length,
    pub(super) smallest: usize,
    pub(super) inner: &'a Struct,
}

/// Elements that changed and in which nothing was changes again, one after the other, after which none is looked into
/// until one is changes unchanged.
const MAX_MISSES: usize = 8;
/// The same for the parts of an element.
const MAX_MISSES_INSIDE: usize = 4;

/// So far ahead elements are announced that are likely to be used again.
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
        ends.reserve(count + 1);
        ends.push(reader.offset());
    }
    let mut search = Search::new(old, keys.of(shape.inner), changes);
    let mut misses = 0usize;
    let mut index = 0;
    // Whoever wants to be told what differs gets all that can be changes; inside an element it must be worth the search.
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
                    search.old = None; // somebody has tampered with it
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
            search.retained(first..done);
            continue;
        }
        let find_match = search.find_match(shape.inner, reader.rest());
        if find_match.is_some_and(|find_match| find_match.unchanged) {
            continue; // it goes on there
        }
        // What holds no other struct costs less to make than to look into.
        let looked_into = find_match.filter(|_| !shape.inner.leaf && misses < MAX_MISSES);
        let made = match looked_into
            .and_then(|find_match| search.previous_element_of(find_match.index, shape.inner, visitor))
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
                // Few are made here, so that it does not pay to remember each by its bytes.
                structure(shape.inner, reader, visitor)
            }
        };
        match made {
            Ok(made) => visitor.item(&mut items, index, made),
            Err(stop) => return Err(stop.in_element(index)),
        }
        search.changed(find_match.map(|find_match| find_match.index), index);
        if let Some(ends) = ends.as_deref_mut() {
            ends.push(reader.offset());
        }
        index += 1;
    }
    visitor.end_array(items).map_err(Stop::Visitor)
}
