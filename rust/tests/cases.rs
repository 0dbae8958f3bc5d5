//! Clusters and environments as users have reported them, that need no real cluster: who hosts, where, and on which
//! interface.

mod world;

use std::collections::BTreeSet;

use torchrun_jsc::hostlist::Hostlist;
use torchrun_jsc::interface::Interface;
use torchrun_jsc::node::Node;
use torchrun_jsc::plan::{plan, Endpoint, Given, Plan};
use torchrun_jsc::slurm::TaskCounts;
use torchrun_jsc::Result;
use world::{interface, ip, only, Host, World};

fn decide(world: &World, host: &Host) -> Result<Endpoint> {
    world.resolve(host, Given::default())
}

fn endpoint_of(world: &World, k: usize) -> String {
    decide(world, &world.hosts[k]).unwrap().host_port.to_string()
}

/// Node `k`'s plan where the kernel has this range of ephemeral ports.
fn plan_beside(world: &World, k: usize, ephemeral_ports: (u16, u16)) -> Plan {
    let host = &world.hosts[k];
    let table = host.lazy_table();
    let node = Node { ephemeral_ports: Some(ephemeral_ports), ..host.node(&table) };
    plan(&world.settings, &world.options, host.variables(), node).unwrap()
}

/// The endpoint's host without its port.
fn host_of(world: &World) -> String {
    world.endpoint().rsplit_once(':').unwrap().0.to_owned()
}

#[test]
fn loopback_is_refused_where_other_nodes_must_reach_it() {
    for endpoint in ["localhost:29500", "LOCALHOST", "127.0.1.1:29500", "[::1]:29500"] {
        let world = World::new("a[01-02]", &["a01", "a02"], endpoint);
        for k in 0..2 {
            let error = world.error(k);
            assert!(error.contains("loopback cannot be reached from the other nodes"), "{error}");
        }
    }
    // One node may use it.
    let mut alone = World::new("a01", &["a01"], "localhost:29500");
    alone.options.max_nodes = 1;
    assert!(alone.plan(0).unwrap().untouched.is_some());
}

#[test]
fn the_first_address_of_the_node_is_not_the_answer() {
    let private = |k: usize| interface(&format!("nat0 192.168.121.{}/24", k + 1));
    let world = World::bare("a[01-02]", &["a01", "a02"]).each(|k, host| host.table.interfaces.insert(0, private(k)));
    assert_eq!(host_of(&world), "a01i");
    let given = World::new("a[01-02]", &["a01", "a02"], "10.10.0.1:29500")
        .each(|k, host| host.table.interfaces.insert(0, private(k)));
    assert_eq!(given.addresses(), ["10.10.0.1", "10.10.0.2"]);
    assert_eq!(given.gloo(), vec![Some("eth0".to_owned()); 2]);
}

#[test]
fn the_suffix_stands_before_the_domain() {
    let world = World::bare("a01.cl,a02.cl", &["a01.cl", "a02.cl"]);
    assert_eq!(host_of(&world), "a01i.cl");
    assert_eq!(world.addresses(), ["a01i.cl", "a02i.cl"]);
    let mut by_template = world.clone();
    by_template.settings.host_template = vec!["{node}i".into()];
    assert_eq!(host_of(&by_template), "a01i.cl");
    // Only the list has the domain.
    let short = world.unsetenv("SLURMD").each(|_, host| host.hostname.truncate(3));
    assert_eq!((host_of(&short).as_str(), short.hosting()), ("a01i.cl", only(0, 2)));
}

#[test]
fn no_suffix_where_no_such_name_exists() {
    for system in ["jupiter", "juwels", "JUSUF", ""] {
        let world = World::bare("jpbo-016-[01-02]", &["jpbo-016-01", "jpbo-016-02"])
            .setenv("SYSTEMNAME", system)
            .each(|_, host| host.names.retain(|name, _| !name.ends_with('i')));
        assert_eq!(host_of(&world), "jpbo-016-01", "{system}");
        assert_eq!(world.addresses(), ["jpbo-016-01", "jpbo-016-02"], "{system}");
    }
}

#[test]
fn a_fast_name_that_is_another_nodes_own_is_not_guessed() {
    let names = ["a", "b", "ai"];
    for (host, endpoint) in [(0, "a"), (1, "bi")] {
        let mut world = World::bare("a,b,ai", &names).alias("ai", "10.10.0.3");
        world.settings.host_node_rank = Some(host);
        assert!(world.endpoint().starts_with(&format!("{endpoint}:")), "{}", world.endpoint());
        assert_eq!(world.hosting(), only(host, 3));
    }
}

