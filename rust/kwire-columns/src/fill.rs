//! The visitor: bodies of one message, one after the other, into columns.
//!
//! Rules of this file: a place (`here`) says which column the next value belongs to; the walker announces every field
//! that is not in a run, so the place is always the value's own. A body that turns out bad is taken out again to the
//! last value, and one row that says so is put in its stead.

use std::convert::Infallible;

use arrow_buffer::NullBufferBuilder;
use kwire::decode::{Text as Checked, Visitor};
use kwire::plan::{Literal, Primitive, Struct};

use crate::column::{Column, Data, Fixed, Keys, List, Text};
use crate::dictionary::signed;
use crate::layout::{Kind, Layout, Slot};

/// So many runs or lists wait before they are converted: few enough to stay in the nearest cache with what they refer
/// to, enough that choosing the conversion costs nothing.
const BLOCK: usize = 256;

/// Columns on their way.
pub(crate) struct Fill<'a, 'l> {
    pub(crate) layout: &'l Layout,
    pub(crate) columns: Vec<Column<'a>>,
    pub(crate) units: Vec<Unit>,
    runs: Vec<Vec<&'a [u8]>>,
    here: Slot,
    /// How long the units were when the last good body ended.
    kept: Vec<usize>,
    lists: Vec<usize>,
    dictionaries: Vec<usize>,
}

/// So many structs, with one value in each column.
#[derive(Default)]
pub(crate) struct Unit {
    pub(crate) count: usize,
    /// For a level: for each struct, how many rows there are up to its end.
    pub(crate) ends: Vec<usize>,
}

impl<'a, 'l> Fill<'a, 'l> {
    pub(crate) fn new(layout: &'l Layout) -> Self {
        let columns = layout.columns.iter().map(|column| {
            let data = match column.kind {
                _ if column.constant => Data::Constant,
                Kind::Fixed(kind) => Data::Fixed(Fixed::new(kind)),
                Kind::String | Kind::Bytes => Data::Text(Text::default()),
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
        }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.units[self.layout.rows].count
    }

    /// A body begins.
    pub(crate) fn begin(&mut self) {
        self.here = Slot::Path;
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
        for run in 0..self.runs.len() {
            self.convert_run(run);
        }
        for list in 0..self.lists.len() {
            self.convert_lists(self.lists[list]);
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
        let Data::List(list) = &mut self.columns[column].data else {
            return;
        };
        let mut waiting = std::mem::take(&mut list.waiting);
        if waiting.is_empty() {
            return;
        }
        let child = list.child;
        let mut ends = std::mem::take(&mut list.ends);
        if let Data::Fixed(values) = &mut self.columns[child].data {
            values.extend_from_lists(&waiting, &mut ends);
        } else {
            // Lists of others wait only when they are empty.
            let end = ends.last().copied().unwrap_or_default();
            ends.resize(ends.len() + waiting.len(), end);
        }
        waiting.clear();
        if let Data::List(list) = &mut self.columns[column].data {
            (list.waiting, list.ends) = (waiting, ends);
        }
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
                list.ends.truncate(len);
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

    /// The column of rows that are no structs.
    fn element(&self) -> usize {
        self.layout.element.unwrap_or_default()
    }
}

impl<'a> Visitor<'a> for Fill<'a, '_> {
    type Value = ();
    /// The index of the plan's struct.
    type Struct = usize;
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
    fn run(&mut self, node: &mut usize, _: &'a Struct, position: usize, bytes: &'a [u8]) {
        if let Some(Some(node)) = self.layout.nodes.get(*node)
            && let Some(run) = node.runs.get(position)
        {
            self.push_run(*run, bytes);
        }
    }

    #[inline(always)]
    fn int32s(&mut self, node: &mut usize, _: &'a Struct, position: usize, bytes: &'a [u8]) {
        if let Some(Some(node)) = self.layout.nodes.get(*node)
            && let Some(slot) = node.slots.get(position)
        {
            if let Slot::Column(column) = *slot {
                self.valid(column);
                self.push_list(column, bytes);
            } else if *slot == Slot::Rows {
                self.here = Slot::Rows;
                let Ok(()) = self.packed(Primitive::Int32, bytes);
            }
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
                    list.ends.push(signed(end));
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
    fn begin_struct(&mut self, plan: &'a Struct) -> Result<usize, Infallible> {
        if let Slot::Column(column) = self.here {
            self.valid(column);
        }
        Ok(plan.index)
    }
    fn field(&mut self, _: &mut usize, _: &'a Struct, _: usize, (): ()) {}
    fn tagged_field(&mut self, _: &mut usize, _: &'a Struct, _: usize, (): ()) {}
    fn unknown_tags(&mut self, _: &mut usize, _: &'a Struct, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
    #[inline(always)]
    fn end_struct(&mut self, node: usize, _: &'a Struct) -> Result<(), Infallible> {
        let Some(Some(node)) = self.layout.nodes.get(node) else {
            return Ok(());
        };
        let Some(unit) = self.units.get_mut(node.unit) else {
            return Ok(());
        };
        unit.count += 1;
        if self.layout.units[node.unit].level {
            let rows = self.rows();
            self.units[node.unit].ends.push(rows);
        }
        for column in &node.tagged {
            if self.columns[*column].len(&self.units) < self.units[node.unit].count {
                self.push_default(*column);
            }
        }
        Ok(())
    }
}

impl Fixed {
    /// Lists of packed values, and where each ends.
    fn extend_from_lists(&mut self, lists: &[&[u8]], ends: &mut Vec<i32>) {
        ends.reserve(lists.len());
        for list in lists {
            self.extend_from_packed(list);
            ends.push(signed(self.len()));
        }
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
