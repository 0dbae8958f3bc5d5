//! Who hosts, and which address each node publishes, where the endpoint is given.

mod world;

use torchrun_jsc::interface::{Interface, INFINIBAND};
use torchrun_jsc::plan::HostCheck;
use world::{interface, ip, only, World};

const NAMES: [&str; 3] = ["a01", "a02", "a03"];

fn world(endpoint: &str) -> World {
    World::new("a[01-03]", &NAMES, endpoint)
}

#[test]
fn the_host_is_found_from_every_spelling_of_its_name() {
    for (endpoint, host, addresses) in [
        ("a01i:29500", 0, ["a01i", "a02i", "a03i"]),
        ("a01i", 0, ["a01i", "a02i", "a03i"]),
        ("a01i.cl:29500", 0, ["a01i.cl", "a02i.cl", "a03i.cl"]),
        ("a02i:29500", 1, ["a01i", "a02i", "a03i"]),
        ("a02:29500", 1, ["a01", "a02", "a03"]),
        ("10.20.0.1:29500", 0, ["10.20.0.1", "10.20.0.2", "10.20.0.3"]),
        ("10.20.0.2", 1, ["10.20.0.1", "10.20.0.2", "10.20.0.3"]),
        ("[fd00:20::1]:29500", 0, ["fd00:20::1", "fd00:20::2", "fd00:20::3"]),
        ("fd00:20::3", 2, ["fd00:20::1", "fd00:20::2", "fd00:20::3"]),
        ("rendezvous:1234", 0, ["rendezvous", "10.20.0.2", "10.20.0.3"]),
    ] {
        let world = world(endpoint)
            .alias("a01i.cl", "10.20.0.1")
            .alias("a02i.cl", "10.20.0.2")
            .alias("a03i.cl", "10.20.0.3")
            .alias("rendezvous", "10.20.0.1");
        assert_eq!(world.hosting(), only(host, 3), "{endpoint}");
        assert_eq!(world.addresses(), addresses, "{endpoint}");
    }
}

#[test]
fn the_interface_is_the_one_that_carries_the_address() {
    for (endpoint, interface) in [("a01i:29500", "ib0"), ("10.20.0.1", "ib0"), ("a01", "eth0"), ("fd00:20::1", "ib0")] {
        let world = world(endpoint);
        assert_eq!(world.gloo(), vec![Some(interface.to_owned()); 3], "{endpoint}");
    }
}

#[test]
fn labels_are_compared_whole() {
    let world = World::new("node[1,10]", &["node1", "node10"], "node10:29500");
    assert_eq!(world.hosting(), only(1, 2));
    let world = World::new("node[1,10]", &["node1", "node10"], "node10i:29500");
    assert_eq!(world.hosting(), only(1, 2));
    assert_eq!(world.addresses(), ["node1i", "node10i"]);
    let fqdn = World::new("node[1,10]", &["node1", "node10"], "node1.cl:29500")
        .alias("node1.cl", "10.10.0.1")
        .each(|_, host| host.hostname += ".cl");
    assert_eq!(fqdn.hosting(), only(0, 2));
}

#[test]
fn the_users_is_host_is_kept_and_tells_where_the_host_is() {
    let mut world = world("10.20.0.1:29801");
    let reasons: Vec<_> = world.plans().into_iter().map(|plan| plan.is_host.unwrap().reason).collect();
    assert_eq!(reasons[0], "10.20.0.1, on ib0 of this node");
    assert_eq!(reasons[1], "10.20.0.1, which no interface of this node has");
    world.options.is_host = Some(false);
    for plan in world.plans() {
        let decision = plan.is_host.unwrap();
        assert_eq!((decision.value, decision.reason.as_str()), (false, "is_host in --rdzv_conf"));
    }
    world.options.is_host = Some(true);
    assert_eq!(world.addresses()[0], "10.20.0.1");
    assert!(world.plans().iter().all(|plan| plan.is_host.as_ref().unwrap().value));
}

