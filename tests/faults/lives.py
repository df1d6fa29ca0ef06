"""Random lives: users, nodes, time and the operator do anything in any order, and the invariants hold.

Hypothesis draws the steps, and prints the shortest list of them that breaks something; each is a method of `AnyLife`.
"""

import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_JOB, inference_name, replica_name
from qtj_operator.controller.client import Resource
from tests.faults.actors import NAMESPACE
from tests.faults.admission import Denial
from tests.faults.client import Fault, Plan
from tests.faults.history import History
from tests.faults.kueue import PLENTY
from tests.faults.scenarios import Scenario
from tests.faults.simulation import LONG
from tests.faults.world import ENDINGS, KEY, NODES, World

STEPS = 50
MEMORY = 900
"""Changes after which the cluster's past is no longer at hand."""

JOBS, PODS, SERVICES = Resource.JOBS, Resource.PODS, Resource.SERVICES
SHAPES: dict[str, dict[str, Any]] = {
    "one worker": {"replicaSpecs": {"Worker": {}}},
    "two workers": {"replicaSpecs": {"Worker": {"replicas": 2}}},
    "evaluator": {"replicaSpecs": {"Chief": {}, "Worker": {"replicas": 2}, "Evaluator": {}}},
    "mirrored": {"strategy": "Mirrored", "replicaSpecs": {"Worker": {}}},
    "no strategy": {"strategy": "None", "replicaSpecs": {"Worker": {"replicas": 2}, "PS": {}}},
    "parameter server": {
        "strategy": "ParameterServer",
        "replicaSpecs": {"Chief": {}, "PS": {}, "Worker": {"replicas": 2}, "Evaluator": {}},
    },
    "many workers": {
        "strategy": "ParameterServer",
        "replicaSpecs": {"Chief": {}, "PS": {}, "Worker": {"replicas": 12}},
    },
}
WAITING: dict[str, dict[str, Any]] = {
    "no node": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]},
    "no image": {
        "containerStatuses": [
            {"name": "trainer", "image": "trainer:1", "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}}
        ]
    },
}

shapes = st.sampled_from(["two workers", "two workers", "parameter server", *SHAPES])
policies = st.sampled_from(
    [
        {},
        {"backoffLimit": 0},
        {"backoffLimit": 9, "cleanPodPolicy": "All"},
        {"backoffLimit": 1, "activeDeadlineSeconds": 60, "cleanPodPolicy": "None"},
        {"backoffLimit": 9, "pendingDeadlineSeconds": 20, "successPolicy": "AllWorkers"},
        {"backoffLimit": 9, "activeDeadlineSeconds": 900, "pendingDeadlineSeconds": 300, "ttlSecondsAfterFinished": 0},
        {"ttlSecondsAfterFinished": 100, "successPolicy": "AllWorkers"},
    ]
)
queues = st.sampled_from([{}, {}, {"schedulingPolicy": {"queueName": "team"}}])
clocks = st.sampled_from([0, 0, 0, 90, -90])
"""By how many seconds the operator's clock is ahead."""

node_clocks = st.sampled_from([0, 0, 7200, -7200])
inferences = st.sampled_from([None, {}, {"args": ["infer", "--again"]}])
which = st.integers(0, 14)
works = st.sampled_from([*["everybody"] * 3, "the operator", "nobody"])
"""Who gets round to its work after a step; after everybody, what would happen anyway has happened."""

there_is_a_job = precondition(lambda life: life.world.job is not None)


def there_are(resource: Resource) -> Callable[[Any], Any]:
    """The step can be taken when there are objects of this kind."""
    return precondition(lambda life: bool(life.world.every(resource)))


