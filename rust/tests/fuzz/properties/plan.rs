use std::collections::{BTreeMap, HashSet};

use torchrun_jsc::allocation::Allocation;
use torchrun_jsc::environ::Environ;
use torchrun_jsc::interface::LazyTable;
use torchrun_jsc::launched::Launched;
use torchrun_jsc::node::Node;
use torchrun_jsc::options::Options;
use torchrun_jsc::plan::{endpoint, plan as decide, Given, Plan};
use torchrun_jsc::settings::{OrderSetting, Settings, SocketIfname};
use torchrun_jsc::slurm::Nodes;
use torchrun_jsc::Result;

use super::assert_harmless;
use super::node::Made;

/// So many nodes of a step make their plans.
const NODES: usize = 4;

/// Lines such as `SLURM_NODEID=1`, the environment, and `--rdzv_endpoint=a01i`, torchrun's options.
pub fn plan(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines: BTreeMap<_, _> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let launch = Launch { lines };
    let environ = launch.environ(None);
    let names: Vec<_> =
        nodes_of(&launch, &environ).map_or_else(Vec::new, |nodes| nodes.hosts.names().take(NODES).collect());
    let here = Made { number: 0, names: &names };

    let plan = launch.plan(&environ, here_of(&here, &here.table()));
    let again = launch.plan(&environ, here_of(&here, &here.table()));
    assert_eq!(format!("{plan:?}"), format!("{again:?}"));
    match &plan {
        Ok(plan) => holds(plan, &launch.options()),
        Err(error) => assert_harmless(error),
    }
    launch.script(&environ, here_of(&here, &here.table()));
    launch.one_host(&names);
}

/// The nodes that the environment tells of; none where it cannot be read.
fn nodes_of(launch: &Launch<'_>, environ: &Environ) -> Option<Nodes> {
    let nobody = Made { number: 0, names: &[] };
    let table = nobody.table();
    let given = launch.settings().given_nodes();
    Allocation::new(environ.clone(), given, here_of(&nobody, &table)).ok()?.nodes().ok()?
}

fn here_of<'a>(made: &'a Made<'a>, table: &'a LazyTable) -> Node<'a> {
    Node { hostname: "somewhere", table, resolver: made, ephemeral_ports: Some((32_768, 60_999)), processes: made }
}

/// What is true of every plan by itself.
fn holds(plan: &Plan, options: &Options) {
    if plan.untouched.is_some() {
        // Torch alone would take its default for what is missing: this node for all.
        assert!(plan.fills.is_empty(), "{plan:?}");
        return assert!(plan.endpoint.is_none() && plan.is_host.is_none() && plan.local_address.is_none());
    }
    let endpoint = &plan.endpoint.as_ref().expect("a plan has an endpoint").value;
    assert!(!endpoint.host.is_empty());
    if options.max_nodes > 1 {
        assert_ne!(endpoint.port, Some(0));
        // With an endpoint that was filled in the answer is never localhost.
        assert!(plan.fills.is_empty() || !endpoint.is_loopback() || options.given.contains(&"rdzv_endpoint".into()));
    }
    for fill in &plan.fills {
        assert!(!options.given.iter().any(|given| given == fill.option) || fill.option == "rdzv_endpoint", "{fill:?}");
    }
    assert!(plan.preflight_port >= 20_001 && plan.preflight_port <= 29_400);
}

struct Launch<'a> {
    lines: BTreeMap<&'a str, &'a str>,
}

