//! The name on the fast network of a node of the step.

use std::fmt::Write;
use std::net::IpAddr;

use crate::interface::{self, Interface};
use crate::slurm::Nodes;
use crate::template::Template;
use crate::{Error, Result};

use super::decision::Decision;
use super::here::Here;

/// The name of the node with this rank: the first form that resolves to an address within reach, else the first that
/// resolves.
///
/// # Errors
/// [`Error::Setting`] where there is no such node, [`Error::Resolve`] where no form of its name has an address.
pub(super) fn host_name(here: &Here<'_>, nodes: &Nodes, rank: usize) -> Result<Decision<String>> {
    let node = nodes.hosts.nth(rank).ok_or_else(|| no_such_node(rank, nodes.hosts.len()))?;
    let mut reason = format!("node {rank} of {} is {node}", nodes.variable);
    let (mut resolved, mut answers) = (None, Vec::new());
    // Where the resolver is slow, these two take the time of one.
    let names = here.templates.first().map(|template| [template.apply(&node), template.apply(&here.identity.name)]);
    here.node.resolver.ask_early(&names.iter().flatten().map(String::as_str).collect::<Vec<_>>());
    for template in &here.templates {
        let name = template.apply(&node);
        if template.is_guessed() && name != node && nodes.hosts.position(&name).is_some() {
            // `ai` is itself in the node list: another node, not the fast name of `a`.
            continue;
        }
        match here.node.resolver.lookup(&name) {
            Err(answer) => {
                check_in_time(here, nodes, &name, &answer)?;
                answers.push((name, answer));
            }
            Ok(addresses) if is_reachable(here, &addresses) && is_proven(here, nodes, template)? => {
                return Ok(Decision::new(name, reason));
            }
            Ok(addresses) => {
                if let Some(obstacle) = obstacle(here, &addresses) {
                    write!(reason, ", {name} is skipped: {obstacle}").expect("a string takes all");
                }
                if !template.is_guessed() {
                    resolved = resolved.or(Some(name));
                }
            }
        }
    }
    if let Some(name) = resolved {
        return Ok(Decision::new(name, reason));
    }
    let (names, mut answers): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
    answers.dedup();
    Err(unresolved(here, nodes, &names.join(","), &answers.join("; ")))
}

/// A host rank that no node of the step has.
pub(super) fn no_such_node(rank: usize, nodes: usize) -> Error {
    let reason = format!("the step has nodes 0 to {}", nodes - 1);
    Error::setting("TORCHRUN_JSC_HOST_NODE_RANK", rank.to_string(), reason)
}

fn unresolved(here: &Here<'_>, nodes: &Nodes, names: &str, answer: &str) -> Error {
    let by_template = !here.settings.host_template.is_empty();
    Error::Resolve {
        name: if by_template { "TORCHRUN_JSC_HOST_TEMPLATE".into() } else { nodes.variable.clone() },
        host: names.to_owned(),
        node: here.identity.name.clone(),
        answer: answer.to_owned(),
    }
}

/// A name whose answer is late may be known on other nodes. Nothing is decided without it: two nodes would go to two
/// names.
fn check_in_time(here: &Here<'_>, nodes: &Nodes, name: &str, answer: &str) -> Result<()> {
    if here.node.resolver.is_late() {
        return Err(unresolved(here, nodes, name, answer));
    }
    Ok(())
}

/// Whether one of the addresses is this node's, or on a route through an allowed interface.
fn is_reachable(here: &Here<'_>, addresses: &[IpAddr]) -> bool {
    let table = here.node.table;
    addresses.iter().filter(|&&ip| interface::is_global(ip)).any(|&ip| {
        let source = table.proof_of_self(ip).map(|_| ip).or_else(|| here.node.resolver.source_to(ip));
        let carrier = source.and_then(|source| table.proof_of_self(source));
        carrier.is_some_and(|carrier| carrier.unusable().is_none() && here.allows(carrier))
    })
}

/// The interface that would carry traffic to one of the addresses, and why it cannot.
fn obstacle(here: &Here<'_>, addresses: &[IpAddr]) -> Option<String> {
    let leads_to = |interface: &Interface, ip| interface.addresses.iter().any(|address| address.network_contains(ip));
    here.node.table.interfaces.iter().find_map(|interface| {
        let why = interface.unusable()?;
        addresses.iter().any(|&ip| leads_to(interface, ip)).then(|| format!("{} {why}", interface.name))
    })
}

/// Whether names are made like this here: it is the site's rule, or this node's own name proves it. Where a
/// domain answers for every name, a guess resolves without being a node's.
fn is_proven(here: &Here<'_>, nodes: &Nodes, template: &Template) -> Result<bool> {
    // A login node has no name in the list that could prove anything.
    if !template.is_guessed() || here.identity.rank.is_none() {
        return Ok(true);
    }
    let name = template.apply(&here.identity.name);
    if nodes.hosts.position(&name).is_some() {
        // This node's guessed name is another node's own name, so it cannot test the guess here; the other nodes can.
        return Ok(true);
    }
    let own = here.node.resolver.lookup(&name);
    if let Err(answer) = &own {
        check_in_time(here, nodes, &name, answer)?;
    }
    Ok(here.own(&own.unwrap_or_default()).is_some())
}
