//! All of pyo3: convert, release the GIL, map errors.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::time::Duration;

use pyo3::exceptions::{PyIndexError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::hostlist::{self, Hostlist};
use crate::interface::{Interface, Table};
use crate::plan::{self, Decision, HostCheck, Node, Options, Plan, Settings};
use crate::resolve::SystemResolver;
use crate::slurm::Step;
use crate::Error;

/// The compiled part of the package.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::{
        expand_hostlist, fold_hostlist, interfaces, make_plan, nodes_of_step, PyHostlist, PyInterface, PyPlan,
    };

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let class = match error {
            Error::Hostlist { .. } | Error::TooManyHosts { .. } => "HostlistError",
            Error::Setting { .. } => "SettingError",
            Error::Resolve { .. } => "ResolveError",
        };
        // The classes have two bases each, which the stable ABI cannot make: they are Python's.
        Python::attach(|py| match py.import("torchrun_jsc.errors").and_then(|errors| errors.getattr(class)) {
            Ok(class) => class.call1((error.to_string(),)).map_or_else(|error| error, PyErr::from_value),
            Err(import) => import,
        })
    }
}

/// `Settings` as Python passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct SettingsMap {
    ignore_node_ranks: bool,
    node_rank: Option<usize>,
    host_node_rank: Option<usize>,
    host_templates: Vec<String>,
    interface: Option<String>,
    port: Option<u16>,
    keep_gloo: bool,
    gloo_socket_ifname: Option<String>,
    nccl_socket_ifname: Option<String>,
}

impl From<SettingsMap> for Settings {
    fn from(map: SettingsMap) -> Self {
        let SettingsMap {
            ignore_node_ranks,
            node_rank,
            host_node_rank,
            host_templates,
            interface,
            port,
            keep_gloo,
            gloo_socket_ifname,
            nccl_socket_ifname,
        } = map;
        Self {
            ignore_node_ranks,
            node_rank,
            host_node_rank,
            host_templates,
            interface,
            port,
            keep_gloo,
            gloo_socket_ifname,
            nccl_socket_ifname,
        }
    }
}

/// `Options` as Python passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct OptionsMap {
    standalone: bool,
    backend: String,
    endpoint: String,
    run_id: String,
    min_nodes: usize,
    max_nodes: usize,
    is_host: Option<bool>,
    file_store: bool,
    local_address: Option<String>,
    given: Vec<String>,
}

impl From<OptionsMap> for Options {
    fn from(map: OptionsMap) -> Self {
        let OptionsMap {
            standalone,
            backend,
            endpoint,
            run_id,
            min_nodes,
            max_nodes,
            is_host,
            file_store,
            local_address,
            given,
        } = map;
        Self { standalone, backend, endpoint, run_id, min_nodes, max_nodes, is_host, file_store, local_address, given }
    }
}

/// A plan, read-only.
#[pyclass(name = "Plan", module = "torchrun_jsc._core", frozen)]
struct PyPlan(Plan);

#[pymethods]
impl PyPlan {
    #[getter]
    fn untouched(&self) -> Option<&str> {
        self.0.untouched.as_deref()
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
        self.0.identity.nnodes()
    }

    #[getter]
    fn nodes(&self) -> Option<PyHostlist> {
        self.0.identity.nodes.as_ref().map(|nodes| PyHostlist(nodes.hosts.clone()))
    }

    #[getter]
    fn nodes_source(&self) -> Option<&str> {
        self.0.identity.nodes.as_ref().map(|nodes| nodes.variable.as_str())
    }

    #[getter]
    fn host_node(&self) -> Option<&str> {
        self.0.host_node.as_deref()
    }

    #[getter]
    fn is_host(&self) -> Option<bool> {
        self.0.is_host.as_ref().map(|decision| decision.value)
    }

    #[getter]
    fn host_check(&self) -> &'static str {
        match self.0.host_check {
            HostCheck::Argument => "argument",
            HostCheck::Function => "function",
        }
    }

    #[getter]
    fn endpoint(&self) -> Option<String> {
        self.0.endpoint.as_ref().map(|decision| decision.value.to_string())
    }

    #[getter]
    fn host(&self) -> Option<&str> {
        self.0.endpoint.as_ref().map(|decision| decision.value.host.as_str())
    }

    #[getter]
    fn port(&self) -> Option<u16> {
        self.0.endpoint.as_ref().and_then(|decision| decision.value.port)
    }

    #[getter]
    fn endpoint_address(&self) -> Option<String> {
        self.0.endpoint_address.as_ref().map(IpAddr::to_string)
    }

    #[getter]
    fn local_address(&self) -> Option<&str> {
        self.0.local_address.as_ref().map(|decision| decision.value.as_str())
    }

    #[getter]
    fn interface(&self) -> Option<&str> {
        self.0.interface.as_ref().map(|decision| decision.value.as_str())
    }

    #[getter]
    fn gloo_interface(&self) -> Option<&str> {
        self.0.gloo_interface.as_ref().map(|decision| decision.value.as_str())
    }

    #[getter]
    fn fills(&self) -> BTreeMap<&'static str, &str> {
        self.0.fills.iter().map(|fill| (fill.option, fill.value.as_str())).collect()
    }

    #[getter]
    fn warnings(&self) -> Vec<&str> {
        self.0.warnings.iter().map(String::as_str).collect()
    }

    #[getter]
    fn reasons(&self) -> BTreeMap<&'static str, &str> {
        let mut reasons: BTreeMap<_, _> = self.0.fills.iter().map(|fill| (fill.option, fill.reason.as_str())).collect();
        insert(&mut reasons, "is_host", self.0.is_host.as_ref());
        insert(&mut reasons, "endpoint", self.0.endpoint.as_ref());
        insert(&mut reasons, "local_address", self.0.local_address.as_ref());
        insert(&mut reasons, "interface", self.0.interface.as_ref());
        insert(&mut reasons, "gloo_interface", self.0.gloo_interface.as_ref());
        if self.0.identity.rank.is_some() {
            reasons.insert("node_rank", &self.0.identity.rank_source);
        }
        reasons
    }
}

