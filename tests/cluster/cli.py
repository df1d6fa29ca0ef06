"""The commands a person types."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import checks, images, lifecycle, tools
from .paths import KUBECONFIG, STATE
from .shell import ClusterError, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .node import Node

IMAGES = ", ".join(images.CATALOGUE)
GROUPS = ", ".join(tools.GROUPS)


@dataclass(frozen=True)
class Command:
    """What a subcommand does, what it needs of the machine, and whether it must be alone at work."""

    act: Callable[[argparse.Namespace], int | None]
    needs: Iterable[checks.Check] = checks.ROOT_ON_LINUX
    alone: bool = True


def main(argv: Sequence[str]) -> int:
    """Runs one command; returns its exit code: 0 done, 1 failed, 2 this machine lacks something."""
    options = parser().parse_args(argv)
    command: Command = options.run
    try:
        checks.require(command.needs)
        with lifecycle.alone() if command.alone else nullcontext():
            return command.act(options) or 0
    except ClusterError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted: `python3 -m tests.cluster down` cleans up, `up` carries on")
        return 130


def up(options: argparse.Namespace) -> None:
    checks.install(checks.missing_packages())
    tools.build_all()
    lifecycle.up(options.nodes)
    print(f"export KUBECONFIG={KUBECONFIG}")


def provide_images(options: argparse.Namespace) -> None:
    checks.install(checks.missing_packages())
    tools.build_all()
    images.provide(options.names or list(images.CATALOGUE), lifecycle.existing_nodes())


def check(_: argparse.Namespace) -> None:
    if not STATE.exists():
        checks.check_nothing_in_the_way()


def env(_: argparse.Namespace) -> None:
    """For `eval`: a shell that talks to the cluster, with a kubectl of its version."""
    if not KUBECONFIG.exists():
        raise ClusterError("no cluster runs here: start one with `python3 -m tests.cluster up`")
    print(f"export KUBECONFIG={KUBECONFIG}\nexport PATH={Path(tools.kubectl()).parent}:$PATH")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python3 -m tests.cluster", description="A real Kubernetes on this machine.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, text: str, command: Command) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=command)
        return sub

    starting = add("up", "start what does not run, wait until Ready, print how to use it", Command(up, checks.CHECKS))
    starting.add_argument("--nodes", type=_count, default=1, metavar="N", help="at least so many nodes (default 1)")
    add("down", "stop everything and leave nothing but the cache", Command(lambda _: lifecycle.down()))
    building = add("images", "build what changed, import it into every node", Command(provide_images, checks.CHECKS))
    building.add_argument("names", nargs="*", type=_image, metavar="NAME", help=f"of {IMAGES}; default: all")
    add("status", "what runs, and the nodes' state", Command(lambda _: lifecycle.status(), alone=False))
    add("env", "print what a shell needs to use the cluster, for eval", Command(env, needs=(), alone=False))
    add("check", "say what keeps a cluster from running here", Command(check, checks.CHECKS, alone=False))
    compiling = add("tools", "build the Go programs", Command(lambda o: tools.build_all(o.groups), checks.FOR_TOOLS))
    compiling.add_argument("groups", nargs="*", type=_group, metavar="GROUP", help=f"of {GROUPS}; default: all")
    losing = add("stop-node", "lose a node as in a power cut", Command(lambda o: lifecycle.stop_node(o.node)))
    losing.add_argument("node", type=_node, metavar="NODE", help="as in node-2; `up` brings it back")
    add("restart-apiserver", "take the apiserver away, bring it back", Command(lambda _: lifecycle.restart_apiserver()))
    return top


def _image(name: str) -> str:
    if name not in images.CATALOGUE:
        raise argparse.ArgumentTypeError(f"there is no image {name}: choose from {IMAGES}")
    return name


def _group(name: str) -> str:
    if name not in tools.GROUPS:
        raise argparse.ArgumentTypeError(f"there is no group {name}: choose from {GROUPS}")
    return name


def _node(name: str) -> Node:
    nodes = {each.name: each for each in lifecycle.existing_nodes()}
    if name not in nodes:
        raise argparse.ArgumentTypeError(f"there is no node {name}: choose from {', '.join(nodes) or 'none'}")
    return nodes[name]


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 9:
        raise argparse.ArgumentTypeError(f"{number} nodes: choose 1 to 9")
    return number