#[test]
fn scripts_on_a_node_whose_own_name_is_on_loopback() {
    let mut world = World::new("a[01-02]", &["a01", "a02"], "").each(|k, host| {
        host.names.insert(format!("a0{}", k + 1), vec![ip("127.0.1.1")]);
    });
    world.settings.host_template = vec!["{node}".into()];
    for host in &world.hosts {
        let found = decide(&world, host).unwrap();
        assert_eq!(found.host_port.host, "a01");
        assert_eq!(
            found.own_address(host.node(&host.lazy_table())).interface.as_deref(),
            Some("eth0"),
            "{}",
            host.hostname
        );
    }
}

#[test]
fn a_step_on_one_group_of_a_heterogeneous_job() {
    let world = World::bare("g[5-6]", &["g5", "g6"])
        .setenv("SLURM_HET_SIZE", "2")
        .setenv("SLURM_JOB_NODELIST_HET_GROUP_0", "g1")
        .setenv("SLURM_JOB_NODELIST_HET_GROUP_1", "g[5-6]");
    assert_eq!((host_of(&world).as_str(), world.hosting()), ("g5i", only(0, 2)));
    assert_eq!(endpoint_of(&world, 1), endpoint_of(&world, 0));
}

/// slurmd's list of a step over several groups is sorted, its node ids go from group to group.
fn groups(lists: &[&str], names: &[&str], sorted: &str, variable: &str) -> World {
    let world = World::bare(sorted, names).setenv("SLURM_HET_SIZE", &lists.len().to_string());
    let world = world.setenv("SLURM_STEP_NUM_NODES", &names.len().to_string());
    lists.iter().enumerate().fold(world, |world, (group, list)| world.setenv(&format!("{variable}{group}"), list))
}

#[test]
fn groups_in_another_order_than_their_names() {
    for variable in ["SLURM_JOB_NODELIST_HET_GROUP_", "SLURM_JOB_NODELIST_PACK_GROUP_"] {
        for (lists, names) in [
            (vec!["g3", "g[1-2]"], ["g3", "g1", "g2"]),
            // g2 is number 1 by its id and in the sorted list, which must not make it a different list's node.
            (vec!["g3", "g2", "g1"], ["g3", "g2", "g1"]),
            // The step is on the last groups only.
            (vec!["g4", "g3", "g[1-2]"], ["g3", "g1", "g2"]),
        ] {
            let world = groups(&lists, &names, "g[1-3]", variable);
            assert_eq!((host_of(&world).as_str(), world.hosting()), ("g3i", only(0, 3)), "{lists:?}");
            for (k, plan) in world.plans().into_iter().enumerate() {
                assert_eq!((plan.identity.rank, plan.warnings), (Some(k), Vec::new()), "{lists:?}");
                assert_eq!(plan.rank_order.unwrap().value, torchrun_jsc::plan::RankOrder::Step, "{lists:?}");
            }
            let endpoints: BTreeSet<_> = (0..3).map(|k| endpoint_of(&world, k)).collect();
            assert_eq!(endpoints.len(), 1, "{endpoints:?}");
        }
    }
}

#[test]
fn task_counts_follow_the_list_and_not_the_ids() {
    let world = groups(&["g[2,4]", "g[1,3]"], &["g2", "g4", "g1", "g3"], "g[1-4]", "SLURM_JOB_NODELIST_HET_GROUP_")
        .setenv("SLURM_STEP_TASKS_PER_NODE", "1,3,1(x2)")
        .setenv("SLURM_STEP_NUM_TASKS", "6");
    let sizes: Vec<_> = (0..4).map(|k| decide(&world, &world.hosts[k]).unwrap().local_world_size).collect();
    assert_eq!(sizes, [Some(3), Some(1), Some(1), Some(1)]);

    // Counted from another host node, the ranks are still all different, and rank 0 is there.
    let mut moved = world;
    moved.settings.host_node_rank = Some(3);
    let tasks = [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (3, 0)].map(|(k, local): (usize, usize)| {
        let mut host = moved.hosts[k].clone();
        host.environ.insert("SLURM_LOCALID".into(), local.to_string());
        decide(&moved, &host).unwrap()
    });
    let ranks: BTreeSet<_> = tasks.iter().map(|task| task.rank.unwrap()).collect();
    assert_eq!(ranks, (0..6).collect());
    assert_eq!(tasks[5].rank.unwrap(), 0);
    assert_eq!(tasks[0].host_port.host, "g3i");
}

