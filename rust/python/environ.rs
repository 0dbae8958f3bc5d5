//! The environment, as a mapping of Python's.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::environ::Environ;
use crate::plan;
use crate::settings::Settings;

use super::node::{on_this_node, Patience};
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

pub(super) fn read_environ(environ: &Bound<'_, PyAny>) -> PyResult<Environ> {
    read(environ, |get| Environ::read(get))
}

#[pyfunction]
pub(super) fn is_first_of_node(environ: &Bound<'_, PyAny>) -> PyResult<bool> {
    read(environ, |get| plan::is_first_of_node(|variable| get(&variable.name())))
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned values
pub(super) fn count_nodes(
    py: Python<'_>,
    settings: Settings,
    environ: &Bound<'_, PyAny>,
) -> PyResult<(Option<usize>, Option<String>)> {
    let environ = read_environ(environ)?;
    on_this_node(py, 0.0, Patience::None, |node| plan::count_nodes(&settings, environ, node))
}
