"""The commands a person types."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from . import checks, images, lifecycle, tools
from .paths import KUBECONFIG
from .shell import ClusterError, say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .node import Node

NAMES = ", ".join(images.CATALOGUE)


def main(argv: Sequence[str]) -> int:
    """Runs one command; returns its exit code: 0 done, 1 failed, 2 this machine lacks something."""
    options = parser().parse_args(argv)
    try:
        return run(options)
    except ClusterError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted: `python3 -m tests.cluster down` cleans up, `up` carries on")
        return 130


def run(options: argparse.Namespace) -> int:
    checks.require(checks.ROOT_ON_LINUX)
    if options.command == "status":
        return lifecycle.status()
    with lifecycle.alone():
        COMMANDS[options.command](options)
    return 0


def up(options: argparse.Namespace) -> None:
    checks.preflight()
    lifecycle.up(options.nodes)
    print(f"export KUBECONFIG={KUBECONFIG}")


def provide_images(options: argparse.Namespace) -> None:
    checks.preflight()
    for group in tools.GROUPS:
        tools.build(group)
    images.provide(options.names or list(images.CATALOGUE), lifecycle.existing_nodes())


COMMANDS: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "up": up,
    "down": lambda _: lifecycle.down(),
    "images": provide_images,
    "stop-node": lambda options: lifecycle.stop_node(options.node),
    "restart-apiserver": lambda _: lifecycle.restart_apiserver(),
}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python3 -m tests.cluster", description="A real Kubernetes on this machine.")
    commands = top.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start what does not run, wait until Ready, print how to use it")
    up.add_argument("--nodes", type=_positive, default=1, metavar="N", help="at least so many nodes (default 1)")
    commands.add_parser("down", help="stop everything and leave nothing but the cache")
    build = commands.add_parser("images", help="build what changed and import it into every node")
    build.add_argument("names", nargs="*", type=_image, metavar="NAME", help=f"of {NAMES}; default: all")
    commands.add_parser("status", help="what runs, and the nodes' state")
    lose = commands.add_parser("stop-node", help="lose a node as in a power cut; up brings it back")
    lose.add_argument("node", type=_node, metavar="NODE", help="as in node-2")
    commands.add_parser("restart-apiserver", help="take the apiserver away and bring it back")
    return top


def _image(name: str) -> str:
    if name not in images.CATALOGUE:
        raise argparse.ArgumentTypeError(f"there is no image {name}: choose from {NAMES}")
    return name


def _node(name: str) -> Node:
    nodes = {each.name: each for each in lifecycle.existing_nodes()}
    if name not in nodes:
        raise argparse.ArgumentTypeError(f"there is no node {name}: choose from {', '.join(nodes) or 'none'}")
    return nodes[name]


def _positive(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 9:
        raise argparse.ArgumentTypeError(f"{number} nodes: choose 1 to 9")
    return number
