//! The endpoint, for programs that initialise torch by themselves.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;

use pyo3::prelude::*;

use crate::launched::Launched;
use crate::plan::{self, Endpoint, Given};
use crate::settings::Settings;

use super::environ::{read, read_step};
use super::node::{on_this_node, Patience};
use super::text::Text;

/// Seconds that the look-ups may take which the interface needs.
const INTERFACE_TIMEOUT: f64 = 10.0;

/// Where the store is, and the place of this task; read-only.
#[pyclass(name = "Endpoint", module = "torchrun_jsc", frozen)]
pub(super) struct PyEndpoint(Endpoint);

#[pymethods]
impl PyEndpoint {
    #[getter]
    fn host(&self) -> &str {
        &self.0.host_port().value.host
    }

    #[getter]
    fn port(&self) -> u16 {
        self.0.port
    }

    #[getter]
    fn address(&self) -> Option<String> {
        self.0.address().as_ref().map(IpAddr::to_string)
    }

    #[getter]
    fn interface(&self, py: Python<'_>) -> PyResult<Option<String>> {
        on_this_node(py, INTERFACE_TIMEOUT, Patience::None, |node| Ok(self.0.interface(node)))
    }

    #[getter]
    fn host_node(&self) -> Option<&str> {
        self.0.host_node.as_deref()
    }

    #[getter]
    fn is_host(&self) -> Option<bool> {
        self.0.is_host()
    }

    #[getter]
    fn node(&self) -> &str {
        &self.0.identity.name
    }

    #[getter]
    fn node_rank(&self) -> Option<usize> {
        self.0.identity.rank
    }

    #[getter]
    fn nnodes(&self) -> Option<usize> {
        self.0.nnodes
    }

    #[getter]
    fn rank(&self) -> Option<usize> {
        self.0.rank.as_ref().map(|rank| rank.value)
    }

    #[getter]
    fn world_size(&self) -> Option<usize> {
        self.0.world_size
    }

    #[getter]
    fn local_rank(&self) -> Option<usize> {
        self.0.local_rank
    }

    #[getter]
    fn local_world_size(&self) -> Option<usize> {
        self.0.local_world_size
    }

    #[getter]
    fn warnings(&self) -> Vec<&str> {
        self.0.warnings.iter().map(String::as_str).collect()
    }

    #[getter]
    fn reasons(&self) -> BTreeMap<&'static str, &str> {
        self.0.reasons()
    }

    #[getter]
    fn init_method(&self) -> String {
        format!("tcp://{}", self.0.host_port().value)
    }

    fn env(&self) -> BTreeMap<&'static str, String> {
        self.0.env()
    }

    fn __str__(&self) -> String {
        self.0.host_port().value.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Endpoint {} {}>", self.0.host_port().value, self.0.identity.name)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.env() == other.env()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = fnv::FnvHasher::default();
        self.env().hash(&mut hasher);
        hasher.finish()
    }
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned strings
#[pyo3(signature = (settings, endpoint, nodelist, port, environ, timeout))]
pub(super) fn resolve_endpoint(
    py: Python<'_>,
    settings: Settings,
    endpoint: Option<Text>,
    nodelist: Option<Text>,
    port: Option<u16>,
    environ: &Bound<'_, PyAny>,
    timeout: f64,
) -> PyResult<PyEndpoint> {
    let step = read_step(environ)?;
    let step = match nodelist {
        Some(nodelist) => step.on_nodes(nodelist.as_ref()),
        None => step,
    };
    let launched = read(environ, |get| Launched::read(get))??;
    let given = Given { endpoint: endpoint.as_ref().map(AsRef::as_ref), port };
    let decide = |node: crate::node::Node<'_>| plan::endpoint(settings, given, step, &launched, node);
    on_this_node(py, timeout, Patience::None, decide).map(PyEndpoint)
}
