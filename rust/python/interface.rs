//! The interfaces of this node.

use pyo3::prelude::*;

use crate::interface::{Interface, Table};

/// One interface of this node.
#[pyclass(name = "Interface", module = "torchrun_jsc._core", frozen, get_all)]
pub(super) struct PyInterface {
    name: String,
    index: u32,
    is_up: bool,
    is_running: bool,
    is_loopback: bool,
    link_type: u16,
    addresses: Vec<(String, u8)>,
}

impl From<Interface> for PyInterface {
    fn from(interface: Interface) -> Self {
        Self {
            name: interface.name,
            index: interface.index,
            is_up: interface.up,
            is_running: interface.running,
            is_loopback: interface.loopback,
            link_type: interface.link_type,
            addresses: interface.addresses.iter().map(|address| (address.ip.to_string(), address.prefix)).collect(),
        }
    }
}

#[pymethods]
impl PyInterface {
    fn __repr__(&self) -> String {
        let addresses: Vec<_> = self.addresses.iter().map(|(ip, prefix)| format!("{ip}/{prefix}")).collect();
        format!("<Interface {} {}>", self.name, addresses.join(" "))
    }
}

#[pyfunction]
pub(super) fn own_addresses() -> PyResult<Vec<String>> {
    Ok(Table::snapshot()?.own_addresses().map(|ip| ip.to_string()).collect())
}

#[pyfunction]
pub(super) fn interfaces() -> PyResult<Vec<PyInterface>> {
    Ok(Table::snapshot()?.interfaces.into_iter().map(PyInterface::from).collect())
}
