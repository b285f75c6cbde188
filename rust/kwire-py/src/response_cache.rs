//! `ResponseCache` for Python.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::unsafe_allocator::require_reserve;

/// A cache of prepared responses, looked up by the bytes of the request.
#[pyclass(module = "kwire._kwire")]
pub(crate) struct ResponseCache {
    responses: kwire_response_cache::ResponseCache<Py<PyAny>>,
}

/// Response frames, where the requests end in the received bytes, the number of requests, and the label.
type Responses<'py> = (Bound<'py, PyBytes>, usize, usize, Bound<'py, PyAny>);

#[pymethods]
impl ResponseCache {
    #[new]
    fn new() -> Self {
        Self {
            responses: kwire_response_cache::ResponseCache::default(),
        }
    }

    #[allow(
        clippy::missing_errors_doc,
        reason = "errors come from the garbage collector's visitor"
    )]
    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.responses.labels().try_for_each(|label| visit.call(label))
    }

    fn __clear__(&mut self) {
        self.responses.clear();
    }

    fn __len__(&self) -> usize {
        self.responses.len()
    }

    /// Store the response body for a request. Return False and store nothing if the request is too short or too long.
    fn insert(&mut self, request: &[u8], body: &[u8], label: Py<PyAny>) -> PyResult<bool> {
        require_reserve()?;
        Ok(self.responses.insert(request, body, label))
    }

    /// Remove all responses.
    fn clear(&mut self) {
        self.responses.clear();
    }

    /// Return the responses to the request at `start` and its repetitions, None if it is not in the cache.
    fn get<'py>(
        &self,
        py: Python<'py>,
        received: &[u8],
        start: usize,
        max_bytes: usize,
    ) -> PyResult<Option<Responses<'py>>> {
        let Some(hit) = received
            .get(start..)
            .and_then(|frames| self.responses.get(frames, max_bytes))
        else {
            return Ok(None);
        };
        let responses = PyBytes::new_with(py, hit.response_len(), |out| {
            hit.write(out);
            Ok(())
        })?;
        let label = hit.label().bind(py).clone();
        Ok(Some((responses, start + hit.received_len(), hit.requests(), label)))
    }
}
