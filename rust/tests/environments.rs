//! Environments that are not what they seem: inherited from another job, cut by a container, made by an MPI launcher,
//! numbered in the order of a topology.

mod world;

use std::collections::BTreeSet;

use torchrun_jsc::plan::{Endpoint, Given};
use torchrun_jsc::resolver::{Kind, Unresolved};
use torchrun_jsc::Result;
use world::{interface, ip, only, Host, World};

const NAMES: [&str; 2] = ["a01", "a02"];

/// Two nodes with so many tasks each, in blocks.
fn step(per_node: usize) -> World {
    let tasks = (2 * per_node).to_string();
    World::bare("a[01-02]", &NAMES)
        .setenv("SLURM_JOB_NUM_NODES", "2")
        .setenv("SLURM_STEP_NUM_NODES", "2")
        .setenv("SLURM_NTASKS", &tasks)
        .setenv("SLURM_STEP_NUM_TASKS", &tasks)
        .setenv("SLURM_STEP_TASKS_PER_NODE", &format!("{per_node}(x2)"))
        .each(|k, host| {
            host.environ.insert("SLURM_PROCID".into(), (k * per_node).to_string());
        })
}

fn with(host: &Host, pairs: &[(&str, &str)]) -> Host {
    let mut host = host.clone();
    for (name, value) in pairs {
        if value.is_empty() {
            host.environ.remove(*name);
        } else {
            host.environ.insert((*name).into(), (*value).into());
        }
    }
    host
}

fn resolve(world: &World, host: &Host) -> Result<Endpoint> {
    world.resolve(host, Given::default())
}

fn error(world: &World, host: &Host) -> String {
    resolve(world, host).map(|found| format!("{found:?}")).unwrap_err().to_string()
}

/// All tasks of a world: the task `local` of node `k` has the rank `number(k, local)` by Slurm.
fn tasks(world: &World, per_node: usize, number: impl Fn(usize, usize) -> usize) -> Vec<Endpoint> {
    let places = (0..world.hosts.len()).flat_map(|k| (0..per_node).map(move |local| (k, local)));
    let task = |(k, local)| {
        let (local, number) = (local, number(k, local).to_string());
        let host = with(&world.hosts[k], &[("SLURM_LOCALID", &local.to_string()), ("SLURM_PROCID", &number)]);
        resolve(world, &host).unwrap()
    };
    places.map(task).collect()
}

fn ranks(tasks: &[Endpoint]) -> Vec<usize> {
    tasks.iter().map(|task| task.rank.unwrap()).collect()
}

/// The whole of what must hold for the tasks of one launch: one endpoint, ranks of their own, rank 0 on the host node.
fn assert_one_world(tasks: &[Endpoint]) {
    let endpoints: BTreeSet<_> = tasks.iter().map(|task| task.host_port.to_string()).collect();
    assert_eq!(endpoints.len(), 1, "{endpoints:?}");
    assert_eq!(ranks(tasks).into_iter().collect::<BTreeSet<_>>(), (0..tasks.len()).collect());
    let first = tasks.iter().find(|task| task.rank == Some(0)).unwrap();
    assert_eq!(first.host_node.as_ref(), Some(&first.node));
}

#[test]
fn a_step_list_of_another_job_is_ignored_and_named() {
    let stale = [
        ("SLURM_STEP_NODELIST", "b07"),
        ("SLURM_STEP_NUM_NODES", "1"),
        ("SLURM_STEP_NUM_TASKS", "1"),
        ("SLURM_STEP_TASKS_PER_NODE", "1"),
    ];
    let world = step(1);
    let host = with(&world.hosts[0], &stale);
    let found = resolve(&world, &host).unwrap();
    assert_eq!((found.host_port.host.as_str(), found.rank, found.world_size), ("a01i", None, None));
    assert_eq!(found.warnings, ["the step's variables are ignored: b07 has no node of this job, a[01-02]"]);
    // Forwarded by ssh from a step on the other node.
    let host = with(&world.hosts[0], &[("SLURM_STEP_NODELIST", "a02"), ("SLURM_NODEID", "0"), ("SLURM_PROCID", "0")]);
    let found = resolve(&world, &host).unwrap();
    assert_eq!((found.host_port.host.as_str(), found.rank), ("a01i", None));
    assert_eq!(found.warnings, ["the step's variables are ignored: a02 lacks this node, a01"]);
}

