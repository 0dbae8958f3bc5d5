//! All of pyo3: convert, release the GIL, map errors.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::hostlist::{self, Hostlist};
use crate::interface::{Interface, LazyTable, Table};
use crate::launched::Launched;
use crate::plan::{self, Decision, Given, HostCheck, Node, Options, Plan, RankOrder, Settings, Task};
use crate::resolve::SystemResolver;
use crate::slurm::Step;
use crate::Error;

/// How long the look-up may take that an endpoint's interface needs where its name is on loopback.
const INTERFACE_DEADLINE: Duration = Duration::from_secs(10);

/// The compiled part of the package.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::{
        expand_hostlist, fold_hostlist, interfaces, lookup, make_plan, nodes_of_step, own_addresses, resolve_endpoint,
        route_to, PyEndpoint, PyHostlist, PyInterface, PyPlan,
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

/// Text of Python. What is not UTF-8 (bytes of the environment or of the command line) is written out as `\udcff`.
struct Text(String);

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = object.cast::<PyString>()?;
        if let Ok(text) = text.extract() {
            return Ok(Self(text));
        }
        let bytes = text.call_method1("encode", ("utf-8", "backslashreplace"))?;
        Ok(Self(String::from_utf8_lossy(bytes.cast::<PyBytes>()?.as_bytes()).into_owned()))
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// `Settings` as Python passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct SettingsMap {
    ignore_node_ranks: bool,
    node_rank: Option<usize>,
    host_node_rank: Option<usize>,
    host_templates: Vec<Text>,
    interface: Option<Text>,
    port: Option<u16>,
    keep_rank_order: bool,
    keep_gloo: bool,
    gloo_socket_ifname: Option<Text>,
    nccl_socket_ifname: Option<Text>,
}

impl From<SettingsMap> for Settings {
    fn from(map: SettingsMap) -> Self {
        let own = |text: Option<Text>| text.map(|text| text.0);
        Self {
            ignore_node_ranks: map.ignore_node_ranks,
            node_rank: map.node_rank,
            host_node_rank: map.host_node_rank,
            host_templates: map.host_templates.into_iter().map(|text| text.0).collect(),
            interface: own(map.interface),
            port: map.port,
            keep_rank_order: map.keep_rank_order,
            keep_gloo: map.keep_gloo,
            gloo_socket_ifname: own(map.gloo_socket_ifname),
            nccl_socket_ifname: own(map.nccl_socket_ifname),
        }
    }
}

/// `Options` as Python passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct OptionsMap {
    standalone: bool,
    backend: Text,
    endpoint: Text,
    run_id: Text,
    node_rank: Option<usize>,
    master_port: Option<u16>,
    min_nodes: usize,
    max_nodes: usize,
    is_host: Option<bool>,
    file_store: bool,
    local_address: Option<Text>,
    given: Vec<Text>,
}

