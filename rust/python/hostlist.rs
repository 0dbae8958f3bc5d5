//! Node lists.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::hostlist::{self, Hostlist};

use super::text::Text;

/// A node list that is expanded only as far as it is asked for.
#[pyclass(name = "Hostlist", module = "torchrun_jsc._core", frozen, skip_from_py_object)]
#[derive(Clone)]
pub(super) struct PyHostlist(pub(super) Hostlist);

#[pymethods]
impl PyHostlist {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned strings
    fn new(expression: Text) -> PyResult<Self> {
        Ok(Self(Hostlist::parse(expression.as_ref())?))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<String> {
        let from_end = || self.0.len().checked_sub(index.unsigned_abs());
        let at = usize::try_from(index).ok().or_else(from_end);
        at.and_then(|at| self.0.nth(at)).ok_or_else(|| PyIndexError::new_err("host number out of range"))
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.0.position(name)
    }
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned strings
pub(super) fn expand_hostlist(py: Python<'_>, expression: Text) -> PyResult<Bound<'_, PyList>> {
    let hosts = Hostlist::parse(expression.as_ref())?;
    hosts.check(hostlist::MAX_EXPANDED)?;
    // Each name goes straight into Python's string, and that into the list.
    let mut names = hosts.names();
    PyList::new(py, (0..hosts.len()).map(|_| names.advance().map(|name| PyString::new(py, name))))
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned strings
pub(super) fn fold_hostlist(names: Vec<Text>) -> PyResult<String> {
    Ok(hostlist::fold(&names)?)
}
