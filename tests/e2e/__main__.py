"""`make e2e`: the product on a real cluster of two nodes, asserted through kubectl alone."""

import argparse
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.e2e import (
    admission,
    bad_input,
    beside,
    browser,
    chaos,
    gangs,
    gitops,
    hangs,
    nodes,
    qcnn,
    same_status,
    submitted,
    tensorboard,
    tutorial,
)
from tests.e2e.checks import Checks
from tests.e2e.diagnose import diagnose
from tests.e2e.elastic import elastic, scaled
from tests.e2e.install import install_operator, install_storage, remove_namespace
from tests.e2e.kubectl import KubectlError
from tests.e2e.monitoring.on_call import on_call
from tests.e2e.monitoring.scenario import monitored
from tests.e2e.operator_killed import killed_operator
from tests.e2e.outage import outage
from tests.e2e.profiled import profiled
from tests.e2e.program import mounted
from tests.e2e.requirements import required
from tests.e2e.rights import now, rights
from tests.e2e.study import compared, stopped_and_resumed
from tests.e2e.terminal import followed
from tests.e2e.upgrade import upgrade
from tests.e2e.world import World

NAMESPACE = "qtj-e2e"
_TOGETHER = 3
"""Jobs that train side by side: more only make each of them slower."""
_WAIT = 2
"""Scenarios that wait beside them."""

Scenario = Callable[[Checks, World], None]

ALONE: Mapping[str, Scenario] = {
    "example": qcnn.run,
    "kill": chaos.killed_worker,
    "same-status": lambda checks, world: same_status.run(checks, world.namespace),
    "monitoring": monitored,
}
"""What is measured, compared, or ends the operator, has cluster and machine for itself."""
TOGETHER: Mapping[str, Scenario] = {
    "inference": chaos.deleted_inference,
    "suspend": chaos.suspended,
    "scale": scaled,
    "services": chaos.edited_services,
    "pod": chaos.deleted_pod,
    "submitted": submitted.run,
    "tutorial": tutorial.run,
    "program": mounted,
    "study": compared,
    "tensorboard": tensorboard.run,
    "profile": profiled,
    "browser": browser.run,
}
WAITING: Mapping[str, Scenario] = {
    "bad-input": bad_input.run,
    "render": bad_input.rendered,
    "policy": admission.policy,
    "mutating-webhook": admission.mutating_webhook,
    "failing-webhook": admission.failing_webhook,
    "gangs": gangs.gangs,
    "shared-service": beside.shared_service,
    "requirements": required,
    "terminal": followed,
    "pod-deadline": beside.stopped_by_kubelet,
    "evicted": beside.evicted_by_kubelet,
    "helper": beside.finished_helper,
}
"""Scenarios without TensorFlow: they mostly wait, beside those that train together, once the operator is left alone."""
CLUSTER: Mapping[str, Scenario] = {
    "drain": nodes.drained_node,
    "lost-node": nodes.lost_node,
    "upgrade": upgrade,
}
"""Scenarios that affect every job run one after the other."""
RARE: Mapping[str, Scenario] = {
    "drain-inference": nodes.drained_inference,
    "lost-inference": nodes.lost_inference,
    "pressed-node": nodes.pressed_node,
    "elastic": elastic,
    "outage": outage,
    "dead-lock": hangs.dead_lock,
}
"""With `--rare`, one by one too: what seldom happens, such as a node that goes away in the seconds of inference."""
LONG: Mapping[str, Scenario] = {"gitops": gitops.gitops, "on-call": on_call, "study-life": stopped_and_resumed}
"""Scenarios that run only if they are named: their programs take long to build, or they wait for minutes."""
OPERATOR = "operator"
DEFAULT = (*ALONE, OPERATOR, *TOGETHER, *WAITING, *CLUSTER)
NAMES = (*DEFAULT, *RARE, *LONG)


def main(words: Sequence[str]) -> int:
    """Runs every scenario, or those that are named; returns the exit code."""
    options = _options(words)
    checks, since = Checks(), now()
    try:
        nodes.two_nodes()
    except KubectlError as error:
        sys.exit(f"e2e: {error}")
    with checks.scenario("installation"):
        remove_namespace(NAMESPACE)
        install_operator()
        install_storage(NAMESPACE)
    names = options.names or (*DEFAULT, *(RARE if options.rare else ()))
    with World(NAMESPACE) as world:
        for number in range(options.repeat):
            run_round(checks, world, names, random.Random(options.seed + number) if number else None)
    if not options.names:
        with checks.scenario("rights"):
            rights(checks, since)
    if checks.failed:
        diagnose(NAMESPACE)
    else:
        remove_namespace(NAMESPACE)
    print(checks.summary)
    return 1 if checks.failed or not checks.passed else 0


def run_round(checks: Checks, world: World, names: Sequence[str], chance: random.Random | None) -> None:
    def operator(checks: Checks, world: World) -> None:
        killed_operator(checks, world, chance)

    def run(name: str, scenario: Scenario) -> None:
        with checks.scenario(name):
            scenario(checks, world)

    for name, scenario in ALONE.items():
        if name in names:
            run(name, scenario)
    with ThreadPoolExecutor(_TOGETHER) as training, ThreadPoolExecutor(_WAIT) as waiting:
        started = {
            name: training.submit(run, name, scenario)
            for name, scenario in {OPERATOR: operator, **TOGETHER}.items()
            if name in names
        }
        if OPERATOR in started:  # some of those that wait expect repairs within seconds
            started[OPERATOR].result()
        for name, scenario in WAITING.items():
            if name in names:
                waiting.submit(run, name, scenario)
    for name, scenario in {**CLUSTER, **RARE, **LONG}.items():
        if name in names:
            run(name, scenario)


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e", description="End-to-end tests on the test cluster.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default: all but {', '.join((*RARE, *LONG))}"
    )
    parser.add_argument("--rare", action="store_true", help=f"{' and '.join(RARE)} too")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="rounds")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the moments drawn after the first round")
    options = parser.parse_args(words)
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"there is no {', '.join(sorted(unknown))}: choose from {', '.join(NAMES)}")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
