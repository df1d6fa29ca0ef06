"""Random lives of a job: whatever happens to its children, whenever the operator looks, these things hold.

A life is a list of happenings, each followed by a pass some time later. A pass may be cut off: the operator crashes
before the status is written, or in the middle of its actions, or the API server refuses what is to be created. Nodes
may be silent: then a pod that is deleted stays until it is deleted by force.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from qtj_operator.api.conditions import Reason, is_true, phase_of
from qtj_operator.api.contract import TerminationMessage
from qtj_operator.api.spec import CleanPodPolicy
from qtj_operator.api.status import Status
from qtj_operator.core.decision import Action, Create, Decision, Delete, Kind, Restore
from qtj_operator.core.failures import MAX_FAILURES
from qtj_operator.core.inferring import wanted_run
from qtj_operator.core.observed import Pod
from qtj_operator.core.removal import NODE_SILENCE
from qtj_operator.core.status import with_obstacle
from tests.core.world import NOW, WEIGHTS, World, new_job, parameter_servers, running_job, stored, trained_job

SAID = TerminationMessage(weights=WEIGHTS, metrics={"mse": 0.2})
ENOUGH = 80
"""Passes in which any job settles when nothing happens any more."""

OVER = {"Complete", "Failed"}
POD_HAPPENINGS: list[dict[str, Any]] = [
    {"ready": True},
    {"exit_code": 0, "says": SAID},
    {"exit_code": 0},
    {"exit_code": 1},
    *[{"exit_code": 75}] * 3,
    *[{"exit_code": 137, "reason": "OOMKilled"}] * 3,
    {"exit_code": 143, "disrupted": True},
    {"ready": True, "disrupted": True, "deleting": True},
    {"ready": True, "deleting": True},
    {"exit_code": 143, "deleting": True},
    {"exit_code": 0, "deleting": True},
    {"reason": "Evicted"},
    {"unscheduled": "0/3 nodes are available"},
    {"waiting": ("ErrImagePull", "not found")},
]
RUN_POLICIES: list[dict[str, Any]] = [
    {},
    {"backoffLimit": 0},
    {"backoffLimit": 9, "cleanPodPolicy": "All"},
    {"backoffLimit": 1, "activeDeadlineSeconds": 60, "cleanPodPolicy": "None"},
    {"backoffLimit": 9, "pendingDeadlineSeconds": 20, "successPolicy": "AllWorkers"},
    {"backoffLimit": 9, "activeDeadlineSeconds": 900, "pendingDeadlineSeconds": 300, "ttlSecondsAfterFinished": 0},
    {"ttlSecondsAfterFinished": 100, "successPolicy": "AllWorkers"},
]
SHAPES: list[dict[str, Any]] = [
    {"workers": 1},
    {"workers": 2},
    {"workers": 2, "chief": True, "evaluator": True},
    {"workers": 1, "strategy": "Mirrored"},
    {"workers": 2, "ps": 1, "strategy": "None"},
    parameter_servers(workers=1),
    parameter_servers(workers=2, evaluator=True),
    parameter_servers(workers=12),
]
uids = count()


@dataclass(frozen=True)
class Chance:
    """The dice of one happening, and the time at which it falls."""

    which: int
    how: int
    now: datetime


@dataclass(frozen=True)
class Happening:
    """What happens, how many seconds later the operator looks and how often, and what becomes of its first pass."""

    what: Callable[[World, Chance], World]
    which: int
    how: int
    after: int
    passes: int
    fate: str
    silent: bool


def nothing(world: World, _chance: Chance) -> World:
    return world


def all_ready(world: World, _chance: Chance) -> World:
    for pod in world.current:
        if pod.phase == "Pending" and not pod.deleting:
            world = changed(world, pod, ready=True)
    return world


def leader_ends(world: World, _chance: Chance) -> World:
    leader = world.leader
    running = leader is not None and leader.phase == "Running"
    return changed(world, leader, exit_code=0, says=SAID) if leader is not None and running else world


def pod_changes(world: World, chance: Chance) -> World:
    pod = chosen(world, chance)
    if pod is None or pod.ending is not None:
        return world
    change = dict(POD_HAPPENINGS[chance.how % len(POD_HAPPENINGS)])
    asked = chance.now + timedelta(seconds=30) if change.pop("deleting", False) else None
    return changed(world, pod, **{"deadline": pod.deadline or asked, **change})


def pod_vanishes(world: World, chance: Chance) -> World:
    pod = chosen(world, chance)
    return world if pod is None else world.without_pod(called(pod))


def nodes_confirm(world: World, _chance: Chance) -> World:
    """What was on its way out is gone."""
    inference = None if world.inference and world.inference.deleting else world.inference
    return replace(world, pods=tuple(pod for pod in world.pods if not pod.deleting), inference=inference)


def service_changes(world: World, chance: Chance) -> World:
    if not world.services:
        return world
    name = sorted(world.services)[chance.which % len(world.services)].removeprefix("qcnn-")
    return world.without_service(name) if chance.how % 2 else world.with_service(name, ports=[])


def inference_changes(world: World, chance: Chance) -> World:
    if world.inference is None:
        return world
    if chance.how % 5 == 0:
        return world.without_inference()
    ending = [{}, {"complete": True, "says": SAID}, {"failed": True}, {"deleting": True}][chance.how % 4]
    inference = world.with_inference(**ending).inference
    assert inference is not None
    return replace(world, inference=replace(inference, run=world.inference.run))


def spec_changes(world: World, chance: Chance) -> World:
    return world.with_spec(inference=[None, {}, {"args": ["a"]}, {"args": ["b"]}][chance.how % 4])


def suspension_changes(world: World, chance: Chance) -> World:
    """Mostly a job is resumed, for while it is suspended not much else happens."""
    return world.with_spec(suspend=chance.how % 5 == 0)


def policy_changes(world: World, chance: Chance) -> World:
    return world.with_spec(runPolicy=RUN_POLICIES[chance.how % len(RUN_POLICIES)])


def chosen(world: World, chance: Chance) -> Pod | None:
    pods = sorted(world.pods, key=lambda pod: pod.name)
    return pods[chance.which % len(pods)] if pods else None


def changed(world: World, pod: Pod, **how: Any) -> World:
    """The same pod in another state."""
    return world.with_pod(
        called(pod), **{"attempt": pod.attempt, "uid": pod.uid, "version": pod.version, "deadline": pod.deadline, **how}
    )


def called(pod: Pod) -> str:
    return pod.name.removeprefix("qcnn-")


happenings = st.builds(
    Happening,
    what=st.sampled_from(
        [
            *[all_ready] * 5,
            leader_ends,
            *[pod_changes] * 5,
            pod_vanishes,
            nodes_confirm,
            nodes_confirm,
            service_changes,
            inference_changes,
            spec_changes,
            *[suspension_changes] * 2,
            policy_changes,
            nothing,
        ]
    ),
    which=st.integers(0, 14),
    how=st.integers(0, 50),
    after=st.sampled_from([1, 1, 1, 1, 1, 1, 5, 5, 45, 400]),
    passes=st.integers(1, 4),
    fate=st.sampled_from(["done", "done", "done", "lost", "halved", "refused"]),
    silent=st.booleans(),
)


def begun(how: Callable[..., World], shape: dict[str, Any], policy: dict[str, Any], spec: dict[str, Any]) -> World:
    """A job that has come some way already, without or with a history of restarts."""
    history = {} if how is new_job else {"restarts": min(policy.get("backoffLimit", 3), 4)}
    return how(**shape, **history, **spec, runPolicy=policy)


lives = st.lists(happenings, max_size=8) | st.lists(happenings, min_size=15, max_size=40)
jobs = st.builds(
    begun,
    st.sampled_from([new_job, running_job, running_job, trained_job]),
    st.sampled_from(SHAPES),
    st.sampled_from(RUN_POLICIES),
    st.fixed_dictionaries({"inference": st.sampled_from([None, {}]), "suspend": st.sampled_from([None] * 5 + [True])}),
)


@dataclass
class Life:
    """A world as time goes by, and what has been counted in it."""

    world: World
    now: datetime = NOW
    deleted: bool = False
    counted: set[str] = field(default_factory=set)

    def passes(self, *, fate: str = "done", silent: bool = False) -> Decision:
        """One pass of the operator."""
        world, untouched = self.world, deepcopy(self.world)
        decision = world.decide(self.now)
        assert world == untouched, "a decision changes nothing that it looks at"
        check(world, decision, self.now)
        creates = tuple(action for action in decision.actions if isinstance(action, Create))
        others = tuple(action for action in decision.actions if not isinstance(action, Create))
        status, actions = decision.status, (*others, *creates)
        if fate == "halved":
            actions = actions[: len(actions) // 2]
        if fate == "refused" and creates:
            actions = others
            status = refused(world, status, self.now)
            stuck, soon = world.with_status(**dict(status)), self.now + timedelta(seconds=1)
            if not others and not is_overdue(stuck, soon):
                assert refused(stuck, stuck.decide(soon).status, soon) == status, "the same obstacle is no news"
        self.deleted = self.deleted or any(action == DELETE_JOB for action in actions)
        self.world = done(world, actions, self.now, silent=silent)
        if fate in {"done", "refused"}:
            new = {f.uid for f in status.failures or ()} - {f.uid for f in world.job.status.failures or ()}
            assert self.counted.isdisjoint(new), "a failure is counted once"
            self.counted |= new
            self.world = self.world.with_status(**dict(status))
        return decision

    def settle(self) -> None:
        """Passes until nothing is left to do, with no event at all: the operator's own alarms have to do."""
        for _ in range(ENOUGH):
            before = self.world
            alarm = self.passes(silent=True).wake_at
            if self.deleted or (self.world == before and alarm is None):
                return
            self.now = alarm if self.world == before and alarm else self.now + timedelta(seconds=1)
        raise AssertionError(f"not settled after {ENOUGH} passes: {self.world.job.status}")

    def live(self, life: list[Happening]) -> None:
        for happening in life:
            if not self.deleted:
                chance = Chance(happening.which, happening.how, self.now)
                self.world = happening.what(self.world, chance)
                self.now += timedelta(seconds=happening.after)
                self.passes(fate=happening.fate, silent=happening.silent)
            for _ in range(happening.passes - 1):
                if not self.deleted:
                    self.passes(silent=happening.silent)


