"""The ratios that rust/benches/hostlist.rs prints."""

from __future__ import annotations

import re
import shutil
import subprocess

from bench.row import ROOT, Row

WHAT = "Rust, 65,536 hosts: "


def rows() -> list[Row]:
    if shutil.which("cargo") is None:
        return [Row(WHAT + "times a loop that only writes", note="no cargo")]
    # `--test` runs the rest of it once only; `cargo bench --bench hostlist` shows that.
    command = ["cargo", "bench", "--quiet", "--locked", "--bench", "hostlist", "--", "--test"]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    ratios = re.findall(r"^(\w+) / ([^:]+): ([\d.]+)$", run.stdout, re.MULTILINE)
    assert ratios, run.stdout
    # Copying bytes that are there already writes no name: it only shows how far that is away.
    limits = [None if theirs.startswith("append") else 2.0 for _, theirs, _ in ratios]
    return [
        Row(f"{WHAT}{ours} / {theirs}", float(ratio), limit) for (ours, theirs, ratio), limit in zip(ratios, limits)
    ]
