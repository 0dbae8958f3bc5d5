"""A name server on this node, for as long as a command runs: dns.py ZONE COMMAND...

ZONE is a JSON file:

  records         addresses by name; other names do not exist
  delay           seconds before each answer
  silent          1: no answer at all
  silent_reverse  1: none to the question whose address it is; else nobody's
  on              any of these for one node, by its name
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from ipaddress import ip_address
from pathlib import Path

PLACE = ("127.0.0.1", 53)
A, PTR, AAAA = 1, 12, 28
NO_SUCH_NAME = 3
ANSWER, TRUNCATED = 0x8180, 0x0200
#: What fits into a packet unless the question says otherwise (RFC 1035); the rest is asked for by TCP.
PACKET = 512


def question_of(query: bytes) -> tuple[str, int, bytes]:
    """Name, type and the whole question."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    (kind,) = struct.unpack_from(">H", query, at + 1)
    return ".".join(labels), kind, query[12 : at + 5]


def answer(zone: dict, query: bytes, limit: int) -> bytes | None:
    name, kind, question = question_of(query)
    if zone.get("silent") or (kind == PTR and zone.get("silent_reverse")):
        return None
    time.sleep(zone.get("delay", 0))
    known = [ip_address(address) for address in zone["records"].get(name, ())]
    found = [address.packed for address in known if kind == (A if address.version == 4 else AAAA)]
    # The name is that of the question, at byte 12.
    records = b"".join(struct.pack(">HHHIH", 0xC00C, kind, 1, 60, len(data)) + data for data in found)
    flags = ANSWER if known else ANSWER | NO_SUCH_NAME
    count = len(found)
    if 12 + len(question) + len(records) > limit:
        flags, records, count = flags | TRUNCATED, b"", 0
    return query[:2] + struct.pack(">HHHHH", flags, 1, count, 0, 0) + question + records


def serve_packets(zone: dict, server: socket.socket) -> None:
    def reply(query: bytes, client: object) -> None:
        found = answer(zone, query, PACKET)
        if found is not None:
            server.sendto(found, client)

    while True:
        threading.Thread(target=reply, args=server.recvfrom(4096), daemon=True).start()


def serve_streams(zone: dict, server: socket.socket) -> None:
    def talk(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while len(size := stream.read(2)) == 2:
                found = answer(zone, stream.read(*struct.unpack(">H", size)), 65535)
                if found is not None:
                    connection.sendall(struct.pack(">H", len(found)) + found)

    while True:
        threading.Thread(target=talk, args=server.accept()[:1], daemon=True).start()


def main(path: str, command: list[str]) -> int:
    zone = json.loads(Path(path).read_text(encoding="utf-8"))
    zone.update(zone.get("on", {}).get(os.environ["SLURMD_NODENAME"], {}))
    packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    packets.bind(PLACE)
    streams = socket.create_server(PLACE)
    threading.Thread(target=serve_packets, args=(zone, packets), daemon=True).start()
    threading.Thread(target=serve_streams, args=(zone, streams), daemon=True).start()
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
