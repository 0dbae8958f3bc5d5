//! The same decision for programs that initialise torch by themselves.

mod world;

use torchrun_jsc::plan::{Endpoint, Given};
use torchrun_jsc::Result;
use world::{Host, World};

/// Two nodes with four tasks each: tasks 0 to 7 in blocks.
fn world() -> World {
    World::new("a[01-02]", &["a01", "a02"], "")
        .setenv("SLURM_NTASKS", "8")
        .setenv("SLURM_STEP_NUM_TASKS", "8")
        .setenv("SLURM_STEP_TASKS_PER_NODE", "4(x2)")
}

/// The task with this number on node `k`.
fn on(world: &World, k: usize, local: usize) -> Host {
    let mut host = world.hosts[k].clone();
    host.environ.insert("SLURM_LOCALID".into(), local.to_string());
    host.environ.insert("SLURM_PROCID".into(), (4 * k + local).to_string());
    host
}

fn decide(world: &World, host: &Host, endpoint: Option<&str>) -> Result<Endpoint> {
    world.resolve(host, Given { endpoint, ..Given::default() })
}

fn all(world: &World) -> Vec<Endpoint> {
    let tasks = (0..2).flat_map(|k| (0..4).map(move |local| (k, local)));
    tasks.map(|(k, local)| decide(world, &on(world, k, local), None).unwrap()).collect()
}

fn ranks(tasks: &[Endpoint]) -> Vec<usize> {
    tasks.iter().map(|task| task.rank.unwrap()).collect()
}

#[test]
fn all_tasks_agree() {
    let tasks = all(&world());
    assert_eq!(ranks(&tasks), (0..8).collect::<Vec<_>>());
    for (number, task) in tasks.iter().enumerate() {
        assert_eq!(task.host_port, tasks[0].host_port);
        assert_eq!(task.host_port.host, "a01i");
        assert_eq!(task.host_node.as_deref(), Some("a01"));
        assert_eq!(task.address.unwrap().to_string(), "10.20.0.1");
        assert_eq!((task.world_size, task.local_world_size, task.nnodes), (Some(8), Some(4), Some(2)));
        assert_eq!((task.local_rank, task.node_rank), (Some(number % 4), Some(number / 4)));
        assert!(task.warnings.is_empty(), "{:?}", task.warnings);
    }
}

#[test]
fn rank_0_is_on_the_host_node() {
    let mut other = world();
    other.settings.host_node_rank = Some(1);
    let tasks = all(&other);
    assert_eq!(ranks(&tasks), [4, 5, 6, 7, 0, 1, 2, 3]);
    assert_eq!(tasks[0].host_port.host, "a02i");
    let arbitrary = world().setenv("SLURM_DISTRIBUTION", "arbitrary").setenv("SLURM_STEP_TASKS_PER_NODE", "4(x2)");
    let mut host = on(&arbitrary, 1, 0);
    host.environ.insert("SLURM_PROCID".into(), "0".into());
    let task = decide(&arbitrary, &host, None).unwrap();
    assert_eq!(task.rank.unwrap(), 4);
}

#[test]
fn two_ports_are_refused() {
    let world = world();
    let host = on(&world, 0, 0);
    let decide = |port| world.resolve(&host, Given { endpoint: Some("a01i:29500"), port: Some(port), is_child: false });
    assert_eq!(decide(29500).unwrap().port, 29500);
    assert_eq!(decide(7).unwrap_err().to_string(), "port=\"7\": endpoint has another one, 29500");
}

#[test]
fn a_rank_that_has_to_be_counted_needs_the_tasks_of_each_node() {
    let mut world = world();
    world.settings.host_node_rank = Some(1);
    let mut host = on(&world, 1, 0);
    host.environ.retain(|name, _| !name.contains("TASKS_PER_NODE"));
    let task = decide(&world, &host, None).unwrap();
    assert_eq!((task.rank, task.world_size), (None, Some(8)));
    assert_eq!(task.host_port.host, "a02i");
}

#[test]
fn uneven_tasks() {
    let world = world().setenv("SLURM_STEP_TASKS_PER_NODE", "4,3");
    let task = decide(&world, &on(&world, 1, 0), None).unwrap();
    assert_eq!(task.local_world_size, Some(3));
}

