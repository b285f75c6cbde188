//! Decoding again: what stood in the frame before becomes what it became then.
//!
//! Rules of this file. Nothing is believed that was not compared byte by byte: neither that a field stands where it
//! stood, nor that an element is as long as it was. What a value becomes depends on its bytes alone, and no encoding of
//! one begins another; so when the bytes here begin with those that a value was built from, this is that value again,
//! and what bounds it met then it meets now, being all there. Whatever is not found that way is decoded as ever, by the
//! same walker, so that results and errors are those of a decoding without memory.
//!
//! Elements of arrays are looked for where the last one was found, and by key when they are not there: elements that
//! were added, removed or put elsewhere cost one look-up each. Inside an element that has changed the same is done with
//! its parts. Only the ends of the outermost elements are kept from frame to frame; those further in are found again by
//! walking the old bytes, which costs less than keeping them.

use std::collections::HashMap;

use crate::decode::{Visitor, believe, end_of_struct, fixed, item, pass_over_struct, size_of_value, structure, value};
use crate::error::{DecodeKind, Stop};
use crate::plan::{Length, Plan, Primitive, StepKind, Struct, Type};
use crate::reader::Reader;

/// A visitor whose values can be taken apart, and used again.
pub trait Remembering<'a>: Visitor<'a> {
    /// A value built earlier, or a part of one.
    type Kept: Copy;

