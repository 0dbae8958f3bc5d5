//! Host and port of an endpoint that nobody gave, from the step.

use std::fmt::Write;
use std::net::IpAddr;

use crate::interface::{self, Interface};
use crate::slurm::{Nodes, Step};
use crate::{Error, Result};

use super::identity::Identity;
use super::template::Template;
use super::{port, Node, Settings};

/// What an endpoint is derived from.
#[derive(Clone, Copy)]
pub(super) struct Derive<'a> {
    pub(super) settings: &'a Settings,
    pub(super) step: &'a Step,
    pub(super) node: Node<'a>,
    pub(super) identity: &'a Identity,
}

/// A name on the fast network, and why it is that one.
pub(super) struct HostName {
    pub(super) name: String,
    pub(super) reason: String,
}

impl Derive<'_> {
    /// The name of the node with this rank on the fast network: the first form that resolves to an address within
    /// reach, else the first that resolves.
    pub(super) fn host(&self, nodes: &Nodes, rank: usize) -> Result<HostName> {
        let node = nodes.hosts.nth(rank).ok_or_else(|| Error::Setting {
            name: "TORCHRUN_JSC_HOST_NODE_RANK".into(),
            value: rank.to_string(),
            reason: format!("the step has nodes 0 to {}", nodes.hosts.len() - 1),
        })?;
        let templates = Template::of_site(&self.settings.host_templates, self.step.get("SYSTEMNAME"))?;
        let mut reason = format!("node {rank} of {} is {node}", nodes.variable);
        let (mut resolved, mut answers) = (None, Vec::new());
        // Where the resolver is slow, these two take the time of one.
        let names = templates.first().map(|template| [template.apply(&node), template.apply(&self.identity.name)]);
        self.node.resolver.ask_early(&names.iter().flatten().map(String::as_str).collect::<Vec<_>>());
        for template in &templates {
            let name = template.apply(&node);
            if template.is_guessed() && name != node && nodes.hosts.position(&name).is_some() {
                // Of the nodes a and ai, ai is the second.
                continue;
            }
            match self.node.resolver.lookup(&name) {
                Err(answer) => {
                    self.check_in_time(nodes, &name, &answer)?;
                    answers.push((name, answer));
                }
                Ok(addresses) if self.is_reachable(&addresses) && self.is_proven(nodes, template)? => {
                    return Ok(HostName { name, reason });
                }
                Ok(addresses) => {
                    if let Some(obstacle) = self.obstacle(&addresses) {
                        write!(reason, ", {name} is skipped: {obstacle}").expect("a string takes all");
                    }
                    if !template.is_guessed() {
                        resolved = resolved.or(Some(name));
                    }
                }
            }
        }
        if let Some(name) = resolved {
            return Ok(HostName { name, reason });
        }
        let (names, mut answers): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
        answers.dedup();
        Err(self.unresolved(nodes, &names.join(","), &answers.join("; ")))
    }

    fn unresolved(&self, nodes: &Nodes, names: &str, answer: &str) -> Error {
        let by_template = !self.settings.host_templates.is_empty();
        Error::Resolve {
            name: if by_template { "TORCHRUN_JSC_HOST_TEMPLATE".into() } else { nodes.variable.clone() },
            host: names.to_owned(),
            node: self.identity.name.clone(),
            answer: answer.to_owned(),
        }
    }

    /// A name whose answer is late may be known on other nodes. Nothing is decided without it: two nodes would go to two
    /// names.
    fn check_in_time(&self, nodes: &Nodes, name: &str, answer: &str) -> Result<()> {
        if self.node.resolver.is_late() {
            return Err(self.unresolved(nodes, name, answer));
        }
        Ok(())
    }

    /// Whether one of the addresses is this node's, or on a route through an allowed interface.
    fn is_reachable(&self, addresses: &[IpAddr]) -> bool {
        let (table, filter) = (self.node.table, self.settings.filter());
        addresses.iter().filter(|&&ip| interface::is_global(ip)).any(|&ip| {
            let source = table.proof_of_self(ip).map(|_| ip).or_else(|| self.node.resolver.source_to(ip));
            let carrier = source.and_then(|source| table.proof_of_self(source));
            carrier.is_some_and(|carrier| {
                carrier.unusable().is_none() && filter.as_ref().is_none_or(|filter| filter.allows(&carrier.name))
            })
        })
    }

    /// The interface that would carry traffic to one of the addresses, and why it cannot.
    fn obstacle(&self, addresses: &[IpAddr]) -> Option<String> {
        let leads_to =
            |interface: &Interface, ip| interface.addresses.iter().any(|address| address.network_contains(ip));
        self.node.table.interfaces.iter().find_map(|interface| {
            let why = interface.unusable()?;
            addresses.iter().any(|&ip| leads_to(interface, ip)).then(|| format!("{} {why}", interface.name))
        })
    }

    /// Whether names are made like this here: it is the site's rule, or this node's own name proves it. Where a
    /// domain answers for every name, a guess resolves without being a node's.
    fn is_proven(&self, nodes: &Nodes, template: &Template) -> Result<bool> {
        // A login node has no name in the list that could prove anything.
        if !template.is_guessed() || self.identity.rank.is_none() {
            return Ok(true);
        }
        let name = template.apply(&self.identity.name);
        if nodes.hosts.position(&name).is_some() {
            // A node's own name says nothing of others; the other nodes have a proof.
            return Ok(true);
        }
        let own = self.node.resolver.lookup(&name);
        if let Err(answer) = &own {
            self.check_in_time(nodes, &name, answer)?;
        }
        Ok(own.unwrap_or_default().iter().any(|&ip| self.node.table.proof_of_self(ip).is_some()))
    }

    /// The port, and where it comes from.
    pub(super) fn port(&self) -> (u16, String) {
        if let Some(port) = self.settings.port {
            return (port, "of TORCHRUN_JSC_PORT".into());
        }
        let port = port::of_step(self.step);
        let note = match self.node.ephemeral_ports {
            Some((low, high)) if (low..=high).contains(&port) => {
                format!(" (inside this system's ephemeral range {low}-{high}; TORCHRUN_JSC_PORT chooses another)")
            }
            _ => String::new(),
        };
        (port, format!("from cluster, job and step id{note}"))
    }
}
