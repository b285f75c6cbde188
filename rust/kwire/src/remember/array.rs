//! An array of structs of which the bytes before are known.
//!
//! Rules of this file: elements that are there as they were are taken in one go; those that changed are looked into, and
//! those that are new decoded. Where nothing is found again several times over, looking is given up until something is.

use super::Remembering;
use super::found::FoundArray;
use super::keys::Keys;
use super::parts::Again;
use super::search::{OldArray, Search};
use crate::decode::{believe, item, structure};
use crate::error::Stop;
use crate::plan::{Length, Struct};
use crate::reader::Reader;

/// What an array looks like on the wire.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    pub(super) length: Length,
    pub(super) smallest: usize,
    pub(super) inner: &'a Struct,
}

/// Elements that changed and in which nothing was found again, one after the other, after which none is looked into
/// until one is found whole.
const PATIENCE: usize = 8;
/// The same for the parts of an element.
const PATIENCE_INSIDE: usize = 4;

/// So far ahead elements are announced that are likely to be used again.
const AHEAD: usize = 12;

pub(super) fn array_again<'a, V: Remembering<'a>>(
    shape: Shape<'a>,
    keys: &Keys,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    old: Option<&OldArray<'_, V::Kept>>,
    mut ends: Option<&mut Vec<usize>>,
    found: &mut FoundArray,
) -> Result<V::Value, Stop<V::Error>> {
    let start = reader.offset();
    let Some(count) = reader.length(shape.length.compact, shape.length.nullable, true)? else {
        return visitor.null().map_err(Stop::Visitor);
    };
    believe(count, shape.smallest, start, *reader)?;
    let mut items = visitor.begin_array(count).map_err(Stop::Visitor)?;
    if let Some(ends) = ends.as_deref_mut() {
        ends.reserve(count + 1);
        ends.push(reader.offset());
    }
    let mut search = Search::new(old, keys.of(shape.inner), found);
    let mut misses = 0usize;
    let mut index = 0;
    // Whoever wants to be told what differs gets all that can be found; inside an element it must be worth the search.
    let thorough = ends.is_some();
    while index < count {
        if !thorough && misses >= PATIENCE_INSIDE {
            let made = structure(shape.inner, reader, visitor).map_err(|stop| stop.in_element(index))?;
            visitor.item(&mut items, index, made);
            index += 1;
            continue;
        }
        let same = search.stretch(reader.rest(), count - index);
        if let Some(old) = search.old.filter(|_| !same.is_empty()) {
            misses = 0;
            let first = same.start;
            let mut done = first;
            for at in same {
                let Some(kept) = visitor.element(old.kept, at) else {
                    search.old = None; // somebody has tampered with it
                    break;
                };
                if at + AHEAD < old.count() {
                    visitor.expect(old.kept, at + AHEAD);
                }
                let again = visitor.again(kept);
                visitor.item(&mut items, index, again);
                reader.skip(old.ends[at + 1] - old.ends[at]);
                if let Some(ends) = ends.as_deref_mut() {
                    ends.push(reader.offset());
                }
                index += 1;
                done = at + 1;
            }
            search.stayed(first..done);
            continue;
        }
        let partner = search.partner(shape.inner, reader.rest());
        if partner.is_some_and(|partner| partner.whole) {
            continue; // it goes on there
        }
        // What holds no other struct costs less to make than to look into.
        let looked_into = partner.filter(|_| !shape.inner.leaf && misses < PATIENCE);
        let made = match looked_into.and_then(|partner| search.old_element(partner.index, shape.inner, visitor)) {
            Some((bytes, kept)) => {
                let mut again = Again { keys, anything: false };
                let made = again.structure(shape.inner, reader, visitor, bytes, kept);
                misses = if again.anything { 0 } else { misses + 1 };
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
        search.changed(partner.map(|partner| partner.index), index);
        if let Some(ends) = ends.as_deref_mut() {
            ends.push(reader.offset());
        }
        index += 1;
    }
    visitor.end_array(items).map_err(Stop::Visitor)
}
