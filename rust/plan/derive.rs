//! The name on the fast network of a node of the step.

use std::fmt::Write;
use std::net::IpAddr;

use crate::interface;
use crate::slurm::Nodes;
use crate::template::Template;
use crate::{Error, Result};

use super::decision::Decision;
use super::here::Here;

/// A name on the fast network, and what is to be said of this node there, a line each.
pub(super) struct HostName {
    pub(super) name: Decision<String>,
    pub(super) warnings: Vec<String>,
}

/// The name of the node with this rank: the first form that the resolver knows. Nothing else counts, since it has to be the
/// same on all nodes: neither the state of this node's interfaces nor its routes.
///
/// A form that is certain (the user's template, the site's rule, the node's own name) is skipped where there is no such
/// name; any other answer ends it. A guess has to be proven, and never ends anything.
///
/// # Errors
/// [`Error::Setting`] where there is no such node, [`Error::Resolve`] where no form of its name has an address.
pub(super) fn host_name(here: &Here<'_>, nodes: &Nodes, rank: usize) -> Result<HostName> {
    let node = nodes.hosts.nth(rank).ok_or_else(|| no_such_node(rank, nodes.hosts.len()))?;
    let mut reason = format!("node {rank} of {} is {node}", nodes.variable);
    let (mut known, mut answers, mut warnings) = (None, Vec::new(), Vec::new());
    // Where the resolver is slow, these take the time of one.
    let forms = || here.templates.iter();
    let first = forms().take(1).flat_map(|form| [form.apply(&node), form.apply(&here.identity.name)]);
    let after_guess =
        forms().zip(forms().skip(1)).filter(|(form, _)| form.is_guessed()).map(|(_, next)| next.apply(&node));
    let names: Vec<_> = first.chain(after_guess).collect();
    here.node.resolver.ask_early(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for template in &here.templates {
        let name = template.apply(&node);
        let obstacle = if template.is_guessed() {
            why_not(here, nodes, template, &node)
        } else {
            match here.node.resolver.lookup(&name) {
                Ok(_) => None,
                Err(unresolved) if unresolved.is_no_such_name() => Some(Obstacle::NoAddress(unresolved.answer)),
                Err(unresolved) => return Err(no_address(here, nodes, &name, &unresolved.answer)),
            }
        };
        match obstacle.or_else(|| forbidden(here, template)) {
            None => return Ok(found(here, template, &node, Decision::new(name, reason), warnings)),
            Some(Obstacle::NoAddress(answer)) => answers.push((name, answer)),
            Some(Obstacle::OfAll(why)) => {
                write!(reason, ", {name} is not taken: {why}").expect("a string takes all");
                known = known.or((!template.is_guessed()).then_some((template, name)));
            }
            Some(Obstacle::OfThisNode(why)) => {
                write!(reason, ", {name} is not taken: {why}").expect("a string takes all");
                warnings.push(format!("{name} is not taken for {node}: {why}"));
            }
        }
    }
    if let Some((template, name)) = known {
        return Ok(found(here, template, &node, Decision::new(name, reason), warnings));
    }
    let (names, mut answers): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
    answers.dedup();
    Err(no_address(here, nodes, &names.join(","), &answers.join("; ")))
}

/// Why a form of the host's name is not taken.
enum Obstacle {
    /// What the resolver answers.
    NoAddress(String),
    /// What holds on all nodes.
    OfAll(String),
    /// What other nodes may not see.
    OfThisNode(String),
}

/// The interface that carries this node's name in that form, where the user allows others only.
fn forbidden(here: &Here<'_>, template: &Template) -> Option<Obstacle> {
    let own = here.node.resolver.ask(&template.apply(&here.identity.name)).ok()?;
    let (_, interface) = here.own(&own)?;
    let why = || Obstacle::OfAll(format!("{} is not allowed by TORCHRUN_JSC_INTERFACE", interface.name));
    (!here.allows(interface)).then(why)
}

/// The name of `node` that was found, with a line where this node's interface to that network cannot be used.
fn found(
    here: &Here<'_>,
    template: &Template,
    node: &str,
    name: Decision<String>,
    mut warnings: Vec<String>,
) -> HostName {
    let own_name = template.apply(&here.identity.name);
    let own = here.node.resolver.ask(&own_name).unwrap_or_default();
    // `ai` has no other name in the form that makes `ai` of `a`.
    let is_of_form = !own.is_empty() && (own_name != here.identity.name || name.value == node);
    if here.has_filter() && here.is_member() && !is_of_form {
        // The other nodes, which know theirs, may take another form.
        let form = &name.value;
        warnings.push(format!("{own_name} tells no network, so that TORCHRUN_JSC_INTERFACE cannot decide on {form}"));
    }
    match (here.own(&own), own.first()) {
        (Some((ip, interface)), _) => warnings.extend(here.unusable(ip, interface)),
        (None, Some(ip)) if interface::is_global(*ip) && here.node.table.lacks(*ip) && here.is_member() => {
            warnings.push(format!("{own_name} is {ip}, which no interface of {} has", here.identity.name));
        }
        _ => {}
    }
    HostName { name, warnings }
}

/// A host rank that no node of the step has.
pub(super) fn no_such_node(rank: usize, nodes: usize) -> Error {
    let reason = format!("the step has nodes 0 to {}", nodes - 1);
    Error::setting("TORCHRUN_JSC_HOST_NODE_RANK", rank.to_string(), reason)
}

fn no_address(here: &Here<'_>, nodes: &Nodes, names: &str, answer: &str) -> Error {
    let by_template = !here.settings.host_template.is_empty();
    Error::Resolve {
        name: if by_template { "TORCHRUN_JSC_HOST_TEMPLATE".into() } else { nodes.variable.clone() },
        host: names.to_owned(),
        node: here.identity.name.clone(),
        answer: answer.to_owned(),
    }
}

/// Why a guessed form of the name of `node` is not taken, if it is not.
///
/// Its own name in that form, on an interface of its own, proves to a node that names are made like this here: where a
/// domain answers for every name, or the names are those of service processors, a guess resolves without being a node's.
fn why_not(here: &Here<'_>, nodes: &Nodes, template: &Template, node: &str) -> Option<Obstacle> {
    let name = template.apply(node);
    if name != node && nodes.hosts.position(&name).is_some() {
        // `ai` is itself in the node list: another node, not the fast name of `a`.
        return Some(Obstacle::OfAll(format!("{name} is another node")));
    }
    if let Err(unresolved) = here.node.resolver.ask(&name) {
        let is_final = unresolved.is_no_such_name();
        let answer = unresolved.answer;
        return Some(if is_final { Obstacle::NoAddress(answer) } else { Obstacle::OfThisNode(answer) });
    }
    let own_name = template.apply(&here.identity.name);
    // A login node has no name in the list that could prove anything. Where this node's guessed name is another node's own
    // name, or where the system does not list its interfaces, it cannot test the guess; the other nodes can.
    let can_test = here.identity.rank.is_some() && !here.node.table.is_unknown();
    if !can_test || nodes.hosts.position(&own_name).is_some() {
        return None;
    }
    match here.node.resolver.ask(&own_name) {
        Err(unresolved) => Some(Obstacle::OfThisNode(format!("{own_name}: {unresolved}"))),
        Ok(own) if here.own(&own).is_some() => None,
        Ok(own) => {
            let own = own.first().map_or_else(String::new, IpAddr::to_string);
            Some(Obstacle::OfThisNode(format!("{own_name} is {own}, which no interface of {} has", here.identity.name)))
        }
    }
}