#[test]
fn ids_that_every_group_counts_for_itself_are_no_contradiction() {
    // psslurm's ids, slurmd's list.
    let lists = ["g3", "g[1-2]"];
    let world = groups(&lists, &["g3", "g1", "g2"], "g[1-3]", "SLURM_JOB_NODELIST_HET_GROUP_").each(|k, host| {
        host.environ.insert("SLURM_NODEID".into(), ["0", "0", "1"][k].into());
    });
    assert_eq!((host_of(&world).as_str(), world.hosting()), ("g3i", only(0, 3)));
    assert!(world.plans().iter().all(|plan| plan.warnings.is_empty()));
}

#[test]
fn task_counts_are_a_list() {
    let counts = TaskCounts::parse("SLURM_STEP_TASKS_PER_NODE", "1(x2)").unwrap();
    assert_eq!([0, 1, 2].map(|node| counts.on_node(node)), [Some(1), Some(1), None]);
    let uneven = World::bare("a[01-03]", &["a01", "a02", "a03"]).setenv("SLURM_STEP_TASKS_PER_NODE", "4(x2),3");
    let sizes: Vec<_> = uneven.hosts.iter().map(|host| decide(&uneven, host).unwrap().local_world_size).collect();
    assert_eq!(sizes, [Some(4), Some(4), Some(3)]);
}

#[test]
fn node1_is_not_the_beginning_of_node10() {
    let world = World::bare("node[1,10]", &["node1", "node10"])
        .unsetenv("SLURMD")
        .unsetenv("SLURM_NODEID")
        .each(|_, host| host.hostname += ".cl");
    let ranks: Vec<_> = world.plans().iter().map(|plan| plan.identity.rank).collect();
    assert_eq!(ranks, [Some(0), Some(1)]);
    assert_eq!(world.hosting(), only(0, 2));
}

#[test]
fn scripts_get_their_place_and_the_same_endpoint_on_every_task() {
    let world = World::new("a[01-02]", &["a01", "a02"], "").setenv("SLURM_NTASKS", "8");
    let mut host = world.hosts[1].clone();
    for (name, value) in [("SLURM_PROCID", "5"), ("SLURM_LOCALID", "1")] {
        host.environ.insert(name.into(), value.into());
    }
    let found = decide(&world, &host).unwrap();
    assert_eq!(found.host_port.host, "a01i");
    assert_eq!((found.rank.unwrap(), found.world_size, found.local_rank), (5, Some(8), Some(1)));
    assert_eq!(found.host_port.to_string(), endpoint_of(&world, 0));
}

#[test]
fn every_node_has_the_same_host_and_port() {
    let world = World::bare("a[01-04]", &["a01", "a02", "a03", "a04"]);
    let endpoint = world.endpoint();
    assert!(endpoint.starts_with("a01i:"), "{endpoint}");
    assert_eq!(World::bare("a[01-04]", &["a01", "a02", "a03", "a04"]).endpoint(), endpoint);
    assert!((0..4).all(|k| endpoint_of(&world, k) == endpoint));
}

/// What is on the left is these hosts.
const LISTS: [(&str, &[&str]); 17] = [
    ("linux[1,2]", &["linux1", "linux2"]),
    ("alpha,beta,gamma", &["alpha", "beta", "gamma"]),
    (
        "gpu-compute-on-demand-dy-g4dnxlarge-[1-2]",
        &["gpu-compute-on-demand-dy-g4dnxlarge-1", "gpu-compute-on-demand-dy-g4dnxlarge-2"],
    ),
    ("c1009a-s17,c1010a-s11", &["c1009a-s17", "c1010a-s11"]),
    ("jean-zay-ia810", &["jean-zay-ia810"]),
    ("compute-b2[011,022]", &["compute-b2011", "compute-b2022"]),
    ("nodeA,nodeB[001,003],nodeC", &["nodeA", "nodeB001", "nodeB003", "nodeC"]),
    ("nodes[006,011]", &["nodes006", "nodes011"]),
    ("c427-032,c429-002", &["c427-032", "c429-002"]),
    (
        "ml-16-node-[001-002,004],ml-17-node-[001-002]",
        &["ml-16-node-001", "ml-16-node-002", "ml-16-node-004", "ml-17-node-001", "ml-17-node-002"],
    ),
    ("foo-[10-11]-[01-02]", &["foo-10-01", "foo-10-02", "foo-11-01", "foo-11-02"]),
    ("cpn-m11-[16,18]", &["cpn-m11-16", "cpn-m11-18"]),
    ("node[0001-0002]-int", &["node0001-int", "node0002-int"]),
    (
        "i01r07c03s[10-12,14]opa,i01r07c04s[10-12]",
        &[
            "i01r07c03s10opa",
            "i01r07c03s11opa",
            "i01r07c03s12opa",
            "i01r07c03s14opa",
            "i01r07c04s10",
            "i01r07c04s11",
            "i01r07c04s12",
        ],
    ),
    ("n[9-11]", &["n9", "n10", "n11"]),
    ("a01.cl,a02.cl", &["a01.cl", "a02.cl"]),
    ("x", &["x"]),
];

