//! The endpoint, for programs that initialise torch by themselves.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::launched::Launched;
use crate::node::Node;
use crate::plan::{self, Endpoint, Given, OwnAddress};
use crate::settings::Settings;

use super::environ::{read, read_environ};
use super::node::{on_this_node, Patience};
use super::text::Text;

/// Seconds that the look-ups may take which this node's own address needs.
const OWN_ADDRESS_TIMEOUT: f64 = 10.0;

/// Where the store is, and the place of this task; read-only.
#[pyclass(name = "Endpoint", module = "torchrun_jsc", frozen)]
pub(super) struct PyEndpoint(Endpoint);

impl PyEndpoint {
    fn own_address(&self, py: Python<'_>) -> PyResult<OwnAddress> {
        on_this_node(py, OWN_ADDRESS_TIMEOUT, Patience::None, |node| Ok(self.0.own_address(node)))
    }
}

#[pymethods]
impl PyEndpoint {
    #[getter]
    fn host(&self) -> &str {
        &self.0.host_port.host
    }

    #[getter]
    fn port(&self) -> u16 {
        self.0.port
    }

    #[getter]
    fn address(&self) -> Option<String> {
        self.0.address.as_ref().map(IpAddr::to_string)
    }

    #[getter]
    fn local_address(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.own_address(py)?.address)
    }

    #[getter]
    fn interface(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.own_address(py)?.interface)
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
        &self.0.node
    }

    #[getter]
    fn node_rank(&self) -> Option<usize> {
        self.0.node_rank
    }

    #[getter]
    fn nnodes(&self) -> Option<usize> {
        self.0.nnodes
    }

    #[getter]
    fn rank(&self) -> Option<usize> {
        self.0.rank
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
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    #[getter]
    fn reasons(&self) -> BTreeMap<String, String> {
        self.0.reasons.clone()
    }

    #[getter]
    fn init_method(&self) -> String {
        format!("tcp://{}", self.0.host_port)
    }

    fn env(&self) -> BTreeMap<&'static str, String> {
        self.0.env()
    }

    fn __str__(&self) -> String {
        self.0.host_port.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Endpoint {} {}>", self.0.host_port, self.0.node)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.env() == other.env()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = fnv::FnvHasher::default();
        self.env().hash(&mut hasher);
        hasher.finish()
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let settled = on_this_node(py, OWN_ADDRESS_TIMEOUT, Patience::None, |node| Ok(self.0.settled(node)))?;
        let text = serde_json::to_string(&settled).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((py.get_type::<Self>().getattr("_from_json")?, (text,)))
    }

    #[staticmethod]
    fn _from_json(text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned values
#[pyo3(signature = (settings, endpoint, port, environ, timeout, is_child))]
pub(super) fn resolve_endpoint(
    py: Python<'_>,
    settings: Settings,
    endpoint: Option<Text>,
    port: Option<u16>,
    environ: &Bound<'_, PyAny>,
    timeout: f64,
    is_child: bool,
) -> PyResult<PyEndpoint> {
    let launched = read(environ, |get| Launched::read(get))??;
    let environ = read_environ(environ)?;
    let given = Given { endpoint: endpoint.as_ref().map(AsRef::as_ref), port, is_child };
    let decide = |node: Node<'_>| plan::endpoint(settings, given, environ, &launched, node);
    on_this_node(py, timeout, Patience::None, decide).map(PyEndpoint)
}