#[test]
fn slurms_own_step_ids_are_no_steps() {
    let batch = step(1).unsetenv("SLURM_STEP");
    let expected = resolve(&batch, &batch.hosts[0]).unwrap();
    for id in ["-5", "4294967291", "batch", "-4", "4294967292", "extern"] {
        let host = with(&batch.hosts[0], &[("SLURM_STEP_ID", id)]);
        let found = resolve(&batch, &host).unwrap();
        assert_eq!((found.rank, found.world_size, &found.host_port), (None, None, &expected.host_port), "{id}");
        assert!(found.warnings.is_empty(), "{id} {:?}", found.warnings);
        // With the list of the step that it was submitted from.
        let host = with(&host, &[("SLURM_STEP_NODELIST", "a01"), ("SLURM_STEP_NUM_TASKS", "1")]);
        let found = resolve(&batch, &host).unwrap();
        assert_eq!((found.rank, &found.host_port), (None, &expected.host_port), "{id}");
        assert_eq!(found.warnings, [format!("SLURM_STEP_NODELIST=a01 is ignored: step {id} is none that srun made")]);
    }
    for id in ["-6", "4294967290", "interactive"] {
        let host = with(&batch.hosts[0], &[("SLURM_STEP_ID", id), ("SLURM_STEP_NODELIST", "a01")]);
        let found = resolve(&batch, &host).unwrap();
        assert_eq!((found.rank, &found.host_port), (None, &expected.host_port), "{id}");
        assert!(found.warnings.is_empty(), "{id} {:?}", found.warnings);
    }
    // The same port and id as the first step.
    let first = resolve(&step(1), &step(1).hosts[1]).unwrap();
    assert_eq!(first.host_port, expected.host_port);
}

#[test]
fn a_container_that_was_not_given_all_variables_is_told_which() {
    let world = step(1).unsetenv("SLURM_STEP");
    for hostname in ["a02", "3f2a9c1b7d10"] {
        let mut host = with(&world.hosts[1], &[("SLURM_PROCID", "1"), ("SLURM_NODEID", "1")]);
        host.hostname = hostname.into();
        let told = error(&world, &host);
        assert!(
            told.starts_with("SLURM_STEP_NODELIST=\"\": not set, although SLURM_PROCID=1; a container needs"),
            "{told}"
        );
        let mut launch = world.clone();
        launch.hosts[1] = host;
        let told = launch.error(1);
        assert!(told.contains("SLURM_STEP_NODELIST is not set, although SLURM_PROCID=1"), "{told}");
    }
}