#[test]
fn the_first_host_of_a_list() {
    for (list, hosts) in LISTS {
        assert_eq!(Hostlist::parse(list).unwrap().names().collect::<Vec<_>>(), hosts, "{list}");
        if hosts.len() > 1 {
            let mut world = World::bare(list, hosts);
            world.settings.host_template = vec!["{node}".into()];
            assert_eq!((host_of(&world).as_str(), world.hosting()), (hosts[0], only(0, hosts.len())), "{list}");
        }
    }
}

#[test]
fn a_malformed_list_is_named_with_the_place_of_its_fault() {
    for list in ["n[03, n03]", "nid[12-03]", "n[]", "n[1-", "n[1,,3]", "n[1--3]", "node[1:2]", "n[x]", "n[1"] {
        let world = World::bare(list, &["n1", "n2"]);
        let names_it = |error: String| {
            let start = format!("SLURM_STEP_NODELIST=\"{list}\": not a node list: ");
            assert!(error.starts_with(&start) && error.contains(" at byte "), "{error}");
        };
        names_it(world.error(1));
        names_it(decide(&world, &world.hosts[1]).unwrap_err().to_string());
    }
}

#[test]
fn the_port_is_outside_the_ephemeral_range_or_that_is_said() {
    let world = World::bare("a[01-02]", &["a01", "a02"]);
    let fill = |range| plan_beside(&world, 1, range).fills.into_iter().find(|fill| fill.option == "rdzv_endpoint");
    let usual = fill((32_768, 60_999)).unwrap();
    assert!(!usual.reason.contains("ephemeral"), "{}", usual.reason);
    let wide = fill((9_000, 65_500)).unwrap();
    assert_eq!(wide.value, usual.value);
    assert!(wide.reason.contains("ephemeral range 9000-65500; TORCHRUN_JSC_PORT"), "{}", wide.reason);
}

#[test]
fn jobs_steps_and_array_tasks_on_the_same_nodes_have_ports_of_their_own() {
    let mut ports = BTreeSet::new();
    for (job, step) in [("11", "0"), ("12", "0"), ("12", "1"), ("13", "0"), ("1234_7", "0"), ("1234_8", "0")] {
        let world = World::bare("a[01-02]", &["a01", "a02"]).setenv("SLURM_JOB_ID", job).setenv("SLURM_STEP_ID", step);
        let plan = world.plan(1).unwrap();
        let port = plan.endpoint.unwrap().value.port.unwrap();
        assert!((20_000..29_400).contains(&port), "{port}");
        assert!(ports.insert(port) && ports.insert(plan.preflight_port), "{job}.{step}: {port}");
    }
}

#[test]
fn unusual_ids_have_the_same_port_on_all_nodes() {
    for (job, step) in [("1234_7", "0"), ("88.batch", "7"), ("4294967295", "4294967280"), ("x", "x")] {
        let world = World::bare("a[01-02]", &["a01", "a02"]).setenv("SLURM_JOB_ID", job).setenv("SLURM_STEP_ID", step);
        assert!(world.endpoint().starts_with("a01i:2"), "{job} {step}");
    }
    // No ids at all, only the list and the node's number.
    let without = World::bare("a[01-02]", &["a01", "a02"]).unsetenv("SLURM_JOB_ID").unsetenv("SLURM_STEP_ID");
    assert!(without.endpoint().starts_with("a01i:2"));
}

#[test]
fn gloo_takes_the_network_of_the_endpoint_unless_the_user_chose() {
    let world = World::new("a[01-02]", &["a01", "a02"], "a01i:29500");
    assert_eq!(world.gloo(), vec![Some("ib0".to_owned()); 2]);
    let mut chosen = world;
    chosen.settings.gloo_socket_ifname = Some("eth0".into());
    assert_eq!(chosen.gloo(), vec![None; 2]);
}

