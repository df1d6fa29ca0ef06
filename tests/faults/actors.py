"""Kubelet and user, each doing one thing at a time; the Job controller is that of `qtj run`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from qtj.local.store import ClusterStore
from qtj_contract import EXIT_RETRY, TerminationMessage, Weights
from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_INDEX, LABEL_INFERENCE, LABEL_PROBE, LABEL_ROLE
from qtj_operator.controller.client import Resource
from qtj_operator.core.pod import FINISHED
from tests.faults.admission import Gatekeeper
from tests.faults.hanging import Hang
from tests.faults.kueue import Kueue
from tools.pod_status import NAMESPACE, Pod, Stop, end, ended_badly, has_ended, settle, start, stop, unplace

WEIGHTS = Weights(uri="gs://bucket/qcnn/weights/1f3c0a.h5", sha256="1f" * 32)
TRAINED = TerminationMessage(weights=WEIGHTS, metrics={"mse": 0.2})
INFERRED = TerminationMessage(metrics={"mse": 0.25, "signAccuracy": 0.95})

STOPS = {
    "shut down, 0": Stop(0, reason="Terminated", disrupted=True),
    "shut down, 143": Stop(143, reason="Terminated", disrupted=True),
    "shut down, all with 0": Stop(0, disrupted=True, phase="Succeeded"),
    "under pressure, 0": Stop(0, reason="Evicted", disrupted=True),
    "rebooted": Stop(255, word="Unknown"),
    "own deadline, 0": Stop(0, reason="DeadlineExceeded"),
    "plain, 1": Stop(1),
}


@dataclass(frozen=True)
class Script:
    """How the programs of a scenario behave.

    Attributes:
        ends: Exit code by pod and its number under that name, for example {"qcnn-worker-1#1": 137} for the first;
            0 for what is not named.
        stops: How pods are stopped, named as in `ends`.
        endless: Pods that run until they are deleted or lose a peer: all under a name, or one, as in
            "qcnn-worker-0#1".
        inference: Exit code of inference by the arguments it is called with; 0 for what is not named.
        dead: Pods that run on a node that is silent from then on: it ends nothing and confirms no deletion; named as
            those that are endless, "inference" for those of inference.
        sidecar: Whether a sidecar runs on in each pod whose program has ended.
        helper: Whether each pod has a container beside its program that is done at once.
        gate: Whether each pod has a readiness gate that nobody opens.
        node_clock: By how much the clocks of the nodes are ahead.
        hangs: Programs that take no step any more, named as in `ends`, and how; their peers wait for them.
    """

    ends: Mapping[str, int] = field(default_factory=dict)
    stops: Mapping[str, Stop] = field(default_factory=dict)
    endless: frozenset[str] = frozenset()
    inference: Mapping[str, int] = field(default_factory=dict)
    dead: frozenset[str] = frozenset()
    sidecar: bool = False
    helper: bool = False
    gate: bool = False
    node_clock: timedelta = timedelta(0)
    hangs: Mapping[str, Hang] = field(default_factory=dict)


@dataclass
class Places:
    """How many pods the nodes have room for; None for all."""

    number: int | None = None

    def has_room(self, pods: list[Pod]) -> bool:
        """Tells whether one more of these pods fits."""
        taken = sum("nodeName" in pod["spec"] and pod["status"]["phase"] not in FINISHED for pod in pods)
        return self.number is None or taken < self.number


class Kubelet:
    """Starts pods, ends them as the script says, and confirms deletions.

    A real one tells of a container's end a moment before the pod's phase, as here.

    Attributes:
        released: Programs that were endless, and are no more.
        places: What the scheduler gives to pods.
    """

    def __init__(self, store: ClusterStore, script: Script, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._script = script
        self._clock = clock
        self._started: dict[str, list[str]] = {}
        self.released: set[str] = set()
        self.places = Places()

    def step(self) -> bool:
        """Does the next thing; returns whether there was one."""
        pods = list(self._store.select(Resource.PODS, NAMESPACE, {}))
        return any(self._care(pod, pods) for pod in pods)

    def _care(self, pod: Pod, pods: list[Pod]) -> bool:
        name, phase = pod["metadata"]["name"], pod["status"]["phase"]
        if phase in FINISHED:
            return False
        if self._is_dead(pod):
            return False
        if "deletionTimestamp" in pod["metadata"]:
            return "nodeName" in pod["spec"] and stop(self._store, pod)
        if phase == "Pending":
            return not pod["spec"].get("schedulingGates") and self._schedule(pod, pods)
        if has_ended(pod):
            if not self._script.sidecar:
                settle(self._store, name, self._script.stops.get(self._run(pod)))
            return not self._script.sidecar
        code = self._end(pod, pods)
        return code is not None and self._stop(pod, code)

    def _is_dead(self, pod: Pod) -> bool:
        return "nodeName" in pod["spec"] and bool(self._script.dead & {self._called(pod), self._run(pod)})

    def _called(self, pod: Pod) -> str:
        return "inference" if LABEL_INFERENCE in pod["metadata"]["labels"] else str(pod["metadata"]["name"])

    def _run(self, pod: Pod) -> str:
        started, uid = self._started.get(self._called(pod), ()), pod["metadata"]["uid"]
        return f"{self._called(pod)}#{started.index(uid) + 1 if uid in started else 0}"

    def _schedule(self, pod: Pod, pods: list[Pod]) -> bool:
        return self._start(pod) if self.places.has_room(pods) else unplace(self._store, pod)

    def _start(self, pod: Pod) -> bool:
        meta = pod["metadata"]
        self._started.setdefault(self._called(pod), []).append(meta["uid"])
        node = f"node-{meta['labels'].get(LABEL_INDEX, 1)}"
        start(self._store, meta["name"], node, helper=self._script.helper, gate=self._script.gate, at=self._clock())
        return True

    def _end(self, pod: Pod, pods: list[Pod]) -> int | None:
        """Returns the exit code of a program that ends now, or None while it goes on."""
        labels = pod["metadata"]["labels"]
        if LABEL_INFERENCE in labels:
            args = " ".join(pod["spec"]["containers"][0].get("args") or ()) or "infer"
            return None if self._run(pod) in self._script.endless else self._script.inference.get(args, 0)
        if LABEL_PROBE in labels:
            return 0
        return None if labels[LABEL_ROLE] in {"ps", "evaluator"} else self._end_of_training(pod, pods)

    def _end_of_training(self, pod: Pod, pods: list[Pod]) -> int | None:
        meta, run = pod["metadata"], self._run(pod)
        peers = [peer for peer in pods if _is_peer(peer, meta["labels"][LABEL_ATTEMPT])]
        if any(peer["status"]["phase"] == "Pending" for peer in peers):
            return None  # a gang begins together
        ends = {run: stopped.code for run, stopped in self._script.stops.items()} | dict(self._script.ends)
        if run in ends:
            return ends[run]
        lost = any(ended_badly(peer) for peer in peers)
        if lost and "ps" not in {peer["metadata"]["labels"][LABEL_ROLE] for peer in peers}:
            return EXIT_RETRY
        return None if {meta["name"], run} & self._script.endless - self.released else 0

    def _stop(self, pod: Pod, code: int) -> bool:
        labels = pod["metadata"]["labels"]
        stopped = self._script.stops.get(self._run(pod))
        result = INFERRED if LABEL_INFERENCE in labels else TRAINED
        said = result if code == 0 else TerminationMessage(error="it broke")
        at = self._clock() + self._script.node_clock
        end(
            self._store,
            pod["metadata"]["name"],
            code,
            None if stopped or LABEL_PROBE in labels else said,
            stopped.word if stopped else None,
            at=at,
            sidecar=self._script.sidecar,
            settled=False,
        )
        return True


def _is_peer(pod: Pod, attempt: str) -> bool:
    """Whether the pod is of the gang of that attempt: nobody waits for an evaluator or a probe, or misses one."""
    labels: dict[str, str] = pod["metadata"]["labels"]
    return labels.get(LABEL_ATTEMPT) == attempt and labels[LABEL_ROLE] != "evaluator" and LABEL_PROBE not in labels


class Cluster(Protocol):
    """What a user can reach."""

    store: ClusterStore
    now: datetime
    kueue: Kueue
    gatekeeper: Gatekeeper
    released: set[str]
    places: Places


@dataclass
class Deed:
    """Something that a user, or an administrator, does once, when the job looks a certain way.

    Attributes:
        what: Does it; returns False where the cluster is not ready for it yet.
        after: How long after the deed before it, at least.
    """

    when: Callable[[dict[str, Any]], bool]
    what: Callable[[Cluster], bool | None]
    after: timedelta = timedelta(0)
    done: bool = False


class User:
    """Does deeds in order, each when its time has come."""

    def __init__(self, cluster: Cluster, deeds: list[Deed]) -> None:
        self._cluster = cluster
        self._deeds = deeds
        self._last = cluster.now

    def step(self) -> bool:
        """Does the next deed if it is time; returns whether it was."""
        deed = next((deed for deed in self._deeds if not deed.done), None)
        job = next(self._cluster.store.select(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, {}), None)
        if deed is None or job is None or self._cluster.now < self._last + deed.after or not deed.when(job):
            return False
        if deed.what(self._cluster) is False:
            return False
        deed.done, self._last = True, self._cluster.now
        return True

    def next_due(self) -> datetime | None:
        """Returns when the next deed may be done, if that is later than now."""
        deed = next((deed for deed in self._deeds if not deed.done), None)
        due = None if deed is None else self._last + deed.after
        return due if due is not None and due > self._cluster.now else None