    /// Whether it is a struct that was built by `plan`, whose parts can be taken.
    fn is_struct(&self, kept: Self::Kept, plan: &'a Struct) -> bool;
    /// Whether it is an array of so many elements.
    fn is_array(&self, kept: Self::Kept, count: usize) -> bool;
    /// A field of a struct, of those that stand on the wire in every one; None if it is not there.
    fn part(&self, kept: Self::Kept, plan: &'a Struct, position: usize) -> Option<Self::Kept>;
    /// An element of an array; None if it is not there.
    fn element(&self, kept: Self::Kept, index: usize) -> Option<Self::Kept>;
    /// The element of this index, if there is one, will be wanted soon.
    #[inline(always)]
    fn expect(&self, _kept: Self::Kept, _index: usize) {}
    /// The same value, as a new one would come.
    fn again(&mut self, kept: Self::Kept) -> Self::Value;
}

/// By which fields the elements of an array are told apart: for each struct of a plan, the first and the last, which
/// stand side by side.
pub struct Keys(Vec<Option<Key>>);

/// Where the key of a struct stands.
#[derive(Clone, Copy)]
enum Key {
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

    fn of(&self, body: &Struct) -> Option<Key> {
        self.0.get(body.index).copied().flatten()
    }
}

fn side_by_side<N: AsRef<str>>(body: &Struct, names: &[N]) -> Option<Key> {
    let places = names.iter().filter_map(|name| {
        let name = name.as_ref();
        body.fields.iter().position(|field| &*field.name == name)
    });
    let mut places: Vec<_> = places.collect();
    places.sort_unstable();
    let (first, last) = (*places.first()?, *places.last()?);
    if last - first + 1 != places.len() {
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

/// Where the outermost parts of a message stand: fields of its body, and elements of its arrays of structs.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Where each field begins, and the last one ends.
    fields: Vec<usize>,
    /// For each field: where each of its elements begins, and the last one ends; nothing unless it is such an array.
    elements: Vec<Vec<usize>>,
}

impl Places {
    /// Forget all, and keep the memory.
    fn clear(&mut self, fields: usize) {
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
pub struct Found {
    /// Fields that differ, by position, ascending.
    pub fields: Vec<usize>,
    /// Of those, the arrays of structs, and what differs in them.
    pub arrays: Vec<(usize, FoundArray)>,
    /// Whether the tag section differs.
    pub tags: bool,
}

/// What is different in an array of structs. All are indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundArray {
    /// New elements, in the array now.
    pub added: Vec<usize>,
    /// Elements that changed: in the array before, and now.
    pub changed: Vec<(usize, usize)>,
    /// Which elements of the array before are in this one, as they were or changed. Whoever is not was removed.
    pub stayed: Vec<bool>,
    /// Whether those that stayed come in another order.
    pub moved: bool,
}

impl FoundArray {
    fn is_nothing(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && !self.moved && self.stayed.iter().all(|stayed| *stayed)
    }
}

/// The frame before: its bytes, where its parts stood, and what it became.
pub struct Before<'o, K> {
    /// All of it.
    pub bytes: &'o [u8],
    /// Where its parts stood.
    pub places: &'o Places,
    /// What it became.
    pub kept: K,
}

/// Walk a whole message. `places` and `found` are filled, and mean something only when that succeeds.
pub fn decode_again<'a, V: Remembering<'a>>(
    plan: &'a Plan,
    keys: &Keys,
    input: &'a [u8],
    visitor: &mut V,
    before: Option<&Before<'_, V::Kept>>,
    places: &mut Places,
    found: &mut Found,
) -> Result<V::Value, Stop<V::Error>> {
    let root = &plan.root;
    let before = before.filter(|before| visitor.is_struct(before.kept, root));
    places.clear(root.fields.len());
    *found = Found::default();
    let mut reader = Reader::new(input);
    let mut body = visitor.begin_struct(root).map_err(Stop::Visitor)?;
    for (position, field) in root.fields.iter().enumerate() {
        places.fields.push(reader.offset());
        let old = before.and_then(|before| OldField::find(before, visitor, root, position));
        let done = if let Type::Array(length, element) = &field.kind
            && let Type::Struct(inner) = &element.kind
        {
            let mut differs = FoundArray::default();
            let value = outermost(
                Shape {
                    length: *length,
                    smallest: element.smallest,
                    inner,
                },
                keys,
                &mut reader,
                visitor,
                old,
                &mut places.elements[position],
                &mut differs,
            );
            let same_size = old.is_none_or(|old| old.elements.len() == places.elements[position].len());
            if !differs.is_nothing() || !same_size {
                found.fields.push(position);
                found.arrays.push((position, differs));
            }
            value
        } else if let Some(old) = old.filter(|old| reader.rest().starts_with(old.bytes)) {
            reader.skip(old.bytes.len());
            Ok(visitor.again(old.kept))
        } else {
            found.fields.push(position);
            value(&field.kind, &mut reader, visitor)
        };
        match done {
            Ok(made) => visitor.field(&mut body, root, position, made),
            Err(stop) => return Err(stop.in_field(&field.name)),
        }
    }
    let end = reader.offset();
    places.fields.push(end);
    body = end_of_struct(root, &mut reader, visitor, body)?;
    found.tags = before.is_none_or(|before| {
        let old = before.places.fields.last().and_then(|end| before.bytes.get(*end..));
        old != input.get(end..reader.offset())
    });
    if reader.left() > 0 {
        return Err(Stop::sized(
            DecodeKind::TrailingBytes,
            reader.offset(),
            0,
            reader.left(),
        ));
    }
    visitor.end_struct(body, root).map_err(Stop::Visitor)
}

/// A field of the message before.
#[derive(Clone, Copy)]
struct OldField<'o, K> {
    /// Its bytes.
    bytes: &'o [u8],
    /// Where it began.
    start: usize,
    /// Where its elements begin, counted from the start of that frame.
    elements: &'o [usize],
    /// All of that frame.
    frame: &'o [u8],
    kept: K,
}

impl<'o, K: Copy> OldField<'o, K> {
    fn find<'a, V: Remembering<'a, Kept = K>>(
        before: &Before<'o, K>,
        visitor: &V,
        root: &'a Struct,
        position: usize,
    ) -> Option<Self> {
        let start = *before.places.fields.get(position)?;
        let end = *before.places.fields.get(position + 1)?;
        Some(Self {
            bytes: before.bytes.get(start..end)?,
            start,
            elements: before.places.elements.get(position)?,
            frame: before.bytes,
            kept: visitor.part(before.kept, root, position)?,
        })
    }
}

/// What an array looks like on the wire.
#[derive(Clone, Copy)]
struct Shape<'a> {
    length: Length,
    smallest: usize,
    inner: &'a Struct,
}

/// An array in the body of the message.
fn outermost<'a, V: Remembering<'a>>(
    shape: Shape<'a>,
    keys: &Keys,
    reader: &mut Reader<'a>,
    visitor: &mut V,
    old: Option<OldField<'_, V::Kept>>,
    ends: &mut Vec<usize>,
    found: &mut FoundArray,
) -> Result<V::Value, Stop<V::Error>> {
    if let Some(old) = old
        && reader.rest().starts_with(old.bytes)
    {
        let start = reader.offset();
        ends.extend(old.elements.iter().map(|end| end - old.start + start));
        reader.skip(old.bytes.len());
        return Ok(visitor.again(old.kept));
    }
    let old = old.and_then(|old| OldArray::new(old.frame, old.elements, old.kept, visitor));
    array_again(shape, keys, reader, visitor, old.as_ref(), Some(ends), found)
}

/// The elements of an array of the frame before.
struct OldArray<'o, K> {
    bytes: &'o [u8],
    /// Where each begins in `bytes`, and the last one ends.
    ends: &'o [usize],
    kept: K,
}

