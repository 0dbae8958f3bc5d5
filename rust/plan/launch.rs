//! The plan of a launch.

use crate::allocation::Allocation;
use crate::environ::Environ;
use crate::host_port::HostPort;
use crate::node::Node;
use crate::options::Options;
use crate::settings::Settings;
use crate::Result;

use super::context::Context;
use super::decision::Decision;
use super::fill::{self, Missing};
use super::here::Here;
use super::host::{self, Host};
use super::identity;
use super::outcome::Plan;
use super::store::Store;
use super::{checks, gloo, local, order, port, stay_out};

/// Whether the host's name may be known later than this node starts: outside an allocation nodes may be started one by one.
#[must_use]
pub fn may_start_late(environ: &Environ) -> bool {
    !Allocation::is_one(environ)
}

/// Decide for this node.
///
/// # Errors
/// [`crate::Error::Setting`] for a variable or option that cannot be used, [`crate::Error::Resolve`] for an endpoint
/// without an address.
pub fn plan(settings: &Settings, options: &Options, environ: Environ, node: Node<'_>) -> Result<Plan> {
    if let Some(reason) = stay_out::alone(options)? {
        return Ok(Plan { untouched: Some(reason), ..Plan::default() });
    }
    let allocation = &Allocation::new(environ, settings.given_nodes(), node)?;
    let mut plan = Plan { in_step: allocation.is_launched(), ..Plan::default() };
    let missing = fill::missing(options, allocation);
    if let (None, Some(reason)) = (missing, stay_out::reason(options)) {
        return Ok(Plan { untouched: Some(reason), ..plan });
    }
    let given = match missing {
        Some(missing) if missing.endpoint => None,
        _ => Some(HostPort::parse("--rdzv_endpoint", &options.endpoint)?),
    };
    plan.identity = identity::identify(allocation, node.hostname, Some(options.max_nodes))?;
    if given.as_ref().is_some_and(HostPort::is_loopback) && !options.is_etcd() {
        stay_out::refuse_loopback(options, &options.endpoint, &plan.identity, missing.is_some())?;
        // With something filled in, torch cannot be left alone: it would not know that.
        if missing.is_none() {
            return Ok(Plan { untouched: Some("the endpoint is on loopback".into()), ..plan });
        }
    }
    let identity = plan.identity.clone();
    let here = Here::new(settings, allocation, node, &identity)?;
    let store = store_of(&here, options, missing, given)?;
    let (options, fills) = match missing {
        Some(missing) => fill::fill(&here, options, missing, &store)?,
        None => (options.clone(), Vec::new()),
    };
    decide(Plan { fills, ..plan }, &Context { here: &here, options: &options, store: &store })
}

/// The store at the endpoint that was given, else at the one that is derived.
fn store_of(here: &Here<'_>, options: &Options, missing: Option<Missing>, given: Option<HostPort>) -> Result<Store> {
    if let Some(endpoint) = given {
        stay_out::refuse_port_zero(options, &endpoint)?;
        return Store::given(here, "--rdzv_endpoint", Decision::new(endpoint, "as given"));
    }
    let store = fill::store(here, options, missing)?;
    if store.endpoint.value.is_loopback() {
        stay_out::refuse_loopback(options, &store.endpoint.value.to_string(), here.identity, true)?;
    }
    Ok(store)
}

/// Apply the rules to a launch whose store is known.
fn decide(mut plan: Plan, context: &Context<'_>) -> Result<Plan> {
    let Context { here, options, store } = *context;
    let is_c10d = options.backend == "c10d";
    stay_out::refuse_unreachable(context)?;
    let host = if is_c10d { host::decide(context)? } else { Host::default() };
    let local = match options.local_address.as_deref() {
        Some(given) => local::given(here, given, options.max_nodes > 1)?,
        None => local::decide(here, store, host.is_here),
    };
    let gloo = gloo::decide(context, &local);
    plan.warnings.extend(checks::doubts(context));
    plan.warnings.extend(store.warnings.clone());
    plan.warnings.extend(checks::shared(context));
    plan.warnings.extend(checks::node_rank(context));
    plan.warnings.extend(checks::user_rank(context));
    plan.warnings.extend(checks::of_step(context, &host)?);
    plan.warnings.extend(here.identity.warning.clone());
    plan.warnings.extend(local.warnings.into_iter().filter(|line| !store.warnings.contains(line)));
    plan.warnings.extend(gloo.warning);
    plan.rank_order = order::decide(context, local.address.as_ref().map(|address| address.value.as_str()));
    plan.place = order::place(here);
    plan.local_id = if is_c10d { here.allocation.local_id()?.unwrap_or(0) } else { 0 };
    plan.host_check = host.check;
    plan.is_host = host.serves;
    plan.host_node = host.name;
    plan.form = store.named.as_ref().filter(|_| is_c10d).map(|found| found.form.clone());
    plan.preflight_port = port::of_preflight(here.allocation);
    plan.local_address = local.address;
    plan.interface = local.interface;
    plan.gloo_interface = gloo.set;
    plan.endpoint_address = store.addresses.first().copied();
    plan.endpoint = Some(store.endpoint.clone());
    Ok(plan)
}
