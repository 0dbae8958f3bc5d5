//! The environment, as a mapping of Python's.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::environ::Environ;
use crate::slurm::Step;

use super::hostlist::PyHostlist;
use super::text::Text;

/// Read from a mapping by its `get`; an exception of it comes before the answer.
///
/// Not a `PyMapping`: to check that it is one, `collections.abc` would be imported, which reads more files than all the
/// rest of a call.
pub(super) fn read<T>(
    environ: &Bound<'_, PyAny>,
    read: impl FnOnce(&dyn Fn(&str) -> Option<String>) -> T,
) -> PyResult<T> {
    let failed = RefCell::new(None);
    let item = |name: &str| match environ.cast_exact::<PyDict>() {
        Ok(dict) => dict.get_item(name)?.map_or(Ok(None), |value| value.extract::<Option<Text>>()),
        Err(_) => environ.call_method1("get", (name,))?.extract(),
    };
    let get = |name: &str| match item(name) {
        Ok(value) => value.map(|text| text.0),
        Err(error) => {
            failed.replace(Some(error));
            None
        }
    };
    let value = read(&get);
    failed.into_inner().map_or(Ok(value), Err)
}

pub(super) fn read_step(environ: &Bound<'_, PyAny>) -> PyResult<Step> {
    read(environ, |get| Step::new(Environ::read(get)))
}

#[pyfunction]
pub(super) fn is_first_of_node(environ: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(read_step(environ)?.is_first_of_node())
}

#[pyfunction]
pub(super) fn nodes_of_step(environ: &Bound<'_, PyAny>) -> PyResult<Option<PyHostlist>> {
    Ok(read_step(environ)?.allocated_nodes()?.map(|nodes| PyHostlist(nodes.hosts)))
}
