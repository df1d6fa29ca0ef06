"""A pass over a gang costs as much for each member, however many there are."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from tests.core.world import World, later, parameter_servers, running_job


def calls(world: World) -> int:
    """How many functions a pass calls."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(counted)
    try:
        world.decide(later(seconds=30))
    finally:
        sys.setprofile(None)
    return count


def running(workers: int) -> World:
    return running_job(workers=workers)


def preempted(workers: int) -> World:
    return running(workers).with_pods(ready=True, disrupted=True, deleting=True)


def crashed(workers: int) -> World:
    return running_job(workers=workers, backoff_limit=0).with_pods(exit_code=137)


def cut_off(workers: int) -> World:
    return running(workers).with_pods(phase="Running", missed=True).with_pod("worker-0", exit_code=75)


def missed(workers: int) -> World:
    return running(workers).with_pods(phase="Running", missed=True)


def superseded(workers: int) -> World:
    return running_job(workers=workers, attempt=2).with_pods(attempt=1, ready=True)


def waiting(workers: int) -> World:
    return running(workers).with_pods(waiting=("ErrImagePull", "not found"))


def lone(workers: int) -> World:
    return running_job(**parameter_servers(workers=workers)).with_pods(exit_code=137)


def edited(workers: int) -> World:
    world = running(workers)
    for index in range(workers):
        world = world.with_service(f"worker-{index}", ports=[])
    return world


@pytest.mark.parametrize(
    "gang",
    [running, preempted, crashed, cut_off, missed, superseded, waiting, lone, edited],
    ids=lambda gang: gang.__name__,
)
def test_twice_as_many_members_cost_twice_as_much(gang: Callable[[int], World]) -> None:
    few, many = calls(gang(60)), calls(gang(120))

    assert many < 2.1 * few