impl<'o, K: Copy> OldArray<'o, K> {
    /// None for one that was null or empty.
    fn new<'a, V: Remembering<'a, Kept = K>>(bytes: &'o [u8], ends: &'o [usize], kept: K, visitor: &V) -> Option<Self> {
        (ends.len() > 1 && visitor.is_array(kept, ends.len() - 1)).then_some(Self { bytes, ends, kept })
    }

    fn count(&self) -> usize {
        self.ends.len() - 1
    }

    fn element(&self, index: usize) -> &'o [u8] {
        self.bytes
            .get(self.ends[index]..self.ends[index + 1])
            .unwrap_or_default()
    }

    /// All elements from this one on.
    fn from(&self, index: usize) -> &'o [u8] {
        self.bytes
            .get(self.ends[index]..self.ends[self.count()])
            .unwrap_or_default()
    }
}

/// Elements that changed and in which nothing was found again, one after the other, after which none is looked into
/// until one is found whole.
const PATIENCE: usize = 8;
/// The same for the parts of an element.
const PATIENCE_INSIDE: usize = 4;

/// So far ahead elements are announced that are likely to be used again.
const AHEAD: usize = 12;

fn array_again<'a, V: Remembering<'a>>(
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

/// An element of the array before that this one seems to be.
#[derive(Clone, Copy)]
struct Partner {
    index: usize,
    /// Whether it has not changed.
    whole: bool,
}

/// Where to look for the next element in the array before.
struct Search<'o, 's, K> {
    old: Option<&'s OldArray<'o, K>>,
    key: Option<Key>,
    /// Where the next one is expected.
    at: usize,
    /// By key, the first element that has it; made when one is not where it is expected.
    by_key: Option<HashMap<&'o [u8], usize>>,
    last: Option<usize>,
    found: &'s mut FoundArray,
}

impl<'o, 's, K: Copy> Search<'o, 's, K> {
    fn new(old: Option<&'s OldArray<'o, K>>, key: Option<Key>, found: &'s mut FoundArray) -> Self {
        found.stayed = vec![false; old.map_or(0, OldArray::count)];
        Self {
            old,
            key,
            at: 0,
            by_key: None,
            last: None,
            found,
        }
    }

    fn is_free(&self, index: usize) -> bool {
        self.found.stayed.get(index) == Some(&false)
    }

    /// The elements from `at` on with which `rest` begins, at most so many.
    fn stretch(&self, rest: &[u8], most: usize) -> std::ops::Range<usize> {
        let nothing = self.at..self.at;
        let Some(old) = self.old else { return nothing };
        if !self.is_free(self.at) {
            return nothing;
        }
        let common = common_prefix(rest, old.from(self.at));
        let start = old.ends[self.at];
        let mut end = self.at;
        while end - self.at < most && self.is_free(end) && old.ends[end + 1] - start <= common {
            end += 1;
        }
        self.at..end
    }

    fn stayed(&mut self, same: std::ops::Range<usize>) {
        if same.is_empty() {
            return;
        }
        self.goes_on_at(same.start);
        self.last = same.clone().last();
        self.at = same.end;
        if let Some(stayed) = self.found.stayed.get_mut(same) {
            stayed.fill(true);
        }
    }

    fn goes_on_at(&mut self, index: usize) {
        self.found.moved |= self.last.is_some_and(|last| index < last);
    }

    /// Which element of the array before this one is, changed or not.
    fn partner(&mut self, plan: &Struct, rest: &[u8]) -> Option<Partner> {
        let old = self.old?;
        let Some(key) = self.key else {
            // Without a key, the place is all that there is.
            return self.is_free(self.at).then_some(Partner {
                index: self.at,
                whole: false,
            });
        };
        let wanted = key_of(plan, key, rest)?;
        if self.is_free(self.at) && key_of(plan, key, old.element(self.at)) == Some(wanted) {
            return Some(Partner {
                index: self.at,
                whole: false,
            });
        }
        let by_key = self.by_key.get_or_insert_with(|| {
            let mut by_key = HashMap::with_capacity(old.count());
            for index in 0..old.count() {
                if let Some(key) = key_of(plan, key, old.element(index)) {
                    by_key.entry(key).or_insert(index);
                }
            }
            by_key
        });
        let index = *by_key.get(wanted)?;
        if !self.is_free(index) {
            return None;
        }
        let whole = rest.starts_with(old.element(index));
        if whole {
            self.at = index;
        }
        Some(Partner { index, whole })
    }

    fn old_element<'a, V: Remembering<'a, Kept = K>>(
        &self,
        index: usize,
        plan: &'a Struct,
        visitor: &V,
    ) -> Option<(&'o [u8], K)> {
        let old = self.old?;
        let kept = visitor.element(old.kept, index)?;
        visitor.is_struct(kept, plan).then(|| (old.element(index), kept))
    }

    fn changed(&mut self, partner: Option<usize>, index: usize) {
        let Some(partner) = partner else {
            self.found.added.push(index);
            return;
        };
        self.goes_on_at(partner);
        self.found.changed.push((partner, index));
        self.found.stayed[partner] = true;
        self.last = Some(partner);
        self.at = partner + 1;
    }
}

/// The bytes of the key of a struct with which `rest` begins.
#[inline]
fn key_of<'b>(plan: &Struct, key: Key, rest: &'b [u8]) -> Option<&'b [u8]> {
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