#[test]
fn the_users_ranks_are_compared_as_numbers() {
    let mut world = world("a01i:29500");
    world.settings.host_node_rank = Some(2);
    assert_eq!(world.hosting(), only(2, 3));
    world.settings.node_rank = Some(2);
    assert_eq!(world.hosting(), vec![Some(true); 3]);
    world.settings = torchrun_jsc::settings::Settings { node_rank: Some(1), ..Default::default() };
    assert_eq!(world.hosting(), vec![Some(false); 3]);
}

#[test]
fn without_argument_patching_node_ranks_do_not_count() {
    let mut world = world("a02i:29500");
    world.settings.prefer_arg_patching = false;
    world.settings.host_node_rank = Some(0);
    assert_eq!(world.hosting(), only(1, 3));
    assert!(world.plans().iter().all(|plan| plan.host_check == HostCheck::Function));
}

#[test]
fn only_the_first_agent_of_the_host_node_hosts() {
    let world = world("a01i:29500").setenv("SLURM_LOCALID", "1");
    assert_eq!(world.hosting(), vec![Some(false); 3]);
    assert_eq!(world.addresses(), ["a01i", "a02i", "a03i"]);
}

#[test]
fn without_slurm_a_node_knows_itself_by_its_interfaces_and_torch_keeps_its_retry() {
    let world = world("10.20.0.2:29500").unsetenv("SLURM");
    let plans = world.plans();
    assert_eq!(world.hosting(), [None, Some(true), None]);
    assert_eq!(plans[1].host_check, HostCheck::Function);
    assert_eq!(world.addresses(), ["10.20.0.1", "10.20.0.2", "10.20.0.3"]);
}

#[test]
fn an_address_that_every_node_has_proves_nothing() {
    let world =
        world("172.17.0.1:29500").each(|_, host| host.table.interfaces.push(interface("docker0 172.17.0.1/16")));
    assert_eq!(world.hosting(), only(0, 3));
    for plan in world.plans() {
        assert!(plan.is_host.unwrap().reason.contains("SLURM_NODEID"));
    }
}

#[test]
fn a_name_on_loopback_at_home_is_still_found() {
    let world = world("a01:29500").each(|k, host| {
        let name = NAMES[k].to_owned();
        host.names.insert(name, vec![ip("127.0.1.1")]);
    });
    assert_eq!(world.hosting(), only(0, 3));
    // a02 and a03 are on loopback at home, so they publish the source address of the route.
    assert_eq!(world.addresses(), ["a01", "10.10.0.2", "10.10.0.3"]);
    assert_eq!(world.gloo(), vec![Some("eth0".to_owned()); 3]);
}

#[test]
fn names_that_resolve_at_home_only_do_not_matter_to_an_address() {
    let world = world("10.20.0.1:29500").each(|k, host| host.names.retain(|name, _| name.starts_with(NAMES[k])));
    assert_eq!(world.hosting(), only(0, 3));
    assert_eq!(world.addresses(), ["10.20.0.1", "10.20.0.2", "10.20.0.3"]);
}

#[test]
fn dotted_node_names() {
    let world = World::new("a01.cl,a02.cl", &["a01.cl", "a02.cl"], "a01i.cl:29500");
    assert_eq!(world.hosting(), only(0, 2));
    assert_eq!(world.addresses(), ["a01i.cl", "a02i.cl"]);
    let short = World::new("a01.cl,a02.cl", &["a01.cl", "a02.cl"], "a01i.cl:29500")
        .unsetenv("SLURMD")
        .unsetenv("SLURM_NODEID")
        .each(|_, host| host.hostname = host.hostname.split('.').next().unwrap().to_owned());
    assert_eq!(short.addresses(), ["a01i.cl", "a02i.cl"]);
}

#[test]
fn the_users_local_address_is_kept_if_it_is_this_nodes() {
    let mut world = world("a01i:29500");
    world.options.local_address = Some("a02i".into());
    assert_eq!(world.plan(1).unwrap().local_address.unwrap().value, "a02i");
    assert_eq!(
        world.error(0),
        "--local_addr=\"a02i\": no interface of node a01 has it; give each node its own, or leave the option out"
    );
    world.options.local_address = Some("127.0.0.1".into());
    assert_eq!(world.error(0), "--local_addr=\"127.0.0.1\": loopback cannot be reached from the other nodes");
    world.options.local_address = Some("ghost".into());
    assert!(world.error(0).starts_with("--local_addr=\"ghost\": cannot resolve it on node a01: "));
}