fn insert<'a, T>(reasons: &mut BTreeMap<&'static str, &'a str>, name: &'static str, decision: Option<&'a Decision<T>>) {
    if let Some(decision) = decision {
        reasons.insert(name, &decision.reason);
    }
}

/// A node list that is expanded only as far as it is asked for.
#[pyclass(name = "Hostlist", module = "torchrun_jsc._core", frozen)]
struct PyHostlist(Hostlist);

#[pymethods]
impl PyHostlist {
    #[new]
    fn new(expression: &str) -> PyResult<Self> {
        Ok(Self(Hostlist::parse(expression)?))
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

/// One interface of this node.
#[pyclass(name = "Interface", module = "torchrun_jsc._core", frozen)]
struct PyInterface(Interface);

#[pymethods]
impl PyInterface {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn index(&self) -> u32 {
        self.0.index
    }

    #[getter]
    fn is_up(&self) -> bool {
        self.0.up
    }

    #[getter]
    fn is_running(&self) -> bool {
        self.0.running
    }

    #[getter]
    fn is_loopback(&self) -> bool {
        self.0.loopback
    }

    #[getter]
    fn link_type(&self) -> u16 {
        self.0.link_type
    }

    #[getter]
    fn addresses(&self) -> Vec<(String, u8)> {
        self.0.addresses.iter().map(|address| (address.ip.to_string(), address.prefix)).collect()
    }

    fn __repr__(&self) -> String {
        let addresses: Vec<_> =
            self.0.addresses.iter().map(|address| format!("{}/{}", address.ip, address.prefix)).collect();
        format!("<Interface {} {}>", self.0.name, addresses.join(" "))
    }
}

fn read_step(environ: &Bound<'_, PyMapping>) -> PyResult<Step> {
    let failed = RefCell::new(None);
    let get = |name: &str| match environ.call_method1("get", (name,)).and_then(|value| value.extract()) {
        Ok(value) => value,
        Err(error) => {
            failed.replace(Some(error));
            None
        }
    };
    let step = Step::read(get);
    failed.into_inner().map_or(Ok(step), Err)
}

/// The kernel's range of ephemeral ports.
fn ephemeral_ports() -> Option<(u16, u16)> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[pyfunction(name = "plan")]
fn make_plan(
    py: Python<'_>,
    settings: SettingsMap,
    options: OptionsMap,
    environ: &Bound<'_, PyMapping>,
    timeout: f64,
) -> PyResult<PyPlan> {
    let step = read_step(environ)?;
    let (settings, options) = (settings.into(), options.into());
    let timeout = Duration::try_from_secs_f64(timeout).unwrap_or(Duration::MAX);
    let (plan, signal) = py.detach(|| {
        let signal = RefCell::new(None);
        let interrupted = || {
            #[allow(clippy::redundant_closure_for_method_calls)] // the method is not general in its lifetime
            let caught = Python::attach(|py| py.check_signals()).err();
            let is_caught = caught.is_some();
            signal.replace(caught);
            is_caught
        };
        let resolver = SystemResolver::new(timeout, interrupted);
        let plan = Table::snapshot().map_err(|error| error.to_string()).map(|table| {
            let hostname = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
            let node =
                Node { hostname: &hostname, table: &table, resolver: &resolver, ephemeral_ports: ephemeral_ports() };
            plan::plan(&settings, &options, &step, node)
        });
        (plan, signal.take())
    });
    if let Some(signal) = signal {
        return Err(signal);
    }
    Ok(PyPlan(plan.map_err(PyOSError::new_err)??))
}

#[pyfunction]
fn nodes_of_step(environ: &Bound<'_, PyMapping>) -> PyResult<Option<PyHostlist>> {
    Ok(read_step(environ)?.nodes()?.map(|nodes| PyHostlist(nodes.hosts)))
}

#[pyfunction]
fn expand_hostlist(expression: &str) -> PyResult<Vec<String>> {
    Ok(Hostlist::parse(expression)?.expand(hostlist::MAX_EXPANDED)?)
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned strings
fn fold_hostlist(names: Vec<String>) -> PyResult<String> {
    Ok(hostlist::fold(&names)?)
}

#[pyfunction]
fn interfaces() -> PyResult<Vec<PyInterface>> {
    Ok(Table::snapshot()?.interfaces.into_iter().map(PyInterface).collect())
}
