//! `Pattern` for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use regex_lite::{Regex, RegexBuilder};

/// Largest expression in bytes. Arguments of Admin requests cannot be longer.
const MAX_TEXT: usize = i16::MAX as usize;
/// Largest compiled expression in bytes, so that `((x{99}){99}){99}` is refused after milliseconds. Chosen, not
/// measured: expressions for names of topics take some kilobytes.
const MAX_COMPILED: usize = 1 << 20;

/// A regular expression of an untrusted user, matched in time that is linear in the text.
#[pyclass(module = "kwire._kwire", frozen)]
pub(crate) struct Pattern {
    anywhere: Regex,
    whole: Regex,
}

#[pymethods]
impl Pattern {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        if text.len() > MAX_TEXT {
            let reason = format!("it has {} bytes: at most {MAX_TEXT} are allowed", text.len());
            return Err(PyValueError::new_err(reason));
        }
        // Compiled alone first: `a)|(b` must not close the group around it.
        let anywhere = compile(text)?;
        let whole = compile(&format!(r"\A(?:{text})\z"))?;
        Ok(Self { anywhere, whole })
    }

    /// The number of groups.
    #[getter]
    fn groups(&self) -> usize {
        self.anywhere.captures_len() - 1
    }

    /// Return whether the expression matches somewhere in a text.
    fn search(&self, text: &str) -> bool {
        self.anywhere.is_match(text)
    }

    /// Return whether the expression matches a whole text.
    fn matches(&self, text: &str) -> bool {
        self.whole.is_match(text)
    }

    /// Return the groups of a match of a whole text, the match itself first; None without a match.
    fn fullmatch(&self, text: &str) -> Option<Vec<Option<String>>> {
        let captures = self.whole.captures(text)?;
        let groups = captures
            .iter()
            .map(|group| group.map(|found| found.as_str().to_owned()));
        Some(groups.collect())
    }
}

fn compile(text: &str) -> PyResult<Regex> {
    let compiled = RegexBuilder::new(text).size_limit(MAX_COMPILED).build();
    compiled.map_err(|error| PyValueError::new_err(error.to_string()))
}
