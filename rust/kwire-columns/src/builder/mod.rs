//! Fill columns from bodies.
//!
//! The columns are complete up to the last valid body. The values of an invalid body are removed, and one null row
//! takes its place. `pending` converts collected slices, `visitor` receives values from the decoder.

mod pending;
mod visitor;

use arrow_buffer::NullBufferBuilder;
use kwire::decode::LastLayout;
use kwire::plan::Literal;

use crate::Hold;
use crate::column::{Block, Column, Data, Fixed, Keys, List};
use crate::error::{Exceeded, Fault};
use crate::layout::{Kind, Layout, Target};
use crate::room::Room;
use crate::size::{Budget, Sizes, bits};
use crate::text::Text;

/// The number of runs or lists that are converted together: few enough that they and the bytes they refer to stay in
/// the first-level cache, enough that selecting the conversion costs nothing.
const BLOCK: usize = 256;
/// The number of structs in blocks that are converted together. They are found by their address, so they need no cache;
/// each column is written in stretches long enough that the processor fetches the next lines ahead.
const STRUCTS: usize = 1024;

/// Columns that are being filled.
pub(crate) struct BatchBuilder<'a, 'l, 'h> {
    pub(crate) layout: &'l Layout,
    sizes: &'l Sizes,
    budget: Budget<'h>,
    pub(crate) columns: Vec<Column<'a>>,
    pub(crate) groups: Vec<ColumnGroup<'a>>,
    runs: Vec<Vec<&'a [u8]>>,
    target: Target,
    /// The size of each group after the last valid body.
    kept: Vec<usize>,
    lists: Vec<usize>,
    dictionaries: Vec<usize>,
    body: &'a [u8],
    room: Room<'h>,
    last_layout: LastLayout,
}

/// A number of structs, with one value in each column for each of them.
#[derive(Default)]
pub(crate) struct ColumnGroup<'a> {
    /// Pending blocks, and the number of structs in them.
    blocks: Vec<Block<'a>>,
    in_blocks: usize,
    /// The index of the plan's struct that the blocks hold.
    node: usize,
    /// Whether runs or lists may be pending. They precede all blocks.
    has_pending: bool,
    pub(crate) count: usize,
    /// For a level: the number of rows up to the end of each struct.
    pub(crate) ends: Vec<usize>,
}

impl<'a, 'l, 'h> BatchBuilder<'a, 'l, 'h> {
    /// Create empty columns. `total` is the size of all frames in bytes.
    pub(crate) fn new(
        layout: &'l Layout,
        sizes: &'l Sizes,
        total: usize,
        budget: Budget<'h>,
        hold: &'h Hold<'h>,
    ) -> Self {
        let columns = layout.columns.iter().map(|column| {
            let data = match column.kind {
                _ if column.constant => Data::Constant,
                Kind::Fixed(kind) => Data::Fixed(Fixed::new(kind)),
                Kind::String | Kind::Bytes => Data::Text(Text::new()),
                Kind::StringKeys | Kind::BytesKeys => Data::Keys(Keys::new()),
                Kind::List { child } => Data::List(List::new(child)),
                Kind::Struct { group } => Data::Struct(group),
            };
            // Values in runs are never null in this version, whatever the declaration allows in others.
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
            sizes,
            budget,
            groups: layout.groups.iter().map(|_| ColumnGroup::default()).collect(),
            runs: layout.runs.iter().map(|_| Vec::with_capacity(BLOCK)).collect(),
            target: Target::Skip,
            kept: vec![0; layout.groups.len()],
            lists: which(|data| matches!(data, Data::List(_))),
            dictionaries: which(|data| matches!(data, Data::Keys(_))),
            columns,
            body: &[],
            room: Room {
                start: 0,
                done: 0,
                total,
                hold,
            },
            last_layout: LastLayout::default(),
        }
    }

    /// Return the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.groups[self.layout.rows].count
    }

    /// Begin a body.
    pub(crate) fn begin(&mut self, body: &'a [u8]) {
        self.target = Target::Path(self.layout.levels.first().copied().unwrap_or(self.layout.rows));
        self.room.done += self.body.len();
        self.body = body;
    }

    /// Finish a valid body.
    pub(crate) fn keep(&mut self) -> Result<(), Exceeded> {
        if self.layout.levels.is_empty() {
            // The body is a row, which no array has charged.
            self.budget.charge(1, self.sizes.row)?;
        }
        self.keep_values();
        Ok(())
    }

