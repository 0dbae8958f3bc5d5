//! What is filled in from Slurm where nobody gave it.

mod world;

use torchrun_jsc::interface::Interface;
use torchrun_jsc::settings::SocketIfname;
use world::{interface, ip, only, World};

fn fills(world: &World, k: usize) -> Vec<(&'static str, String)> {
    world.plan(k).unwrap().fills.into_iter().map(|fill| (fill.option, fill.value)).collect()
}

#[test]
fn endpoint_backend_and_id_come_from_the_step() {
    let world = World::bare("a[01-03]", &["a01", "a02", "a03"]);
    for k in 0..3 {
        assert_eq!(
            fills(&world, k),
            [
                ("rdzv_backend", "c10d".to_owned()),
                ("rdzv_endpoint", world.endpoint()),
                ("rdzv_id", "47110101".to_owned())
            ]
        );
    }
    assert!(world.endpoint().starts_with("a01i:2"), "{}", world.endpoint());
    assert_eq!(world.hosting(), only(0, 3));
    assert_eq!(world.addresses(), ["a01i", "a02i", "a03i"]);
    assert_eq!(world.gloo(), vec![Some("ib0".to_owned()); 3]);
}

#[test]
fn what_was_given_stays() {
    let mut world = World::bare("a[01-03]", &["a01", "a02", "a03"]);
    world.options.backend = "c10d".into();
    world.options.endpoint = String::new();
    world.options.given.extend(["rdzv_backend".into(), "rdzv_id".into()]);
    world.settings.port = Some(12_345);
    assert_eq!(fills(&world, 1), [("rdzv_endpoint", "a01i:12345".to_owned())]);
}

#[test]
fn the_static_backend_gets_rank_and_master() {
    let mut world = World::bare("a[01-03]", &["a01", "a02", "a03"]);
    world.options.given.push("rdzv_backend".into());
    let master = world.endpoint();
    for k in 0..3 {
        assert_eq!(fills(&world, k), [("node_rank", k.to_string()), ("master_addr", master.clone())]);
    }
    assert!(master.starts_with("a01i:"));
    assert_eq!(world.gloo(), vec![Some("ib0".to_owned()); 3]);

    world.options.master_port = Some(29500);
    assert_eq!(world.endpoint(), "a01i:29500");

    world.options.given.push("master_addr".into());
    world.options.endpoint = "a01:29500".into();
    assert_eq!(fills(&world, 2), [("node_rank", "2".to_owned())]);
}

#[test]
fn one_node_needs_nothing() {
    let mut world = World::bare("a01", &["a01"]);
    assert!(world.plan(0).unwrap().untouched.is_some());
    // Independent runs of one node each, under a step of several.
    world = World::bare("a[01-02]", &["a01", "a02"]);
    world.options.min_nodes = 1;
    world.options.max_nodes = 1;
    assert!(world.plans().iter().all(|plan| plan.untouched.is_some() && plan.fills.is_empty()));
}

#[test]
fn what_cannot_be_known_is_an_error() {
    let bare = || World::bare("a[01-03]", &["a01", "a02", "a03"]);
    let batch = bare().unsetenv("SLURM_STEP").unsetenv("SLURMD");
    assert_eq!(
        batch.error(0),
        "--nnodes=\"3\": no endpoint was given and this is no srun step; start it with srun, or give --rdzv_endpoint"
    );
    let unlisted = bare().unsetenv("SLURM_STEP_NODELIST").unsetenv("SLURM_JOB_NODELIST");
    assert!(unlisted.error(0).contains("SLURM_STEP_NODELIST is not set"), "{}", unlisted.error(0));
    let mut beyond = bare();
    beyond.settings.host_node_rank = Some(3);
    assert_eq!(beyond.error(0), "TORCHRUN_JSC_HOST_NODE_RANK=\"3\": the step has nodes 0 to 2");
    let nameless = bare().each(|_, host| host.names.clear());
    assert_eq!(
        nameless.error(1),
        "SLURM_STEP_NODELIST=\"a01i,a01\": cannot resolve it on node a02: Name or service not known; use a name that all \
         nodes resolve, or an address"
    );
}

#[test]
fn without_slurm_nothing_is_filled_in() {
    let world = World::bare("a[01-03]", &["a01", "a02", "a03"]).unsetenv("SLURM");
    assert!(world.plans().iter().all(|plan| plan.untouched.is_some() && plan.fills.is_empty()));
}

