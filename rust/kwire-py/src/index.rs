//! A checked body and the index of its parts, which are decoded on request.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use kwire::index::{KeyFields, KeyTable, Part};
use kwire::plan::Struct;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView, PySlice, PyTuple};

use crate::errors::decode_error;
use crate::immutable_bytes::ImmutableBytes;
use crate::plan::Plan;
use crate::unsafe_allocator::require_reserve;
use crate::unsafe_index::build_part;
use crate::unsafe_owned::{new_bytes, out_of_memory};

/// The inputs from which on the GIL is released while they are checked.
const LONG_INPUT: usize = 1 << 16;

/// A checked body, the index of its parts, and tables of the keys that were looked up.
#[pyclass(frozen, module = "kwire._kwire")]
pub(crate) struct Index {
    plan: Py<Plan>,
    bytes: Py<PyBytes>,
    /// The range of `bytes` that is the body.
    part: Range<usize>,
    offsets: kwire::index::Index,
    /// For each plain field: the table of the last look-up.
    tables: Mutex<Vec<Option<Arc<Table>>>>,
}

/// The elements of an array by some of their fields.
struct Table {
    names: Vec<String>,
    /// `None` if these fields cannot be compared by their bytes.
    keys: Option<(KeyFields, KeyTable)>,
}

#[pymethods]
impl Index {
    /// Check a bytes-like object. Raises `DecodeError` if it is invalid.
    #[new]
    fn new(plan: Bound<'_, Plan>, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = data.py();
        require_reserve()?;
        let data = ImmutableBytes::new(data)?;
        let (bytes, root) = (data.as_slice(), &plan.get().compiled.root);
        // The bytes are immutable.
        let offsets = if bytes.len() < LONG_INPUT {
            kwire::index::Index::new(root, bytes)
        } else {
            py.detach(|| kwire::index::Index::new(root, bytes))
        };
        let offsets = offsets.map_err(|error| decode_error(py, &error))?;
        let tables = Mutex::new(root.fields.iter().map(|_| None).collect());
        let (bytes, part) = data.unbind();
        Ok(Self {
            plan: plan.unbind(),
            bytes,
            part,
            offsets,
            tables,
        })
    }

