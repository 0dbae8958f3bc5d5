//! The plan of a launch.

use std::collections::BTreeMap;

use pyo3::prelude::*;

use crate::options::Options;
use crate::plan::{self, Form, Plan};
use crate::settings::Settings;

use super::environ::read_environ;
use super::hostlist::PyHostlist;
use super::node::{on_this_node, Patience};

/// A plan, read-only.
#[pyclass(name = "Plan", module = "torchrun_jsc._core", frozen, get_all)]
pub(super) struct PyPlan {
    untouched: Option<String>,
    in_step: bool,
    node: String,
    node_rank: Option<usize>,
    nnodes: Option<usize>,
    nodes: Option<PyHostlist>,
    nodes_source: Option<String>,
    host_node: Option<String>,
    is_host: Option<bool>,
    host_check: &'static str,
    endpoint: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    preflight_port: u16,
    endpoint_address: Option<String>,
    local_address: Option<String>,
    interface: Option<String>,
    gloo_interface: Option<String>,
    rank_order: Option<&'static str>,
    notes_place: bool,
    place: Option<usize>,
    local_id: usize,
    fills: BTreeMap<&'static str, String>,
    warnings: Vec<String>,
    reasons: BTreeMap<&'static str, String>,
    form: Option<PyForm>,
}

/// How names on the fast network are made, read-only.
#[pyclass(name = "Form", module = "torchrun_jsc._core", frozen, skip_from_py_object)]
#[derive(Clone)]
pub(super) struct PyForm(Form);

#[pymethods]
impl PyForm {
    fn apply(&self, node: &str) -> String {
        self.0.apply(node)
    }
}

impl From<Plan> for PyPlan {
    fn from(plan: Plan) -> Self {
        let reasons = plan.reasons().into_iter().map(|(name, reason)| (name, reason.to_owned())).collect();
        let notes_place = plan.notes_place();
        let nnodes = plan.identity.nnodes();
        let (list, source) = plan.identity.nodes.map(|nodes| (PyHostlist(nodes.hosts), nodes.variable)).unzip();
        let endpoint = plan.endpoint.map(|decision| decision.value);
        Self {
            untouched: plan.untouched,
            in_step: plan.in_step,
            node: plan.identity.name,
            node_rank: plan.identity.rank,
            nnodes,
            nodes: list,
            nodes_source: source,
            host_node: plan.host_node,
            is_host: plan.is_host.map(|decision| decision.value),
            host_check: plan.host_check.name(),
            endpoint: endpoint.as_ref().map(ToString::to_string),
            port: endpoint.as_ref().and_then(|endpoint| endpoint.port),
            host: endpoint.map(|endpoint| endpoint.host),
            preflight_port: plan.preflight_port,
            endpoint_address: plan.endpoint_address.as_ref().map(ToString::to_string),
            local_address: plan.local_address.map(|decision| decision.value),
            interface: plan.interface.map(|decision| decision.value),
            gloo_interface: plan.gloo_interface.map(|decision| decision.value),
            rank_order: plan.rank_order.map(|decision| decision.value.name()),
            notes_place,
            place: plan.place,
            local_id: plan.local_id,
            fills: plan.fills.into_iter().map(|fill| (fill.option, fill.value)).collect(),
            warnings: plan.warnings,
            reasons,
            form: plan.form.map(PyForm),
        }
    }
}

#[pyfunction(name = "plan")]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned values
pub(super) fn make_plan(
    py: Python<'_>,
    settings: Settings,
    options: Options,
    environ: &Bound<'_, PyAny>,
    timeout: f64,
) -> PyResult<PyPlan> {
    let environ = read_environ(environ)?;
    let patience = if plan::may_start_late(&environ) { Patience::UntilDeadline } else { Patience::None };
    on_this_node(py, timeout, patience, |node| plan::plan(&settings, &options, environ, node)).map(PyPlan::from)
}
