//! The visitor that fills columns.
//!
//! `target` is the column of the next value. The decoder calls `enter` before every field that is not part of a run, so
//! the target always belongs to the current field.

use kwire::decode::{Matcher, Text, UniformLayout, Visitor};
use kwire::plan::{Literal, Primitive, Struct};

use super::{BatchBuilder, STRUCTS};
use crate::column::{Block, Data};
use crate::error::Exceeded;
use crate::layout::{StructLayout, Target};
use crate::size::bits;

impl<'a, 'l> BatchBuilder<'a, 'l, '_> {
    /// Record that a value is not null.
    #[inline]
    fn valid(&mut self, column: usize) {
        if let Some(validity) = &mut self.columns[column].validity {
            validity.append_non_null();
        }
    }

    fn scalar(&mut self, value: &Literal) {
        if let Target::Column(column) = self.target {
            self.valid(column);
            if let Data::Fixed(values) = &mut self.columns[column].data {
                values.push(value);
            }
        }
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Exceeded> {
        if let Target::Column(column) = self.target {
            self.valid(column);
            match &mut self.columns[column].data {
                Data::Text(text) => {
                    self.budget.cover(bits(bytes.len()))?;
                    text.push(bytes);
                }
                Data::Keys(keys) => keys.push(bytes, &mut self.budget)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Add structs of uniform layout that cannot be taken as a block.
    fn push_each(&mut self, plan: &'a Struct, node: &'l StructLayout, bytes: &'a [u8], layout: &UniformLayout) {
        for bytes in bytes.chunks_exact(layout.size()) {
            self.target = Target::Path(node.group);
            let mut body = self.start(plan);
            for (part, position) in node.parts.iter().enumerate() {
                let bytes = bytes.get(layout.range(part)).unwrap_or_default();
                if node.runs[*position] == usize::MAX {
                    self.int32s(&mut body, plan, *position, bytes);
                } else {
                    self.run(&mut body, plan, *position, bytes);
                }
            }
            self.finish(body);
        }
    }

    #[inline(always)]
    fn start(&mut self, plan: &'a Struct) -> Option<&'l StructLayout> {
        if let Target::Column(column) = self.target {
            self.valid(column);
        }
        let node = self.layout.nodes.get(plan.index).and_then(Option::as_ref);
        if let Some(group) = node.and_then(|node| self.groups.get_mut(node.group)) {
            group.has_pending = true;
            if group.in_blocks > 0 {
                self.convert_blocks(node.map_or(0, |node| node.group));
            }
        }
        node
    }

    #[inline(always)]
    fn finish(&mut self, node: Option<&'l StructLayout>) {
        let Some(node) = node else {
            return;
        };
        if node.level {
            let rows = self.rows();
            self.groups[node.group].ends.push(rows);
        }
        self.groups[node.group].count += 1;
        for column in &node.tagged {
            if self.column_len(*column) < self.groups[node.group].count {
                self.push_default(*column);
            }
        }
    }

    fn push_packed(&mut self, kind: Primitive, bytes: &'a [u8]) {
        match self.target {
            Target::Rows => {
                self.groups[self.layout.rows].count += bytes.len() / kind.size();
                let element = self.element();
                if let Data::Fixed(values) = &mut self.columns[element].data {
                    values.extend_from_packed(bytes);
                }
            }
            Target::Column(column) => {
                self.valid(column);
                self.push_list(column, bytes);
            }
            Target::Skip | Target::Path(_) => {}
        }
    }

    /// Return the column of rows that are not structs.
    fn element(&self) -> usize {
        self.layout.element.unwrap_or_default()
    }

    /// Return the number of values in a column, `usize::MAX` for a constant one.
    fn column_len(&self, column: usize) -> usize {
        match &self.columns[column].data {
            Data::Constant => usize::MAX,
            Data::Fixed(values) => values.len(),
            Data::Text(text) => text.len(),
            Data::Keys(keys) => keys.keys.len(),
            Data::List(list) => list.len() + list.pending.len(),
            Data::Struct(group) => self.groups[*group].count,
        }
    }
}

impl<'a, 'l> Visitor<'a> for BatchBuilder<'a, 'l, '_> {
    type Value = ();
    type Struct = Option<&'l StructLayout>;
    /// The target of its elements.
    type Array = Target;
    type Error = Exceeded;

    const RUNS: bool = true;
    const DISCARDS: bool = true;

    fn integer(&mut self, value: i64) -> Result<(), Exceeded> {
        self.scalar(&Literal::Int(value));
        Ok(())
    }
    fn boolean(&mut self, value: bool) -> Result<(), Exceeded> {
        self.scalar(&Literal::Bool(value));
        Ok(())
    }
    fn float(&mut self, value: f64) -> Result<(), Exceeded> {
        self.scalar(&Literal::Float(value));
        Ok(())
    }
    fn uuid(&mut self, bytes: [u8; 16]) -> Result<(), Exceeded> {
        self.scalar(&Literal::Uuid(bytes));
        Ok(())
    }
    fn string(&mut self, text: Text<'a>) -> Result<(), Exceeded> {
        self.content(text.as_bytes())
    }
    fn bytes(&mut self, bytes: &'a [u8]) -> Result<(), Exceeded> {
        self.content(bytes)
    }
    fn null(&mut self) -> Result<(), Exceeded> {
        // A null array on the path to the rows has no rows.
        if let Target::Column(column) = self.target {
            self.push_null(column);
        }
        Ok(())
    }

    fn packed(&mut self, kind: Primitive, bytes: &'a [u8]) -> Result<(), Exceeded> {
        self.push_packed(kind, bytes);
        Ok(())
    }

    #[inline(always)]
    fn run(&mut self, node: &mut Option<&'l StructLayout>, _: &'a Struct, position: usize, bytes: &'a [u8]) {
        if let Some(run) = node.and_then(|node| node.runs.get(position)) {
            self.push_run(*run, bytes);
        }
    }

    #[inline(always)]
    fn int32s(&mut self, node: &mut Option<&'l StructLayout>, _: &'a Struct, position: usize, bytes: &'a [u8]) {
        match node.and_then(|node| node.targets.get(position)) {
            Some(Target::Column(column)) => {
                self.valid(*column);
                self.push_list(*column, bytes);
            }
            Some(Target::Rows) => {
                self.target = Target::Rows;
                self.push_packed(Primitive::Int32, bytes);
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn last_layout(&mut self, plan: &'a Struct) -> Option<&mut Option<Matcher>> {
        Some(self.last_layout.of(plan))
    }

    #[inline]
    fn uniform_structs(&mut self, plan: &'a Struct, count: usize, bytes: &'a [u8], layout: &UniformLayout) {
        let Some(Some(node)) = self.layout.nodes.get(plan.index) else {
            return;
        };
        if !node.in_blocks {
            return self.push_each(plan, node, bytes, layout);
        }
        if self.groups[node.group].has_pending {
            self.convert_pending(node.group);
        }
        let group = &mut self.groups[node.group];
        group.node = plan.index;
        group.count += count;
        group.in_blocks += count;
        group.blocks.push(Block {
            bytes,
            count,
            layout: *layout,
        });
        if group.in_blocks >= STRUCTS {
            self.convert_blocks(node.group);
        }
    }

    #[inline]
    fn enter(&mut self, plan: &'a Struct, position: usize) -> bool {
        let node = self.layout.nodes.get(plan.index).and_then(Option::as_ref);
        self.target = node.map_or(Target::Skip, |node| node.targets[position]);
        self.target != Target::Skip
    }

    fn begin_array(&mut self, count: usize) -> Result<Target, Exceeded> {
        match self.target {
            Target::Path(group) if group == self.layout.rows => self.budget.charge(count, self.sizes.row)?,
            // The structs of a level are charged one by one.
            Target::Skip | Target::Path(_) => {}
            Target::Rows => {
                self.budget.charge(count, self.sizes.row)?;
                self.groups[self.layout.rows].count += count;
                self.target = Target::Column(self.element());
            }
            Target::Column(column) => {
                self.valid(column);
                // Empty lists are pending like lists of fixed-size elements.
                self.convert_lists(column);
                if let Data::List(list) = &mut self.columns[column].data {
                    list.offsets.push(count);
                    self.target = Target::Column(list.child);
                    self.budget.charge(count, self.sizes.columns[list.child])?;
                }
            }
        }
        Ok(self.target)
    }
    #[inline(always)]
    fn item(&mut self, place: &mut Target, _: usize, (): ()) {
        self.target = *place;
    }
    fn end_array(&mut self, _: Target) -> Result<(), Exceeded> {
        Ok(())
    }

    #[inline(always)]
    fn begin_struct(&mut self, plan: &'a Struct) -> Result<Option<&'l StructLayout>, Exceeded> {
        let node = self.start(plan);
        if let Some(node) = node
            && node.level
        {
            self.budget.charge(1, self.sizes.groups[node.group])?;
        }
        Ok(node)
    }
    fn field(&mut self, _: &mut Option<&'l StructLayout>, _: &'a Struct, _: usize, (): ()) {}
    fn tagged_field(&mut self, _: &mut Option<&'l StructLayout>, _: &'a Struct, _: usize, (): ()) {}
    fn unknown_tags(&mut self, _: &mut Option<&'l StructLayout>, _: &'a Struct, _: &[u8]) -> Result<(), Exceeded> {
        Ok(())
    }
    #[inline(always)]
    fn end_struct(&mut self, node: Option<&'l StructLayout>, _: &'a Struct) -> Result<(), Exceeded> {
        self.finish(node);
        Ok(())
    }
}
