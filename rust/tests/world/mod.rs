//! A made-up cluster: nodes with interfaces, names and routes, and the plan of each of them.
#![allow(dead_code, unreachable_pub)] // every test program uses a part of it

use std::collections::BTreeMap;
use std::net::IpAddr;

use torchrun_jsc::environ::Environ;
use torchrun_jsc::interface::{Address, Interface, LazyTable, Table};
use torchrun_jsc::launched::Launched;
use torchrun_jsc::node::{Node, Processes};
use torchrun_jsc::options::Options;
use torchrun_jsc::plan::{endpoint, plan, Endpoint, Given, Plan};
use torchrun_jsc::resolver::{Answer, Kind, Resolver, Unresolved};
use torchrun_jsc::settings::Settings;
use torchrun_jsc::Result;

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

/// `name address/prefix …`, up and running.
pub fn interface(text: &str) -> Interface {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap().to_owned();
    let addresses = words.map(|word| {
        let (address, prefix) = word.split_once('/').unwrap();
        Address { ip: ip(address), prefix: prefix.parse().unwrap() }
    });
    let addresses = addresses.collect();
    let loopback = name == "lo";
    Interface { name, up: true, running: true, loopback, addresses, ..Interface::default() }
}

/// One node: host name, interfaces and what its resolver knows.
#[derive(Clone, Default)]
pub struct Host {
    pub hostname: String,
    pub table: Table,
    pub names: BTreeMap<String, Vec<IpAddr>>,
    pub gateway: Option<IpAddr>,
    pub environ: BTreeMap<String, String>,
    /// Names that have another answer than an address.
    pub answers: BTreeMap<String, Unresolved>,
    /// The parents of the process.
    pub parents: Vec<String>,
}

impl Processes for Host {
    fn parents(&self) -> Vec<String> {
        self.parents.clone()
    }
}

impl Host {
    pub fn lazy_table(&self) -> LazyTable {
        let table = self.table.clone();
        LazyTable::new(Box::new(|| table))
    }

    pub fn variables(&self) -> Environ {
        Environ::read(|name| self.environ.get(name).cloned())
    }

    pub fn node<'a>(&'a self, table: &'a LazyTable) -> Node<'a> {
        Node { hostname: &self.hostname, table, resolver: self, ephemeral_ports: None, processes: self }
    }
}

impl Resolver for Host {
    fn ask(&self, host: &str) -> Answer {
        if let Ok(ip) = host.parse() {
            return Ok(vec![ip]);
        }
        let none = || Unresolved::new(Kind::NoSuchName, "Name or service not known");
        let other = || self.answers.get(host).cloned().unwrap_or_else(none);
        self.names.get(host).cloned().ok_or_else(other)
    }

    fn source_to(&self, target: IpAddr) -> Option<IpAddr> {
        if self.table.owner(target).is_some() {
            return Some(target);
        }
        let via = self.table.interfaces.iter().filter(|i| i.up).flat_map(|i| &i.addresses);
        let attached = via.clone().find(|address| address.network_contains(target)).map(|address| address.ip);
        attached.or(self.gateway.filter(|gateway| gateway.is_ipv4() == target.is_ipv4()))
    }
}

/// The nodes of a step.
#[derive(Clone, Default)]
pub struct World {
    pub hosts: Vec<Host>,
    pub settings: Settings,
    pub options: Options,
}

impl World {
    /// Nodes called `names`, each with eth0 `10.10.0.k` and ib0 `10.20.0.k`, `fd00:20::k`; `<name>i` is on ib0; the step's
    /// environment says `nodelist`. The launch is c10d on all nodes with this endpoint.
    pub fn new(nodelist: &str, names: &[&str], endpoint: &str) -> Self {
        let mut known = BTreeMap::from([("localhost".to_owned(), vec![ip("127.0.0.1")])]);
        for (k, name) in names.iter().enumerate() {
            let (label, domain) = name.find('.').map_or((*name, ""), |dot| name.split_at(dot));
            known.insert((*name).to_owned(), vec![ip(&format!("10.10.0.{}", k + 1))]);
            known.insert(format!("{label}i{domain}"), vec![ip(&format!("10.20.0.{}", k + 1))]);
        }
        let host = |(k, name): (usize, &&str)| {
            let n = k + 1;
            let environ = [
                ("SLURM_JOB_ID", "4711".to_owned()),
                ("SLURM_STEP_ID", "0".to_owned()),
                ("SLURM_CLUSTER_NAME", "lab".to_owned()),
                ("SLURM_JOB_NODELIST", nodelist.to_owned()),
                ("SLURM_STEP_NODELIST", nodelist.to_owned()),
                ("SLURM_NODEID", k.to_string()),
                ("SLURM_LOCALID", "0".to_owned()),
                ("SLURMD_NODENAME", (*name).to_owned()),
            ];
            Host {
                hostname: (*name).to_owned(),
                table: Table {
                    interfaces: vec![
                        interface("lo 127.0.0.1/8 ::1/128"),
                        interface(&format!("eth0 10.10.0.{n}/24")),
                        interface(&format!("ib0 10.20.0.{n}/24 fd00:20::{n}/64 fe80::{n}/64")),
                    ],
                },
                names: known.clone(),
                gateway: None,
                answers: BTreeMap::new(),
                parents: Vec::new(),
                environ: environ.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            }
        };
        Self {
            hosts: names.iter().enumerate().map(host).collect(),
            settings: Settings::default(),
            options: Options {
                backend: "c10d".into(),
                endpoint: endpoint.into(),
                run_id: "1".into(),
                min_nodes: names.len(),
                max_nodes: names.len(),
                given: ["nnodes", "rdzv_backend", "rdzv_endpoint", "rdzv_id"].map(String::from).to_vec(),
                ..Options::default()
            },
        }
    }