impl Launch<'_> {
    fn get(&self, name: &str) -> Option<String> {
        self.lines.get(name).map(|&value| value.to_owned())
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.lines.get(name)?.parse().ok()
    }

    /// The step as this process sees it, or as node `of` does, whose number and name are given.
    fn environ(&self, of: Option<(usize, &str)>) -> Environ {
        let Some((number, name)) = of else { return Environ::read(|variable| self.get(variable)) };
        Environ::read(|variable| match variable {
            "SLURM_NODEID" => Some(number.to_string()),
            "SLURMD_NODENAME" => Some(name.to_owned()),
            "SLURM_LOCALID" => Some("0".to_owned()),
            _ => self.get(variable),
        })
    }

    /// As Python reads them.
    fn settings(&self) -> Settings {
        let templates = self.get("TORCHRUN_JSC_HOST_TEMPLATE").unwrap_or_default();
        let rank = |name| self.number::<u32>(name).map(|rank| rank as usize);
        Settings {
            prefer_arg_patching: self.get("TORCHRUN_JSC_PREFER_ARG_PATCHING").is_none_or(|value| value != "0"),
            node_rank: rank("TORCHRUN_JSC_NODE_RANK"),
            host_node_rank: rank("TORCHRUN_JSC_HOST_NODE_RANK"),
            host_template: templates.split(',').map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned).collect(),
            nodelist: self.get("TORCHRUN_JSC_NODELIST").filter(|text| !text.trim().is_empty()),
            interface: self.get("TORCHRUN_JSC_INTERFACE").filter(|text| !text.trim().is_empty()),
            port: self.number("TORCHRUN_JSC_PORT").filter(|&port| port > 0),
            rank_order: OrderSetting::from(&*self.get("TORCHRUN_JSC_RANK_ORDER").unwrap_or_default()),
            socket_ifname: SocketIfname::from(&*self.get("TORCHRUN_JSC_SOCKET_IFNAME").unwrap_or_default()),
            gloo_socket_ifname: self.get("GLOO_SOCKET_IFNAME"),
            nccl_socket_ifname: self.get("NCCL_SOCKET_IFNAME"),
        }
    }

    /// As torch reads them. It refuses less than one node and more at least than at most.
    fn options(&self) -> Options {
        let given = ["nnodes", "node_rank", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "master_addr", "master_port"];
        let text = |name: &str, default: &str| self.get(name).unwrap_or_else(|| default.to_owned());
        // `--rdzv_id=$UNSET` gives nothing.
        let is_given = |name: &&&str| self.get(&format!("--{name}")).is_some_and(|value| !value.is_empty());
        let nnodes = text("--nnodes", "2");
        let (least, most) = nnodes.split_once(':').unwrap_or((&nnodes, &nnodes));
        let count = |text: &str| text.parse::<u32>().map_or(2, |number| number.max(1) as usize);
        let (min_nodes, max_nodes) = (count(least).min(count(most)), count(most));
        Options {
            standalone: self.lines.contains_key("--standalone"),
            backend: text("--rdzv_backend", "static"),
            endpoint: text("--rdzv_endpoint", ""),
            run_id: text("--rdzv_id", "none"),
            node_rank: self.number::<u32>("--node_rank").map(|rank| rank as usize),
            master_port: self.number("--master_port").filter(|&port| port > 0),
            min_nodes,
            max_nodes,
            is_host: self.number("--is_host"),
            file_store: self.get("--store_type").is_some_and(|kind| kind == "file"),
            local_address: self.get("--local_addr").filter(|address| !address.is_empty()),
            given: given.iter().filter(|name| is_given(name)).map(|&name| name.into()).collect(),
        }
    }

    fn plan(&self, environ: &Environ, node: Node<'_>) -> Result<Plan> {
        decide(&self.settings(), &self.options(), environ.clone(), node)
    }

    /// A script without launcher is told the same each time, and a rank within the world.
    fn script(&self, environ: &Environ, node: Node<'_>) {
        let text = self.get("--rdzv_endpoint");
        let given =
            Given { endpoint: text.as_deref(), port: self.number("--port").filter(|&port| port > 0), is_child: false };
        let launched = match Launched::read(|name| self.get(name)) {
            Ok(launched) => launched,
            Err(error) => return assert_harmless(&error),
        };
        let decide = || endpoint(self.settings(), given, environ.clone(), &launched, node);
        let found = decide();
        assert_eq!(format!("{found:?}"), format!("{:?}", decide()));
        match found {
            Ok(found) => {
                let host_port = &found.host_port;
                assert_eq!(host_port.port, Some(found.port));
                assert!(found.port > 0 && !host_port.host.is_empty());
                let _ = found.own_address(node);
            }
            Err(error) => assert_harmless(&error),
        }
    }

    /// No two nodes of a step host, and all go to the same endpoint.
    fn one_host(&self, names: &[String]) {
        let settings = self.settings();
        let told = settings.node_rank.is_some() || self.options().is_host.is_some();
        // Groups of a heterogeneous job that contradict the step's list are nothing that Slurm says.
        let grouped = self.lines.contains_key("SLURM_HET_SIZE");
        let unique = names.iter().collect::<HashSet<_>>().len() == names.len();
        if told || grouped || !unique || names.len() < 2 {
            return;
        }
        let plan_on = |(number, name): (u8, &String)| {
            let made = Made { number, names };
            let table = made.table();
            let node = Node { hostname: name, ..here_of(&made, &table) };
            self.plan(&self.environ(Some((number.into(), name))), node)
        };
        // Where a node has no plan it ends with a message, and so does the job.
        let Ok(plans) = (0..).zip(names).map(plan_on).collect::<Result<Vec<_>>>() else { return };
        // A node that is told that it is not in the step, or why it takes another name, does not differ in silence.
        let says = |plan: &&Plan, part: &str| plan.warnings.iter().any(|line| line.contains(part));
        let is_silent = |plan: &&Plan| {
            ![" ignored", " is not taken for ", " cannot decide on "].iter().any(|part| says(plan, part))
        };
        let plans: Vec<_> = plans.iter().filter(is_silent).collect();
        if plans.is_empty() {
            return;
        }
        let hosts = plans.iter().filter(|plan| plan.is_host.as_ref().is_some_and(|decision| decision.value)).count();
        assert!(hosts <= 1, "{plans:#?}");
        let endpoints: HashSet<_> =
            plans.iter().map(|plan| plan.endpoint.as_ref().map(|found| found.value.to_string())).collect();
        assert_eq!(endpoints.len(), 1, "{plans:#?}");
    }
}
