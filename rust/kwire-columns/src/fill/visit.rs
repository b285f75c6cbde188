//! What the walker tells, and where it goes.
//!
//! Rules of this file: a place (`here`) says which column the next value belongs to; the walker announces every field
//! that is not in a run, so the place is always the value's own.

use std::convert::Infallible;

use kwire::decode::{Alike, Text, Visitor};
use kwire::plan::{Literal, Primitive, Struct};

use super::{BLOCK, Fill};
use crate::column::{Block, Data};
use crate::dictionary::signed;
use crate::layout::{Node, Slot};

impl<'a, 'l> Fill<'a, 'l> {
    /// The value of the place is not null.
    #[inline]
    fn valid(&mut self, column: usize) {
        if let Some(validity) = &mut self.columns[column].validity {
            validity.append_non_null();
        }
    }

    fn scalar(&mut self, value: &Literal) {
        if let Slot::Column(column) = self.here {
            self.valid(column);
            if let Data::Fixed(values) = &mut self.columns[column].data {
                values.push(value);
            }
        }
    }

    fn content(&mut self, bytes: &[u8]) {
        if let Slot::Column(column) = self.here {
            self.valid(column);
            match &mut self.columns[column].data {
                Data::Text(text) => text.push(bytes),
                Data::Keys(keys) => keys.push(bytes),
                _ => {}
            }
        }
    }

    /// Structs alike that cannot be taken at once.
    fn one_by_one(&mut self, plan: &'a Struct, node: &'l Node, bytes: &'a [u8], alike: &Alike) {
        for bytes in bytes.chunks_exact(alike.size()) {
            self.here = Slot::Path;
            let Ok(mut body) = self.begin_struct(plan);
            for (part, position) in node.parts.iter().enumerate() {
                let bytes = bytes.get(alike.place(part)).unwrap_or_default();
                if node.runs[*position] == usize::MAX {
                    self.int32s(&mut body, plan, *position, bytes);
                } else {
                    self.run(&mut body, plan, *position, bytes);
                }
            }
            let Ok(()) = self.end_struct(body, plan);
        }
    }

    /// The column of rows that are no structs.
    fn element(&self) -> usize {
        self.layout.element.unwrap_or_default()
    }
}