class AnyLife(RuleBasedStateMachine):
    """A cluster in which anything may happen to one job at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.store = self.world.store
        self.operator = self.world.operator
        self.queue: dict[str, Any] = {}

    # What users do

    @initialize(
        shape=shapes,
        policy=policies,
        inference=inferences,
        queue=queues,
        mesh=st.sampled_from([False, False, False, True]),
        clock=clocks,
        nodes=st.tuples(node_clocks, node_clocks),
    )
    def first_applies(
        self,
        shape: str,
        policy: dict[str, Any],
        inference: dict[str, Any] | None,
        queue: dict[str, Any],
        *,
        mesh: bool,
        clock: int,
        nodes: tuple[int, int],
    ) -> None:
        """In a cluster of its own kind."""
        self.world.mesh = mesh
        self.operator.ahead = timedelta(seconds=clock)
        self.world.node_clocks = {name: timedelta(seconds=ahead) for name, ahead in zip(NODES, nodes, strict=True)}
        self.applies(shape, policy, inference, queue, suspend=False, then="everybody")

    @precondition(lambda life: life.world.job is None)
    @rule(shape=shapes, policy=policies, inference=inferences, queue=queues, suspend=st.booleans(), then=works)
    def applies(
        self,
        shape: str,
        policy: dict[str, Any],
        inference: dict[str, Any] | None,
        queue: dict[str, Any],
        *,
        suspend: bool,
        then: str,
    ) -> None:
        self.queue = queue
        spec = {**SHAPES[shape], "runPolicy": {**policy, **queue}, "inference": inference, "suspend": suspend}
        self.store.create(Resource.QUANTUM_TRAINING_JOBS, Scenario("any life", None, spec).job())
        self.world.history = History(policies=[policy])
        self._go_on(then)

    @precondition(lambda life: life.world.phase in {"Complete", "Failed"} and not life.world.goes)
    @rule(shape=shapes, policy=policies, inference=inferences, then=works)
    def applies_another(
        self, shape: str, policy: dict[str, Any], inference: dict[str, Any] | None, *, then: str
    ) -> None:
        """`kubectl replace --force`: another job at once under the same name."""
        self.store.remove(Resource.QUANTUM_TRAINING_JOBS, *KEY)
        self.applies(shape, policy, inference, self.queue, suspend=False, then=then)

    @there_is_a_job
    @rule(suspend=st.booleans(), then=works)
    def sets_suspend(self, *, suspend: bool, then: str) -> None:
        self.world.edit(suspend=suspend)
        self._go_on(then)

    @precondition(lambda life: life.world.phase == "Suspended")
    @rule(then=works)
    def resumes(self, *, then: str) -> None:
        self.sets_suspend(suspend=False, then=then)

    @there_is_a_job
    @rule(inference=inferences, then=works)
    def sets_inference(self, inference: dict[str, Any] | None, *, then: str) -> None:
        self.world.edit(inference=inference)
        self._go_on(then)

    @there_is_a_job
    @rule(policy=policies, then=works)
    def sets_policy(self, policy: dict[str, Any], *, then: str) -> None:
        self.world.edit(runPolicy={**policy, **self.queue})
        self.world.history.policies.append(policy)
        self._go_on(then)

    @there_is_a_job
    @rule(foreground=st.booleans(), then=works)
    def deletes_the_job(self, *, foreground: bool, then: str) -> None:
        self.world.delete(foreground=foreground)
        self._go_on(then)

    @there_are(PODS)
    @rule(which=which, at_once=st.booleans(), then=works)
    def deletes_a_pod(self, which: int, *, at_once: bool, then: str) -> None:
        pod = self.world.one(PODS, which)
        self.world.take(pod)
        if at_once and any(each["metadata"]["name"] == pod["metadata"]["name"] for each in self.world.every(PODS)):
            self.store.remove(PODS, NAMESPACE, pod["metadata"]["name"])
        self._go_on(then)

    @there_are(PODS)
    @rule(which=which, how=st.sampled_from(["done", "done in silence"]), then=works)
    def a_finished_pod_vanishes(self, which: int, how: str, *, then: str) -> None:
        """PodGC, a drain or a scale-down takes what has ended."""
        pod = self.world.one(PODS, which)
        self.world.end(pod, how)
        self._go_on(then)
        left = [each for each in self.world.every(PODS) if each["metadata"]["uid"] == pod["metadata"]["uid"]]
        if left and left[0]["status"]["phase"] == "Succeeded":
            self.world.take(left[0])
        self._go_on(then)

    @there_are(JOBS)
    @rule(then=works)
    def deletes_the_inference_job(self, *, then: str) -> None:
        self.store.delete(JOBS, NAMESPACE, self.world.one(JOBS, 0)["metadata"]["name"])
        self._go_on(then)

    @there_are(SERVICES)
    @rule(which=which, edit=st.booleans(), then=works)
    def spoils_a_service(self, which: int, *, edit: bool, then: str) -> None:
        address = (SERVICES, NAMESPACE, self.world.one(SERVICES, which)["metadata"]["name"])
        if edit:
            self.store.update(*address, lambda service: service["spec"].update(ports=[]))
        else:
            self.store.delete(*address)
        self._go_on(then)

    @there_is_a_job
    @rule(resource=st.sampled_from([PODS, SERVICES, JOBS]), which=which, labelled=st.booleans(), then=works)
    def takes_a_name(self, resource: Resource, which: int, *, labelled: bool, then: str) -> None:
        """Somebody else has an object under the name of a child, perhaps with the child's labels."""
        job = Job.parse(self.world.job or {})
        names = [replica_name(job.name, replica.role, replica.index) for replica in job.replicas()]
        name = inference_name(job.name) if resource is JOBS else names[which % len(names)]
        if not any(child["metadata"]["name"] == name for child in self.store.select(resource, NAMESPACE, {})):
            meta = {"name": name, "namespace": NAMESPACE, "labels": {LABEL_JOB: job.name} if labelled else {}}
            self.store.create(resource, {"metadata": meta, "spec": {"containers": [{"name": "theirs"}]}})
            if resource is JOBS:
                over = {"conditions": [{"type": "Complete", "status": "True"}]}
                self.store.update(resource, NAMESPACE, name, lambda theirs: theirs.update(status=over))
            self.world.strangers.append((resource, name))
        self._go_on(then)

    @precondition(lambda life: life.world.strangers)
    @rule(then=works)
    def frees_the_names(self, *, then: str) -> None:
        self.world.strangers_leave()
        self._go_on(then)

    # What nodes and other controllers do

    @there_are(PODS)
    @rule(which=which, node=st.sampled_from(NODES), ready=st.booleans(), then=works)
    def a_pod_starts(self, which: int, node: str, *, ready: bool, then: str) -> None:
        self.world.start(self.world.one(PODS, which), node, ready=ready)
        self._go_on(then)

    @there_are(PODS)
    @rule(which=which, why=st.sampled_from(list(WAITING)), then=works)
    def a_pod_waits(self, which: int, why: str, *, then: str) -> None:
        pod = self.world.one(PODS, which)
        if pod["status"]["phase"] == "Pending":
            self.world.status(pod, phase="Pending", **WAITING[why])
        self._go_on(then)

    @there_are(PODS)
    @rule(which=which, how=st.sampled_from(list(ENDINGS)), then=works)
    def a_pod_ends(self, which: int, how: str, *, then: str) -> None:
        self.world.end(self.world.one(PODS, which), how)
        self._go_on(then)

    @there_are(PODS)
    @rule(then=works)
    def all_pods_are_done(self, *, then: str) -> None:
        for pod in self.world.every(PODS):
            self.world.end(pod, "done")
        self._go_on(then)

    @there_are(PODS)
    @rule(which=which, preempted=st.booleans(), then=works)
    def a_pod_has_to_go(self, which: int, *, preempted: bool, then: str) -> None:
        pod = self.world.one(PODS, which)
        (self.world.preempt if preempted else self.world.evict)(pod)
        self._go_on(then)

    @there_are(PODS)
    @rule(which=which, then=works)
    def a_pod_has_to_go_and_its_peers_break(self, which: int, *, then: str) -> None:
        """As plain TensorFlow does: with 1, in the same moment."""
        pod = self.world.one(PODS, which)
        if self.world.is_needed(pod) and self.world.runs(pod):
            self.world.preempt(pod)
            self.world.lose_peers()
        self._go_on(then)

    @there_are(PODS)
    @rule(which=which)
    def pods_are_evicted_again_and_again(self, which: int) -> None:
        for _ in range(12):
            if pods := self.world.every(PODS):
                self.world.evict(pods[which % len(pods)])
            self.world.everybody_works()

    # What Kueue does

    @rule(then=works)
    def kueue_evicts(self, *, then: str) -> None:
        self.world.history.disruptions += len(self.world.every(PODS)) * self.world.kueue.evict()
        self._go_on(then)

    @precondition(lambda life: life.world.kueue.workloads)
    @rule(then=works)
    def its_workload_is_deleted(self, *, then: str) -> None:
        self.world.history.disruptions += len(self.world.every(PODS))
        self.world.kueue.delete_workloads()
        self._go_on(then)

    @rule(quota=st.sampled_from([0, PLENTY]), then=works)
    def the_queue_is_held_or_not(self, quota: int, *, then: str) -> None:
        self.world.kueue.quota = quota
        self._go_on(then)

    @precondition(lambda life: not life.world.silent)
    @rule(node=st.sampled_from(NODES))
    def a_node_falls_silent(self, node: str) -> None:
        self.world.silent.add(node)

    @precondition(lambda life: life.world.silent)
    @rule(then=works)
    def the_cluster_misses_the_node(self, *, then: str) -> None:
        self.world.miss_nodes()
        self._go_on(then)

    @precondition(lambda life: life.world.silent)
    @rule(then=works)
    def the_node_is_emptied(self, *, then: str) -> None:
        self.world.empty_nodes()
        self._go_on(then)

    @precondition(lambda life: life.world.silent)
    @rule(then=works)
    def the_node_returns(self, *, then: str) -> None:
        self.world.silent.clear()
        self._go_on(then)

    @there_are(PODS)
    @rule(then=works)
    def nodes_confirm_deletions(self, *, then: str) -> None:
        self.world.confirm_deletions()
        self._go_on(then)

    @there_are(JOBS)
    @rule(how=st.sampled_from(["done", "done", "done in silence", "final"]), then=works)
    def inference_ends(self, how: str, *, then: str) -> None:
        self.world.inference_ends(how)
        self._go_on(then)

    @rule()
    def everybody_works(self) -> None:
        self.world.everybody_works()

    # What time does

    @rule(seconds=st.sampled_from([1, 5, 16, 31, 61, 301, 3600, 86400]), seen=st.booleans())
    def time_passes(self, seconds: int, *, seen: bool) -> None:
        """With the operator at work, or down."""
        if not seen:
            self.world.now += timedelta(seconds=seconds)
            return
        self.world.run(self.world.time_passes(seconds))
        self.world.controllers_work()  # Kueue and the Job controller have let go of what they held
        overlooked = self.world.overlooked() if seconds >= LONG.total_seconds() else []
        late = [pod["metadata"]["name"] for pod in overlooked]
        assert not late, f"{late} is neither replaced nor gone after {seconds} s"

    # What the operator meets

    @rule(fault=st.sampled_from(list(Fault)), write=st.integers(0, 5), then=works)
    def a_write_fails(self, fault: Fault, write: int, *, then: str) -> None:
        """One pass, in which the write with this number meets the fault."""
        client = self.operator.client
        client.plan = Plan(client.writes + write, fault)
        self.world.run(self.world.look(KEY))
        client.plan = None
        self.operator.invariants.disturbs()
        self._go_on(then)

    @precondition(lambda life: life.store.version < MEMORY)
    @rule(changes=st.sampled_from([1, 2, 3, 5, 8, 16, 40]), then=works)
    def a_pass_reads_late(self, changes: int, *, then: str) -> None:
        self.world.run(self.world.look(KEY, changes))
        self.world.history.late += 1
        self._go_on(then)

    @rule(then=works)
    def the_operator_restarts(self, *, then: str) -> None:
        self.operator.restart()
        self._go_on(then)

    @rule(times=st.sampled_from([0, 2]), then=works)
    def the_watch_tells(self, times: int, *, then: str) -> None:
        """Nothing of what has happened, or the same more than once."""
        self.operator.pending = [KEY] * times
        self._go_on(then)

    @there_is_a_job
    @rule(denial=st.sampled_from(Denial), seconds=st.sampled_from([0, 14, 16, 61, 200]), then=works)
    def no_pod_is_admitted(self, denial: Denial, seconds: int, *, then: str) -> None:
        """For a while: a quota is raised, a policy is for one evening, a webhook comes back."""
        self.world.gatekeeper.denial = denial
        self.world.run(self.world.time_passes(seconds))
        self.world.gatekeeper.denial = None
        self._go_on(then)

    # What holds

    def teardown(self) -> None:
        """The world becomes a good one, and the job comes to rest."""
        try:
            if not self.operator.invariants.broken:
                self.world.run(self.world.come_to_rest())
        finally:
            self.world.close()

    def _go_on(self, then: str) -> None:
        if then == "everybody":
            self.world.everybody_works()
        elif then == "the operator":
            self.world.run(self.world.operator_works())


def failures(lives: int, *, other_ones: bool, machine: type[AnyLife] = AnyLife) -> Iterator[str]:
    """Plays random lives; yields for each way in which they break something the steps that lead there.

    Args:
        lives: How many.
        other_ones: Whether they differ from run to run.
        machine: What may happen in them.
    """
    chosen = settings(
        max_examples=lives,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        derandomize=not other_ones,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(machine, settings=chosen)
    except Exception as error:  # noqa: BLE001  whatever it is, it is a divergence
        for one in error.exceptions if isinstance(error, ExceptionGroup) else (error,):
            yield "".join(traceback.format_exception_only(one))