#[test]
fn what_is_set_is_kept_and_contradictions_are_reported() {
    let set = world()
        .setenv("MASTER_ADDR", "a01")
        .setenv("MASTER_PORT", "6000")
        .setenv("RANK", "3")
        .setenv("WORLD_SIZE", "9")
        .setenv("LOCAL_RANK", "1");
    let task = decide(&set, &on(&set, 1, 1), None).unwrap();
    assert_eq!(task.host_port.to_string(), "a01:6000");
    assert_eq!((task.rank.unwrap(), task.world_size, task.local_rank), (3, Some(9), Some(1)));
    assert_eq!(
        task.warnings,
        ["RANK=3 as set, although SLURM_PROCID=5", "WORLD_SIZE=9 as set, although SLURM_STEP_NUM_TASKS=8"]
    );
    // torchrun's own workers inherit Slurm's variables of their agent.
    let elastic = set.setenv("TORCHELASTIC_RUN_ID", "1").setenv("GROUP_RANK", "1").setenv("GROUP_WORLD_SIZE", "2");
    assert!(decide(&elastic, &on(&elastic, 0, 0), None).unwrap().warnings.is_empty());
}

#[test]
fn a_host_that_is_not_the_node_of_rank_0_is_reported() {
    let world = world();
    let task = decide(&world, &on(&world, 0, 0), Some("a02i:29500")).unwrap();
    assert_eq!(task.host_port.to_string(), "a02i:29500");
    assert_eq!(task.host_node.as_deref(), Some("a02"));
    assert_eq!(task.warnings, ["a02i is node 1 of the step, but rank 0 is on node 0"]);
    let local = decide(&world, &on(&world, 0, 0), Some("localhost:29500")).unwrap();
    assert_eq!(local.warnings, ["localhost is on loopback, which the other nodes of the step cannot reach"]);
}

#[test]
fn a_batch_script_knows_the_endpoint_but_no_rank() {
    let batch = world().unsetenv("SLURM_STEP").unsetenv("SLURM_LOCALID");
    let task = decide(&batch, &batch.hosts[0], None).unwrap();
    assert_eq!(task.host_port.host, "a01i");
    assert!(task.rank.is_none() && task.world_size.is_none() && task.local_rank.is_none());
}

#[test]
fn a_login_node_derives_what_the_nodes_derive() {
    let world = world();
    let mut login = world.hosts[0].clone();
    login.hostname = "login".into();
    login.environ.retain(|name, _| ["SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_CLUSTER_NAME"].contains(&&**name));
    let task = decide(&world, &login, None).unwrap();
    assert_eq!((task.host_port.host.as_str(), task.node_rank), ("a01i", None));
}

#[test]
fn a_name_that_nobody_knows_is_reported_with_what_it_was_made_by() {
    let mut world = world().each(|_, host| host.names.clear());
    let told = |world: &World| decide(world, &on(world, 0, 0), None).unwrap_err().to_string();
    let unknown = "cannot resolve it on node a01: Name or service not known; use a name that all nodes resolve";
    assert_eq!(told(&world), format!("SLURM_STEP_NODELIST=\"a01i,a01\": {unknown}, or an address"));
    world.settings.host_template = vec!["{node}-hsn".into()];
    assert_eq!(told(&world), format!("TORCHRUN_JSC_HOST_TEMPLATE=\"a01-hsn\": {unknown}, or an address"));
}

#[test]
fn what_cannot_be_known_is_an_error_and_never_localhost() {
    let alone = world().unsetenv("SLURM");
    let error = decide(&alone, &alone.hosts[0], None).unwrap_err().to_string();
    assert_eq!(
        error,
        "SLURM_STEP_NODELIST=\"\": not set, and there is no MASTER_ADDR; start it with srun, or give an endpoint"
    );
    let error = decide(&alone, &alone.hosts[0], Some("10.20.0.1")).unwrap_err().to_string();
    assert!(error.starts_with("MASTER_PORT=\"\": not set"), "{error}");
    let task = decide(&alone, &alone.hosts[1], Some("10.20.0.1:6000")).unwrap();
    assert_eq!(task.host_port.to_string(), "10.20.0.1:6000");
    let table = alone.hosts[1].lazy_table();
    assert_eq!(task.own_address(alone.hosts[1].node(&table)).interface.as_deref(), Some("ib0"));
}