DELETE_JOB = Delete(Kind.QUANTUM_TRAINING_JOB, "qcnn", new_job().job.version)


def is_overdue(world: World, now: datetime) -> bool:
    return world.decide(now).status.phase == "Failed"


def refused(world: World, status: Status, now: datetime) -> Status:
    """The status of a pass in which the API server refused what was to be created."""
    return with_obstacle(world.job.status, status, Reason.CHILD_REJECTED, "exceeded quota", now)


def done(world: World, actions: tuple[Action, ...], now: datetime, *, silent: bool) -> World:
    """The world after the actions; a pod that is deleted is gone at once, or stays as long as its node is silent."""
    for action in actions:
        match action:
            case Delete(kind=Kind.POD):
                world = deleted(world, action, now, silent=silent)
            case Delete(kind=Kind.JOB):
                world = world.without_inference()
            case Restore():
                world = world.with_service(action.name.removeprefix("qcnn-"), **action.fields)
            case Create():
                world = created(world, action.manifest)
    return world


def deleted(world: World, action: Delete, now: datetime, *, silent: bool) -> World:
    pod = next(pod for pod in world.pods if pod.version == action.version)
    if silent and not action.force:
        gone = replace(pod, deadline=now + timedelta(seconds=30))
        return replace(world, pods=tuple(gone if known is pod else known for known in world.pods))
    return world.without_pod(called(pod))


