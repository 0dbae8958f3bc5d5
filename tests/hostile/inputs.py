"""Environments and arguments: what somebody may have set, what is almost right, and what is no text at all."""

from __future__ import annotations

import os
import unicodedata

from hypothesis import strategies as st

from surroundings import STEP
from torchrun_jsc.settings import TABLE

#: What an environment holds as text: any bytes but zero.
ANY = st.binary(max_size=20).map(lambda data: os.fsdecode(data.replace(b"\0", b"0")))
CONTROL = st.sampled_from(["\x1b[31m", "\x1b]0;x\x07", "a\nb", "\r\x08", "\u202e", "\x9b1m", "é", "\udcff"])
SHELL = st.sampled_from(["$(touch shell)", "`touch shell`", "'; touch shell; '", '"$IFS"', "a b", "\\", "!!", "*"])
NUMBERS = st.sampled_from((
    "0", "1", "2", "00", "-1", "1.5", "1e3", " 1 ", "٣", "4096", "65535", "65536", "4294967295", "4294967296",
    "18446744073709551615", "18446744073709551616", "9" * 40, "0x1", "1_0", "nan", "inf",
))  # fmt: skip
NODELISTS = st.sampled_from((
    "a[01-02]", "a01,a02", "n[9-10]", "localhost,b", "a.cl,b.cl", "a01", "a[01-", "(null)", "[0-65535]", "n[1,[2]]",
    "n[0-65535][0-65535]", "[0-65535]" * 5, "n[0-9][0-65535]", "block{b1}", "a" * 2000, "," * 1000,
))  # fmt: skip
HOSTS = st.sampled_from((
    "a01", "a01i", "localhost", "127.0.0.1", "127.0.1.1", "10.20.0.1", "[fd00::1]", "fd00::1", "::", "0.0.0.0", "a b",
    "no-such-host.invalid", "user@h", "tcp://h", "[::1", "fe80::1%lo", "x" * 300, "münchen", "-h", ".", "a..b",
))  # fmt: skip
ENDPOINTS = st.builds("{}:{}".format, HOSTS, NUMBERS) | HOSTS
WORDS = st.sampled_from((
    "", " ", "auto", "c10d", "C10D ", "static", "etcd", "etcd-v2", "zeus", "none", "on", "off", "strict", "true",
    "maybe", "gpu", "cpu", "torch", "slurm", "{node}i", "{host}-ib0{domain}", "{nodes}", "{", "^lo",
    "=eth0", "ib,hsn", "is_host=1", "is_host=maybe", "is_host", "store_type=file", "timeout=1,is_host=0", "1:2", "2:1",
    ":", "2:auto", "4(x2),3", "1(x2)", "4(x", "arbitrary", "juwels", "batch",
))  # fmt: skip
VALUES = st.one_of(WORDS, NUMBERS, NODELISTS, ENDPOINTS, CONTROL, SHELL, ANY)

SLURM = (
    "JOB_ID", "STEP_ID", "NODEID", "PROCID", "LOCALID", "NTASKS", "STEP_NUM_NODES", "STEP_NUM_TASKS", "RESTART_COUNT",
    "STEP_NODELIST", "JOB_NODELIST", "NODELIST", "STEP_TASKS_PER_NODE", "TASKS_PER_NODE", "CLUSTER_NAME", "HET_SIZE",
    "DISTRIBUTION", "JOB_NODELIST_HET_GROUP_0", "JOB_NODELIST_PACK_GROUP_1", "GTIDS", "STEP_RESV_PORTS",
)  # fmt: skip
LAUNCHED = (
    "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
    "GROUP_WORLD_SIZE", "TORCHELASTIC_RUN_ID", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "SYSTEMNAME",
    "SLURMD_NODENAME", "NODE_RANK", "CUDA_VISIBLE_DEVICES", "PBS_JOBID", "FLUX_JOB_ID",
)
#: What launchers of MPI set.
MPI = (
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PALS_RANKID", "PALS_LOCAL_RANKID", "PMIX_RANK", "FLUX_TASK_RANK",
)  # fmt: skip
OPTIONS = (
    "nnodes", "nproc_per_node", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "node_rank", "master_addr",
    "master_port", "local_addr", "max_restarts", "monitor_interval", "start_method", "role", "local_ranks_filter",
)  # fmt: skip
FLAGS = ("--standalone", "--no-python", "--run-path", "-m", "--help", "--nonsense", "--", "--rdzv", "-")

TIMEOUT = "TORCHRUN_JSC_RESOLVE_TIMEOUT"
VARIABLES = (
    *(setting.variable for setting in TABLE if setting.variable != TIMEOUT),
    *(f"SLURM_{name}" for name in SLURM),
    *LAUNCHED,
    *MPI,
    *(f"PET_{name.upper()}" for name in OPTIONS),
)

#: A real step or nothing, with some variables changed. Look-ups are few and end soon, since no name is this machine's.
ENVIRONMENTS = st.builds(
    lambda step, more, timeout: {**step, **more, TIMEOUT: timeout},
    st.sampled_from([{}, STEP]),
    st.dictionaries(st.sampled_from(VARIABLES), VALUES, max_size=6),
    st.sampled_from(["0.05", "0.05", "0.05", "0", "x"]),
)

OPTION = st.builds(
    lambda name, dashes, value: f"--{name.replace('_', '-') if dashes else name}={value}",
    st.sampled_from(OPTIONS),
    st.booleans(),
    VALUES,
)
ENDPOINT_OPTIONS = ("endpoint", "nodelist", "host-node-rank", "host-template", "interface", "port")
ENDPOINT_ARGUMENTS = st.builds(
    lambda form, options: ["--timeout=0.05", *form, *options],
    st.sampled_from([[], ["--json"], ["--export"], ["--endpoint=10.20.0.1"], ["--endpoint=[fd00::1]:1", "--export"]]),
    st.lists(st.builds("--{}={}".format, st.sampled_from(ENDPOINT_OPTIONS), VALUES), max_size=2),
)
ARGUMENTS = st.builds(
    lambda options, script: [*options, *script],
    st.lists(st.one_of(OPTION, OPTION, OPTION, st.sampled_from(FLAGS), VALUES), max_size=6),
    st.sampled_from([[], ["script.py"], ["script.py", "--rdzv_conf", "is_host=maybe"]]),
)

#: What a terminal may act on. A character that only a newer Unicode than this Python's knows is none of it.
_ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def is_harmless(text: str) -> bool:
    """Whether a terminal only shows the text of an error."""
    return not any(unicodedata.category(character) in _ACTING for character in text)