impl From<OptionsMap> for Options {
    fn from(map: OptionsMap) -> Self {
        Self {
            standalone: map.standalone,
            backend: map.backend.0,
            endpoint: map.endpoint.0,
            run_id: map.run_id.0,
            node_rank: map.node_rank,
            master_port: map.master_port,
            min_nodes: map.min_nodes,
            max_nodes: map.max_nodes,
            is_host: map.is_host,
            file_store: map.file_store,
            local_address: map.local_address.map(|text| text.0),
            given: map.given.into_iter().map(|text| text.0).collect(),
        }
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

    fn fast_name(&self, node: &str) -> Option<String> {
        self.0.form.as_ref().map(|form| form.apply(node))
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
    fn preflight_port(&self) -> u16 {
        self.0.preflight_port
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
    fn rank_order(&self) -> Option<&'static str> {
        self.0.rank_order.as_ref().map(|decision| match decision.value {
            RankOrder::Torch | RankOrder::Names => "torch",
            RankOrder::Step => "slurm",
        })
    }

    #[getter]
    fn notes_place(&self) -> bool {
        self.0.rank_order.as_ref().is_some_and(|decision| decision.value != RankOrder::Torch)
    }

    #[getter]
    fn local_id(&self) -> usize {
        self.0.local_id
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
        insert(&mut reasons, "rank_order", self.0.rank_order.as_ref());
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

/// Where the store is, and the place of this task; read-only.
#[pyclass(name = "Endpoint", module = "torchrun_jsc", frozen)]
struct PyEndpoint(Task);

#[pymethods]
impl PyEndpoint {
    #[getter]
    fn host(&self) -> &str {
        &self.0.endpoint.value.host
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
    fn interface(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| {
            let resolver = SystemResolver::new(INTERFACE_DEADLINE, || false);
            Table::snapshot().ok().and_then(|table| self.0.interface(&table, &resolver))
        })
    }

    #[getter]
    fn host_node(&self) -> Option<&str> {
        self.0.host_node.as_deref()
    }

    #[getter]
    fn is_host(&self) -> Option<bool> {
        self.0.rank.as_ref().map(|rank| rank.value == 0)
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
        let mut reasons = BTreeMap::new();
        insert(&mut reasons, "endpoint", Some(&self.0.endpoint));
        insert(&mut reasons, "rank", self.0.rank.as_ref());
        if self.0.identity.rank.is_some() {
            reasons.insert("node_rank", &self.0.identity.rank_source);
        }
        reasons
    }

    #[getter]
    fn init_method(&self) -> String {
        format!("tcp://{}", self.0.endpoint.value)
    }

    fn env(&self) -> BTreeMap<&'static str, String> {
        let text = |value: Option<usize>| value.map(|value| value.to_string());
        let pairs = [
            ("MASTER_ADDR", Some(self.0.endpoint.value.host.clone())),
            ("MASTER_PORT", Some(self.0.port.to_string())),
            ("RANK", text(self.rank())),
            ("WORLD_SIZE", text(self.0.world_size)),
            ("LOCAL_RANK", text(self.0.local_rank)),
            ("LOCAL_WORLD_SIZE", text(self.0.local_world_size)),
            ("NODE_RANK", text(self.0.identity.rank)),
        ];
        pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn __str__(&self) -> String {
        self.0.endpoint.value.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Endpoint {} {}>", self.0.endpoint.value, self.0.identity.name)
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

/// A node list that is expanded only as far as it is asked for.
#[pyclass(name = "Hostlist", module = "torchrun_jsc._core", frozen)]
struct PyHostlist(Hostlist);

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

/// Read from a mapping by its `get`; an exception of it comes before the answer.
///
/// Not a `PyMapping`: to check that it is one, `collections.abc` would be imported, which reads more files than all the
/// rest of a call.
fn from_mapping<T>(environ: &Bound<'_, PyAny>, read: impl FnOnce(&dyn Fn(&str) -> Option<String>) -> T) -> PyResult<T> {
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

fn read_step(environ: &Bound<'_, PyAny>) -> PyResult<Step> {
    from_mapping(environ, |get| Step::read(get))
}

/// The kernel's range of ephemeral ports, read once: that takes as long as all the rest of a call.
fn ephemeral_ports() -> Option<(u16, u16)> {
    static RANGE: OnceLock<Option<(u16, u16)>> = OnceLock::new();
    *RANGE.get_or_init(read_ephemeral_ports)
}

fn read_ephemeral_ports() -> Option<(u16, u16)> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Decide with this node's facts, without the GIL; a signal's exception comes before the answer.
fn on_this_node<T: Send>(
    py: Python<'_>,
    timeout: f64,
    patient: bool,
    decide: impl Send + FnOnce(Node<'_>) -> crate::Result<T>,
) -> PyResult<T> {
    let timeout = Duration::try_from_secs_f64(timeout).unwrap_or(Duration::MAX);
    let (answer, signal) = py.detach(|| {
        let signal = RefCell::new(None);
        let interrupted = || {
            #[allow(clippy::redundant_closure_for_method_calls)] // the method is not general in its lifetime
            let caught = Python::attach(|py| py.check_signals()).err();
            let is_caught = caught.is_some();
            signal.replace(caught);
            is_caught
        };
        let resolver = SystemResolver::with_patience(timeout, patient, interrupted);
        let hostname = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
        let table = LazyTable::new(Box::new(|| Table::snapshot().unwrap_or_default()));
        let answer = decide(Node {
            hostname: &hostname,
            table: &table,
            resolver: &resolver,
            ephemeral_ports: ephemeral_ports(),
        });
        (answer, signal.take())
    });
    match signal {
        Some(signal) => Err(signal),
        None => Ok(answer?),
    }
}

#[pyfunction(name = "plan")]
fn make_plan(
    py: Python<'_>,
    settings: SettingsMap,
    options: OptionsMap,
    environ: &Bound<'_, PyAny>,
    timeout: f64,
) -> PyResult<PyPlan> {
    let step = read_step(environ)?;
    let (settings, options) = (settings.into(), options.into());
    // Without Slurm nodes may be started one by one, and the host be known later than this one.
    let patient = !step.is_allocated();
    on_this_node(py, timeout, patient, |node| plan::plan(&settings, &options, &step, node)).map(PyPlan)
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned strings
#[pyo3(signature = (settings, endpoint, nodelist, port, environ, timeout))]
fn resolve_endpoint(
    py: Python<'_>,
    settings: SettingsMap,
    endpoint: Option<Text>,
    nodelist: Option<Text>,
    port: Option<u16>,
    environ: &Bound<'_, PyAny>,
    timeout: f64,
) -> PyResult<PyEndpoint> {
    let mut step = read_step(environ)?;
    if let Some(nodelist) = nodelist {
        step.set_nodelist(nodelist.as_ref());
    }
    let launched = from_mapping(environ, |get| Launched::read(get))??;
    let settings = settings.into();
    let given = Given { endpoint: endpoint.as_ref().map(AsRef::as_ref), port };
    on_this_node(py, timeout, false, |node| plan::task(&settings, given, &step, &launched, node)).map(PyEndpoint)
}

#[pyfunction]
fn nodes_of_step(environ: &Bound<'_, PyAny>) -> PyResult<Option<PyHostlist>> {
    let step = read_step(environ)?;
    let nodes = if step.is_allocated() { step.nodes()? } else { None };
    Ok(nodes.map(|nodes| PyHostlist(nodes.hosts)))
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned strings
fn lookup(py: Python<'_>, hosts: Vec<String>, timeout: f64) -> PyResult<Vec<Vec<String>>> {
    on_this_node(py, timeout, false, |node| {
        let addresses = |host: &String| node.resolver.lookup(host).unwrap_or_default();
        Ok(hosts.iter().map(|host| addresses(host).iter().map(IpAddr::to_string).collect()).collect())
    })
}

#[pyfunction]
fn route_to(py: Python<'_>, address: &str) -> PyResult<(Option<String>, Option<String>)> {
    let Ok(target) = address.parse() else { return Ok((None, None)) };
    on_this_node(py, 0.0, false, |node| {
        let source = node.resolver.source_to(target);
        let interface = source.and_then(|source| node.table.owner(source)).map(|interface| interface.name.clone());
        Ok((source.map(|source| source.to_string()), interface))
    })
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned strings
fn expand_hostlist(py: Python<'_>, expression: Text) -> PyResult<Bound<'_, PyList>> {
    let hosts = Hostlist::parse(expression.as_ref())?;
    hosts.check(hostlist::MAX_EXPANDED)?;
    // Each name goes straight into Python's string, and that into the list.
    let mut names = hosts.iter();
    PyList::new(py, (0..hosts.len()).map(|_| names.advance().map(|name| PyString::new(py, name))))
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned strings
fn fold_hostlist(names: Vec<Text>) -> PyResult<String> {
    Ok(hostlist::fold(&names)?)
}

#[pyfunction]
fn own_addresses() -> PyResult<Vec<String>> {
    Ok(Table::snapshot()?.own_addresses().map(|ip| ip.to_string()).collect())
}

#[pyfunction]
fn interfaces() -> PyResult<Vec<PyInterface>> {
    Ok(Table::snapshot()?.interfaces.into_iter().map(PyInterface).collect())
}
