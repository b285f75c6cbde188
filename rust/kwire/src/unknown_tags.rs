//! Unknown tags of structs, as they are kept and encoded.

use crate::encode::Encoded;
use crate::error::{EncodeError, EncodeKind};
use crate::plan::Struct;

/// Check the unknown tags of a struct and return their number: complete entries whose tags ascend and belong to no
/// declared field.
pub fn check_entries(plan: &Struct, raw: &[u8]) -> Encoded<usize> {
    let mut clash = None;
    let mut before = None;
    let mut count = 0;
    let mut entries = Entries(raw);
    for (tag, _) in entries.by_ref() {
        if before.is_some_and(|before| before >= tag) {
            return Err(malformed_tags());
        }
        if clash.is_none() && plan.tagged.binary_search_by_key(&tag, |tagged| tagged.tag).is_ok() {
            clash = Some(tag);
        }
        before = Some(tag);
        count += 1;
    }
    match (entries.0, clash) {
        ([], None) => Ok(count),
        ([], Some(tag)) => Err(tag_clash(format!("tag {tag} belongs to a declared field"))),
        _ => Err(malformed_tags()),
    }
}

/// Iterates over unknown tags: the tag and the whole entry of each. Ends before an incomplete entry.
pub(crate) struct Entries<'s>(pub(crate) &'s [u8]);

impl<'s> Iterator for Entries<'s> {
    type Item = (u32, &'s [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (tag, after_tag) = split_uvarint(self.0)?;
        let (size, content) = split_uvarint(after_tag)?;
        let rest = content.get(size as usize..)?;
        let (entry, _) = self.0.split_at_checked(self.0.len() - rest.len())?;
        self.0 = rest;
        Some((tag, entry))
    }
}

fn split_uvarint(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut value = 0u32;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        if index == 4 && *byte > 0x0f {
            break;
        }
        value |= u32::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            return Some((value, &bytes[index + 1..]));
        }
    }
    None
}

#[cold]
fn malformed_tags() -> Box<EncodeError> {
    in_unknown_tags(EncodeError::new(
        EncodeKind::WrongType,
        "expected complete entries with ascending tags",
    ))
}

#[cold]
pub(crate) fn tag_clash(reason: String) -> Box<EncodeError> {
    in_unknown_tags(EncodeError::new(EncodeKind::TagClash, reason))
}

#[cold]
pub(crate) fn in_unknown_tags(error: Box<EncodeError>) -> Box<EncodeError> {
    error.in_field(&"unknown_tags".into())
}