#[test]
fn the_host_rank_chooses_the_host() {
    let mut world = World::bare("a[01-03]", &["a01", "a02", "a03"]);
    world.settings.host_node_rank = Some(2);
    assert!(world.endpoint().starts_with("a03i:"));
    assert_eq!(world.hosting(), only(2, 3));
}

#[test]
fn templates_are_tried_in_order_and_what_does_not_resolve_is_skipped() {
    for (templates, host) in [
        (vec!["{node}i"], "a01i"),
        (vec!["{node}"], "a01"),
        (vec!["{host}-ib0{domain}", "{node}i"], "a01i"),
        (vec!["{host}.hsn.example"], "a01.hsn.example"),
        (vec![], "a01i"),
    ] {
        let mut world = World::bare("a[01-02]", &["a01", "a02"]).alias("a01.hsn.example", "10.20.0.1");
        world.settings.host_template = templates.iter().map(ToString::to_string).collect();
        assert_eq!(world.endpoint().split(':').next(), Some(host), "{templates:?}");
        assert_eq!(world.hosting(), only(0, 2), "{templates:?}");
    }
}

#[test]
fn a_guessed_name_must_be_proven() {
    // No such names at all.
    let without = World::bare("jpbo-016-[01-02]", &["jpbo-016-01", "jpbo-016-02"])
        .each(|_, host| host.names.retain(|name, _| !name.ends_with('i')));
    assert!(without.endpoint().starts_with("jpbo-016-01:"));
    // A domain that answers for every name.
    let wildcard = World::bare("a[01-02]", &["a01", "a02"]).each(|_, host| {
        host.gateway = Some(host.table.interfaces[1].addresses[0].ip);
        for name in ["a01i", "a02i"] {
            host.names.insert(name.into(), vec![ip("192.0.2.1")]);
        }
    });
    assert!(wildcard.endpoint().starts_with("a01:"));
}

#[test]
fn the_first_form_that_the_resolver_knows_whatever_routes_this_node_has() {
    // bun003 resolves to an admin network without a route; the long name leads to the fast network.
    let mut world = World::bare("bun[003-004]", &["bun003", "bun004"])
        .alias("bun003", "172.31.0.3")
        .alias("bun003.hpc.example", "10.20.0.1")
        .alias("bun004.hpc.example", "10.20.0.2");
    world.settings.host_template = vec!["{node}.hpc.example".into(), "{node}".into()];
    assert!(world.endpoint().starts_with("bun003.hpc.example:"));
    assert_eq!(world.addresses(), ["bun003.hpc.example", "bun004.hpc.example"]);
    world.settings.host_template.reverse();
    assert!(world.endpoint().starts_with("bun003:"));
}

#[test]
fn a_heterogeneous_job_is_one_list_or_its_groups() {
    // A step on group 1 alone.
    let group = World::bare("g[5-6]", &["g5", "g6"])
        .setenv("SLURM_HET_SIZE", "2")
        .setenv("SLURM_JOB_NODELIST_HET_GROUP_0", "g1")
        .setenv("SLURM_JOB_NODELIST_HET_GROUP_1", "g[5-6]");
    assert!(group.endpoint().starts_with("g5i:"));
    assert_eq!(group.hosting(), only(0, 2));
    // A step over both, each group with its own list and global node ids.
    let both = World::bare("g[1,5-6]", &["g1", "g5", "g6"])
        .setenv("SLURM_HET_SIZE", "2")
        .setenv("SLURM_JOB_NODELIST_HET_GROUP_0", "g1")
        .setenv("SLURM_JOB_NODELIST_HET_GROUP_1", "g[5-6]")
        .each(|k, host| {
            let list = if k == 0 { "g1" } else { "g[5-6]" };
            host.environ.insert("SLURM_STEP_NODELIST".into(), list.into());
        });
    assert!(both.endpoint().starts_with("g1i:"));
    assert_eq!(both.hosting(), only(0, 3));
    assert!(both.plans().iter().all(|plan| plan.warnings.is_empty()));
}

