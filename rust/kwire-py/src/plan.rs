//! The door: a compiled plan with the classes it builds.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

use crate::errors::{decode_error, encode_error, plan_error};
use crate::immutable_bytes::ImmutableBytes;
use crate::unsafe_builder::build;
use crate::unsafe_caches::Caches;
use crate::unsafe_layout::Layout;
use crate::unsafe_source;

/// A message at one version, ready to decode and encode.
#[pyclass(frozen, module = "kwire._kwire")]
pub(crate) struct Plan {
    pub(crate) compiled: kwire::Plan,
    pub(crate) layouts: Vec<Layout>,
    /// Taken for a call and put back after it; a second thread in the meantime makes its own.
    caches: Mutex<Option<Box<Caches>>>,
    /// How many bytes the last encoding gave.
    length: AtomicUsize,
}

#[pymethods]
impl Plan {
    /// `text`: a plan. `structs`: for each struct that it opens, in that order, the class, and the defaults of the
    /// fields that the plan says are absent.
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "arguments from Python arrive as values")]
    fn new(text: &str, structs: Vec<(Bound<'_, PyType>, Bound<'_, PyDict>)>) -> PyResult<Self> {
        let plan: kwire::Plan = text.parse().map_err(|error| plan_error(&error))?;
        let mut opened = Vec::with_capacity(plan.structs);
        plan.root.each_struct(&mut |body| opened.push(body));
        if opened.len() != structs.len() {
            return Err(PyValueError::new_err(format!(
                "the plan opens {} structs, not {}",
                opened.len(),
                structs.len()
            )));
        }
        let layouts = opened
            .iter()
            .zip(&structs)
            .map(|(body, (class, absent))| Layout::new(body, class, absent));
        let layouts = layouts.collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            compiled: plan,
            layouts,
            caches: Mutex::new(None),
            length: AtomicUsize::new(0),
        })
    }

    /// A class keeps its plans, and these the class: the collector must see it. What it clears is the class's part.
    #[allow(clippy::missing_errors_doc, reason = "the collector's own")]
    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.layouts.iter().try_for_each(|layout| layout.traverse(&visit))
    }

    /// The plan's text.
    #[getter]
    fn text(&self) -> String {
        self.compiled.to_string()
    }

    /// Bytes-like to object.
    fn decode<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let data = ImmutableBytes::new(data)?;
        let built = self.with_caches(|caches| build(py, &self.compiled, &self.layouts, data.as_slice(), caches));
        built.map_err(|error| error.map_or_else(|raised| raised, |error| decode_error(py, &error)))
    }

    /// Object to bytes.
    fn encode<'py>(&self, py: Python<'py>, message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        unsafe_source::encode(py, &self.compiled, &self.layouts, message, &self.length)?
            .map_err(|error| encode_error(py, &error))
    }

    /// Bytes-like to nothing, or to what is wrong with it.
    fn validate(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let data = ImmutableBytes::new(data)?;
        let bytes = data.as_slice();
        // Long inputs let other threads run meanwhile: bytes do not change.
        let checked = if bytes.len() < 1 << 16 {
            kwire::validate(&self.compiled, bytes)
        } else {
            py.detach(|| kwire::validate(&self.compiled, bytes))
        };
        checked.map_err(|error| decode_error(py, &error))
    }
}

impl Plan {
    /// Work with the plan's tables, which nobody else has meanwhile.
    pub(crate) fn with_caches<R>(&self, work: impl FnOnce(&mut Caches) -> R) -> R {
        let taken = self.caches.lock().ok().and_then(|mut caches| caches.take());
        let mut caches = taken.unwrap_or_else(|| Box::new(Caches::new(self.layouts.len())));
        let result = work(&mut caches);
        if let Ok(mut place) = self.caches.lock() {
            *place = Some(caches);
        }
        result
    }
}
