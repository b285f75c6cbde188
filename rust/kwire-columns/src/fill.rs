//! The visitor: bodies of one message, one after the other, into columns.
//!
//! Rules of this file: a place (`here`) says which column the next value belongs to; the walker announces every field
//! that is not in a run, so the place is always the value's own. A body that turns out bad is taken out again to the
//! last value, and one row that says so is put in its stead.

use std::convert::Infallible;

use arrow_buffer::NullBufferBuilder;
use kwire::decode::{Alike, Text as Checked, Visitor};
use kwire::plan::{Literal, Primitive, Struct};

use crate::column::{Block, Column, Data, Fixed, Keys, List, Room, Text};
use crate::dictionary::signed;
use crate::layout::{Kind, Layout, Node, Slot};

/// So many runs or lists wait before they are converted: few enough to stay in the nearest cache with what they refer
/// to, enough that choosing the conversion costs nothing.
const BLOCK: usize = 256;

/// Columns on their way.
pub(crate) struct Fill<'a, 'l> {
    pub(crate) layout: &'l Layout,
    pub(crate) columns: Vec<Column<'a>>,
    pub(crate) units: Vec<Unit<'a>>,
    runs: Vec<Vec<&'a [u8]>>,
    here: Slot,
    /// How long the units were when the last good body ended.
    kept: Vec<usize>,
    lists: Vec<usize>,
    dictionaries: Vec<usize>,
    body: &'a [u8],
    room: Room,
}

/// So many structs, with one value in each column.
#[derive(Default)]
pub(crate) struct Unit<'a> {
    /// Structs that wait to be converted, and how many.
    blocks: Vec<Block<'a>>,
    in_blocks: usize,
    /// The plan's struct that they are.
    node: usize,
    /// Whether runs or lists may be waiting: then they come before any block.
    loose: bool,
    pub(crate) count: usize,
    /// For a level: for each struct, how many rows there are up to its end.
    pub(crate) ends: Vec<usize>,
}

impl<'a, 'l> Fill<'a, 'l> {
    /// `total`: bytes of all frames.
    pub(crate) fn new(layout: &'l Layout, total: usize) -> Self {
        let columns = layout.columns.iter().map(|column| {
            let data = match column.kind {
                _ if column.constant => Data::Constant,
                Kind::Fixed(kind) => Data::Fixed(Fixed::new(kind)),
                Kind::String | Kind::Bytes => Data::Text(Text::new()),
                Kind::StringKeys | Kind::BytesKeys => Data::Keys(Keys::new()),
                Kind::List { child } => Data::List(List::new(child)),
                Kind::Struct { unit } => Data::Struct(unit),
            };
            // Values in runs are never null, whatever the declaration allows in other versions.
            let validity = (column.nullable && !column.in_run && !column.constant).then(|| NullBufferBuilder::new(0));
            Column { data, validity }
        });
        let columns: Vec<_> = columns.collect();
        let which = |wanted: fn(&Data<'a>) -> bool| {
            let found = columns.iter().enumerate().filter(|(_, column)| wanted(&column.data));
            found.map(|(index, _)| index).collect()
        };
        Self {
            layout,
            units: layout.units.iter().map(|_| Unit::default()).collect(),
            runs: layout.runs.iter().map(|_| Vec::with_capacity(BLOCK)).collect(),
            here: Slot::Skip,
            kept: vec![0; layout.units.len()],
            lists: which(|data| matches!(data, Data::List(_))),
            dictionaries: which(|data| matches!(data, Data::Keys(_))),
            columns,
            body: &[],
            room: Room {
                start: 0,
                done: 0,
                total,
            },
        }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.units[self.layout.rows].count
    }

    /// A body begins.
    pub(crate) fn begin(&mut self, body: &'a [u8]) {
        self.here = Slot::Path;
        self.room.done += self.body.len();
        self.body = body;
    }

    /// A good body has ended.
    pub(crate) fn keep(&mut self) {
        for column in &self.dictionaries {
            if let Data::Keys(keys) = &mut self.columns[*column].data {
                keys.dictionary.keep();
            }
        }
        for (kept, unit) in self.kept.iter_mut().zip(&self.units) {
            *kept = unit.count;
        }
    }

    /// Take out what a bad body has brought, and put one row in its stead.
    #[cold]
    pub(crate) fn replace_by_nothing(&mut self) {
        self.convert();
        let (levels, rows) = (&self.layout.levels, self.layout.rows);
        for unit in levels.iter().copied().chain([rows]) {
            self.truncate_unit(unit, self.kept[unit]);
        }
        for column in &self.dictionaries {
            if let Data::Keys(keys) = &mut self.columns[*column].data {
                keys.dictionary.forget();
            }
        }
        self.push_nothing(rows);
        for unit in levels {
            self.push_nothing(*unit);
            let end = self.rows();
            self.units[*unit].ends.push(end);
        }
        self.keep();
    }

    /// Convert all that waits.
    pub(crate) fn convert(&mut self) {
        for unit in 0..self.units.len() {
            self.convert_blocks(unit);
        }
        for run in 0..self.runs.len() {
            self.convert_run(run);
        }
        for list in 0..self.lists.len() {
            self.convert_lists(self.lists[list]);
        }
        for unit in &mut self.units {
            unit.loose = false;
        }
    }

