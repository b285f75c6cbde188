//! The tag section of an indexed body. It has been checked, so it is only searched here.

use super::{Content, Index, Part};
use crate::plan::Struct;
use crate::reader::Reader;
use crate::sink::put_uvarint;
use std::convert::Infallible;

impl Index {
    /// Return a tagged field by its [position](crate::plan::Field::position). `None` if its tag is missing, so that the
    /// field has its default.
    pub fn tagged<'a>(&self, plan: &'a Struct, input: &'a [u8], position: usize) -> Option<Part<'a>> {
        let tagged = plan.tagged.iter().find(|tagged| tagged.field.position == position)?;
        let (_, content) = self.tags(plan, input).into_iter().find(|(tag, _)| *tag == tagged.tag)?;
        Some(Part(content, Content::Value(&tagged.field.kind)))
    }

    /// Return the tags that the plan does not declare: tag, size, content, one after the other, in shortest form.
    pub fn unknown_tags(&self, plan: &Struct, input: &[u8]) -> Vec<u8> {
        let mut unknown = Vec::new();
        for (tag, content) in self.tags(plan, input) {
            let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
            if plan.tagged.binary_search_by_key(&tag, |tagged| tagged.tag).is_err() {
                put_uvarint(&mut unknown, tag);
                put_uvarint(&mut unknown, size);
                unknown.extend_from_slice(content);
            }
        }
        unknown
    }

    /// Return the tags and their contents.
    fn tags<'a>(&self, plan: &Struct, input: &'a [u8]) -> Vec<(u32, &'a [u8])> {
        let mut found = Vec::new();
        if plan.flexible {
            let mut reader = Reader::new(self.tag_section(input));
            let count = reader.uvarint::<Infallible>().unwrap_or_default();
            for _ in 0..count {
                let Ok(tag) = reader.uvarint::<Infallible>() else { break };
                let Ok(size) = reader.uvarint::<Infallible>() else {
                    break;
                };
                let Some(content) = reader.try_take(size as usize) else {
                    break;
                };
                found.push((tag, content));
            }
        }
        found
    }
}
