"""What nodes, Kueue and other controllers do in a random life."""

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.faults.actors import STOPS
from tests.faults.kueue import PLENTY
from tests.faults.lives_drawn import WAITING, which, works
from tests.faults.lives_steps import JOBS, PODS, Steps, there_are
from tests.faults.world_nodes import ENDINGS, NODES


class NodeSteps(Steps):
    """Pods start, wait and end; nodes fall silent; the queue takes what it has given."""

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
    @rule(which=which, how=st.sampled_from(list(STOPS)), then=works)
    def a_kubelet_stops_a_pod(self, which: int, how: str, *, then: str) -> None:
        self.world.stop(self.world.one(PODS, which), how)
        self._go_on(then)

    @there_are(PODS)
    @rule(which=which, helper=st.booleans(), gate=st.booleans(), then=works)
    def something_beside_a_program_changes(self, which: int, *, helper: bool, gate: bool, then: str) -> None:
        """A helper container is done or runs again, a readiness gate closes or opens."""
        self.world.change_beside(self.world.one(PODS, which), helper=helper, gate=gate)
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