/// Process `rank` of Open MPI's on node `k`, four on each.
fn open_mpi(host: &Host, k: usize, local: usize) -> Host {
    let (rank, local) = ((4 * k + local).to_string(), local.to_string());
    with(
        host,
        &[
            ("OMPI_COMM_WORLD_RANK", &rank),
            ("OMPI_COMM_WORLD_SIZE", "8"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", &local),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
        ],
    )
}

fn hydra(host: &Host, k: usize, local: usize) -> Host {
    let (rank, local) = ((4 * k + local).to_string(), local.to_string());
    with(host, &[("PMI_RANK", &rank), ("PMI_SIZE", "8"), ("MPI_LOCALRANKID", &local), ("MPI_LOCALNRANKS", "4")])
}

fn all_of(world: &World, process: impl Fn(&Host, usize, usize) -> Host) -> Vec<Endpoint> {
    let places = (0..2).flat_map(|k| (0..4).map(move |local| (k, local)));
    places.map(|(k, local)| resolve(world, &process(&world.hosts[k], k, local)).unwrap()).collect()
}

#[test]
fn ranks_are_those_of_the_launcher_that_started_the_process() {
    // Open MPI's daemon is a step on the other nodes only; where mpirun itself runs there is none.
    let world = step(1).each(|k, host| {
        if k == 0 {
            host.environ.retain(|name, _| !name.starts_with("SLURM_STEP"));
        } else {
            *host = with(
                host,
                &[
                    ("SLURM_STEP_NODELIST", "a02"),
                    ("SLURM_STEP_NUM_NODES", "1"),
                    ("SLURM_STEP_NUM_TASKS", "1"),
                    ("SLURM_STEP_TASKS_PER_NODE", "1"),
                    ("SLURM_NODEID", "0"),
                    ("SLURM_PROCID", "0"),
                ],
            );
        }
    });
    let found = all_of(&world, open_mpi);
    assert_one_world(&found);
    assert_eq!(ranks(&found), (0..8).collect::<Vec<_>>());
    for (k, task) in found.iter().enumerate() {
        assert_eq!((task.local_rank, task.local_world_size, task.world_size), (Some(k % 4), Some(4), Some(8)));
        assert_eq!((task.node_rank, task.nnodes), (Some(k / 4), Some(2)));
        assert_eq!(task.reasons["rank"], "OMPI_COMM_WORLD_RANK");
        assert!(task.warnings.is_empty(), "{:?}", task.warnings);
    }
    // Hydra's step is on all nodes, and mpiexec hands the name of its own node to all of them.
    let world = step(1).setenv("SLURMD_NODENAME", "a01");
    let found = all_of(&world, hydra);
    assert_one_world(&found);
    assert!(found.iter().all(|task| task.warnings.is_empty()), "{:?}", found[7].warnings);
    assert_eq!(found[7].node, "a02");
}

#[test]
fn an_mpi_launcher_whose_rank_0_is_on_another_node_is_refused() {
    let world = step(1);
    let host = |k, rank: &str| {
        let process = hydra(&world.hosts[k], k, 0);
        with(&process, &[("PMI_RANK", rank)])
    };
    let told = error(&world, &host(1, "0"));
    assert!(told.starts_with("PMI_RANK=\"0\": on node a02, number 1, but the endpoint a01i:"), "{told}");
    let told = error(&world, &host(0, "4"));
    assert!(told.starts_with("PMI_RANK=\"4\": on node a01, number 0, but the endpoint a01i:"), "{told}");
    let mut moved = world.clone();
    moved.settings.host_node_rank = Some(1);
    assert_eq!(resolve(&moved, &host(1, "0")).unwrap().host_port.host, "a02i");
}

#[test]
fn what_agrees_with_slurm_is_slurms() {
    let world = step(4);
    let found = tasks(&world, 4, |k, local| 4 * k + local);
    let agreeing: Vec<_> = (0..8)
        .map(|number| {
            let (k, local, rank) = (number / 4, (number % 4).to_string(), number.to_string());
            let pairs = [("SLURM_LOCALID", &*local), ("SLURM_PROCID", &*rank), ("PMI_RANK", &*rank), ("PMI_SIZE", "8")];
            let host = with(&with(&world.hosts[k], &pairs), &[("PMIX_RANK", &rank)]);
            resolve(&world, &host).unwrap()
        })
        .collect();
    assert_eq!(ranks(&agreeing), ranks(&found));
    assert_one_world(&agreeing);
    assert!(agreeing.iter().all(|task| task.local_world_size == Some(4) && task.warnings.is_empty()));
}

#[test]
fn mpi_variables_of_another_launch_are_ignored_and_named() {
    // Submitted from a process of mpirun's: the variables are the same in all tasks.
    let stale = [("OMPI_COMM_WORLD_RANK", "5"), ("OMPI_COMM_WORLD_SIZE", "8"), ("OMPI_COMM_WORLD_LOCAL_RANK", "1")];
    let world = step(4).each(|_, host| *host = with(host, &stale));
    let found = tasks(&world, 4, |k, local| 4 * k + local);
    assert_one_world(&found);
    assert!(found[0].warnings[0].starts_with("OMPI_COMM_WORLD_RANK=5 is ignored: the step has several tasks a node"));
    // One task a node, as a launcher's daemons are: its parents tell.
    let world = step(1).each(|_, host| {
        *host = with(host, &stale);
        host.parents = ["bash", "slurmstepd", "systemd"].map(String::from).to_vec();
    });
    let found = tasks(&world, 1, |k, _| k);
    assert_one_world(&found);
    assert_eq!(found[1].warnings, ["OMPI_COMM_WORLD_RANK=5 is ignored: Open MPI has not started this process"]);
    // Two launchers that contradict each other, and nothing that proves one of them wrong.
    let both = with(&step(1).hosts[1], &[("OMPI_COMM_WORLD_RANK", "5"), ("PMI_RANK", "3")]);
    let told = error(&step(1), &both);
    assert!(told.starts_with("PMI_RANK=\"3\": contradicts OMPI_COMM_WORLD_RANK=5"), "{told}");
}

#[test]
fn one_launcher_a_node_by_mpirun() {
    let world = step(1).unsetenv("SLURM_STEP").each(|k, host| {
        let rank = k.to_string();
        let pairs =
            [("OMPI_COMM_WORLD_RANK", &*rank), ("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_LOCAL_RANK", "0")];
        *host = with(host, &pairs);
    });
    assert_eq!(world.hosting(), only(0, 2));
    assert!(world.endpoint().starts_with("a01i:"));
    assert!(world.plans().iter().all(|plan| plan.warnings.is_empty()));
}

#[test]
fn one_launcher_a_node_by_hydra_which_hands_on_the_name_of_its_own_node() {
    let world = step(1).setenv("SLURMD_NODENAME", "a01").each(|k, host| {
        let rank = k.to_string();
        *host =
            with(host, &[("PMI_RANK", &rank), ("PMI_SIZE", "2"), ("MPI_LOCALRANKID", "0"), ("MPI_LOCALNRANKS", "1")]);
    });
    assert_eq!(world.hosting(), only(0, 2));
    assert_eq!(world.addresses(), ["a01i", "a02i"]);
    assert!(world.plans().iter().all(|plan| plan.warnings.is_empty()));
}

#[test]
fn without_slurm_a_list_of_nodes_serves() {
    let mut world = step(1).unsetenv("SLURM").each(|k, host| {
        let rank = k.to_string();
        *host = with(host, &[("PALS_RANKID", &rank), ("PALS_LOCAL_RANKID", "0"), ("PBS_JOBID", "123.aurora")]);
    });
    world.settings.nodelist = Some("a01,a02".into());
    assert_eq!(world.hosting(), only(0, 2));
    let endpoint = world.endpoint();
    assert!(endpoint.starts_with("a01i:2"), "{endpoint}");
    let found: Vec<_> = world.hosts.iter().map(|host| resolve(&world, host).unwrap()).collect();
    assert_eq!((found[1].rank, found[1].node_rank, found[1].host_port.to_string()), (Some(1), Some(1), endpoint));
    // Nobody tells the nodes.
    world.settings.nodelist = None;
    assert!(
        world.error(1).contains("the nodes are not known; TORCHRUN_JSC_NODELIST can tell them"),
        "{}",
        world.error(1)
    );
}

#[test]
fn a_step_of_a_part_of_the_job_cannot_hold_a_larger_launch() {
    let world = World::bare("a[01-04]", &["a01", "a02", "a03", "a04"]).each(|k, host| {
        let name = format!("a0{}", k + 1);
        let pairs = [("SLURM_STEP_NODELIST", &*name), ("SLURM_STEP_NUM_NODES", "1"), ("SLURM_NODEID", "0")];
        *host = with(host, &pairs);
    });
    for k in 0..4 {
        assert_eq!(
            world.error(k),
            "--nnodes=\"4\": no endpoint was given, and this step has 1 of the job's 4 nodes; start all launchers with one \
             srun, or give --rdzv_endpoint"
        );
    }
}

#[test]
fn a_guess_never_stops_a_launch_whose_plain_name_is_known() {
    for kind in [Kind::NoAnswer, Kind::Refused] {
        let unresolved = Unresolved::new(kind, "Temporary failure in name resolution");
        let world = step(1).each(|_, host| {
            host.names.retain(|name, _| !name.ends_with('i'));
            for name in ["a01i", "a02i"] {
                host.answers.insert(name.into(), unresolved.clone());
            }
        });
        assert!(world.endpoint().starts_with("a01:"));
        let reason = world.plan(1).unwrap().endpoint.unwrap().reason;
        assert!(reason.contains("a01i is not taken: Temporary failure in name resolution"), "{reason}");
        // A certain form has no silent second choice.
        let certain = world.setenv("SYSTEMNAME", "juwels");
        let told = certain.error(1);
        assert!(told.starts_with("SLURM_STEP_NODELIST=\"a01i\": cannot resolve it on node a02: Temporary"), "{told}");
    }
    // Only a name that does not exist lets a form be skipped.
    let without =
        step(1).setenv("SYSTEMNAME", "juwels").each(|_, host| host.names.retain(|name, _| !name.ends_with('i')));
    assert!(without.endpoint().starts_with("a01:"));
}

#[test]
fn an_empty_id_is_filled_like_a_missing_one() {
    let mut world = World::new("a[01-02]", &NAMES, "a01i:29500");
    world.options.run_id = String::new();
    world.options.given.retain(|name| name != "rdzv_id");
    for plan in world.plans() {
        let fills: Vec<_> = plan.fills.iter().map(|fill| (fill.option, fill.value.as_str())).collect();
        assert_eq!(fills, [("rdzv_id", "47110101")]);
        assert_eq!(plan.endpoint.unwrap().value.to_string(), "a01i:29500");
    }
}

#[test]
fn ids_of_runs_are_numbers_of_their_own() {
    let id = |job: &str, step: &str, restart: &str| {
        let world = World::bare("a[01-02]", &NAMES)
            .setenv("SLURM_JOB_ID", job)
            .setenv("SLURM_STEP_ID", step)
            .setenv("SLURM_RESTART_COUNT", restart);
        let plan = world.plan(1).unwrap();
        plan.fills.iter().find(|fill| fill.option == "rdzv_id").unwrap().value.clone()
    };
    let mut seen = BTreeSet::new();
    for job in ["1", "12", "123", "4711", "47110", "471101"] {
        for step in ["0", "1", "10", "11", "101"] {
            for restart in ["0", "1", "10", "11"] {
                let id = id(job, step, restart);
                assert!(id.bytes().all(|byte| byte.is_ascii_digit()), "{id}");
                assert!(seen.insert(id.clone()), "{job} {step} {restart}: {id}");
            }
        }
    }
}

#[test]
fn fewer_devices_than_local_ranks_are_said_once_a_node() {
    let world = step(4).setenv("CUDA_VISIBLE_DEVICES", "0");
    let found = resolve(&world, &world.hosts[0]).unwrap();
    let line =
        "CUDA_VISIBLE_DEVICES=0 shows each of the 4 tasks of a node 1 of its devices, but LOCAL_RANK goes to 3: use \
                device 0, or srun without --gpus-per-task";
    assert_eq!(found.warnings, [line]);
    let all = step(4).setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3");
    assert!(resolve(&all, &all.hosts[0]).unwrap().warnings.is_empty());
}

#[test]
fn ports_that_slurm_keeps_free_for_the_step_are_used() {
    let world = step(1).setenv("SLURM_STEP_RESV_PORTS", "23001-23003");
    assert_eq!(world.endpoint(), "a01i:23003");
    assert!(world.plans().iter().all(|plan| plan.preflight_port == 23_002));
    assert_eq!(resolve(&world, &world.hosts[1]).unwrap().port, 23_003);
    // The only two may be those of an MPI.
    let few = step(1).setenv("SLURM_STEP_RESV_PORTS", "23660-23661");
    assert_eq!(few.endpoint(), step(1).endpoint());
}

#[test]
fn tasks_in_the_order_of_a_topology_are_counted_by_nodes() {
    // Slurm 26.05: switch 1 has n3 and n4, and comes first; NODEID is the order of the names.
    let names = ["n1", "n2", "n3", "n4"];
    let world = |distribution: &str| {
        World::bare("n[1-4]", &names)
            .setenv("SLURM_NTASKS", "8")
            .setenv("SLURM_STEP_NUM_TASKS", "8")
            .setenv("SLURM_STEP_NUM_NODES", "4")
            .setenv("SLURM_STEP_TASKS_PER_NODE", "2(x4)")
            .setenv("SLURM_DISTRIBUTION", distribution)
    };
    let by_switch = |k: usize, local: usize| [4, 6, 0, 2][k] + local;
    for distribution in ["block", "block:cyclic", "arbitrary", "unknown"] {
        let found = tasks(&world(distribution), 2, by_switch);
        assert_one_world(&found);
        assert_eq!(ranks(&found), (0..8).collect::<Vec<_>>(), "{distribution}");
        assert_eq!(found[0].host_port.host, "n1i");
    }
    for distribution in ["cyclic", "cyclic:block", "plane", "plane=2", "CYCLIC"] {
        let found = tasks(&world(distribution), 2, |k, local| k + 4 * local);
        assert_one_world(&found);
        assert_eq!(ranks(&found), [0, 4, 1, 5, 2, 6, 3, 7], "{distribution}");
    }
}

#[test]
fn one_launcher_a_node_is_ranked_by_its_task() {
    let world = step(1).setenv("SLURM_DISTRIBUTION", "arbitrary").each(|k, host| {
        *host = with(host, &[("SLURM_PROCID", ["1", "0"][k])]);
    });
    assert_eq!(world.hosting(), only(0, 2));
    let plans = world.plans();
    assert_eq!((plans[0].place, plans[1].place), (Some(1), Some(0)));
    for plan in plans {
        let order = plan.rank_order.unwrap();
        assert_eq!(order.value.name(), "slurm");
        assert_eq!(order.reason, "the order of the tasks: SLURM_PROCID is not SLURM_NODEID here");
    }
    // Scripts need rank 0 on the node that all of them know: they are counted.
    let found: Vec<_> = world.hosts.iter().map(|host| resolve(&world, host).unwrap()).collect();
    assert_eq!(ranks(&found), [0, 1]);
    assert_eq!(step(2).plans().iter().map(|plan| plan.place.unwrap()).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn two_components_of_one_step_are_refused() {
    // Ids and tasks are in the order of the components, the list is sorted.
    let names = ["n1", "n2", "n3", "n4"];
    let world = World::bare("n[1-4]", &names)
        .setenv("SLURM_STEP_NUM_TASKS", "4")
        .setenv("SLURM_STEP_TASKS_PER_NODE", "1(x4)")
        .setenv("SLURM_DISTRIBUTION", "cyclic")
        .each(|k, host| {
            let id = [2, 3, 0, 1][k].to_string();
            *host = with(host, &[("SLURM_NODEID", &id), ("SLURM_PROCID", &id)]);
        });
    for host in &world.hosts {
        let told = error(&world, host);
        assert!(told.starts_with("SLURM_NODEID=\""), "{told}");
        assert!(told.contains("rank 0 may be on another node than the endpoint"), "{told}");
    }
    // With an endpoint of the user's on the node of rank 0, the ranks are Slurm's.
    let given = Given { endpoint: Some("n3i:29500"), ..Given::default() };
    let found: Vec<_> = world.hosts.iter().map(|host| world.resolve(host, given).unwrap()).collect();
    assert_one_world(&found);
    // torchrun's launchers are ranked by the list, on all nodes alike.
    assert_eq!(world.hosting(), only(0, 4));
}

#[test]
fn numbers_handed_from_another_node_are_not_two_tasks_ranks() {
    let world = step(1).setenv("SLURM_NODEID", "0").setenv("SLURM_PROCID", "0").setenv("SLURMD_NODENAME", "a01");
    assert_eq!(resolve(&world, &world.hosts[0]).unwrap().rank, Some(0));
    let told = resolve(&world, &world.hosts[1]).map(|found| found.rank);
    assert!(told.is_err(), "{told:?}");
}

#[test]
fn what_a_program_started_inside_a_task_has_no_rank_of_slurms() {
    let world = step(1);
    // Lightning's children.
    let child = with(&world.hosts[0], &[("LOCAL_RANK", "1"), ("WORLD_SIZE", "8"), ("NODE_RANK", "0")]);
    let found = resolve(&world, &child).unwrap();
    assert_eq!((found.rank, found.local_rank, found.world_size), (None, Some(1), Some(8)));
    assert!(found.warnings.iter().any(|line| line.starts_with("no RANK: LOCAL_RANK=1 contradicts SLURM_LOCALID=0")));
    // Python's multiprocessing.
    let found = world.resolve(&world.hosts[0], Given { is_child: true, ..Given::default() }).unwrap();
    assert_eq!(found.rank, None);
    assert_eq!(
        found.warnings,
        ["no RANK: this process was started inside a task, by multiprocessing; its parent can tell it"]
    );
}

#[test]
fn loopback_under_any_name_and_masters_that_are_gone_are_said() {
    let world = step(1);
    let told = |name: &str, address: &str| {
        let host = with(&world.clone().alias(name, address).hosts[0], &[("MASTER_ADDR", name)]);
        resolve(&world, &host).unwrap().warnings
    };
    assert_eq!(
        told("ip6-localhost", "::1"),
        ["ip6-localhost is on loopback, which the other nodes of the step cannot reach"]
    );
    assert_eq!(
        told("a09", "10.10.0.9"),
        ["a09 is none of the step's nodes by name or address: does rank 0 run there?"]
    );
    assert!(told("alias", "10.10.0.1").is_empty());
    let host = with(&world.hosts[1], &[("NODE_RANK", "0")]);
    let found = resolve(&world, &host).unwrap();
    assert_eq!((found.node_rank, found.rank), (Some(0), Some(1)));
    assert_eq!(found.warnings, ["NODE_RANK=0 as set, although SLURM_NODEID=1"]);
}

#[test]
fn the_jobs_counts_are_not_those_of_a_smaller_step() {
    let world = World::new("a[03-04]", &["a03", "a04"], "").each(|_, host| {
        let pairs = [("SLURM_JOB_NODELIST", "a[01-04]"), ("SLURM_NTASKS", "16"), ("SLURM_TASKS_PER_NODE", "4(x4)")];
        *host = with(host, &pairs);
    });
    let found = resolve(&world, &world.hosts[0]).unwrap();
    assert_eq!((found.world_size, found.local_world_size, found.nnodes), (None, None, Some(2)));
}

#[test]
fn an_address_that_all_nodes_have_is_said() {
    let world = World::new("a[01-02]", &NAMES, "172.17.0.1:29500")
        .each(|_, host| host.table.interfaces.push(interface("docker0 172.17.0.1/16")));
    for plan in world.plans() {
        assert!(plan
            .warnings
            .contains(&"172.17.0.1 is on docker0 of this node, a bridge that other nodes have too".to_owned()));
    }
    assert_eq!(world.hosts[0].table.owner(ip("172.17.0.1")).unwrap().name, "docker0");
}

#[test]
fn the_users_list_has_the_users_order() {
    let numbers: [fn(usize, usize) -> usize; 2] = [|k, local| 2 * k + local, |k, local| 2 * local + k];
    for (distribution, number) in ["block", "cyclic"].into_iter().zip(numbers) {
        let mut world = step(2).setenv("SLURM_DISTRIBUTION", distribution);
        world.settings.nodelist = Some("a02,a01".into());
        let tasks = tasks(&world, 2, number);
        assert_one_world(&tasks);
        assert_eq!(tasks[0].host_node.as_deref(), Some("a02"));
        assert_eq!(tasks.iter().map(|task| task.node_rank.unwrap()).collect::<Vec<_>>(), [1, 1, 0, 0]);
        assert!(tasks.iter().all(|task| task.warnings.is_empty()), "{tasks:?}");
        // A launch too, without a word.
        let mut launch = World::new("a[01-02]", &NAMES, "a01i:29500");
        launch.settings.nodelist = Some("a02,a01".into());
        let plans = launch.plans();
        assert_eq!(plans.iter().map(|plan| plan.identity.rank).collect::<Vec<_>>(), [Some(1), Some(0)]);
        assert_eq!(plans.iter().map(|plan| plan.place).collect::<Vec<_>>(), [Some(1), Some(0)]);
        assert!(plans.iter().all(|plan| plan.warnings.is_empty()), "{plans:?}");
    }
    // Other nodes than the step's: nobody knows their ranks.
    let mut world = step(2);
    world.settings.nodelist = Some("a02".into());
    assert_eq!(resolve(&world, &world.hosts[1]).unwrap().rank, None);
}

/// A process whose parents are these, the nearest first, with Open MPI's variables of one node's two.
fn below(host: &Host, parents: &[&str], rank: &str) -> Host {
    let pairs = [("OMPI_COMM_WORLD_RANK", rank), ("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_LOCAL_RANK", rank)];
    let mut host = with(host, &pairs);
    host.parents = parents.iter().map(|&name| name.into()).collect();
    host
}

#[test]
fn a_number_that_slurm_has_by_chance_makes_no_task() {
    // The daemon of the first node is task 0, and so is its first process.
    let one = [("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_STEP_NUM_NODES", "1"), ("SLURM_STEP_NODELIST", "a01")];
    let world = step(1).each(|_, host| *host = with(host, &one));
    for parents in [&["orted", "slurmstepd"][..], &["bash", "prterun", "bash", "slurmstepd"], &[]] {
        let found: Vec<_> =
            ["0", "1"].map(|rank| resolve(&world, &below(&world.hosts[0], parents, rank)).unwrap()).into();
        assert_one_world(&found);
        assert_eq!(found.iter().map(|task| task.world_size).collect::<Vec<_>>(), [Some(2), Some(2)]);
        assert!(found.iter().all(|task| task.warnings.is_empty()), "{found:?}");
    }
    // Where PMIx says nothing but the rank.
    let alone = |k: usize, rank: &str| {
        let mut host = with(&step(1).hosts[k], &[("PMIX_RANK", rank)]);
        host.parents = vec!["prted".into(), "slurmstepd".into()];
        resolve(&step(1), &host).unwrap()
    };
    let found = [alone(0, "0"), alone(0, "1"), alone(1, "2"), alone(1, "3")];
    assert_one_world(&found);
    assert!(found.iter().all(|task| task.world_size.is_none()));
}

#[test]
fn a_step_without_its_number_of_nodes_may_be_one_of_daemons() {
    let world = step(1).unsetenv("SLURM_STEP_NUM_NODES");
    let found = all_of(&world, open_mpi);
    assert_eq!(ranks(&found), (0..8).collect::<Vec<_>>());
    assert_one_world(&found);
}

#[test]
fn ranks_of_a_launcher_that_is_no_parent_are_left_over() {
    for (variable, launcher) in
        [("PMIX_RANK", "PMIx"), ("FLUX_TASK_RANK", "Flux"), ("PALS_RANKID", "PALS"), ("PMI_RANK", "Hydra")]
    {
        let world =
            step(1).setenv(variable, "1").each(|_, host| host.parents = vec!["bash".into(), "slurmstepd".into()]);
        let found = tasks(&world, 1, |k, _| k);
        assert_one_world(&found);
        assert_eq!(found[0].warnings, [format!("{variable}=1 is ignored: {launcher} has not started this process")]);
    }
    // Beside one that is.
    let world = step(1).each(|k, host| {
        *host = with(host, &[("PMI_RANK", "1"), ("PMI_SIZE", "7"), ("OMPI_COMM_WORLD_RANK", &k.to_string())]);
        host.parents = vec!["orted".into(), "slurmstepd".into()];
    });
    let found: Vec<_> = world.hosts.iter().map(|host| resolve(&world, host).unwrap()).collect();
    assert_one_world(&found);
    assert_eq!(found[0].warnings, ["PMI_RANK=1 is ignored: Hydra has not started this process"]);
}

#[test]
fn ports_of_a_part_of_the_launch_are_not_taken() {
    let own = |k: usize, host: &mut Host| {
        host.environ.insert("SLURM_STEP_RESV_PORTS".into(), format!("2366{k}-2367{k}"));
    };
    let port = |world: &World, host: &Host| resolve(world, host).unwrap().port;
    let het = step(1).setenv("SLURM_HET_SIZE", "2").each(own);
    assert_eq!(port(&het, &het.hosts[0]), port(&het, &het.hosts[1]));
    let daemons = step(1).each(own);
    let found = all_of(&daemons, open_mpi);
    assert_one_world(&found);
    // Inherited by a batch script.
    let batch = step(1).unsetenv("SLURM_STEP").setenv("SLURM_STEP_RESV_PORTS", "23001-23003");
    assert_eq!(port(&batch, &batch.hosts[0]), port(&step(1), &step(1).hosts[0]));
}

#[test]
fn a_rank_that_no_task_has_is_refused() {
    let world = step(1).setenv("SLURM_DISTRIBUTION", "cyclic");
    let told = error(&world, &with(&world.hosts[1], &[("SLURM_PROCID", "7")]));
    assert_eq!(told, "SLURM_PROCID=\"7\": contradicts SLURM_STEP_NUM_TASKS=2, since ranks count from 0");
    let mpi = with(&world.hosts[1], &[("OMPI_COMM_WORLD_RANK", "7"), ("OMPI_COMM_WORLD_SIZE", "2")]);
    assert!(error(&world, &mpi).starts_with("OMPI_COMM_WORLD_RANK=\"7\": contradicts OMPI_COMM_WORLD_SIZE=2"));
    // The user's own are kept.
    assert_eq!(resolve(&world, &with(&world.hosts[1], &[("RANK", "7")])).unwrap().rank, Some(7));
}

#[test]
fn a_node_that_the_users_list_lacks_is_named() {
    let mut world = step(1);
    world.settings.nodelist = Some("a02".into());
    let found = resolve(&world, &world.hosts[0]).unwrap();
    assert_eq!((found.node.as_str(), found.rank, found.node_rank), ("a01", None, None));
    assert_eq!(found.warnings, ["a01 is not in TORCHRUN_JSC_NODELIST"]);
}

#[test]
fn a_number_of_the_node_that_slurm_contradicts_is_named() {
    let mut world = step(1);
    world.settings.node_rank = Some(1);
    let found = resolve(&world, &world.hosts[0]).unwrap();
    assert_eq!(found.warnings, ["TORCHRUN_JSC_NODE_RANK=1 as set, although SLURM_NODEID=0"]);
}

#[test]
fn a_number_of_tasks_that_a_script_exports_makes_no_child() {
    let world = step(1).setenv("WORLD_SIZE", "9");
    let found = tasks(&world, 1, |k, _| k);
    assert_one_world(&found);
    assert_eq!(found[0].warnings, ["WORLD_SIZE=9 as set, although SLURM_STEP_NUM_TASKS=2"]);
}

#[test]
fn components_with_distributions_of_their_own_count_alike() {
    // As Slurm 22.05 writes them: the list and its counts are sorted, the numbers go group by group.
    let world = World::bare("a[01-04]", &["a02", "a04", "a01", "a03"])
        .setenv("SLURM_HET_SIZE", "2")
        .setenv("SLURM_JOB_NODELIST_HET_GROUP_0", "a[02,04]")
        .setenv("SLURM_JOB_NODELIST_HET_GROUP_1", "a[01,03]")
        .setenv("SLURM_STEP_NUM_NODES", "4")
        .setenv("SLURM_STEP_NUM_TASKS", "6")
        .setenv("SLURM_STEP_TASKS_PER_NODE", "1,3,1(x2)");
    let places = [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (3, 0)];
    let task = |(number, (k, local)): (usize, (usize, usize))| {
        let (number, local) = (number.to_string(), local.to_string());
        let distribution = if k < 2 { "block" } else { "cyclic" };
        let pairs = [("SLURM_PROCID", &*number), ("SLURM_LOCALID", &local), ("SLURM_DISTRIBUTION", distribution)];
        resolve(&world, &with(&world.hosts[k], &pairs)).unwrap()
    };
    let found: Vec<_> = places.into_iter().enumerate().map(task).collect();
    assert_one_world(&found);
    assert_eq!(found[0].node, "a02");
}