    #[allow(clippy::missing_errors_doc, reason = "the collector's own")]
    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.plan)
    }

    /// The body: the `bytes` object, or a memoryview of a part of it.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = self.bytes.bind(py);
        if self.part.len() == bytes.as_bytes().len() {
            return Ok(bytes.clone().into_any());
        }
        let part = PySlice::new(py, self.part.start.cast_signed(), self.part.end.cast_signed(), 1);
        PyMemoryView::from(bytes)?.as_any().get_item(part)
    }

    /// The bytes held, without parts that were decoded: the body, the index, and the tables of keys.
    #[getter]
    fn size(&self, py: Python<'_>) -> usize {
        let tables = self.tables.lock().map_or(0, |tables| {
            let held = tables.iter().flatten().filter_map(|table| table.keys.as_ref());
            tables.capacity() * size_of::<Option<Arc<Table>>>() + held.map(|(_, table)| table.size()).sum::<usize>()
        });
        self.bytes.as_bytes(py).len() + self.offsets.size() + tables
    }

    /// Return the number of elements of an array of structs, or None if it is null.
    fn count(&self, position: usize) -> Option<usize> {
        self.offsets.count(position)
    }

    /// Decode a plain field.
    fn field<'py>(&self, py: Python<'py>, position: usize) -> PyResult<Bound<'py, PyAny>> {
        let part = self.offsets.field(self.root(), self.input(py), position);
        self.build(py, part.ok_or_else(|| no_part("field", position))?)
    }

    /// Decode a tagged field. Returns None if its tag is missing, or else a tuple of one.
    fn tagged<'py>(&self, py: Python<'py>, position: usize) -> PyResult<Option<(Bound<'py, PyAny>,)>> {
        match self.offsets.tagged(self.root(), self.input(py), position) {
            Some(part) => Ok(Some((self.build(py, part)?,))),
            None => Ok(None),
        }
    }

    /// Return the unknown tags in shortest form.
    fn unknown_tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        new_bytes(py, &self.offsets.unknown_tags(self.root(), self.input(py)))
    }

    /// Decode an element of an array of structs.
    fn element<'py>(&self, py: Python<'py>, position: usize, element: usize) -> PyResult<Bound<'py, PyAny>> {
        let part = self.offsets.element(self.root(), self.input(py), position, element);
        self.build(py, part.ok_or_else(|| no_part("element", element))?)
    }

    /// Decode the elements of an array of structs from `start` to before `stop` to a tuple.
    fn elements<'py>(
        &self,
        py: Python<'py>,
        position: usize,
        start: usize,
        stop: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let part = self
            .offsets
            .elements(self.root(), self.input(py), position, &(start..stop));
        self.build(py, part.ok_or_else(|| no_part("element", stop))?)
    }

    /// Return the index of the first element of an array of structs with a key, or None. `names` are the key fields, and
    /// `parts` has the contents of the key: big-endian integers, uuids, UTF-8, or None for null. Returns False if keys of
    /// these fields cannot be compared by their bytes.
    #[allow(clippy::needless_pass_by_value, reason = "arguments from Python arrive as values")]
    fn find<'py>(
        &self,
        py: Python<'py>,
        position: usize,
        names: &Bound<'py, PyTuple>,
        parts: Vec<Option<PyBackedBytes>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        require_reserve()?;
        let (root, input) = (self.root(), self.input(py));
        let same = |table: &&Arc<Table>| {
            let mut wanted = names.iter_borrowed();
            table.names.len() == names.len()
                && table
                    .names
                    .iter()
                    .all(|name| wanted.next().is_some_and(|wanted| wanted.eq(name).unwrap_or(false)))
        };
        let held = self.tables.lock().ok();
        let held = held.and_then(|tables| tables.get(position)?.as_ref().filter(same).cloned());
        let table = if let Some(table) = held {
            table
        } else {
            let names = names.extract::<Vec<String>>()?;
            let keys = match KeyFields::new(root, position, &names) {
                Some(keys) => {
                    let table = KeyTable::new(&self.offsets, root, input, position, &keys);
                    Some((keys, table.ok_or_else(|| out_of_memory(()))?))
                }
                None => None,
            };
            let table = Arc::new(Table { names, keys });
            if let Ok(mut tables) = self.tables.lock()
                && let Some(place) = tables.get_mut(position)
            {
                *place = Some(Arc::clone(&table));
            }
            table
        };
        let Some((keys, table)) = &table.keys else {
            return Ok(false.into_pyobject(py)?.to_owned().into_any());
        };
        let wanted: Vec<_> = parts.iter().map(Option::as_deref).collect();
        let found = table.find(&self.offsets, root, input, position, keys, &wanted);
        Ok(found.into_pyobject(py)?)
    }
}

impl Index {
    fn input<'s>(&'s self, py: Python<'s>) -> &'s [u8] {
        self.bytes.as_bytes(py).get(self.part.clone()).unwrap_or_default()
    }

    fn root(&self) -> &Struct {
        &self.plan.get().compiled.root
    }

    fn build<'py>(&self, py: Python<'py>, part: Part<'_>) -> PyResult<Bound<'py, PyAny>> {
        require_reserve()?;
        let plan = self.plan.get();
        let built = plan.with_caches(|caches| build_part(py, part, &plan.layouts, caches));
        built.map_err(|error| error.map_or_else(|raised| raised, |error| decode_error(py, &error)))
    }
}

/// Create the error for a part that the body does not have. Only `kwire.views` calls this class, with existing parts.
#[cold]
fn no_part(what: &str, number: usize) -> PyErr {
    pyo3::exceptions::PyIndexError::new_err(format!("the body has no {what} {number}"))
}
