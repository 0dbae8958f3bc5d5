//! The user's choices: what the plan takes of the variables `TORCHRUN_JSC_*`, by their names.

use crate::allocation::GivenNodes;
use crate::interface::Filter;

/// Settings of one launch. Python reads and checks them; see its table for their meaning.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Settings {
    /// `TORCHRUN_JSC_PREFER_ARG_PATCHING`: node ranks may tell who hosts.
    pub prefer_arg_patching: bool,
    /// `TORCHRUN_JSC_NODE_RANK`.
    pub node_rank: Option<usize>,
    /// `TORCHRUN_JSC_HOST_NODE_RANK`.
    pub host_node_rank: Option<usize>,
    /// `TORCHRUN_JSC_HOST_TEMPLATE`, taken apart at its commas; empty for the site's rule.
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::list))]
    pub host_template: Vec<String>,
    /// `TORCHRUN_JSC_NODELIST`, with what the file has that it names; or the argument that stands for it.
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::optional))]
    pub nodelist: Option<String>,
    /// `TORCHRUN_JSC_INTERFACE`, in NCCL's syntax.
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::optional))]
    pub interface: Option<String>,
    /// `TORCHRUN_JSC_PORT`.
    pub port: Option<u16>,
    /// `TORCHRUN_JSC_RANK_ORDER`.
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::word))]
    pub rank_order: OrderSetting,
    /// `TORCHRUN_JSC_SOCKET_IFNAME`.
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::word))]
    pub socket_ifname: SocketIfname,
    /// `GLOO_SOCKET_IFNAME`.
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::optional))]
    pub gloo_socket_ifname: Option<String>,
    /// `NCCL_SOCKET_IFNAME`.
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::optional))]
    pub nccl_socket_ifname: Option<String>,
}

/// Whose order of nodes the ranks follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OrderSetting {
    /// The order of the nodes in the step.
    #[default]
    Slurm,
    /// torch's, by the addresses as strings.
    Torch,
}

/// Whether gloo's interface is set for the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SocketIfname {
    /// Where the user has not.
    #[default]
    Auto,
    /// Never.
    Off,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prefer_arg_patching: true,
            node_rank: None,
            host_node_rank: None,
            host_template: Vec::new(),
            nodelist: None,
            interface: None,
            port: None,
            rank_order: OrderSetting::default(),
            socket_ifname: SocketIfname::default(),
            gloo_socket_ifname: None,
            nccl_socket_ifname: None,
        }
    }
}

impl Settings {
    /// The rank of the host node.
    #[must_use]
    pub fn host_rank(&self) -> usize {
        self.host_node_rank.unwrap_or(0)
    }

    /// The user's own list of nodes.
    #[must_use]
    pub fn given_nodes(&self) -> Option<GivenNodes> {
        let expression = self.nodelist.clone()?;
        Some(GivenNodes { name: "TORCHRUN_JSC_NODELIST", expression })
    }

    /// The interfaces that the user allows.
    #[must_use]
    pub fn filter(&self) -> Option<Filter> {
        self.interface.as_deref().map(Filter::parse)
    }
}

impl From<&str> for OrderSetting {
    fn from(word: &str) -> Self {
        if word == "torch" {
            Self::Torch
        } else {
            Self::Slurm
        }
    }
}

impl From<&str> for SocketIfname {
    fn from(word: &str) -> Self {
        if word == "off" {
            Self::Off
        } else {
            Self::Auto
        }
    }
}
