"""What users do in a random life."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_JOB, inference_name, replica_name
from qtj_operator.controller.client import Resource
from tests.faults.history import History
from tests.faults.lives_drawn import (
    ELASTIC_SHAPES,
    SHAPES,
    clocks,
    inferences,
    node_clocks,
    policies,
    queues,
    shapes,
    which,
    works,
)
from tests.faults.lives_steps import JOBS, PODS, SERVICES, Steps, there_are, there_is_a_job
from tests.faults.scenario import Scenario
from tests.faults.world import KEY
from tests.faults.world_nodes import NODES
from tools.pod_status import NAMESPACE


class UserSteps(Steps):
    """Users create, edit and delete the job, and what belongs to it."""

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
        self.queue, self.shape = queue, shape
        policy = self._admitted(policy)
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
    @rule(role=st.sampled_from(["Worker", "Worker", "PS"]), size=st.sampled_from([1, 2, 3, 5]), then=works)
    def scales(self, role: str, size: int, *, then: str) -> None:
        """Asks for another number of replicas, where the API server takes that."""
        spec = (self.world.job or {})["spec"]
        if role in spec["replicaSpecs"] and spec.get("strategy") != "Mirrored":
            self.world.edit(replicaSpecs={**spec["replicaSpecs"], role: {"replicas": size}})
        self._go_on(then)

    @there_is_a_job
    @rule(inference=inferences, then=works)
    def sets_inference(self, inference: dict[str, Any] | None, *, then: str) -> None:
        self.world.edit(inference=inference)
        self._go_on(then)

    @there_is_a_job
    @rule(policy=policies, then=works)
    def sets_policy(self, policy: dict[str, Any], *, then: str) -> None:
        policy = self._admitted(policy)
        self.world.edit(runPolicy={**policy, **self.queue})
        self.world.history.policies.append(policy)
        self._go_on(then)

    def _admitted(self, policy: dict[str, Any]) -> dict[str, Any]:
        """Returns what the API server takes of a policy: not every job may be elastic."""
        may_be_elastic = self.shape in ELASTIC_SHAPES and not self.queue
        return policy if may_be_elastic else {name: value for name, value in policy.items() if name != "elastic"}

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
        self.world.history.inferences_lost += 1
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