#[test]
fn interfaces_that_cannot_carry_traffic_are_never_chosen() {
    let nat = World::bare("a[01-02]", &["a01", "a02"]).each(|k, host| {
        let mut nat = interface(&format!("nat0 192.168.121.{}/24", k + 1));
        nat.index = 2;
        host.table.interfaces.insert(1, nat);
        host.table.interfaces.insert(1, interface("docker0 172.17.0.1/16"));
    });
    assert_eq!(nat.gloo(), vec![Some("ib0".to_owned()); 2]);
    let down = World::new("a[01-02]", &["a01", "a02"], "a01").each(|_, host| {
        let ib0 = host.table.interfaces.pop().unwrap();
        host.table.interfaces.push(Interface { running: false, ..ib0 });
    });
    assert_eq!(down.gloo(), vec![Some("eth0".to_owned()); 2]);
    let down = World::new("a[01-02]", &["a01", "a02"], "a01i").each(|_, host| {
        host.table.interfaces[2].up = false;
        host.gateway = Some(host.table.interfaces[1].addresses[0].ip);
    });
    assert_eq!(down.addresses(), ["a01i", "10.10.0.2"]);
    assert_eq!(down.plan(0).unwrap().warnings, ["ib0 of node a01, which has 10.20.0.1, is down"]);
    assert_eq!(down.plan(1).unwrap().warnings, ["ib0 of node a02, which has 10.20.0.2, is down"]);
}

#[test]
fn gloo_is_left_to_the_user() {
    let mut world = World::bare("a[01-02]", &["a01", "a02"]);
    world.settings.gloo_socket_ifname = Some("eth0".into());
    assert_eq!(world.gloo(), vec![None; 2]);
    assert!(world.plans().iter().all(|plan| plan.warnings.is_empty()));
    world.settings.gloo_socket_ifname = Some("bond1".into());
    assert_eq!(
        world.plan(1).unwrap().warnings,
        ["GLOO_SOCKET_IFNAME=\"bond1\": no interface \"bond1\" on node a02; there are eth0, ib0"]
    );
    world.settings.gloo_socket_ifname = None;
    world.settings.socket_ifname = SocketIfname::Off;
    assert_eq!(world.gloo(), vec![None; 2]);
}

#[test]
fn gloo_follows_the_choice_for_nccl() {
    let mut world = World::bare("a[01-02]", &["a01", "a02"]);
    for (nccl, gloo) in [("ib", "ib0"), ("=eth0", "eth0"), ("hsn0,eth", "eth0"), ("^ib", "eth0"), ("^docker0", "ib0")] {
        world.settings.nccl_socket_ifname = Some(nccl.into());
        assert_eq!(world.gloo(), vec![Some(gloo.to_owned()); 2], "{nccl}");
    }
}

#[test]
fn a_group_with_ids_of_its_own_is_known_by_the_size_of_the_launch() {
    // Under psslurm every group counts its nodes from 0.
    let both = World::bare("g[1,5-6]", &["g1", "g5", "g6"])
        .setenv("SLURM_HET_SIZE", "2")
        .setenv("SLURM_JOB_NODELIST_HET_GROUP_0", "g1")
        .setenv("SLURM_JOB_NODELIST_HET_GROUP_1", "g[5-6]")
        .each(|k, host| {
            let (list, id) = [("g1", "0"), ("g[5-6]", "0"), ("g[5-6]", "1")][k];
            host.environ.insert("SLURM_STEP_NODELIST".into(), list.into());
            host.environ.insert("SLURM_NODEID".into(), id.into());
        });
    assert!(both.endpoint().starts_with("g1i:"));
    assert_eq!(both.hosting(), only(0, 3));
}

#[test]
fn a_given_port_is_the_endpoints() {
    let mut world = World::bare("a[01-02]", &["a01", "a02"]);
    world.options.master_port = Some(29_501);
    assert_eq!(world.endpoint(), "a01i:29501");
}

#[test]
fn no_interface_for_gloo_is_reported() {
    let mut world = World::bare("a[01-02]", &["a01", "a02"]);
    world.settings.nccl_socket_ifname = Some("hsn0,hsn1".into());
    assert_eq!(
        world.plan(1).unwrap().warnings,
        ["GLOO_SOCKET_IFNAME is not set: NCCL_SOCKET_IFNAME=\"hsn0,hsn1\" names no usable interface on node a02; there are \
          eth0, ib0"]
    );
}
