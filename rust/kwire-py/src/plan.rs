//! `Plan` for Python: a parsed plan with the classes of its structs.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyType};

use crate::errors::{decode_error, encode_error, plan_error};
use crate::immutable_bytes::ImmutableBytes;
use crate::unsafe_allocator::require_reserve;
use crate::unsafe_builder::build;
use crate::unsafe_caches::Caches;
use crate::unsafe_layout::Layout;
use crate::unsafe_source;
use crate::unsafe_uniform_source::Columns;

/// A message in one version, ready to decode and encode.
#[pyclass(frozen, module = "kwire._kwire")]
pub(crate) struct Plan {
    pub(crate) compiled: kwire::Plan,
    pub(crate) layouts: Vec<Layout>,
    /// For each struct, how to encode several of them together.
    columns: Vec<Option<Columns>>,
    /// Taken for the duration of a call. A second thread creates its own in the meantime.
    caches: Mutex<Option<Box<Caches>>>,
    /// The length of the last encoded message.
    length: AtomicUsize,
}

#[pymethods]
impl Plan {
    /// Create a plan from its text. `structs` has the class and the defaults of absent fields for each struct in the
    /// order in which the text opens them.
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "arguments from Python arrive as values")]
    fn new(text: &str, structs: Vec<(Bound<'_, PyType>, Bound<'_, PyDict>)>) -> PyResult<Self> {
        let plan: kwire::Plan = text.parse().map_err(|error| plan_error(&error))?;
        let mut opened = Vec::with_capacity(plan.structs);
        plan.root.each_struct(&mut |body| opened.push(body));
        if opened.len() != structs.len() {
            return Err(PyValueError::new_err(format!(
                "the plan opens {} structs, found {}",
                opened.len(),
                structs.len()
            )));
        }
        let layouts = opened
            .iter()
            .zip(&structs)
            .map(|(body, (class, absent))| Layout::new(body, class, absent));
        let layouts = layouts.collect::<PyResult<Vec<_>>>()?;
        let columns = opened
            .iter()
            .zip(&layouts)
            .map(|(body, layout)| Columns::new(body, layout))
            .collect();
        Ok(Self {
            compiled: plan,
            layouts,
            columns,
            caches: Mutex::new(None),
            length: AtomicUsize::new(0),
        })
    }

    /// A class refers to its plans and they to the class, so the garbage collector must see these references. Clearing
    /// them is up to the class.
    #[allow(clippy::missing_errors_doc, reason = "the collector's own")]
    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.layouts.iter().try_for_each(|layout| layout.traverse(&visit))
    }

    /// The text of the plan.
    #[getter]
    fn text(&self) -> String {
        self.compiled.to_string()
    }

    /// Decode a bytes-like object. `version` is the key that the caller found the plan by.
    #[pyo3(signature = (data, version = None))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        version: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        require_reserve()?;
        check_key(version)?;
        let data = ImmutableBytes::new(data)?;
        let built = self.with_caches(|caches| build(py, &self.compiled, &self.layouts, data.as_slice(), caches));
        built.map_err(|error| error.map_or_else(|raised| raised, |error| decode_error(py, &error)))
    }

    /// Encode a message. `version` is the key that the caller found the plan by.
    #[pyo3(signature = (message, version = None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        message: &Bound<'py, PyAny>,
        version: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        require_reserve()?;
        check_key(version)?;
        unsafe_source::encode(py, &self.compiled, &self.layouts, &self.columns, message, &self.length)?
            .map_err(|error| encode_error(py, &error))
    }

    /// Check a bytes-like object. Raises `DecodeError` if it is invalid. `version` is the key that the caller found the
    /// plan by.
    #[pyo3(signature = (data, version = None))]
    fn validate(&self, py: Python<'_>, data: &Bound<'_, PyAny>, version: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        require_reserve()?;
        check_key(version)?;
        let data = ImmutableBytes::new(data)?;
        let bytes = data.as_slice();
        // Release the GIL for long inputs. The bytes are immutable.
        let checked = if bytes.len() < 1 << 16 {
            kwire::validate(&self.compiled, bytes)
        } else {
            py.detach(|| kwire::validate(&self.compiled, bytes))
        };
        checked.map_err(|error| decode_error(py, &error))
    }
}

/// Check the key of a look-up by version. `True` and `1.0` find the plan of version 1 in a dict, because they equal 1.
#[inline]
fn check_key(version: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match version {
        Some(version) if !version.is_exact_instance_of::<PyInt>() => check_unusual_key(version),
        _ => Ok(()),
    }
}

#[cold]
fn check_unusual_key(version: &Bound<'_, PyAny>) -> PyResult<()> {
    if version.is_instance_of::<PyInt>() && !version.is_instance_of::<PyBool>() {
        return Ok(());
    }
    let found = version.repr()?;
    Err(PyTypeError::new_err(format!("version: expected an int, found {found}")))
}

impl Plan {
    /// Call `work` with the tables of the plan. No other thread uses them at the same time.
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
