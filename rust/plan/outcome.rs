//! What a plan says.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::host_port::HostPort;

use super::decision::Decision;
use super::identity::Identity;
use super::names::Form;

/// How torch is told whether this node hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostCheck {
    /// By `is_host` in `--rdzv_conf`.
    #[default]
    Argument,
    /// By the function with which torch recognises the host machine. Unlike the argument it keeps torch's retry as
    /// a client where another agent on this node already hosts.
    Function,
}

impl HostCheck {
    /// Its name for people and for Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Function => "function",
        }
    }
}

/// Who ranks the nodes of a completed round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankOrder {
    /// torch, by the addresses as strings.
    Torch,
    /// torch too, as long as every node publishes its name: their names sort like the nodes of the step.
    Names,
    /// The nodes' places in the step.
    Step,
}

impl RankOrder {
    /// Its name for people and for Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Torch | Self::Names => "torch",
            Self::Step => "slurm",
        }
    }
}

/// An option that is filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// Its name in torch's namespace, such as `rdzv_endpoint`.
    pub option: &'static str,
    /// Its value.
    pub value: String,
    /// Why, in one clause.
    pub reason: String,
}

/// What is to be told to torch on this node, with reasons.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Why torch is left alone, where it is.
    pub untouched: Option<String>,
    /// Whether this process is in a step that `srun` made.
    pub in_step: bool,
    /// This node: name, rank and nodes of the step.
    pub identity: Identity,
    /// The node that hosts the store, where its name is known.
    pub host_node: Option<String>,
    /// How the endpoint's host is made of the host node's name.
    pub form: Option<Form>,
    /// Whether this agent hosts the store; `None` leaves it to torch.
    pub is_host: Option<Decision<bool>>,
    /// How torch is told of `is_host`.
    pub host_check: HostCheck,
    /// Where the store is.
    pub endpoint: Option<Decision<HostPort>>,
    /// The address of the endpoint that this node prefers.
    pub endpoint_address: Option<IpAddr>,
    /// The port on which nodes try to reach one another beforehand.
    pub preflight_port: u16,
    /// What this node publishes to its peers.
    pub local_address: Option<Decision<String>>,
    /// The interface that carries it.
    pub interface: Option<Decision<String>>,
    /// The value for `GLOO_SOCKET_IFNAME`, where it is to be set.
    pub gloo_interface: Option<Decision<String>>,
    /// Who ranks the nodes of a round.
    pub rank_order: Option<Decision<RankOrder>>,
    /// This node's place among the others, which its rank follows.
    pub place: Option<usize>,
    /// The number of this agent on its node.
    pub local_id: usize,
    /// Options to fill in.
    pub fills: Vec<Fill>,
    /// What the user should know, a line each.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Whether this agent notes its place in the step for whoever ranks the nodes.
    #[must_use]
    pub fn notes_place(&self) -> bool {
        self.rank_order.as_ref().is_some_and(|order| order.value != RankOrder::Torch)
    }

    /// Why each part is what it is, by the names that Python knows it by.
    #[must_use]
    pub fn reasons(&self) -> BTreeMap<&'static str, &str> {
        let decided = [
            ("is_host", self.is_host.as_ref().map(|decision| &decision.reason)),
            ("endpoint", self.endpoint.as_ref().map(|decision| &decision.reason)),
            ("local_address", self.local_address.as_ref().map(|decision| &decision.reason)),
            ("interface", self.interface.as_ref().map(|decision| &decision.reason)),
            ("gloo_interface", self.gloo_interface.as_ref().map(|decision| &decision.reason)),
            ("rank_order", self.rank_order.as_ref().map(|decision| &decision.reason)),
            ("node_rank", self.identity.rank.map(|_| &self.identity.rank_source)),
        ];
        let filled = self.fills.iter().map(|fill| (fill.option, fill.reason.as_str()));
        filled.chain(decided.into_iter().filter_map(|(name, reason)| Some((name, reason?.as_str())))).collect()
    }
}