/// Goes into an element that has changed.
struct Again<'k> {
    keys: &'k Keys,
    /// Whether anything in it was found again that was worth looking for.
    anything: bool,
}

impl Again<'_> {
    /// A struct of which the bytes before are known.
    fn structure<'a, V: Remembering<'a>>(
        &mut self,
        plan: &'a Struct,
        reader: &mut Reader<'a>,
        visitor: &mut V,
        old: &[u8],
        kept: V::Kept,
    ) -> Result<V::Value, Stop<V::Error>> {
        let mut body = visitor.begin_struct(plan).map_err(Stop::Visitor)?;
        let mut old = Reader::new(old);
        for (position, step) in plan.steps.iter().enumerate() {
            let field = &plan.fields[position];
            let done = if let StepKind::Fixed(kind) = step.kind
                && kind != Primitive::Uuid
            {
                old.skip(kind.size());
                fixed(kind, reader, visitor, |_, value| value)
            } else {
                self.field(plan, position, reader, visitor, &mut old, kept)
            };
            match done {
                Ok(made) => visitor.field(&mut body, plan, position, made),
                Err(stop) => return Err(stop.in_field(&field.name)),
            }
        }
        body = end_of_struct(plan, reader, visitor, body)?;
        visitor.end_struct(body, plan).map_err(Stop::Visitor)
    }

    fn field<'a, V: Remembering<'a>>(
        &mut self,
        plan: &'a Struct,
        position: usize,
        reader: &mut Reader<'a>,
        visitor: &mut V,
        old: &mut Reader<'_>,
        kept: V::Kept,
    ) -> Result<V::Value, Stop<V::Error>> {
        let kind = &plan.fields[position].kind;
        let before = old.rest();
        let part = visitor.part(kept, plan, position);
        if let Type::Array(length, element) = kind
            && let Type::Struct(inner) = &element.kind
            && let Some(part) = part
            && let Some(ends) = ends_of(*length, inner, before)
        {
            let size = ends.last().copied().unwrap_or_default();
            old.skip(size);
            if before.get(..size).is_some_and(|bytes| reader.rest().starts_with(bytes)) {
                reader.skip(size);
                return Ok(visitor.again(part));
            }
            let shape = Shape {
                length: *length,
                smallest: element.smallest,
                inner,
            };
            let elements = OldArray::new(before, &ends, part, visitor);
            let mut found = FoundArray::default();
            let made = array_again(shape, self.keys, reader, visitor, elements.as_ref(), None, &mut found);
            self.anything |= found.stayed.iter().filter(|stayed| **stayed).count() > found.changed.len();
            return made;
        }
        // The bytes before were good then, so they have a size now; had they none, nothing would be found.
        let size = size_of_value(kind, before).unwrap_or_default();
        old.skip(size);
        match (part, before.get(..size)) {
            (Some(part), Some(bytes)) if size > 0 && reader.rest().starts_with(bytes) => {
                reader.skip(size);
                Ok(visitor.again(part))
            }
            _ => value(kind, reader, visitor),
        }
    }
}

/// Where the structs of an array begin and the last one ends, counted from the array's first byte.
fn ends_of<'x>(length: Length, inner: &'x Struct, array: &'x [u8]) -> Option<Vec<usize>> {
    let mut reader = Reader::new(array);
    let count = reader
        .length::<()>(length.compact, length.nullable, true)
        .ok()?
        .unwrap_or(0);
    let mut ends = Vec::with_capacity(count.min(array.len()) + 1);
    ends.push(reader.offset());
    for _ in 0..count {
        pass_over_struct(inner, &mut reader)?;
        ends.push(reader.offset());
    }
    Some(ends)
}

/// With how many bytes both begin.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 512;
    const WORD: usize = 8;
    let shorter = a.len().min(b.len());
    let mut length = 0;
    while shorter - length >= BLOCK && a[length..length + BLOCK] == b[length..length + BLOCK] {
        length += BLOCK;
    }
    while shorter - length >= WORD && a[length..length + WORD] == b[length..length + WORD] {
        length += WORD;
    }
    while length < shorter && a[length] == b[length] {
        length += 1;
    }
    length
}