#[test]
fn a_bridge_that_every_node_has_is_never_chosen() {
    let tables = |k: usize| {
        let down = Interface { up: false, running: false, ..interface("enp35s0d1") };
        let first =
            [interface("lo 127.0.0.1/8"), interface("docker0 172.17.0.1/16"), interface("virbr0 192.168.122.1/24")];
        let rest = [interface(&format!("enp159s0 172.30.160.{}/20", 6 + k)), down];
        first.into_iter().chain(rest).collect()
    };
    let world = |endpoint: &str| {
        World::new("b[1-2]", &["b1", "b2"], endpoint).each(|k, host| host.table.interfaces = tables(k)).each(
            |_, host| {
                host.names.insert("b1".into(), vec![ip("172.17.0.1"), ip("172.30.160.6")]);
                host.names.insert("b2".into(), vec![ip("172.17.0.1"), ip("172.30.160.7")]);
            },
        )
    };
    for endpoint in ["b1:29500", "172.30.160.6:29500"] {
        let world = world(endpoint);
        assert_eq!(world.hosting(), only(0, 2), "{endpoint}");
        assert_eq!(world.gloo(), vec![Some("enp159s0".to_owned()); 2], "{endpoint}");
    }
    assert_eq!(world("172.30.160.6:29500").addresses(), ["172.30.160.6", "172.30.160.7"]);
    let step = world("b1:29500");
    for host in &step.hosts {
        let found = decide(&step, host).unwrap();
        assert_eq!(found.address, Some(ip("172.30.160.6")));
        assert_eq!(found.own_address(host.node(&host.lazy_table())).interface.as_deref(), Some("enp159s0"));
    }
}

#[test]
fn the_users_interfaces_are_read_like_nccls() {
    for (setting, allowed) in [
        ("eth", "eth0"),
        ("=eth0", "eth0"),
        ("=eth0,eth1", "eth0"),
        ("ib", "ib0"),
        ("^ib", "eth0"),
        ("^=eth0", "ib0"),
        ("^docker", "ib0"),
    ] {
        let mut world = World::bare("a[01-02]", &["a01", "a02"]);
        world.settings.interface = Some(setting.into());
        assert_eq!(world.gloo(), vec![Some(allowed.to_owned()); 2], "{setting}");
    }
    for setting in ["=eth", "=ib", "^eth,ib", "hsn"] {
        let mut world = World::bare("a[01-02]", &["a01", "a02"]);
        world.settings.interface = Some(setting.into());
        assert!(world.error(1).starts_with("TORCHRUN_JSC_INTERFACE="), "{setting}");
    }
}

/// `change` applied to every node's ib0.
fn with_ib0(change: fn(&mut Interface)) -> World {
    World::bare("a[01-02]", &["a01", "a02"])
        .each(|_, host| host.table.interfaces.iter_mut().filter(|i| i.name == "ib0").for_each(change))
}

#[test]
fn an_interface_that_is_down_is_named_and_changes_no_endpoint() {
    let changes: [(fn(&mut Interface), _); 2] =
        [(|ib0| ib0.running = false, "has no carrier"), (|ib0| ib0.up = false, "is down")];
    for (change, why) in changes {
        let world = with_ib0(change);
        assert_eq!(host_of(&world), "a01i");
        for (k, plan) in world.plans().into_iter().enumerate() {
            let n = k + 1;
            let line = format!("ib0 of node a0{n}, which has 10.20.0.{n}, {why}");
            assert_eq!(plan.warnings[0], line);
            assert_eq!(decide(&world, &world.hosts[k]).unwrap().warnings, [line]);
        }
        let mut wanted = world;
        wanted.settings.interface = Some("ib0".into());
        assert!(wanted.error(0).contains("no usable interface of a01 matches; there are eth0"), "{}", wanted.error(0));
    }
    // On one node only: all still go to the same endpoint.
    for ib0 in [None, Some(Interface { up: false, ..interface("ib0 10.20.0.2/24") }), Some(interface("ib0"))] {
        let mut world = World::bare("a[01-02]", &["a01", "a02"]).setenv("SYSTEMNAME", "juwels");
        world.hosts[1].table.interfaces.truncate(2);
        world.hosts[1].table.interfaces.extend(ib0);
        assert_eq!(host_of(&world), "a01i");
        let warnings = world.plan(1).unwrap().warnings;
        assert!(
            warnings[0].starts_with("ib0 of node a02, which has 10.20.0.2, is down")
                || warnings[0].starts_with("a02i is 10.20.0.2, which no interface of a02 has"),
            "{warnings:?}"
        );
    }
}

