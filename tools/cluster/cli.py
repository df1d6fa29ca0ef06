"""The commands a person types."""

import argparse
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from . import checks, control_plane, images, lifecycle, lock, tools
from .node import Node
from .paths import KUBECONFIG, LOCK, STATE, cache_lock
from .shell import ClusterError, MissingError, say

IMAGES = ", ".join(images.CATALOGUE)
OWN_IMAGES = ("operator", "trainer")
GROUPS = ", ".join(tools.GROUPS)
CONTROL_PLANE = [component.name for component in control_plane.control_plane()]
HINT = """\
To use the cluster yourself:
    eval "$(python3 -m tools.cluster env)"    KUBECONFIG and kubectl, in this shell
    kubectl get nodes,qtj
    make cluster-demo                         the operator and the example, followed live
    make cluster-down                         stops everything"""


@dataclass(frozen=True)
class Command:
    """What a subcommand does, what it needs of the machine, and what it must have for itself meanwhile.

    The locks are always taken in this order, so that no two commands wait for each other.
    """

    act: Callable[[argparse.Namespace], int | None]
    needs: Iterable[checks.Check] = checks.ROOT_ON_LINUX
    locks: Iterable[Callable[[], Path]] = (lambda: LOCK, cache_lock)


def main(argv: Sequence[str]) -> int:
    """Runs one command; returns its exit code: 0 done, 1 failed, 2 this machine lacks something."""
    options = parser().parse_args(argv)
    command: Command = options.run
    try:
        checks.require(command.needs)
        with ExitStack() as alone:
            for path in command.locks:
                alone.enter_context(lock.held(path()))
            return command.act(options) or 0
    except ClusterError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted: `python3 -m tools.cluster down` cleans up, `up` carries on")
        return 130


def up(options: argparse.Namespace) -> None:
    checks.install(checks.missing_packages())
    tools.build_for("cluster")
    lifecycle.up(options.nodes)
    print(f"export KUBECONFIG={KUBECONFIG}")


def provide_images(options: argparse.Namespace) -> None:
    checks.install(checks.missing_packages())
    tools.build_for("cluster")
    images.provide(options.names or list(images.CATALOGUE), lifecycle.existing_nodes())


def export_images(options: argparse.Namespace) -> None:
    checks.install(checks.missing_packages())
    images.export(options.names or OWN_IMAGES, options.folder.absolute(), options.time)


def build_tools(options: argparse.Namespace) -> None:
    """Builds groups, or what a stage of the tests needs; without Go, says which tests will not run.

    Whoever finds everything there does not wait for another command that builds for others.
    """
    needs = tools.NEEDS.get(options.stage)
    wanted = needs.programs if needs else tools.named(options.groups)
    if not any(tools.lacking(group, programs) for group, programs in wanted.items()):
        return
    try:
        checks.require(checks.FOR_TOOLS)
    except MissingError as error:
        raise MissingError(f"not run: {needs.tests}, because {error}" if needs else str(error)) from error
    with lock.held(cache_lock()):
        for group, programs in wanted.items():
            tools.build(group, programs)


def check(_: argparse.Namespace) -> None:
    if not STATE.exists():
        checks.check_nothing_in_the_way()


def env(_: argparse.Namespace) -> None:
    """For `eval`: a shell that talks to the cluster, with a kubectl of its version."""
    if not KUBECONFIG.exists():
        raise ClusterError("no cluster runs here: start one with `python3 -m tools.cluster up`")
    print(f"export KUBECONFIG={KUBECONFIG}\nexport PATH={Path(tools.kubectl()).parent}:$PATH")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python3 -m tools.cluster", description="A real Kubernetes on this machine.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, text: str, command: Command) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=command)
        return sub

    starting = add("up", "start what does not run, and wait until it is Ready", Command(up, checks.CHECKS))
    starting.add_argument("--nodes", type=_count, default=1, metavar="N", help="at least so many nodes (default 1)")
    add("down", "stop everything and leave nothing but the cache", Command(lambda _: lifecycle.down()))
    building = add("images", "build what changed, import it into every node", Command(provide_images, checks.CHECKS))
    building.add_argument(
        "names", nargs="*", type=_one_of("image ", images.CATALOGUE), metavar="NAME", help=f"of {IMAGES}; default: all"
    )
    exporting = add(
        "export", "build our images for a release, in an OCI layout", Command(export_images, locks=(cache_lock,))
    )
    exporting.add_argument("folder", type=Path, metavar="FOLDER", help="the layout")
    exporting.add_argument(
        "names", nargs="*", type=_one_of("Dockerfile.", OWN_IMAGES), metavar="NAME", help=f"of {', '.join(OWN_IMAGES)}"
    )
    exporting.add_argument("--time", type=int, required=True, metavar="S", help="of all files, in seconds since 1970")
    add("status", "what runs, and the nodes' state", Command(lambda _: lifecycle.status(), locks=()))
    add("env", "print what a shell needs to use the cluster, for eval", Command(env, needs=(), locks=()))
    add("hint", "print how to use the cluster", Command(lambda _: print(HINT), needs=(), locks=()))
    add("check", "say what keeps a cluster from running here", Command(check, checks.CHECKS, locks=()))
    compiling = add("tools", "build the Go programs", Command(build_tools, needs=(), locks=()))
    compiling.add_argument(
        "groups",
        nargs="*",
        type=_one_of("group ", tools.GROUPS),
        metavar="GROUP",
        help=f"of {GROUPS}; default: all but {', '.join(sorted(tools.LONG))}",
    )
    compiling.add_argument("--for", dest="stage", choices=tools.NEEDS, help="what one stage of the tests needs")
    losing = add("stop-node", "lose a node as in a power cut", Command(lambda o: lifecycle.stop_node(o.node)))
    losing.add_argument("node", type=_node, metavar="NODE", help="as in node-2; `up` brings it back")
    pressing = add("press-node", "have a node evict its pods", Command(lambda o: lifecycle.press_node(o.node)))
    pressing.add_argument("node", type=_node, metavar="NODE", help="as in node-2; `up` ends it")
    restarting = add(
        "restart", "take parts of the control plane away, bring them back",
        Command(lambda o: lifecycle.restart(o.names, o.gap)),
    )  # fmt: skip
    restarting.add_argument("names", nargs="+", choices=CONTROL_PLANE, metavar="NAME", help=", ".join(CONTROL_PLANE))
    restarting.add_argument("--gap", type=float, default=0.0, metavar="S", help="leave them away for so many seconds")
    return top


def _one_of(what: str, names: Collection[str]) -> Callable[[str], str]:
    """Returns what reads one of these names from the command line; `what` is written before a wrong one."""

    def read(name: str) -> str:
        if name not in names:
            raise argparse.ArgumentTypeError(f"there is no {what}{name}: choose from {', '.join(names)}")
        return name

    return read


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
