//! The assignment of fields to columns.
//!
//! A layout is computed once for a plan and a path to the rows. Columns belong to groups. A group has one value in each
//! of its columns for each struct that it stands for. There is a group for each struct on the path to the rows (a
//! level), one for the rows, and one for each struct inside a column.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use kwire::plan::{Literal, Primitive, Struct, Type};

use crate::error::RowsError;
use crate::shape::{Shape, bare, body};

/// Column names that no field may take.
pub(crate) const RESERVED: [&str; 4] = ["frame", "error_kind", "error_offset", "error_path"];

/// The columns of a batch and where their values come from.
pub(crate) struct Layout {
    pub(crate) columns: Vec<ColumnLayout>,
    pub(crate) groups: Vec<GroupLayout>,
    /// By index of the plan's structs. `None` for structs that are skipped.
    pub(crate) nodes: Vec<Option<StructLayout>>,
    pub(crate) runs: Vec<Run>,
    /// The groups of the levels, from the message to the last one above the rows.
    pub(crate) levels: Vec<usize>,
    /// The group of the rows.
    pub(crate) rows: usize,
    /// The only column of the rows if they are not structs.
    pub(crate) element: Option<usize>,
    /// The columns of the batch, except for `frame` and the errors.
    pub(crate) output: Vec<OutputColumn>,
}

pub(crate) struct ColumnLayout {
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
    /// The value where a message omits the field or the version lacks it.
    pub(crate) default: Literal,
    /// Whether this version lacks the field.
    pub(crate) constant: bool,
    /// Whether the values come in runs.
    pub(crate) in_run: bool,
    pub(crate) data_type: DataType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Fixed(Primitive),
    String,
    Bytes,
    StringKeys,
    BytesKeys,
    List { child: usize },
    Struct { group: usize },
}

#[derive(Default)]
pub(crate) struct GroupLayout {
    pub(crate) columns: Vec<usize>,
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) runs: Vec<usize>,
    /// The column whose values are the structs of this group.
    pub(crate) inside: Option<usize>,
    /// Whether the group is a level, which records where its rows end.
    pub(crate) level: bool,
}

/// How to read a struct of the plan.
pub(crate) struct StructLayout {
    pub(crate) group: usize,
    /// The target of each field by position.
    pub(crate) targets: Vec<Target>,
    /// By position: the run that starts there, or `usize::MAX`.
    pub(crate) runs: Vec<usize>,
    /// The columns of tagged fields, which get the default if the tag is missing.
    pub(crate) tagged: Vec<usize>,
    /// The positions at which runs and other fields start.
    pub(crate) parts: Vec<usize>,
    /// Whether its group is a level.
    pub(crate) level: bool,
    /// Whether consecutive structs can be taken as a block.
    pub(crate) in_blocks: bool,
}

/// Where the value of a field goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The field is not read.
    Skip,
    /// The field is on the path to the rows. Its structs belong to this group.
    Path(usize),
    /// The elements of the field are the rows, and they are not structs.
    Rows,
    Column(usize),
}

/// A run of fixed-size fields: the columns of its fields, and their offsets in the run.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) parts: Vec<(usize, usize)>,
}

pub(crate) struct OutputColumn {
    pub(crate) name: String,
    pub(crate) column: usize,
    pub(crate) group: usize,
}

/// The relation of a group to the rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Above the rows. Its values repeat for each row, so strings become dictionary keys and arrays are omitted.
    Above,
    /// In the rows.
    Row,
}

impl Layout {
    pub(crate) fn new(plan: &kwire::Plan, shape: &Shape, rows: &str) -> Result<Self, RowsError> {
        let mut builder = Builder {
            shape,
            layout: Self {
                columns: Vec::new(),
                groups: Vec::new(),
                nodes: (0..plan.structs).map(|_| None).collect(),
                runs: Vec::new(),
                levels: Vec::new(),
                rows: 0,
                element: None,
                output: Vec::new(),
            },
            prefixes: Vec::new(),
        };
        let path: Vec<&str> = if rows.is_empty() {
            Vec::new()
        } else {
            rows.split('.').collect()
        };
        if builder.add_level(shape.root(), Some(&plan.root), &path, "").is_none() {
            let mut paths = Vec::new();
            array_paths(shape.root(), "", &mut paths);
            return Err(RowsError {
                message: shape.name().into(),
                rows: rows.into(),
                paths,
            });
        }
        builder.name_columns();
        Ok(builder.layout)
    }
}

/// Collect all valid paths to rows.
pub(crate) fn array_paths(declared: &Struct, before: &str, paths: &mut Vec<String>) {
    for field in &declared.fields {
        let path = if before.is_empty() {
            field.name.to_string()
        } else {
            format!("{before}.{}", field.name)
        };
        match bare(&field.kind).0 {
            Type::Array(_, element) => {
                paths.push(path.clone());
                if let Some(inside) = body(&element.kind) {
                    array_paths(inside, &path, paths);
                }
            }
            Type::Struct(inside) | Type::NullableStruct(inside) => array_paths(inside, &path, paths),
            _ => {}
        }
    }
}