def created(world: World, manifest: dict[str, Any]) -> World:
    name = manifest["metadata"]["name"]
    if manifest["kind"] == Kind.SERVICE:
        return replace(world, services={**world.services, name: stored(manifest)})
    if manifest["kind"] == Kind.POD:
        attempt = int(manifest["metadata"]["labels"]["quantumtraining.dev/attempt"])
        return world.with_pod(name.removeprefix("qcnn-"), attempt=attempt, uid=f"pod-{next(uids)}")
    return world.with_inference()


def check(world: World, decision: Decision, now: datetime) -> None:
    """What holds after every pass."""
    before, after = world.job.status, decision.status
    assert (after.phase, after.reason) == phase_of(after.conditions)
    assert len(after.failures or ()) <= MAX_FAILURES
    assert (after.completion_time is not None) == (after.phase in OVER)
    if after == before and not decision.actions:
        assert decision.wake_at is None or decision.wake_at > now, "an alarm that is due means something to do"
    if decision.events:
        assert after != before or decision.actions, "nothing is told when nothing happens"
    check_conditions(world, decision)
    check_record(world, decision)
    check_deletions(world, decision.actions, now)
    check_creations(world, decision.actions)


def check_conditions(world: World, decision: Decision) -> None:
    before, after = world.job.status, decision.status
    true = {condition.type for condition in after.conditions or () if condition.status == "True"}
    assert "Running" not in true or true == {"Running"}, "a job that runs does nothing else"
    assert not {"Suspended", "Failed"} <= true
    assert not {"Complete", "Failed"} <= true
    if is_true(before.conditions, "Trained"):
        assert "Trained" in true, "training is never undone"
        assert (after.weights, after.attempt) == (before.weights, before.attempt)
    if after.phase in OVER and before.phase in OVER:
        assert after.completion_time == before.completion_time


