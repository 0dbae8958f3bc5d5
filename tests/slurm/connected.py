"""A worker that also tells on which ports this node has connections: those of the rendezvous store are among them."""

from pathlib import Path

from report import report

ESTABLISHED = "01"

tables = (Path("/proc/net") / name for name in ("tcp", "tcp6"))
connections = [line.split() for table in tables if table.exists() for line in table.read_text().splitlines()[1:]]
ends = [end for fields in connections if fields[3] == ESTABLISHED for end in fields[1:3]]
report(ports=sorted({int(end.rpartition(":")[2], 16) for end in ends}))
