//! A decoder that reuses the previous frame and reports what has changed.
//!
//! The previous frame is held as immutable bytes together with the message decoded from it. Both are replaced together,
//! and only by a valid frame. The message before it is kept until the next call, so that removed and changed elements
//! can be returned.

use std::ops::Range;

use kwire::incremental::{ArrayChanges, Changes, Keys, Offsets};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use crate::errors::decode_error;
use crate::immutable_bytes::ImmutableBytes;
use crate::plan::Plan;
use crate::unsafe_allocator::require_reserve;
use crate::unsafe_incremental::{Output, PreviousMessage, build_incremental};
use crate::unsafe_owned::new_tuple;

/// A frame and the message decoded from it.
struct Frame {
    bytes: Py<PyBytes>,
    /// The range of `bytes` that is the frame.
    part: Range<usize>,
    offsets: Offsets,
    message: Py<PyAny>,
}

impl Frame {
    fn bytes<'f>(&'f self, py: Python<'f>) -> &'f [u8] {
        self.bytes.as_bytes(py).get(self.part.clone()).unwrap_or_default()
    }
}

/// The state of a decoder between two frames.
#[pyclass(module = "kwire._kwire")]
pub(crate) struct Memory {
    plan: Py<Plan>,
    keys: Keys,
    last: Option<Frame>,
    /// The message before `last`, if it differs.
    replaced: Option<Py<PyAny>>,
    changes: Changes,
    /// The offsets of an earlier frame, whose allocations the next one reuses.
    spare: Offsets,
}

#[pymethods]
impl Memory {
    /// Create a decoder. `keys` has the names of the key fields for each struct in the order in which the plan opens
    /// them.
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "arguments from Python arrive as values")]
    fn new(plan: Bound<'_, Plan>, keys: Vec<Vec<String>>) -> Self {
        let keys = Keys::new(&plan.get().compiled, &keys);
        Self {
            plan: plan.unbind(),
            keys,
            last: None,
            replaced: None,
            changes: Changes::default(),
            spare: Offsets::default(),
        }
    }

    #[allow(clippy::missing_errors_doc, reason = "the collector's own")]
    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.plan)?;
        visit.call(&self.replaced)?;
        self.last.as_ref().map_or(Ok(()), |last| visit.call(&last.message))
    }

    fn __clear__(&mut self) {
        self.reset();
    }

    /// Decode a bytes-like object. After an error, the last valid frame is kept unchanged.
    fn decode<'py>(&mut self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        require_reserve()?;
        let data = ImmutableBytes::new(data)?;
        let input = data.as_slice();
        // Release the message before the last one first, so that the new one is allocated in its memory.
        self.replaced = self.last.as_ref().map(|last| last.message.clone_ref(py));
        self.changes = Changes::default();
        if let Some(last) = &self.last
            && last.bytes(py) == input
        {
            return Ok(last.message.bind(py).clone());
        }
        let plan = self.plan.get();
        let message = self.last.as_ref().map(|last| last.message.bind(py).clone());
        let previous = self
            .last
            .as_ref()
            .zip(message.as_ref())
            .map(|(last, message)| PreviousMessage {
                bytes: last.bytes(py),
                offsets: &last.offsets,
                message,
            });
        let mut changes = Changes::default();
        let built = plan.with_caches(|caches| {
            let mut output = Output {
                offsets: &mut self.spare,
                changes: &mut changes,
            };
            let engine = (&plan.compiled, &self.keys, plan.layouts.as_slice());
            build_incremental(py, engine, input, caches, previous.as_ref(), &mut output)
        });
        let built = built.map_err(|error| error.map_or_else(|raised| raised, |error| decode_error(py, &error)))?;
        let (bytes, part) = data.unbind();
        let frame = Frame {
            bytes,
            part,
            offsets: std::mem::take(&mut self.spare),
            message: built.clone().unbind(),
        };
        self.changes = changes;
        if let Some(last) = self.last.replace(frame) {
            self.spare = last.offsets;
        }
        Ok(built)
    }

    /// Forget the last frame.
    fn reset(&mut self) {
        self.last = None;
        self.replaced = None;
        self.changes = Changes::default();
    }

    /// Return what the last valid frame changed, or None if it was the first: the names of the fields that differ, the
    /// differences of arrays of structs by name (added, removed, changed as pairs, moved), and the previous message if
    /// its tag section differs, else None.
    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Option<PyChanges<'py>>> {
        let (Some(last), Some(replaced)) = (&self.last, &self.replaced) else {
            return Ok(None);
        };
        let root = &self.plan.get().compiled.root;
        let (before, now) = (replaced.bind(py), last.message.bind(py));
        let names = self
            .changes
            .fields
            .iter()
            .map(|position| PyString::new(py, &root.fields[*position].name));
        let arrays = PyDict::new(py);
        for (position, changes) in &self.changes.arrays {
            let name = PyString::new(py, &root.fields[*position].name);
            let differs = array_changes(&before.getattr(&name)?, &now.getattr(&name)?, changes)?;
            arrays.set_item(name, differs)?;
        }
        let tags = self.changes.tags.then(|| before.clone());
        Ok(Some((PyTuple::new(py, names)?, arrays, tags)))
    }

    /// The bytes held besides the last two messages.
    #[getter]
    fn size(&self, py: Python<'_>) -> usize {
        let last = self.last.as_ref();
        let bytes = last.map_or(0, |last| last.bytes.as_bytes(py).len() + last.offsets.size());
        bytes + self.spare.size()
    }
}

type PyChanges<'py> = (Bound<'py, PyTuple>, Bound<'py, PyDict>, Option<Bound<'py, PyAny>>);

type PyArrayChanges<'py> = (Bound<'py, PyTuple>, Bound<'py, PyTuple>, Bound<'py, PyTuple>, bool);

/// Replace the indexes of changes by the elements.
fn array_changes<'py>(
    before: &Bound<'py, PyAny>,
    now: &Bound<'py, PyAny>,
    differences: &ArrayChanges,
) -> PyResult<PyArrayChanges<'py>> {
    let py = now.py();
    let added = differences
        .added
        .iter()
        .map(|index| now.get_item(index))
        .collect::<PyResult<Vec<_>>>()?;
    let changed = differences
        .changed
        .iter()
        .map(|(old, new)| Ok(new_tuple(before.py(), vec![before.get_item(old)?, now.get_item(new)?])?.into_any()));
    let changed = changed.collect::<PyResult<Vec<_>>>()?;
    let count = if before.is_none() { 0 } else { before.len()? };
    let gone = (0..count).filter(|index| differences.retained.get(*index) != Some(&true));
    let removed = gone.map(|index| before.get_item(index)).collect::<PyResult<Vec<_>>>()?;
    Ok((
        new_tuple(py, added)?,
        new_tuple(py, removed)?,
        new_tuple(py, changed)?,
        differences.moved,
    ))
}