    fn keep_values(&mut self) {
        self.budget.keep();
        for column in &self.dictionaries {
            if let Data::Keys(keys) = &mut self.columns[*column].data {
                keys.dictionary.keep();
            }
        }
        for (kept, group) in self.kept.iter_mut().zip(&self.groups) {
            *kept = group.count;
        }
    }

    /// Remove the values of an invalid body and add one null row.
    ///
    /// `path` is the length of the path in the error.
    #[cold]
    pub(crate) fn replace_by_null_row(&mut self, path: usize) -> Result<(), Exceeded> {
        self.convert();
        self.budget.forget();
        self.budget.charge(1, self.sizes.row.saturating_add(bits(path)))?;
        self.budget.cover(bits(size_of::<Fault>()))?;
        let (levels, rows) = (&self.layout.levels, self.layout.rows);
        for group in levels.iter().copied().chain([rows]) {
            self.truncate_unit(group, self.kept[group]);
        }
        for column in &self.dictionaries {
            if let Data::Keys(keys) = &mut self.columns[*column].data {
                keys.dictionary.forget();
            }
        }
        self.push_missing(rows);
        for group in levels {
            self.push_missing(*group);
            let end = self.rows();
            self.groups[*group].ends.push(end);
        }
        self.keep_values();
        Ok(())
    }

    /// Check the size of the batch. Nothing may be pending. `paths` is the size of the paths in errors.
    ///
    /// Have memory for the arrays.
    pub(crate) fn check_size(&mut self, paths: usize) -> Result<(), Exceeded> {
        let rows = self.sizes.row.saturating_mul(self.rows() as u64);
        let contents = self.columns.iter().map(|column| match &column.data {
            Data::Text(text) => bits(text.bytes.len()),
            Data::Keys(keys) => bits(keys.dictionary.entries.bytes.len() + 4 * keys.dictionary.entries.len()),
            Data::List(list) => self.sizes.columns[list.child].saturating_mul(list.end() as u64),
            Data::Constant | Data::Fixed(_) | Data::Struct(_) => 0,
        });
        let size = contents.fold(rows.saturating_add(bits(paths)), u64::saturating_add);
        self.budget.check(size)?;
        self.budget.cover(size)
    }

    fn truncate_unit(&mut self, group: usize, count: usize) {
        self.groups[group].count = count;
        self.groups[group].ends.truncate(count);
        let layout = self.layout;
        for column in &layout.groups[group].columns {
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
                list.offsets.truncate(len);
                let (child, end) = (list.child, list.end());
                self.truncate(child, end);
            }
            Data::Struct(group) => {
                let group = *group;
                self.truncate_unit(group, len);
            }
        }
    }

    /// Add a missing struct: zeros, and null where possible.
    fn push_missing(&mut self, group: usize) {
        self.convert_blocks(group);
        self.groups[group].has_pending = true;
        self.groups[group].count += 1;
        let layout = self.layout;
        for run in &layout.groups[group].runs {
            self.push_run(*run, &[]);
        }
        for column in &layout.groups[group].columns {
            if !layout.columns[*column].in_run {
                self.push_null(*column);
            }
        }
    }

    /// Add a null, or a zero if the column cannot be null.
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
            Data::Struct(group) => {
                let group = *group;
                self.push_missing(group);
            }
        }
    }

    /// Add a struct with every field at its default. Runs have no pending bytes afterwards.
    fn push_default_struct(&mut self, group: usize) {
        self.convert_blocks(group);
        self.groups[group].has_pending = true;
        self.groups[group].count += 1;
        let layout = self.layout;
        for run in &layout.groups[group].runs {
            self.convert_run(*run);
        }
        for column in &layout.groups[group].columns {
            self.push_default(*column);
        }
    }

    /// Add the default of a missing tag.
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
            Data::Keys(keys) => {
                // Without memory, the next value is refused.
                let _covered = keys.push(bytes, &mut self.budget);
            }
            Data::List(_) => self.push_list(column, &[]),
            Data::Struct(group) => {
                let group = *group;
                self.push_default_struct(group);
            }
            Data::Constant => {}
        }
    }
}

/// Iterate over the number of rows of each struct of a level.
pub(crate) fn lengths(ends: &[usize]) -> impl Iterator<Item = usize> + '_ {
    let mut before = 0;
    ends.iter().map(move |end| {
        let length = end - before;
        before = *end;
        length
    })
}