    /// The same without endpoint, backend and id: `torchrun_jsc --nnodes=auto train.py`.
    pub fn bare(nodelist: &str, names: &[&str]) -> Self {
        let mut world = Self::new(nodelist, names, "127.0.0.1:29500");
        world.options.backend = "static".into();
        world.options.given = vec!["nnodes".into()];
        world
    }

    pub fn setenv(mut self, name: &str, value: &str) -> Self {
        for host in &mut self.hosts {
            host.environ.insert(name.into(), value.into());
        }
        self
    }

    pub fn unsetenv(mut self, prefix: &str) -> Self {
        for host in &mut self.hosts {
            host.environ.retain(|name, _| !name.starts_with(prefix));
        }
        self
    }

    pub fn each(mut self, change: impl Fn(usize, &mut Host)) -> Self {
        for (k, host) in self.hosts.iter_mut().enumerate() {
            change(k, host);
        }
        self
    }

    pub fn alias(self, name: &str, address: &str) -> Self {
        self.each(|_, host| {
            host.names.insert(name.into(), vec![ip(address)]);
        })
    }

    pub fn plan(&self, k: usize) -> Result<Plan> {
        let host = &self.hosts[k];
        let table = host.lazy_table();
        plan(&self.settings, &self.options, host.variables(), host.node(&table))
    }

    /// What `resolve_endpoint` finds on `host`.
    pub fn resolve(&self, host: &Host, given: Given<'_>) -> Result<Endpoint> {
        let table = host.lazy_table();
        let launched = Launched::read(|name| host.environ.get(name).cloned())?;
        endpoint(self.settings.clone(), given, host.variables(), &launched, host.node(&table))
    }

    pub fn plans(&self) -> Vec<Plan> {
        (0..self.hosts.len()).map(|k| self.plan(k).unwrap_or_else(|error| panic!("node {k}: {error}"))).collect()
    }

    /// What every node's plan says of `is_host`.
    pub fn hosting(&self) -> Vec<Option<bool>> {
        self.plans().iter().map(|plan| plan.is_host.as_ref().map(|decision| decision.value)).collect()
    }

    /// Every node's local address.
    pub fn addresses(&self) -> Vec<String> {
        self.plans().iter().map(|plan| plan.local_address.as_ref().map_or(String::new(), |d| d.value.clone())).collect()
    }

    /// Every node's interface for gloo.
    pub fn gloo(&self) -> Vec<Option<String>> {
        self.plans().into_iter().map(|plan| plan.gloo_interface.map(|decision| decision.value)).collect()
    }

    /// The endpoint, which must be the same in all plans.
    pub fn endpoint(&self) -> String {
        let mut endpoints: Vec<_> =
            self.plans().iter().map(|p| p.endpoint.as_ref().unwrap().value.to_string()).collect();
        endpoints.dedup();
        assert_eq!(endpoints.len(), 1, "{endpoints:?}");
        endpoints.remove(0)
    }

    /// The message of every node, which must be the same kind of error everywhere.
    pub fn error(&self, k: usize) -> String {
        self.plan(k).map(|plan| format!("{plan:?}")).unwrap_err().to_string()
    }
}

/// `is_host` of `count` nodes of which the one with number `host` hosts.
pub fn only(host: usize, count: usize) -> Vec<Option<bool>> {
    (0..count).map(|k| Some(k == host)).collect()
}
