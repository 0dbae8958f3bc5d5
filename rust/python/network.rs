//! Names and routes.

use std::net::IpAddr;

use pyo3::prelude::*;

use super::node::{on_this_node, Patience};

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned strings
pub(super) fn lookup(py: Python<'_>, hosts: Vec<String>, timeout: f64) -> PyResult<Vec<Vec<String>>> {
    on_this_node(py, timeout, Patience::None, |node| {
        let addresses = |host: &String| node.resolver.ask(host).unwrap_or_default();
        Ok(hosts.iter().map(|host| addresses(host).iter().map(IpAddr::to_string).collect()).collect())
    })
}

#[pyfunction]
pub(super) fn route_to(py: Python<'_>, address: &str) -> PyResult<(Option<String>, Option<String>)> {
    let Ok(target) = address.parse() else { return Ok((None, None)) };
    on_this_node(py, 0.0, Patience::None, |node| {
        let source = node.resolver.source_to(target);
        let interface = source.and_then(|source| node.table.owner(source)).map(|interface| interface.name.clone());
        Ok((source.map(|source| source.to_string()), interface))
    })
}