#[test]
fn a_step_inside_an_allocation_decides() {
    let world = World::new("a[03-04]", &["a03", "a04"], "a03i").setenv("SLURM_JOB_NODELIST", "a[01-04]");
    assert_eq!(world.hosting(), only(0, 2));
}

#[test]
fn several_daemons_on_one_host_are_told_apart_by_name() {
    let world = World::new("n[1-2]", &["n1", "n2"], "n2:29500").each(|_, host| {
        host.hostname = "big".into();
        host.table.interfaces[1] = interface("eth0 10.10.0.1/24 10.10.0.2/24");
    });
    assert_eq!(world.hosting(), only(1, 2));
}

#[test]
fn ids_that_contradict_the_list_are_reported_and_names_decide() {
    let world = World::new("n[1-2]", &["n1", "n2"], "n1:29500").setenv("SLURM_NODEID", "0");
    let plans = world.plans();
    assert_eq!((plans[0].identity.rank, plans[1].identity.rank), (Some(0), Some(1)));
    assert!(plans[0].warnings.is_empty());
    assert_eq!(plans[1].warnings, ["SLURM_NODEID=0 contradicts SLURM_STEP_NODELIST, where n2 is number 1; taking 1"]);
    assert_eq!(world.hosting(), only(0, 2));
}

#[test]
fn a_rank_of_the_users_that_is_not_the_nodes_is_reported() {
    let mut world = world("a01i:29500");
    world.settings.node_rank = Some(0);
    let warnings: Vec<_> = world.plans().into_iter().map(|plan| plan.warnings).collect();
    assert!(warnings[0].is_empty());
    assert_eq!(warnings[1], ["TORCHRUN_JSC_NODE_RANK=0 tells who hosts, although node a02 is number 1"]);
    world.settings.prefer_arg_patching = false;
    assert!(world.plans().iter().all(|plan| plan.warnings.is_empty()));
}

#[test]
fn a_node_name_of_another_node_is_reported_where_id_and_host_name_agree() {
    let world = world("a01i:29500").setenv("SLURMD_NODENAME", "a01");
    let plans = world.plans();
    assert_eq!(world.hosting(), only(0, 3));
    assert_eq!(world.addresses(), ["a01i", "a02i", "a03i"]);
    assert_eq!(plans[2].warnings, ["SLURMD_NODENAME=a01 contradicts SLURM_NODEID=2 and the host name a03; taking 2"]);
}

#[test]
fn what_is_none_of_our_business_is_left_alone() {
    let base = world("a01i");
    let untouched = |change: &dyn Fn(&mut World)| {
        let mut world = base.clone();
        change(&mut world);
        world
            .plans()
            .iter()
            .all(|plan| plan.untouched.is_some() && plan.is_host.is_none() && plan.local_address.is_none())
    };
    assert!(!untouched(&|_| ()));
    assert!(untouched(&|w| w.options.standalone = true));
    assert!(untouched(&|w| w.options.file_store = true));
    assert!(untouched(&|w| w.options.backend = "mpi_jsc".into()));
    assert!(untouched(&|w| {
        w.options.endpoint = "localhost:0".into();
        w.options.max_nodes = 1;
        w.options.min_nodes = 1;
    }));
    assert!(untouched(&|w| {
        w.options.backend = "static".into();
        w.options.given.extend(["master_addr".into(), "node_rank".into()]);
    }));
    let no_slurm = world("localhost:29500").unsetenv("SLURM");
    assert!(no_slurm.plans().iter().all(|plan| plan.untouched.is_some()));
}