impl<'a, 'l> Visitor<'a> for Fill<'a, 'l> {
    type Value = ();
    type Struct = Option<&'l Node>;
    /// The place of its elements.
    type Array = Slot;
    type Error = Infallible;

    const RUNS: bool = true;
    const BLIND: bool = true;

    fn integer(&mut self, value: i64) -> Result<(), Infallible> {
        self.scalar(&Literal::Int(value));
        Ok(())
    }
    fn boolean(&mut self, value: bool) -> Result<(), Infallible> {
        self.scalar(&Literal::Bool(value));
        Ok(())
    }
    fn float(&mut self, value: f64) -> Result<(), Infallible> {
        self.scalar(&Literal::Float(value));
        Ok(())
    }
    fn uuid(&mut self, bytes: [u8; 16]) -> Result<(), Infallible> {
        self.scalar(&Literal::Uuid(bytes));
        Ok(())
    }
    fn string(&mut self, text: Text<'a>) -> Result<(), Infallible> {
        self.content(text.as_bytes());
        Ok(())
    }
    fn bytes(&mut self, bytes: &'a [u8]) -> Result<(), Infallible> {
        self.content(bytes);
        Ok(())
    }
    fn null(&mut self) -> Result<(), Infallible> {
        // No array on the way to the rows: no rows.
        if let Slot::Column(column) = self.here {
            self.push_null(column);
        }
        Ok(())
    }

    fn packed(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<(), Infallible> {
        match self.here {
            Slot::Rows => {
                self.units[self.layout.rows].count += bytes.len() / kind.size();
                let element = self.element();
                if let Data::Fixed(values) = &mut self.columns[element].data {
                    values.extend_from_packed(bytes);
                }
            }
            Slot::Column(column) => {
                self.valid(column);
                self.push_list(column, bytes);
            }
            Slot::Skip | Slot::Path => {}
        }
        Ok(())
    }

    #[inline(always)]
    fn run(&mut self, node: &mut Option<&'l Node>, _: &'a Struct, position: usize, bytes: &'a [u8]) {
        if let Some(run) = node.and_then(|node| node.runs.get(position)) {
            self.push_run(*run, bytes);
        }
    }

    #[inline(always)]
    fn int32s(&mut self, node: &mut Option<&'l Node>, _: &'a Struct, position: usize, bytes: &'a [u8]) {
        match node.and_then(|node| node.slots.get(position)) {
            Some(Slot::Column(column)) => {
                self.valid(*column);
                self.push_list(*column, bytes);
            }
            Some(Slot::Rows) => {
                self.here = Slot::Rows;
                let Ok(()) = self.packed(Primitive::Int32, bytes);
            }
            _ => {}
        }
    }

    #[inline]
    fn alike(&mut self, plan: &'a Struct, count: usize, bytes: &'a [u8], alike: &Alike) {
        let Some(Some(node)) = self.layout.nodes.get(plan.index) else {
            return;
        };
        if !node.in_blocks {
            return self.one_by_one(plan, node, bytes, alike);
        }
        if self.units[node.unit].loose {
            self.convert_loose(node.unit);
        }
        let unit = &mut self.units[node.unit];
        unit.node = plan.index;
        unit.count += count;
        unit.in_blocks += count;
        unit.blocks.push(Block {
            bytes,
            count,
            alike: *alike,
        });
        if unit.in_blocks >= BLOCK {
            self.convert_blocks(node.unit);
        }
    }

    #[inline]
    fn enter(&mut self, plan: &'a Struct, position: usize) -> bool {
        let node = self.layout.nodes.get(plan.index).and_then(Option::as_ref);
        self.here = node.map_or(Slot::Skip, |node| node.slots[position]);
        self.here != Slot::Skip
    }

    fn begin_array(&mut self, count: usize) -> Result<Slot, Infallible> {
        match self.here {
            Slot::Path | Slot::Skip => {}
            Slot::Rows => {
                self.units[self.layout.rows].count += count;
                self.here = Slot::Column(self.element());
            }
            Slot::Column(column) => {
                self.valid(column);
                // Empty ones among them have been told as lists of fixed-size elements.
                self.convert_lists(column);
                if let Data::List(list) = &mut self.columns[column].data {
                    let end = list.end() + count;
                    list.offsets.push(signed(end));
                    self.here = Slot::Column(list.child);
                }
            }
        }
        Ok(self.here)
    }
    #[inline(always)]
    fn item(&mut self, place: &mut Slot, _: usize, (): ()) {
        self.here = *place;
    }
    fn end_array(&mut self, _: Slot) -> Result<(), Infallible> {
        Ok(())
    }

    #[inline(always)]
    fn begin_struct(&mut self, plan: &'a Struct) -> Result<Option<&'l Node>, Infallible> {
        if let Slot::Column(column) = self.here {
            self.valid(column);
        }
        let node = self.layout.nodes.get(plan.index).and_then(Option::as_ref);
        if let Some(unit) = node.and_then(|node| self.units.get_mut(node.unit)) {
            unit.loose = true;
            if unit.in_blocks > 0 {
                self.convert_blocks(node.map_or(0, |node| node.unit));
            }
        }
        Ok(node)
    }
    fn field(&mut self, _: &mut Option<&'l Node>, _: &'a Struct, _: usize, (): ()) {}
    fn tagged_field(&mut self, _: &mut Option<&'l Node>, _: &'a Struct, _: usize, (): ()) {}
    fn unknown_tags(&mut self, _: &mut Option<&'l Node>, _: &'a Struct, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
    #[inline(always)]
    fn end_struct(&mut self, node: Option<&'l Node>, _: &'a Struct) -> Result<(), Infallible> {
        let Some(node) = node else {
            return Ok(());
        };
        if node.level {
            let rows = self.rows();
            self.units[node.unit].ends.push(rows);
        }
        self.units[node.unit].count += 1;
        for column in &node.tagged {
            if self.columns[*column].len(&self.units) < self.units[node.unit].count {
                self.push_default(*column);
            }
        }
        Ok(())
    }
}