#[test]
fn several_addresses_of_a_name_and_of_an_interface() {
    let all = |k: usize| {
        ["fe80::1", "fd00::1", "10.91.2.101", "10.91.2.1"].map(|text| match ip(text) {
            std::net::IpAddr::V4(v4) => std::net::IpAddr::V4((v4.to_bits() + u32::try_from(k).unwrap()).into()),
            std::net::IpAddr::V6(v6) => std::net::IpAddr::V6((v6.to_bits() + k as u128).into()),
        })
    };
    let world = World::bare("a[01-02]", &["a01", "a02"]).each(|k, host| {
        let n = k + 1;
        host.table.interfaces[2] =
            interface(&format!("ib0 10.91.2.{n}/24 10.91.2.{}/24 fd00::{n}/64 fe80::{n}/64", 100 + n));
        for other in 0..2 {
            host.names.insert(format!("a0{}i", other + 1), all(other).to_vec());
        }
    });
    assert_eq!(world.hosting(), only(0, 2));
    assert_eq!(world.gloo(), vec![Some("ib0".to_owned()); 2]);
    for plan in world.plans() {
        // Any of the node's own global ones, and never the link-local one.
        assert_ne!(plan.endpoint_address, Some(ip("fe80::1")));
        assert!(all(0).contains(&plan.endpoint_address.unwrap()));
    }
}

#[test]
fn an_interface_that_this_node_has_not_is_named_with_those_it_has() {
    let mut world = World::bare("a[01-02]", &["a01", "a02"]);
    world.settings.gloo_socket_ifname = Some("bond1".into());
    for (plan, node) in world.plans().into_iter().zip(["a01", "a02"]) {
        assert_eq!(plan.gloo_interface, None);
        assert_eq!(
            plan.warnings,
            [format!("GLOO_SOCKET_IFNAME=\"bond1\": no interface \"bond1\" on node {node}; there are eth0, ib0")]
        );
    }
}

#[test]
fn several_fast_interfaces_given_for_nccl() {
    let mut world = World::new("a[01-02]", &["a01", "a02"], "10.30.1.1:29500").each(|k, host| {
        for card in 0..4 {
            host.table.interfaces.push(interface(&format!("hsn{card} 10.30.{card}.{}/24", k + 1)));
        }
    });
    world.settings.nccl_socket_ifname = Some("hsn0,hsn1,hsn2,hsn3".into());
    // The one of the endpoint is among them.
    assert_eq!(world.gloo(), vec![Some("hsn1".to_owned()); 2]);
    world.options.endpoint = "a01:29500".into();
    assert_eq!(world.gloo(), vec![Some("hsn0".to_owned()); 2]);
}

#[test]
fn the_bond_and_not_its_members() {
    let world = World::new("a[01-02]", &["a01", "a02"], "10.91.2.1:29500").each(|k, host| {
        let member = |name: &str| interface(name);
        host.table.interfaces = vec![
            interface("lo 127.0.0.1/8"),
            member("ens8f0np0"),
            member("ens8f1np1"),
            Interface { running: false, ..interface("ens16f0") },
            interface(&format!("bond0 10.91.2.{}/24", k + 1)),
        ];
    });
    assert_eq!(world.gloo(), vec![Some("bond0".to_owned()); 2]);
    let mut wanted = world;
    wanted.settings.interface = Some("ib".into());
    // Members have no address: they are not offered.
    assert!(wanted.error(0).ends_with("there are bond0"), "{}", wanted.error(0));
}

#[test]
fn the_route_to_the_endpoint_and_never_the_default_route() {
    for (endpoint, name) in [("10.91.2.1:29500", "enp1s0f0np0"), ("10.91.1.2:29500", "enP7s7")] {
        let world = World::new("a[01-02]", &["a01", "a02"], endpoint).each(|k, host| {
            let n = k + 1;
            host.table.interfaces = vec![
                interface("lo 127.0.0.1/8"),
                interface(&format!("enP7s7 10.91.1.{n}/24")),
                interface(&format!("enp1s0f0np0 10.91.2.{n}/24")),
            ];
            host.names = (1..3).map(|n| (format!("a0{n}"), vec![ip(&format!("10.91.1.{n}"))])).collect();
        });
        assert_eq!(world.gloo(), vec![Some(name.to_owned()); 2], "{endpoint}");
        assert!(world.plans().iter().all(|plan| plan.warnings.is_empty()));
    }
}
