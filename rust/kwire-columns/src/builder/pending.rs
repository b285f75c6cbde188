//! Conversion of collected runs, lists, and structs of uniform layout.
//!
//! Pending slices borrow from the frames, so they are all converted before the frames are released. To keep the order
//! of a group, its pending runs and lists are converted before the next block, and blocks before the next run or list.

use super::{BLOCK, BatchBuilder, ColumnGroup};
use crate::column::{Column, Data, Fixed, List};
use crate::layout::Target;

impl<'a> BatchBuilder<'a, '_, '_> {
    /// Convert everything that is pending.
    pub(crate) fn convert(&mut self) {
        for group in 0..self.groups.len() {
            self.convert_blocks(group);
        }
        for run in 0..self.runs.len() {
            self.convert_run(run);
        }
        for list in 0..self.lists.len() {
            self.convert_lists(self.lists[list]);
        }
        for group in &mut self.groups {
            group.has_pending = false;
        }
    }

    #[inline(never)]
    pub(super) fn convert_run(&mut self, run: usize) {
        let pending = &mut self.runs[run];
        for (column, offset) in &self.layout.runs[run].parts {
            if let Data::Fixed(values) = &mut self.columns[*column].data {
                values.extend_from_runs(pending, *offset);
            }
        }
        pending.clear();
    }

    #[inline(never)]
    pub(super) fn convert_lists(&mut self, column: usize) {
        let Some((list, values)) = list_and_values(&mut self.columns, column) else {
            return;
        };
        list.convert(match values {
            Data::Fixed(values) => Some(values),
            _ => None,
        });
    }

    #[inline(never)]
    pub(super) fn convert_blocks(&mut self, group: usize) {
        let ColumnGroup {
            blocks,
            in_blocks,
            node,
            ..
        } = &mut self.groups[group];
        let (Some(last), Some(Some(node))) = (blocks.last(), self.layout.nodes.get(*node)) else {
            return;
        };
        let offset = |bytes: &[u8]| (bytes.as_ptr() as usize).saturating_sub(self.body.as_ptr() as usize);
        let mut room = self.room;
        if room.start == 0 {
            self.room.start = room.done + blocks.first().map_or(0, |first| offset(first.bytes));
            room.start = self.room.start;
        }
        room.done += offset(last.bytes) + last.bytes.len();
        for (part, position) in node.parts.iter().enumerate() {
            if let Some(run) = self.layout.runs.get(node.runs[*position]) {
                for (column, offset) in &run.parts {
                    if let Data::Fixed(values) = &mut self.columns[*column].data {
                        values.extend_from_blocks(blocks, part, *offset, room);
                    }
                }
            } else if let Target::Column(column) = node.targets[*position] {
                if let Some(validity) = &mut self.columns[column].validity {
                    validity.append_n_non_nulls(*in_blocks);
                }
                if let Some((list, Data::Fixed(Fixed::Int32(values)))) = list_and_values(&mut self.columns, column) {
                    list.extend_from_blocks(values, blocks, part, room);
                }
            }
        }
        blocks.clear();
        *in_blocks = 0;
    }

    /// Convert the pending runs and lists of a group.
    #[cold]
    pub(super) fn convert_pending(&mut self, group: usize) {
        let layout = self.layout;
        for run in &layout.groups[group].runs {
            self.convert_run(*run);
        }
        for column in &layout.groups[group].columns {
            self.convert_lists(*column);
        }
        self.groups[group].has_pending = false;
    }

    #[inline(always)]
    pub(super) fn push_run(&mut self, run: usize, bytes: &'a [u8]) {
        let Some(pending) = self.runs.get_mut(run) else {
            return;
        };
        pending.push(bytes);
        if pending.len() == BLOCK {
            self.convert_run(run);
        }
    }

    /// Add a list of fixed-size elements, or an empty list of any elements.
    #[inline(always)]
    pub(super) fn push_list(&mut self, column: usize, bytes: &'a [u8]) {
        let Some(Column {
            data: Data::List(list), ..
        }) = self.columns.get_mut(column)
        else {
            return;
        };
        list.pending.push(bytes);
        if list.pending.len() == BLOCK {
            self.convert_lists(column);
        }
    }
}

/// Return a list column and the column of its values.
fn list_and_values<'c, 'a>(
    columns: &'c mut [Column<'a>],
    column: usize,
) -> Option<(&'c mut List<'a>, &'c mut Data<'a>)> {
    let Data::List(List { child, .. }) = columns.get(column)?.data else {
        return None;
    };
    let [list, values] = columns.get_disjoint_mut([column, child]).ok()?;
    match &mut list.data {
        Data::List(list) => Some((list, &mut values.data)),
        _ => None,
    }
}
