//! The order of ranks, and warnings about launches that cannot be right.

mod world;

use torchrun_jsc::plan::RankOrder;
use torchrun_jsc::settings::OrderSetting;
use world::{ip, World};

const NAMES: [&str; 3] = ["n9", "n10", "n11"];

fn orders(world: &World) -> Vec<Option<RankOrder>> {
    world.plans().into_iter().map(|plan| plan.rank_order.map(|decision| decision.value)).collect()
}

#[test]
fn names_that_sort_are_left_to_torch() {
    let padded = World::new("n[09-11]", &["n09", "n10", "n11"], "n09i:29500");
    assert_eq!(orders(&padded), [Some(RankOrder::Names); 3]);
    let unpadded = World::new("n[9-11]", &NAMES, "n9i:29500");
    assert_eq!(orders(&unpadded), [Some(RankOrder::Step); 3]);
    let literal = World::new("n[9-11]", &NAMES, "10.20.0.1:29500");
    assert_eq!(orders(&literal), [Some(RankOrder::Step); 3]);
    let alias = World::new("n[09-11]", &["n09", "n10", "n11"], "store:29500").alias("store", "10.20.0.1");
    assert_eq!(orders(&alias), [Some(RankOrder::Step); 3]);
}

#[test]
fn a_node_that_does_not_publish_its_name_asks_for_the_steps_order() {
    let world = World::new("n[09-11]", &["n09", "n10", "n11"], "n09:29500").each(|k, host| {
        if k == 1 {
            host.names.insert("n10".into(), vec![ip("127.0.1.1")]);
        }
    });
    assert_eq!(world.addresses(), ["n09", "10.10.0.2", "n11"]);
    assert_eq!(orders(&world), [Some(RankOrder::Names), Some(RankOrder::Step), Some(RankOrder::Names)]);
}

#[test]
fn torchs_order_is_kept_where_it_is_wanted_or_there_is_no_other() {
    let mut world = World::new("n[9-11]", &NAMES, "n9i:29500");
    world.settings.rank_order = OrderSetting::Torch;
    assert_eq!(orders(&world), [Some(RankOrder::Torch); 3]);
    let elsewhere = World::new("n[9-11]", &NAMES, "10.20.0.1:29500").unsetenv("SLURM");
    assert_eq!(orders(&elsewhere), [Some(RankOrder::Torch); 3]);
}

fn warnings(world: &World) -> Vec<Vec<String>> {
    world.plans().into_iter().map(|plan| plan.warnings).collect()
}

#[test]
fn a_node_rank_that_is_not_used_is_reported() {
    let mut world = World::new("n[9-11]", &NAMES, "n9i:29500");
    world.options.node_rank = Some(1);
    let lines = warnings(&world);
    assert_eq!(lines[0], ["--node_rank=1 is not used by the c10d backend: node n9 is number 0"]);
    assert!(lines[1].is_empty());
}

#[test]
fn numbers_that_do_not_fit_are_reported_once() {
    let world = || World::new("n[9-11]", &NAMES, "n9i:29500");
    let per_task = world().setenv("SLURM_STEP_NUM_TASKS", "24").setenv("SLURM_STEP_TASKS_PER_NODE", "8(x3)");
    let lines = warnings(&per_task);
    assert_eq!(lines[0], ["24 launchers on 3 nodes for --nnodes=3: start one a node, with --ntasks-per-node=1"]);
    assert!(lines[1].is_empty() && lines[2].is_empty());
    assert!(warnings(&per_task.setenv("SLURM_LOCALID", "1"))[0].is_empty());

    let mut two_agents = world().setenv("SLURM_STEP_NUM_TASKS", "6");
    (two_agents.options.min_nodes, two_agents.options.max_nodes) = (6, 6);
    assert!(warnings(&two_agents).concat().is_empty());

    let mut many = world();
    (many.options.min_nodes, many.options.max_nodes) = (4, 4);
    assert_eq!(warnings(&many).concat(), ["--nnodes=4, but the step has 3 tasks on 3 nodes: it will wait"]);
    let mut few = world();
    (few.options.min_nodes, few.options.max_nodes) = (2, 2);
    assert_eq!(warnings(&few).concat(), ["--nnodes=2, but the step has 3 nodes: some will not take part"]);
    let mut elastic = world();
    (elastic.options.min_nodes, elastic.options.max_nodes) = (2, 4);
    assert!(warnings(&elastic).concat().is_empty());
}

#[test]
fn an_endpoint_outside_the_step_is_reported_once() {
    let world = World::new("n[9-11]", &NAMES, "store:29500").alias("store", "10.20.0.99");
    assert_eq!(
        warnings(&world).concat(),
        ["the endpoint store:29500 is none of the step's nodes by name or address: does it run there?"]
    );
    let inside = World::new("n[9-11]", &NAMES, "store:29500").alias("store", "10.20.0.2");
    assert!(warnings(&inside).concat().is_empty());
    let literal = World::new("n[9-11]", &NAMES, "10.20.0.3:29500");
    assert!(warnings(&literal).concat().is_empty());
}