    #[inline(never)]
    fn convert_run(&mut self, run: usize) {
        let waiting = &mut self.runs[run];
        for (column, offset) in &self.layout.runs[run].parts {
            if let Data::Fixed(values) = &mut self.columns[*column].data {
                values.extend_from_runs(waiting, *offset);
            }
        }
        waiting.clear();
    }

    #[inline(never)]
    fn convert_lists(&mut self, column: usize) {
        let Some((list, values)) = list_and_values(&mut self.columns, column) else {
            return;
        };
        list.convert(match values {
            Data::Fixed(values) => Some(values),
            _ => None,
        });
    }

    #[inline(never)]
    fn convert_blocks(&mut self, unit: usize) {
        let Unit {
            blocks,
            in_blocks,
            node,
            ..
        } = &mut self.units[unit];
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
            } else if let Slot::Column(column) = node.slots[*position] {
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

    /// Runs and lists of a unit that wait outside of blocks.
    #[cold]
    fn convert_loose(&mut self, unit: usize) {
        let layout = self.layout;
        for run in &layout.units[unit].runs {
            self.convert_run(*run);
        }
        for column in &layout.units[unit].columns {
            self.convert_lists(*column);
        }
        self.units[unit].loose = false;
    }

    fn truncate_unit(&mut self, unit: usize, count: usize) {
        self.units[unit].count = count;
        self.units[unit].ends.truncate(count);
        let layout = self.layout;
        for column in &layout.units[unit].columns {
            self.truncate(*column, count);
        }
    }

    fn truncate(&mut self, column: usize, len: usize) {
        let Column { data, validity } = &mut self.columns[column];
        if let Some(validity) = validity {
            validity.truncate(len);
        }
        match data {
            Data::Constant => {}
            Data::Fixed(values) => values.truncate(len),
            Data::Text(text) => text.truncate(len),
            Data::Keys(keys) => keys.keys.truncate(len),
            Data::List(list) => {
                list.offsets.truncate(len + 1);
                let (child, end) = (list.child, list.end());
                self.truncate(child, end);
            }
            Data::Struct(unit) => {
                let unit = *unit;
                self.truncate_unit(unit, len);
            }
        }
    }

    /// A struct that is not there: zeros, and null where there is one.
    fn push_nothing(&mut self, unit: usize) {
        self.convert_blocks(unit);
        self.units[unit].loose = true;
        self.units[unit].count += 1;
        let layout = self.layout;
        for run in &layout.units[unit].runs {
            self.push_run(*run, &[]);
        }
        for column in &layout.units[unit].columns {
            if !layout.columns[*column].in_run {
                self.push_null(*column);
            }
        }
    }

    /// Null, or zero where there is none.
    fn push_null(&mut self, column: usize) {
        let Column { data, validity } = &mut self.columns[column];
        if let Some(validity) = validity {
            validity.append_null();
        }
        match data {
            Data::Constant => {}
            Data::Fixed(values) => values.push(&Literal::Null),
            Data::Text(text) => text.push(&[]),
            Data::Keys(keys) => keys.keys.push(0),
            Data::List(_) => self.push_list(column, &[]),
            Data::Struct(unit) => {
                let unit = *unit;
                self.push_nothing(unit);
            }
        }
    }

    /// What stands where a tag is missing.
    #[cold]
    fn push_default(&mut self, column: usize) {
        let default = &self.layout.columns[column].default;
        if *default == Literal::Null {
            return self.push_null(column);
        }
        let Column { data, validity } = &mut self.columns[column];
        if let Some(validity) = validity {
            validity.append_non_null();
        }
        let bytes = match default {
            Literal::Text(text) => text.as_bytes(),
            Literal::Bytes(bytes) => bytes,
            _ => &[],
        };
        match data {
            Data::Fixed(values) => values.push(default),
            Data::Text(text) => text.push(bytes),
            Data::Keys(keys) => keys.push(bytes),
            Data::List(_) => self.push_list(column, &[]),
            // A tagged struct is null by default.
            Data::Constant | Data::Struct(_) => {}
        }
    }

    #[inline(always)]
    fn push_run(&mut self, run: usize, bytes: &'a [u8]) {
        let Some(waiting) = self.runs.get_mut(run) else {
            return;
        };
        waiting.push(bytes);
        if waiting.len() == BLOCK {
            self.convert_run(run);
        }
    }

    /// A list of fixed-size elements, or an empty one of others.
    #[inline(always)]
    fn push_list(&mut self, column: usize, bytes: &'a [u8]) {
        let Some(Column {
            data: Data::List(list), ..
        }) = self.columns.get_mut(column)
        else {
            return;
        };
        list.waiting.push(bytes);
        if list.waiting.len() == BLOCK {
            self.convert_lists(column);
        }
    }

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
    fn string(&mut self, text: Checked<'a>) -> Result<(), Infallible> {
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

/// A column of lists and that of their elements.
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

/// The rows of each struct of a level.
pub(crate) fn lengths(ends: &[usize]) -> impl Iterator<Item = usize> + '_ {
    let mut before = 0;
    ends.iter().map(move |end| {
        let length = end - before;
        before = *end;
        length
    })
}