#[test]
fn etcd_gets_a_local_address_and_nothing_else() {
    let mut world = world("etcd.cl:2379").alias("etcd.cl", "10.20.0.200");
    world.options.backend = "etcd-v2".into();
    assert_eq!(world.hosting(), vec![None; 3]);
    assert_eq!(world.addresses(), ["10.20.0.1", "10.20.0.2", "10.20.0.3"]);
}

#[test]
fn bad_input_is_named() {
    for (world, message) in [
        (world("localhost:29500"), "--rdzv_endpoint=\"localhost:29500\": loopback cannot be reached"),
        (world("127.0.0.1:29500"), "--rdzv_endpoint=\"127.0.0.1:29500\": loopback cannot be reached"),
        (
            world("ghost:29500"),
            "--rdzv_endpoint=\"ghost\": cannot resolve it on node a01: Name or service not known; use",
        ),
        (world("a01i:99999"), "--rdzv_endpoint=\"a01i:99999\": the port is not a number"),
        (world("a01i:0"), "--rdzv_endpoint=\"a01i:0\": port 0 is another one on every node"),
        (world("tcp://a01i:1"), "--rdzv_endpoint=\"tcp://a01i:1\": "),
        (world("a01i").setenv("SLURM_NODEID", "x"), "SLURM_NODEID=\"x\": not a number"),
        (world("a01i").setenv("SLURM_STEP_NODELIST", "n[1-"), "SLURM_STEP_NODELIST=\"n[1-\": not a node list: "),
        (world("a01i").setenv("SLURM_LOCALID", "-"), "SLURM_LOCALID=\"-\": not a number"),
        (
            world("a01i")
                .setenv("SLURM_NODEID", "7")
                .setenv("SLURMD_NODENAME", "q")
                .each(|_, h| h.hostname = "q".into()),
            "SLURM_NODEID=\"7\": SLURM_STEP_NODELIST has only 3 nodes, and q is none of them",
        ),
    ] {
        let error = world.error(0);
        assert!(error.starts_with(message), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn an_interface_that_exists_nowhere_is_named_with_those_that_do() {
    let mut world = world("a01i");
    world.settings.interface = Some("hsn".into());
    assert_eq!(
        world.error(1),
        "TORCHRUN_JSC_INTERFACE=\"hsn\": no usable interface of a02 matches; there are eth0, ib0"
    );
}

#[test]
fn no_route_to_the_endpoint_is_a_warning() {
    let world = world("192.0.2.7:29500");
    let plans = world.plans();
    assert_eq!(plans[1].local_address, None);
    assert_eq!(
        plans[1].warnings,
        ["no route from node a02 to the endpoint 192.0.2.7:29500; its interfaces are eth0, ib0"]
    );
}

#[test]
fn without_a_route_the_allowed_interface_is_taken_infiniband_first() {
    let mut world = world("192.0.2.7:29500").each(|k, host| {
        let fast = interface(&format!("zib0 10.30.0.{}/24", k + 1));
        host.table.interfaces.push(Interface { link_type: INFINIBAND, ..fast });
    });
    for (setting, interface, addresses) in [
        ("eth0,zib0", "zib0", ["10.30.0.1", "10.30.0.2", "10.30.0.3"]),
        ("eth0", "eth0", ["10.10.0.1", "10.10.0.2", "10.10.0.3"]),
        ("^zib,eth", "ib0", ["10.20.0.1", "10.20.0.2", "10.20.0.3"]),
    ] {
        world.settings.interface = Some(setting.into());
        // Node 0 hosts: what it publishes is the endpoint's host.
        assert_eq!(world.addresses()[1..], addresses[1..], "{setting}");
        assert_eq!(world.gloo()[1].as_deref(), Some(interface), "{setting}");
    }
}

#[test]
fn the_same_input_gives_the_same_plan() {
    let world = world("a01i");
    assert_eq!(format!("{:?}", world.plan(1)), format!("{:?}", world.plan(1)));
}

#[test]
fn what_other_nodes_cannot_reach_is_refused() {
    for endpoint in ["0.0.0.0:29500", "[::]:29500", "[fe80::1]:29500", "here:29500"] {
        let world = world(endpoint).alias("here", "127.0.0.1");
        let error = world.error(1);
        assert!(error.starts_with(&format!("--rdzv_endpoint={endpoint:?}: it is ")), "{error}");
        assert!(error.ends_with("on node a02, which cannot be reached from the other nodes of the step"), "{error}");
    }
}

#[test]
fn capitals_and_mapped_addresses_are_the_same_host() {
    for (endpoint, addresses) in [
        ("A02I:29500", ["a01i", "A02I", "a03i"]),
        ("[::ffff:10.20.0.2]:29500", ["10.20.0.1", "::ffff:10.20.0.2", "10.20.0.3"]),
        ("::ffff:10.20.0.2", ["10.20.0.1", "::ffff:10.20.0.2", "10.20.0.3"]),
    ] {
        let world = world(endpoint).alias("A02I", "10.20.0.2");
        assert_eq!(world.hosting(), only(1, 3), "{endpoint}");
        assert_eq!(world.addresses(), addresses, "{endpoint}");
    }
}

#[test]
fn a_host_rank_that_no_node_has_is_refused() {
    let mut world = world("a01i");
    world.settings.host_node_rank = Some(3);
    assert_eq!(world.error(0), "TORCHRUN_JSC_HOST_NODE_RANK=\"3\": the step has nodes 0 to 2");
    // Numbers of the user's own need not be Slurm's.
    world.settings.node_rank = Some(3);
    assert_eq!(world.hosting(), vec![Some(true); 3]);
}

#[test]
fn a_launch_on_one_node_reads_nothing_of_slurm() {
    let mut world = world("localhost:0").setenv("SLURM_NODEID", "x").setenv("SLURM_STEP_NODELIST", "n[");
    (world.options.min_nodes, world.options.max_nodes) = (1, 1);
    assert!(world.plans().iter().all(|plan| plan.untouched.is_some()));
}

/// A system that does not list its interfaces, as a sandbox without netlink.
fn without_interfaces(world: World) -> World {
    world.each(|k, host| {
        host.table.interfaces.clear();
        host.gateway = Some(ip(&format!("10.20.0.{}", k + 1)));
    })
}

#[test]
fn where_the_system_lists_no_interfaces_none_is_missed() {
    for endpoint in ["10.20.0.1:29500", "elsewhere:29500", "a01i:29500"] {
        let world = without_interfaces(world(endpoint).alias("elsewhere", "10.20.0.1"));
        assert_eq!(world.hosting(), only(0, 3), "{endpoint}");
        assert_eq!(world.addresses()[1..], ["10.20.0.2", "10.20.0.3"], "{endpoint}");
        assert_eq!(world.gloo(), vec![None; 3], "{endpoint}");
        for plan in world.plans() {
            assert_eq!(plan.warnings, [""; 0], "{endpoint}");
        }
    }
    let alone = without_interfaces(world("10.20.0.1:29500").unsetenv("SLURM"));
    assert_eq!(alone.hosting(), [None; 3]);
}

#[test]
fn where_the_system_lists_no_interfaces_what_the_user_says_of_them_is_believed() {
    let mut world = without_interfaces(world("a01i:29500"));
    world.settings.interface = Some("ib0".into());
    world.settings.gloo_socket_ifname = Some("ib0".into());
    world.options.local_address = Some("10.20.0.7".into());
    for plan in world.plans() {
        assert_eq!(plan.local_address.unwrap().value, "10.20.0.7");
        assert_eq!(plan.warnings, [""; 0]);
    }
    world.options.local_address = Some("127.0.0.1".into());
    assert!(world.error(1).contains("loopback cannot be reached from the other nodes"), "{}", world.error(1));
}

#[test]
fn where_the_system_lists_no_interfaces_the_host_is_derived() {
    let world = without_interfaces(World::bare("a[01-03]", &NAMES));
    assert!(world.endpoint().starts_with("a01i:"), "{}", world.endpoint());
    assert_eq!(world.hosting(), only(0, 3));
    for plan in world.plans() {
        assert_eq!(plan.warnings, [""; 0]);
    }
}
