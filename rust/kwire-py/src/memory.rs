//! A decoder that remembers the last frame, and tells what has changed since.
//!
//! Rules of this file: it holds the last frame as bytes that nobody can change, and what it became; both are exchanged
//! together, and only when a frame was good. The message before that one is kept until the next call, so that what was
//! removed or changed can be shown.

use std::ops::Range;

use kwire::incremental::{ArrayChanges, Changes, Keys, Offsets};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use crate::errors::decode_error;
use crate::immutable_bytes::ImmutableBytes;
use crate::plan::Plan;
use crate::unsafe_incremental::{Output, PreviousMessage, build_incremental};

/// A frame and what it became.
struct Frame {
    bytes: Py<PyBytes>,
    /// The part of `bytes` that is the frame.
    part: Range<usize>,
    offsets: Offsets,
    message: Py<PyAny>,
}

impl Frame {
    fn bytes<'f>(&'f self, py: Python<'f>) -> &'f [u8] {
        self.bytes.as_bytes(py).get(self.part.clone()).unwrap_or_default()
    }
}

/// What `decode` remembers of one frame to the next.
#[pyclass(module = "kwire._kwire")]
pub(crate) struct Memory {
    plan: Py<Plan>,
    keys: Keys,
    last: Option<Frame>,
    /// The message before `last`, when that differs from it.
    replaced: Option<Py<PyAny>>,
    changes: Changes,
    /// Offsets to be filled by the next frame.
    spare: Offsets,
}

#[pymethods]
impl Memory {
    /// `keys`: for each struct that the plan opens, in that order, the names of the fields of its key.
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

    /// Bytes-like to object. After a failure the last good frame is remembered, and nothing has changed.
    fn decode<'py>(&mut self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let data = ImmutableBytes::new(data)?;
        let input = data.as_slice();
        // First of all the message before the last goes: what comes is made in its memory.
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

    /// What the last good frame changed: None when there was none before it. Otherwise names of fields that differ,
    /// by name what differs in arrays of structs (added, removed, changed as pairs, moved), and the message before when
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

    /// How many bytes it holds beside the last two messages.
    #[getter]
    fn size(&self, py: Python<'_>) -> usize {
        let last = self.last.as_ref();
        let bytes = last.map_or(0, |last| last.bytes.as_bytes(py).len() + last.offsets.size());
        bytes + self.spare.size()
    }
}

type PyChanges<'py> = (Bound<'py, PyTuple>, Bound<'py, PyDict>, Option<Bound<'py, PyAny>>);

type PyArrayChanges<'py> = (Bound<'py, PyTuple>, Bound<'py, PyTuple>, Bound<'py, PyTuple>, bool);

/// Elements in the place of indexes.
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
        .map(|(old, new)| Ok((before.get_item(old)?, now.get_item(new)?)));
    let changed = changed.collect::<PyResult<Vec<_>>>()?;
    let count = if before.is_none() { 0 } else { before.len()? };
    let gone = (0..count).filter(|index| differences.retained.get(*index) != Some(&true));
    let removed = gone.map(|index| before.get_item(index)).collect::<PyResult<Vec<_>>>()?;
    Ok((
        PyTuple::new(py, added)?,
        PyTuple::new(py, removed)?,
        PyTuple::new(py, changed)?,
        differences.moved,
    ))
}
