//! The extension module: what Python sees of the core. Each file converts one subject and decides nothing.

use pyo3::prelude::*;

mod endpoint;
mod environ;
mod error;
mod hostlist;
mod interface;
mod network;
mod node;
mod plan;
pub(crate) mod text;

/// The compiled part of the package.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::endpoint::{resolve_endpoint, PyEndpoint};
    #[pymodule_export]
    use super::environ::{count_nodes, is_first_of_node};
    #[pymodule_export]
    use super::hostlist::{expand_hostlist, fold_hostlist, PyHostlist};
    #[pymodule_export]
    use super::interface::{interfaces, own_addresses, PyInterface};
    #[pymodule_export]
    use super::network::{lookup, route_to};
    #[pymodule_export]
    use super::plan::{make_plan, PyForm, PyPlan};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const MAX_NUMBER: u32 = crate::number::MAX;
    #[pymodule_export]
    const MAX_PORT: u16 = crate::number::MAX_PORT;
}