def check_record(world: World, decision: Decision) -> None:
    before, after = world.job.status, decision.status
    restarted = (after.restarts or 0) - (before.restarts or 0)
    disrupted = (after.disruptions or 0) - (before.disruptions or 0)
    resumed = is_true(before.conditions, "Suspended") and not is_true(after.conditions, "Suspended")
    assert restarted >= 0
    assert disrupted >= 0
    assert (after.restarts or 0) <= max(world.job.backoff_limit, before.restarts or 0)
    if before.attempt and after.attempt != before.attempt:
        assert after.attempt == before.attempt + 1
        assert restarted + disrupted + resumed == 1, "an attempt has one reason"
    elif restarted or disrupted:
        assert any(world.job.stands_alone(replica.role) for replica in world.job.replicas())
    if record(world.with_status(**dict(after))) != record(world):
        assert decision.actions == (), "a pass that moves the record does nothing else"


def record(world: World) -> tuple[Any, ...]:
    status = world.job.status
    decided = [is_true(status.conditions, kind) for kind in ("Suspended", "Trained", "Complete", "Failed")]
    return status.attempt, status.restarts, status.disruptions, status.failures, status.weights, decided


def check_deletions(world: World, actions: tuple[Action, ...], now: datetime) -> None:
    pods = {pod.version: pod for pod in world.pods}
    for action in actions:
        if isinstance(action, Delete) and action.kind == Kind.POD:
            deadline = pods[action.version].deadline
            assert action.force == (deadline is not None), "asked once, insisted on afterwards"
            assert deadline is None or deadline + NODE_SILENCE <= now
        if isinstance(action, Delete) and action.kind == Kind.QUANTUM_TRAINING_JOB:
            assert action == DELETE_JOB
            assert world.job.status.phase in OVER
            assert world.job.policy.ttl_seconds_after_finished is not None


def check_creations(world: World, actions: tuple[Action, ...]) -> None:
    manifests = [action.manifest for action in actions if isinstance(action, Create)]
    names = {kind: {m["metadata"]["name"] for m in manifests if m["kind"] == kind} for kind in Kind}
    pods, services, before = names[Kind.POD], names[Kind.SERVICE], world.job.status
    assert not manifests or not (world.job.spec.suspend or before.phase in OVER)
    assert {pod.name for pod in world.pods}.isdisjoint(pods)
    assert world.services.keys().isdisjoint(services)
    if pods:
        assert not world.superseded, "no new pod beside an old one"
        assert not is_true(before.conditions, "Trained"), "nothing trains after training"
        assert world.services.keys() | services >= pods
        assert {m["metadata"]["labels"]["quantumtraining.dev/attempt"] for m in manifests if m["kind"] == "Pod"} == {
            str(before.attempt)
        }
    if names[Kind.JOB]:
        assert world.inference is None
        assert before.inference is None or before.inference.metrics is None or before.inference.run != wanted_run(world)


@settings(max_examples=500, deadline=None)
@given(jobs, lives)
def test_whatever_happens_the_rules_hold_and_the_job_settles_without_an_event(
    world: World, happening: list[Happening]
) -> None:
    life = Life(world)
    life.live(happening)
    life.settle()

    if not life.deleted:
        again = life.world.decide(life.now + timedelta(days=1))
        assert again.status == life.world.job.status, "a settled job costs nothing"
        assert (again.actions, again.events, again.wake_at) == ((), (), None)
        check_leftovers(life.world)


def check_leftovers(world: World) -> None:
    """What a settled job leaves running."""
    policy = world.job.policy.clean_pod_policy or CleanPodPolicy.RUNNING
    active = [pod.name for pod in world.pods if pod.active or (pod.deleting and not pod.ending)]
    idle = world.job.status.phase in OVER and policy != CleanPodPolicy.NONE
    if idle or world.job.status.phase == "Suspended":
        assert active == []
        assert world.inference is None or world.inference.complete or world.inference.failed or world.inference.deleting
    if not is_true(world.job.status.conditions, "Trained") and world.job.status.phase not in OVER:
        assert not [pod for pod in world.pods if pod.deleting], "no node is waited for longer than its time"
    if world.job.status.phase in OVER and policy == CleanPodPolicy.ALL:
        assert world.pods == ()


@settings(max_examples=300, deadline=None)
@given(jobs, lives)
def test_a_job_that_is_let_be_ends(world: World, happening: list[Happening]) -> None:
    life = Life(world)
    life.live(happening)
    life.world = life.world.with_spec(suspend=False)
    for _ in range(12):
        life.settle()
        if life.deleted or life.world.job.status.phase in OVER:
            break
        world = nodes_confirm(life.world, Chance(0, 0, life.now))
        for pod in world.pods:
            world = world if pod.ending else changed(world, pod, exit_code=0, says=SAID)
        if world.inference is not None:
            complete = world.with_inference(complete=True, says=SAID).inference
            assert complete is not None
            world = replace(world, inference=replace(complete, run=world.inference.run))
        life.world = world

    assert life.deleted or life.world.job.status.phase in OVER
