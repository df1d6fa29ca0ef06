"""A program that listens in each way that a program may, and prints where: `python listener.py`."""

import json
import socket
import subprocess
import sys
from pathlib import Path

KEPT: list[socket.socket] = []


def bound(family: int, host: str, only: bool | None = None, kind: int = socket.SOCK_STREAM) -> str:
    KEPT.append(opened := socket.socket(family, kind))
    if only is not None:
        opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only)
    opened.bind((host, 0))
    if kind == socket.SOCK_STREAM:
        opened.listen()
    return str(opened.getsockname()[0])


def unbound() -> str:
    KEPT.append(opened := socket.socket())
    opened.listen()
    return str(opened.getsockname()[0])


def of_a_child() -> str:
    code = "import socket; s = socket.create_server(('', 0)); print(s.getsockname()[0], end='')"
    return subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout


found = {
    "any": bound(socket.AF_INET, ""),
    "own": bound(socket.AF_INET, "127.0.0.2"),
    "datagrams": bound(socket.AF_INET, "", kind=socket.SOCK_DGRAM),
    "none": unbound(),
    "child": of_a_child(),
}
if Path("/proc/net/if_inet6").exists() and Path("/proc/net/if_inet6").read_text():
    found |= {
        "both": bound(socket.AF_INET6, "::", only=False),
        "mapped": bound(socket.AF_INET6, "::ffff:0.0.0.0", only=False),
        "six": bound(socket.AF_INET6, "::", only=True),
    }
json.dump(found, sys.stdout)
