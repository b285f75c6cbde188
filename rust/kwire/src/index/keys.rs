//! Look-up of elements of an array by their key, without decoding them.

use super::{Index, element_of};
use crate::decode::size_of_value;
use crate::plan::{Primitive, Struct, Type};
use crate::reader::Reader;
use std::convert::Infallible;

/// The fields that identify the elements of an array of structs.
#[derive(Clone, Debug)]
pub struct KeyFields {
    /// The position of each field in the struct, ascending, and the index of its part in a key.
    fields: Vec<(usize, usize)>,
}

impl KeyFields {
    /// Return the key fields of the elements of an array, given their names.
    ///
    /// `None` if the field is not an array of structs, if there are no names, or if a named field is not a plain integer,
    /// uuid, or string. Values of these types have one encoding, apart from the length of a string.
    pub fn new<N: AsRef<str>>(plan: &Struct, position: usize, names: &[N]) -> Option<Self> {
        let body = element_of(plan, position)?;
        let find = |(part, name): (usize, &N)| {
            let found = body.fields.iter().position(|field| &*field.name == name.as_ref())?;
            comparable(&body.fields.get(found)?.kind).then_some((found, part))
        };
        let mut fields = names.iter().enumerate().map(find).collect::<Option<Vec<_>>>()?;
        fields.sort_unstable();
        (!fields.is_empty()).then_some(Self { fields })
    }

    /// Return the contents of the key of an element, in the order of the names. `None` behind the last element.
    pub fn of_element<'b>(
        &self,
        index: &Index,
        plan: &Struct,
        input: &'b [u8],
        position: usize,
        element: usize,
    ) -> Option<Vec<Option<&'b [u8]>>> {
        let mut parts = vec![None; self.fields.len()];
        let read = read_key(index, plan, input, position, self, element, |part, content| {
            parts.get_mut(part).is_some_and(|place| {
                *place = content;
                true
            })
        });
        read?.then_some(parts)
    }

    /// Pass the parts of the key of the struct at the start of `rest` to `take`, in the order of the fields, until it
    /// returns false. Returns whether it never did.
    #[inline]
    fn all<'b>(
        &self,
        body: &Struct,
        mut rest: &'b [u8],
        mut take: impl FnMut(usize, Option<&'b [u8]>) -> bool,
    ) -> Option<bool> {
        let mut wanted = self.fields.iter().peekable();
        for (position, field) in body.fields.iter().enumerate() {
            let Some((next, _)) = wanted.peek() else { break };
            let (content, after) = split(&field.kind, rest)?;
            if *next == position
                && let Some((_, part)) = wanted.next()
                && !take(*part, content)
            {
                return Some(false);
            }
            rest = after;
        }
        Some(true)
    }
}

/// Return whether equal values have equal contents. A bool has 255 encodings of true, and doubles compare otherwise.
fn comparable(kind: &Type) -> bool {
    match kind {
        Type::Primitive(kind) => !matches!(kind, Primitive::Bool | Primitive::Float64),
        Type::String(_) => true,
        _ => false,
    }
}

/// Split off the value at the start of `rest`. Of a string, the content is without the length, which can have several
/// encodings, and `None` for null.
#[inline]
fn split<'b>(kind: &Type, rest: &'b [u8]) -> Option<(Option<&'b [u8]>, &'b [u8])> {
    match kind {
        Type::Primitive(kind) => {
            let (content, after) = rest.split_at_checked(kind.size())?;
            Some((Some(content), after))
        }
        Type::String(length) => {
            let mut reader = Reader::new(rest);
            let size = reader
                .length::<Infallible>(length.compact, length.nullable, false)
                .ok()?;
            let content = match size {
                Some(size) => Some(reader.try_take(size)?),
                None => None,
            };
            Some((content, reader.rest()))
        }
        kind => {
            let (content, after) = rest.split_at_checked(size_of_value(kind, rest)?)?;
            Some((Some(content), after))
        }
    }
}

