//! torchrun's options.

/// torchrun's options, as torch read them.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
#[allow(clippy::struct_excessive_bools)] // torchrun's own flags
pub struct Options {
    /// `--standalone`.
    pub standalone: bool,
    /// `--rdzv_backend`.
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::owned))]
    pub backend: String,
    /// `--rdzv_endpoint`, or master address and port under the static backend; empty where there is none.
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::owned))]
    pub endpoint: String,
    /// `--rdzv_id`.
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::owned))]
    pub run_id: String,
    /// `--node_rank`, where it was given.
    pub node_rank: Option<usize>,
    /// `--master_port`, where it was given.
    pub master_port: Option<u16>,
    /// The least number of nodes.
    pub min_nodes: usize,
    /// The greatest number of nodes.
    pub max_nodes: usize,
    /// `is_host` of `--rdzv_conf`.
    pub is_host: Option<bool>,
    /// `store_type=file` in `--rdzv_conf`: the endpoint is a path.
    pub file_store: bool,
    /// `--local_addr`.
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::optional))]
    pub local_address: Option<String>,
    /// The options that the user gave, by their names in torch's namespace (`rdzv_backend` …).
    #[cfg_attr(feature = "python", pyo3(from_py_with = crate::python::text::list))]
    pub given: Vec<String>,
}

impl Options {
    /// Whether the user gave the option that torch calls `name`.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|given| given == name)
    }

    /// Whether the store is an etcd server.
    #[must_use]
    pub fn is_etcd(&self) -> bool {
        matches!(self.backend.as_str(), "etcd" | "etcd-v2")
    }
}