struct Builder<'s> {
    shape: &'s Shape,
    layout: Layout,
    /// For each output column the prefix to use if its name is taken.
    prefixes: Vec<String>,
}

impl Builder<'_> {
    fn group(&mut self) -> usize {
        self.layout.groups.push(GroupLayout::default());
        self.layout.groups.len() - 1
    }

    /// Add the columns of a struct on the path to the rows, or of the rows, and return their group. Returns `None` if the
    /// path does not lead to an array.
    fn add_level(&mut self, declared: &Struct, planned: Option<&Struct>, path: &[&str], prefix: &str) -> Option<usize> {
        let group = self.group();
        let Some((first, rest)) = path.split_first() else {
            self.layout.rows = group;
            self.fields(declared, planned, group, Place::Row, None);
            self.add_output_columns(group, prefix);
            return Some(group);
        };
        self.layout.levels.push(group);
        self.layout.groups[group].level = true;
        let field = declared.fields.iter().find(|field| *field.name == **first)?;
        let planned_field = planned.and_then(|planned| planned.named().find(|field| *field.name == **first));
        let (kind, planned_kind) = (bare(&field.kind).0, planned_field.map(|field| bare(&field.kind).0));
        let prefix_below = if prefix.is_empty() {
            (*first).to_owned()
        } else {
            format!("{prefix}_{first}")
        };
        // The columns of this level come before those of lower levels.
        self.fields(declared, planned, group, Place::Above, Some(first));
        self.add_output_columns(group, prefix);
        let target = match kind {
            Type::Struct(inside) | Type::NullableStruct(inside) if !rest.is_empty() => {
                Target::Path(self.add_level(inside, planned_kind.and_then(body), rest, &prefix_below)?)
            }
            Type::Array(_, element) => {
                let planned_element = planned_kind.and_then(|kind| match kind {
                    Type::Array(_, element) => Some(&element.kind),
                    _ => None,
                });
                match &element.kind {
                    Type::Struct(inside) => {
                        Target::Path(self.add_level(inside, planned_element.and_then(body), rest, &prefix_below)?)
                    }
                    kind if rest.is_empty() => {
                        let group = self.group();
                        self.layout.rows = group;
                        let column = self.column(kind, planned_element, Literal::Null, Place::Row)?;
                        self.layout.element = Some(column);
                        self.add(group, &field.name, column);
                        self.add_output_columns(group, &prefix_below);
                        Target::Rows
                    }
                    kind => {
                        let inside = body(kind)?;
                        Target::Path(self.add_level(inside, planned_element.and_then(body), rest, &prefix_below)?)
                    }
                }
            }
            _ => return None,
        };
        if let (Some(planned), Some(field)) = (planned, planned_field)
            && let Some(node) = self.layout.nodes[planned.index].as_mut()
        {
            node.targets[field.position] = target;
        }
        Some(group)
    }

    fn add(&mut self, group: usize, name: &Arc<str>, column: usize) {
        let group = &mut self.layout.groups[group];
        group.columns.push(column);
        group.names.push(Arc::clone(name));
    }

    fn add_output_columns(&mut self, group: usize, prefix: &str) {
        let body = &self.layout.groups[group];
        for (name, column) in body.names.iter().zip(&body.columns) {
            self.layout.output.push(OutputColumn {
                name: name.to_string(),
                column: *column,
                group,
            });
            self.prefixes
                .push(if prefix.is_empty() { "message" } else { prefix }.to_owned());
        }
    }

    /// Add the columns of a struct's fields, except for the field `way` on the path, and record how to fill them.
    fn fields(&mut self, declared: &Struct, planned: Option<&Struct>, group: usize, place: Place, way: Option<&str>) {
        let mut targets = vec![Target::Skip; planned.map_or(0, |planned| planned.named().count())];
        let mut tagged = Vec::new();
        for field in &declared.fields {
            if way == Some(&*field.name) {
                continue;
            }
            let default = self.shape.default(declared, &field.name, &field.kind);
            let planned_field = planned.and_then(|planned| planned.named().find(|other| other.name == field.name));
            let Some(column) = self.column(&field.kind, planned_field.map(|field| &field.kind), default, place) else {
                continue;
            };
            self.add(group, &field.name, column);
            if let (Some(planned), Some(field)) = (planned, planned_field) {
                targets[field.position] = Target::Column(column);
                if field.position >= planned.fields.len() {
                    tagged.push(column);
                }
            }
        }
        if let Some(planned) = planned {
            let runs = self.runs(planned, &targets, group);
            let begins = |position: &usize| {
                let primitive = matches!(planned.fields[*position].kind, Type::Primitive(_));
                !primitive || runs[*position] != usize::MAX
            };
            let level = self.layout.groups[group].level;
            self.layout.nodes[planned.index] = Some(StructLayout {
                group,
                parts: (0..planned.fields.len()).filter(begins).collect(),
                level,
                in_blocks: !level && tagged.is_empty(),
                targets,
                runs,
                tagged,
            });
        }
    }

    fn runs(&mut self, planned: &Struct, targets: &[Target], group: usize) -> Vec<usize> {
        let mut runs = vec![usize::MAX; planned.fields.len()];
        let (mut offset, mut open) = (0, false);
        for (position, field) in planned.fields.iter().enumerate() {
            let Type::Primitive(kind) = field.kind else {
                open = false;
                continue;
            };
            if !open {
                (offset, open) = (0, true);
                runs[position] = self.layout.runs.len();
                self.layout.groups[group].runs.push(self.layout.runs.len());
                self.layout.runs.push(Run::default());
            }
            if let (Target::Column(column), Some(run)) = (targets[position], self.layout.runs.last_mut()) {
                run.parts.push((column, offset));
                self.layout.columns[column].in_run = true;
            }
            offset += kind.size();
        }
        runs
    }

    /// Add a column for values of a declared type. Returns `None` for arrays above the rows, which have no column.
    fn column(&mut self, declared: &Type, planned: Option<&Type>, default: Literal, place: Place) -> Option<usize> {
        let (kind, nullable) = bare(declared);
        let planned_kind = planned.map(|kind| bare(kind).0);
        let above = place == Place::Above;
        let (kind, data_type) = match kind {
            Type::Primitive(primitive) => (Kind::Fixed(*primitive), fixed_type(*primitive)),
            Type::String(_) if above => (Kind::StringKeys, keyed(DataType::Utf8)),
            Type::Bytes(_) if above => (Kind::BytesKeys, keyed(DataType::Binary)),
            Type::String(_) => (Kind::String, DataType::Utf8),
            Type::Bytes(_) => (Kind::Bytes, DataType::Binary),
            Type::Array(..) if above => return None,
            Type::Array(_, element) => {
                let planned_element = planned_kind.and_then(|kind| match kind {
                    Type::Array(_, element) => Some(&element.kind),
                    _ => None,
                });
                let child = self.column(&element.kind, planned_element, Literal::Null, place)?;
                let data_type = DataType::List(Arc::new(self.field("item", child)));
                (Kind::List { child }, data_type)
            }
            Type::Struct(inside) | Type::NullableStruct(inside) => {
                let group = self.group();
                self.fields(inside, planned_kind.and_then(body), group, place, None);
                let body = &self.layout.groups[group];
                if body.columns.is_empty() {
                    return None;
                }
                let fields = body.names.iter().zip(&body.columns);
                let fields: Fields = fields.map(|(name, column)| self.field(name, *column)).collect();
                (Kind::Struct { group }, DataType::Struct(fields))
            }
            Type::Maybe(_) => return None, // unreachable: bare types are not maybes
        };
        self.layout.columns.push(ColumnLayout {
            kind,
            nullable,
            default,
            constant: planned.is_none(),
            in_run: false,
            data_type,
        });
        let column = self.layout.columns.len() - 1;
        if let Kind::Struct { group } = kind {
            self.layout.groups[group].inside = Some(column);
        }
        Some(column)
    }

    fn field(&self, name: &str, column: usize) -> Field {
        let column = &self.layout.columns[column];
        annotated(Field::new(name, column.data_type.clone(), column.nullable))
    }

    /// Make the names of the output columns unique. The closer to the row, the shorter: a name that is taken below gets
    /// the path of its struct as a prefix.
    fn name_columns(&mut self) {
        let mut taken: HashSet<String> = RESERVED.into_iter().map(String::from).collect();
        let groups: Vec<usize> = self.layout.levels.iter().copied().chain([self.layout.rows]).collect();
        for group in groups.into_iter().rev() {
            // All free names of a struct come before the names that need a prefix, so that a prefixed name does
            // not take another field's name.
            let (mut free, mut clashing) = (Vec::new(), Vec::new());
            for (index, top) in self
                .layout
                .output
                .iter()
                .enumerate()
                .filter(|(_, top)| top.group == group)
            {
                if taken.contains(&top.name) {
                    &mut clashing
                } else {
                    &mut free
                }
                .push(index);
            }
            taken.extend(free.iter().map(|index| self.layout.output[*index].name.clone()));
            for index in clashing {
                let name = &mut self.layout.output[index].name;
                while taken.contains(name) {
                    *name = format!("{}_{name}", self.prefixes[index]);
                }
                taken.insert(name.clone());
            }
        }
    }
}

/// Mark 16-byte values as Arrow uuids.
pub(crate) fn annotated(field: Field) -> Field {
    if *field.data_type() == DataType::FixedSizeBinary(16) {
        let uuid = [("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())];
        field.with_metadata(uuid)
    } else {
        field
    }
}

fn keyed(values: DataType) -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(values))
}

fn fixed_type(kind: Primitive) -> DataType {
    match kind {
        Primitive::Bool => DataType::Boolean,
        Primitive::Int8 => DataType::Int8,
        Primitive::Int16 => DataType::Int16,
        Primitive::Int32 => DataType::Int32,
        Primitive::Int64 => DataType::Int64,
        Primitive::Uint16 => DataType::UInt16,
        Primitive::Uint32 => DataType::UInt32,
        Primitive::Float64 => DataType::Float64,
        Primitive::Uuid => DataType::FixedSizeBinary(16),
    }
}
