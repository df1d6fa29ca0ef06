"""Bridges between pods, and the iptables rules that the cluster's programs leave behind."""

import re
from collections.abc import Iterator
from pathlib import Path

from . import machine
from .control_plane import POD_CIDR, SERVICE_CIDR
from .node import Node
from .shell import run, succeeds

OUR_CHAINS = re.compile(r"(KUBE|CNI|QTJ)-")
FORWARD = "QTJ-FORWARD"


def ensure_bridge(node: Node) -> None:
    """The bridge of a node, with the node's own address on it."""
    if not succeeds("ip", "link", "show", node.bridge):
        run("ip", "link", "add", node.bridge, "type", "bridge")
    if f"inet {node.address}/" not in run("ip", "-4", "address", "show", node.bridge):
        run("ip", "address", "add", f"{node.address}/24", "dev", node.bridge)
    run("ip", "link", "set", node.bridge, "up")


def ensure_forwarding() -> None:
    """Lets pods of different nodes talk, also where a firewall drops forwarded packets by default."""
    machine.set_sysctl("net/ipv4/ip_forward", "1")
    machine.set_sysctl("net/bridge/bridge-nf-call-iptables", "1")
    if not succeeds("iptables", "--wait", "-n", "-L", FORWARD):
        run("iptables", "--wait", "-N", FORWARD)
        run("iptables", "--wait", "-A", FORWARD, "-s", POD_CIDR, "-d", POD_CIDR, "-j", "ACCEPT")
    if not succeeds("iptables", "--wait", "-C", "FORWARD", "-j", FORWARD):
        run("iptables", "--wait", "-I", "FORWARD", "-j", FORWARD)


def remove_bridges() -> None:
    """Our bridges and the host's ends of what hangs on them."""
    for bridge in machine.bridges():
        ports = Path("/sys/class/net", bridge, "brif").iterdir()
        for name in (*(port.name for port in ports), bridge):
            succeeds("ip", "link", "delete", name)


def forget_connections() -> None:
    """Drops what the kernel still knows about pods' connections: the next cluster uses the same addresses."""
    for network in (POD_CIDR, SERVICE_CIDR):
        for side in ("--src", "--dst"):
            succeeds("conntrack", "-D", side, network)


def remove_rules() -> None:
    """Our chains and every rule that jumps to one, in both address families; rules of others stay."""
    for family in ("iptables", "ip6tables"):
        if not succeeds(f"{family}-save"):
            continue
        commands = "\n".join(removal(run(f"{family}-save")))
        if commands:
            run(f"{family}-restore", "--noflush", "--wait", stdin=commands + "\n")


def removal(saved: str) -> Iterator[str]:
    """Turns the output of iptables-save into the commands that undo what is ours.

    Every chain is emptied before any is deleted: a chain that another one jumps to cannot go.
    """
    table = ""
    jumps: list[str] = []
    chains: list[str] = []
    for line in saved.splitlines():
        if line.startswith("*"):
            table, jumps, chains = line, [], []
        elif line.startswith(":") and OUR_CHAINS.match(line[1:]):
            chains.append(line[1:].split()[0])
        elif line.startswith("-A ") and not OUR_CHAINS.match(line[3:]) and _jumps_to_ours(line):
            jumps.append(line.replace("-A ", "-D ", 1))
        elif line == "COMMIT" and (jumps or chains):
            yield from (table, *jumps, *(f"-F {name}" for name in chains), *(f"-X {name}" for name in chains), line)


def _jumps_to_ours(rule: str) -> bool:
    return re.search(r" -[jg] (KUBE|CNI|QTJ)-", rule) is not None
