"""Random lives of a job: whatever happens to its children, whenever the operator looks, these things hold.

A life is a list of happenings, each followed by a pass. A pass may be lost before its status is written, as when the
operator crashes: its actions are done then, and nobody remembers them.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from qtj_operator.api.conditions import ConditionType, is_true, phase_of
from qtj_operator.api.contract import TerminationMessage
from qtj_operator.core.decision import Action, Create, Decision, Delete, Kind
from qtj_operator.core.lost_replica import MAX_FAILURES
from qtj_operator.core.observed import Pod
from tests.core.world import NOW, WEIGHTS, World, new_job

SAID = TerminationMessage(weights=WEIGHTS, metrics={"mse": 0.2})
ENOUGH = 40
"""Passes in which any job settles when nothing happens any more."""

POD_HAPPENINGS: list[dict[str, Any]] = [
    {"ready": True},
    {"exit_code": 0, "says": SAID},
    {"exit_code": 0},
    {"exit_code": 1},
    {"exit_code": 75},
    {"exit_code": 137, "reason": "OOMKilled"},
    {"exit_code": 143, "disrupted": True},
    {"ready": True, "disrupted": True, "deleting": True},
    {"ready": True, "deleting": True},
    {"exit_code": 143, "deleting": True},
    {"reason": "Evicted"},
    {"unscheduled": "0/3 nodes are available"},
    {"waiting": ("ErrImagePull", "not found")},
]


@dataclass(frozen=True)
class Happening:
    """What happens before a pass; a pass that is lost writes no status."""

    what: Callable[[World, int, int], World]
    which: int
    how: int
    lost: bool


def nothing(world: World, _which: int, _how: int) -> World:
    return world


def all_ready(world: World, _which: int, _how: int) -> World:
    waiting = world.pods and not world.superseded and all(pod.phase == "Pending" for pod in world.pods)
    return world.with_pods(ready=True) if waiting else world


def leader_ends(world: World, _which: int, _how: int) -> World:
    running = world.leader is not None and world.leader.phase == "Running"
    return world.with_pod(called(world.leader), exit_code=0, says=SAID) if running else world


def pod_changes(world: World, which: int, how: int) -> World:
    pod = chosen(world, which)
    if pod is None or pod.ending is not None:
        return world
    change = POD_HAPPENINGS[how % len(POD_HAPPENINGS)]
    return world.with_pod(called(pod), attempt=pod.attempt, **{"deleting": pod.deleting, **change})


def pod_vanishes(world: World, which: int, _how: int) -> World:
    pod = chosen(world, which)
    return world if pod is None else world.without_pod(called(pod))


def service_changes(world: World, which: int, how: int) -> World:
    if not world.services:
        return world
    name = sorted(world.services)[which % len(world.services)].removeprefix("qcnn-")
    return world.without_service(name) if how % 2 else world.with_service(name, ports=[])


def inference_changes(world: World, _which: int, how: int) -> World:
    if world.inference is None:
        return world
    if how % 5 == 0:
        return world.without_inference()
    endings: list[dict[str, Any]] = [{}, {"complete": True, "says": SAID}, {"failed": True}, {"deleting": True}]
    changed = world.with_inference(**endings[how % 4]).inference
    assert changed is not None
    return replace(world, inference=replace(changed, run=world.inference.run))


def spec_changes(world: World, _which: int, how: int) -> World:
    return world.with_spec(inference=[None, {}, {"args": ["a"]}, {"args": ["b"]}][how % 4])


def chosen(world: World, which: int) -> Pod | None:
    pods = sorted(world.pods, key=lambda pod: pod.name)
    return pods[which % len(pods)] if pods else None


def called(pod: Pod | None) -> str:
    assert pod is not None
    return pod.name.removeprefix("qcnn-")


happenings = st.builds(
    Happening,
    what=st.sampled_from(
        [
            all_ready,
            leader_ends,
            pod_changes,
            pod_vanishes,
            service_changes,
            inference_changes,
            spec_changes,
            nothing,
        ]
    ),
    which=st.integers(0, 2),
    how=st.integers(0, 50),
    lost=st.sampled_from([False, False, False, True]),
)
jobs = st.builds(
    new_job,
    workers=st.integers(1, 2),
    chief=st.booleans(),
    inference=st.sampled_from([None, {}]),
    runPolicy=st.sampled_from([{"backoffLimit": 0}, {"backoffLimit": 1}, {"backoffLimit": 9}]),
)


def done(world: World, actions: tuple[Action, ...]) -> World:
    """The world after the actions, all of which succeeded; a deleted object is gone at once or in a while."""
    for action in actions:
        if isinstance(action, Delete):
            world = world.without_inference() if action.kind == Kind.JOB else without(world, action)
            continue
        manifest = action.manifest
        name = manifest["metadata"]["name"]
        if manifest["kind"] == Kind.SERVICE:
            world = replace(world, services={**world.services, name: manifest})
        elif manifest["kind"] == Kind.POD:
            attempt = int(manifest["metadata"]["labels"]["quantumtraining.dev/attempt"])
            world = world.with_pod(name.removeprefix("qcnn-"), attempt=attempt)
        else:
            world = world.with_inference()
    return world


def without(world: World, action: Delete) -> World:
    assert action.uid in {pod.uid for pod in world.pods}, "only what was seen is deleted"
    return world.without_pod(action.name.removeprefix("qcnn-"))


def check(world: World, decision: Decision) -> None:
    """What holds after every pass."""
    before, after = world.job.status, decision.status
    assert (after.phase, after.reason) == phase_of(after.conditions)
    assert len(after.failures or ()) <= MAX_FAILURES
    assert (after.completion_time is not None) == (after.phase in {"Complete", "Failed"})
    check_record(world, decision)
    check_actions(world, decision.actions)
    if is_true(before.conditions, ConditionType.TRAINED):
        assert is_true(after.conditions, ConditionType.TRAINED), "training is never undone"
        assert (after.weights, after.attempt) == (before.weights, before.attempt)


def check_record(world: World, decision: Decision) -> None:
    before, after = world.job.status, decision.status
    if before.attempt and after.attempt:
        assert after.attempt == 1 + (after.restarts or 0) + (after.disruptions or 0)
        assert before.attempt <= after.attempt <= before.attempt + 1
        assert (after.restarts or 0) <= world.job.backoff_limit
    if (before.attempt, before.weights) != (after.attempt, after.weights):
        assert decision.actions == (), "a pass that moves the record does nothing else"


def check_actions(world: World, actions: tuple[Action, ...]) -> None:
    created = [action.manifest for action in actions if isinstance(action, Create)]
    pods = [manifest["metadata"]["name"] for manifest in created if manifest["kind"] == Kind.POD]
    services = [manifest["metadata"]["name"] for manifest in created if manifest["kind"] == Kind.SERVICE]
    assert {pod.name for pod in world.pods}.isdisjoint(pods)
    assert world.services.keys().isdisjoint(services)
    if pods:
        assert not world.superseded, "no new pod beside an old one"
        assert not is_true(world.job.status.conditions, ConditionType.TRAINED), "nothing trains after training"
        assert world.services.keys() | set(services) >= {pod.rpartition("@")[0] or pod for pod in pods}
    going = {pod.uid for pod in world.pods if pod.deleting}
    assert going.isdisjoint(action.uid for action in actions if isinstance(action, Delete))


def passed(world: World, now: int, *, lost: bool = False) -> World:
    """The world after one pass; time goes on by a second each."""
    untouched = deepcopy(world)
    decision = world.decide(NOW + timedelta(seconds=now))
    assert world == untouched, "a decision changes nothing that it looks at"
    check(world, decision)
    after = done(world, decision.actions)
    return after if lost else after.with_status(**dict(decision.status))


def settled(world: World, now: int) -> World:
    """The world after as many passes as it takes, with nothing happening in between."""
    for step in range(ENOUGH):
        after = passed(world, now + step)
        if after == world:
            return world
        world = after
    raise AssertionError(f"not settled after {ENOUGH} passes: {world.job.status}")


def lived(world: World, life: list[Happening]) -> World:
    for at, happening in enumerate(life):
        world = passed(happening.what(world, happening.which, happening.how), at, lost=happening.lost)
    return world


@settings(max_examples=300)
@given(jobs, st.lists(happenings, max_size=25))
def test_whatever_happens_the_rules_hold_and_the_job_settles(world: World, life: list[Happening]) -> None:
    end = settled(lived(world, life), len(life))

    again = end.decide(NOW + timedelta(days=1))
    assert again.status == end.job.status, "a settled job costs nothing"
    assert again.events == ()


@settings(max_examples=300)
@given(jobs, st.lists(happenings, max_size=15))
def test_a_job_that_is_let_be_ends(world: World, life: list[Happening]) -> None:
    world, now = lived(world, life), len(life)
    for _ in range(10):
        world = settled(vanished(world), now)
        if world.job.status.phase in {"Complete", "Failed"}:
            break
        for pod in world.pods:
            world = world if pod.ending else world.with_pod(called(pod), exit_code=0, says=SAID)
        if world.inference is not None:
            world = world.with_inference(complete=True, says=SAID)

    assert world.job.status.phase in {"Complete", "Failed"}


def vanished(world: World) -> World:
    """What was on its way out is gone."""
    inference = None if world.inference and world.inference.deleting else world.inference
    return replace(world, pods=tuple(pod for pod in world.pods if not pod.deleting), inference=inference)