/// A hash table of the elements of an array by their keys.
///
/// Elements with the same hash are chained, so creating the table takes time proportional to the number of elements,
/// and a look-up at most as long as a search of the array, whatever the bytes.
#[derive(Clone, Debug, Default)]
pub struct KeyTable {
    /// For each hash, the first element, plus 1; 0 if there is none.
    first: Vec<usize>,
    /// For each element, the next one with the same hash, plus 1.
    next: Vec<usize>,
}

impl KeyTable {
    /// Create the table of an array. `None` if memory is short.
    pub fn new(index: &Index, plan: &Struct, input: &[u8], position: usize, keys: &KeyFields) -> Option<Self> {
        let count = index.count(position).unwrap_or(0);
        let mut table = Self::default();
        table.first.try_reserve_exact(count.next_power_of_two()).ok()?;
        table.next.try_reserve_exact(count).ok()?;
        table.first.resize(count.next_power_of_two(), 0);
        table.next.resize(count, 0);
        // From the last element to the first one, so that each chain has the first one first.
        for element in (0..count).rev() {
            let mut hash = Hash::default();
            let read = read_key(index, plan, input, position, keys, element, |_, part| {
                hash.mix_part(part)
            });
            let place = read.and_then(|_| table.place(hash));
            if let (Some(place), Some(next)) = (place, table.next.get_mut(element))
                && let Some(first) = table.first.get_mut(place)
            {
                *next = *first;
                *first = element + 1;
            }
        }
        Some(table)
    }

    /// Return the first element with a key, given the contents of its parts: the bytes of integers and uuids, the UTF-8
    /// of strings, `None` for null.
    pub fn find(
        &self,
        index: &Index,
        plan: &Struct,
        input: &[u8],
        position: usize,
        keys: &KeyFields,
        wanted: &[Option<&[u8]>],
    ) -> Option<usize> {
        let mut hash = Hash::default();
        for (_, part) in &keys.fields {
            hash.mix_part(*wanted.get(*part)?);
        }
        let mut next = *self.first.get(self.place(hash)?)?;
        while let Some(element) = next.checked_sub(1) {
            let same = |part, content| wanted.get(part) == Some(&content);
            if read_key(index, plan, input, position, keys, element, same)? {
                return Some(element);
            }
            next = *self.next.get(element)?;
        }
        None
    }

    /// Return the size of the allocations in bytes.
    pub fn size(&self) -> usize {
        (self.first.capacity() + self.next.capacity()) * size_of::<usize>()
    }

    #[allow(clippy::cast_possible_truncation, reason = "a part of a hash is a hash")]
    fn place(&self, hash: Hash) -> Option<usize> {
        Some((hash.0 >> 32) as usize & self.first.len().checked_sub(1)?)
    }
}

/// Pass the parts of the key of an element to `take`, like `KeyFields::all`.
#[inline]
fn read_key<'b>(
    index: &Index,
    plan: &Struct,
    input: &'b [u8],
    position: usize,
    keys: &KeyFields,
    element: usize,
    take: impl FnMut(usize, Option<&'b [u8]>) -> bool,
) -> Option<bool> {
    let bytes = input.get(index.range(position, &(element..element + 1))?)?;
    keys.all(element_of(plan, position)?, bytes, take)
}

/// The hash of a key.
#[derive(Clone, Copy)]
struct Hash(u64);

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Default for Hash {
    fn default() -> Self {
        Self(FACTOR)
    }
}

impl Hash {
    fn mix(&mut self, word: u64) {
        let product = (u128::from(self.0 ^ word) * u128::from(FACTOR)).to_le_bytes();
        let (halves, _) = product.as_chunks::<8>();
        self.0 = halves.iter().fold(0, |folded, half| folded ^ u64::from_le_bytes(*half));
    }

    /// Add a part of a key, eight bytes at a time. Returns true, to continue with the next part.
    #[inline]
    fn mix_part(&mut self, part: Option<&[u8]>) -> bool {
        let Some(bytes) = part else {
            self.mix(u64::MAX);
            return true;
        };
        self.mix(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.mix(rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
        true
    }
}
