//! Answers that are found by the bytes of their requests.
//!
//! Rules of this file: bytes in, bytes out; what a request means is for Python, which says what is known.

use kwire::known_requests::KnownRequests as Known;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// What a server would answer to requests that it has answered before.
#[pyclass(module = "kwire._kwire")]
pub(crate) struct KnownRequests {
    known: Known<Py<PyAny>>,
}

/// Frames of answers, where their run of requests ends, how many there are, the label.
type Answered<'py> = (Bound<'py, PyBytes>, usize, usize, Bound<'py, PyAny>);

#[pymethods]
impl KnownRequests {
    #[new]
    fn new() -> Self {
        Self {
            known: Known::default(),
        }
    }

    #[allow(clippy::missing_errors_doc, reason = "the collector's own")]
    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.known.labels().try_for_each(|label| visit.call(label))
    }

    fn __clear__(&mut self) {
        self.known.clear();
    }

    fn __len__(&self) -> usize {
        self.known.len()
    }

    /// Keep the body that answers a request. False, and nothing kept, when no such request can be known.
    fn insert(&mut self, request: &[u8], body: &[u8], label: Py<PyAny>) -> bool {
        self.known.insert(request, body, label)
    }

    /// Forget all of them.
    fn clear(&mut self) {
        self.known.clear();
    }

    /// Answers to the run of equal known requests at `start`, taking `at_most` bytes or being a single one.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        received: &[u8],
        start: usize,
        at_most: usize,
    ) -> PyResult<Option<Answered<'py>>> {
        let Some(run) = received.get(start..).and_then(|frames| self.known.run(frames, at_most)) else {
            return Ok(None);
        };
        let answers = PyBytes::new_with(py, run.size(), |out| {
            run.write(out);
            Ok(())
        })?;
        let label = run.label().bind(py).clone();
        Ok(Some((answers, start + run.received(), run.requests(), label)))
    }
}
