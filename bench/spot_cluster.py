"""A job on nodes that are preempted at random, second by second: the operator is the real one, and the rest a model.

Each worker has a node of its own. A preempted node gives notice, as spot nodes do, so the workers store a checkpoint,
and no step is lost. The model knows how long a pod takes to start, how long its program takes to its first step, and
how long the cluster takes for a new node. Workers share each step, so fewer of them train more slowly.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from qtj.local.store import Change, ClusterStore, MemoryClient
from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_PROBE
from qtj_operator.controller.client import Resource
from qtj_operator.controller.progress import NoProgress
from qtj_operator.controller.reconcile import Reconciler
from tools.pod_status import NAMESPACE, NO_ROOM, Pod, end, start

_KEY = (NAMESPACE, "spot")
_WORKERS = 4
_SECOND = timedelta(seconds=1)
_RESYNC = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Times:
    """Assumed durations, in seconds.

    Attributes:
        pod: From a free place until the program starts.
        program: From the start of all programs to their first step.
        checkpoint: From SIGTERM to the end of the program.
        node: From a preemption to the next free node.
    """

    pod: float = 10
    program: float = 15
    checkpoint: float = 2
    node: float = 180


@dataclass(slots=True)
class Course:
    """What became of a job.

    Attributes:
        work: Seconds of training, each counted by the share of all workers that trained.
        seconds: How long it was watched.
        preemptions: How many nodes were preempted.
        gaps: From each preemption of a gang that trained to its next step, in seconds.
    """

    work: float = 0.0
    seconds: int = 0
    preemptions: int = 0
    gaps: list[float] = field(default_factory=list)

    @property
    def goodput(self) -> float:
        """The share of the work that all workers would have done without preemptions."""
        return self.work / self.seconds


class Cluster:
    """Nodes, a job on them, and its operator.

    Args:
        elastic: Whether training may go on with fewer workers.
        every: Seconds from one preemption of a node to the next, on average; None for none.
        times: Durations.
        seed: Of the preemptions.
    """

    def __init__(self, *, elastic: bool, every: float | None, times: Times, seed: int) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)
        self.course = Course()
        self._times, self._every, self._random = times, every, random.Random(seed)
        self._store = ClusterStore(lambda: self.now, self._changed)
        self._reconciler = Reconciler(MemoryClient(self._store), NoProgress(), lambda: self.now)
        self._due, self._is_new = self.now, True
        self._places_back: list[datetime] = []
        self._ready: dict[str, datetime] = {}
        self._ends: dict[str, datetime] = {}
        self._known: tuple[int, list[Pod]] = (-1, [])
        self._sized = -1
        self._size, self._attempt = 0, ""
        self._trains_from: datetime | None = None
        self._lost: datetime | None = None
        self._store.create(Resource.QUANTUM_TRAINING_JOBS, _job(elastic=elastic))
        self._next = self._drawn()

    async def run(self, duration: timedelta) -> Course:
        """Goes on for some time, and returns what became of the job."""
        over = self.now + duration
        while self.now < over:
            self.now += _SECOND
            self._preempt()
            self._care()
            await self._operate()
            self._account()
        return self.course

    def _changed(self, change: Change) -> None:
        del change
        self._is_new = True

    async def _operate(self) -> None:
        while self._is_new or self.now >= self._due:
            self._is_new = False
            delay = await self._reconciler.reconcile(_KEY)
            self._due = self.now + (_RESYNC if delay is None else delay)

    def _drawn(self) -> datetime | None:
        if self._every is None:
            return None
        return self.now + timedelta(seconds=self._random.expovariate(1 / self._every))

    def _preempt(self) -> None:
        """Takes the node of a worker away, if it is time: a free node that is taken away hurts nobody."""
        if self._next is None or self.now < self._next:
            return
        self._next = self._drawn()
        running = [pod for pod in self._pods() if _is_on_node(pod)]
        if not running:
            return
        self.course.preemptions += 1
        self._places_back.append(self.now + timedelta(seconds=self._times.node))
        if self._trains_from is not None and self.now >= self._trains_from:
            self._lost = self.now
        name = self._random.choice(running)["metadata"]["name"]
        told = {"type": "DisruptionTarget", "status": "True"}
        self._store.update(
            Resource.PODS, NAMESPACE, name, lambda pod: pod["status"].setdefault("conditions", []).append(told)
        )
        self._store.delete(Resource.PODS, NAMESPACE, name)

    def _care(self) -> None:
        """Does what kubelets and the scheduler do."""
        for pod in self._pods():
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            if "deletionTimestamp" in pod["metadata"]:
                self._stop(name, uid, is_placed="nodeName" in pod["spec"])
            elif pod["status"].get("phase", "Pending") == "Pending":
                self._start(name, uid, pod)

    def _stop(self, name: str, uid: str, *, is_placed: bool) -> None:
        due = self._ends.setdefault(uid, self.now + timedelta(seconds=self._times.checkpoint if is_placed else 0))
        if self.now >= due:
            self._store.remove(Resource.PODS, NAMESPACE, name)

    def _start(self, name: str, uid: str, pod: Pod) -> None:
        if uid not in self._ready:
            if self._free() <= 0:
                if not pod["status"].get("conditions"):
                    no_room = _no_room(self.now)
                    self._store.update(Resource.PODS, NAMESPACE, name, lambda obj: obj["status"].update(no_room))
                return
            self._ready[uid] = self.now + timedelta(seconds=self._times.pod)
        if self.now >= self._ready[uid]:
            start(self._store, name, at=self.now)
            if LABEL_PROBE in pod["metadata"]["labels"]:
                end(self._store, name, 0, None)

    def _free(self) -> int:
        self._places_back = [each for each in self._places_back if each > self.now]
        left = (pod for pod in self._pods() if pod["status"]["phase"] != "Succeeded")
        return _WORKERS - len(self._places_back) - sum(pod["metadata"]["uid"] in self._ready for pod in left)

    def _account(self) -> None:
        self.course.seconds += 1
        self._look()
        size, runs = self._size, sum(_trains(pod, self._attempt) for pod in self._pods())
        if not size or runs < size:
            self._trains_from = None
            return
        self._trains_from = self._trains_from or self.now + timedelta(seconds=self._times.program)
        if self.now >= self._trains_from:
            self.course.work += size / _WORKERS
            if self._lost is not None:
                self.course.gaps.append((self.now - self._lost).total_seconds())
                self._lost = None

    def _look(self) -> None:
        """Notes how many workers the present attempt has."""
        if self._sized == self._store.version:
            return
        self._sized = self._store.version
        status = self._store.find(Resource.QUANTUM_TRAINING_JOBS, *_KEY).get("status") or {}
        self._size = ((status.get("replicas") or {}).get("Worker") or {}).get("desired", 0)
        self._attempt = str(status.get("attempt"))

    def _pods(self) -> list[Pod]:
        """Returns the pods: most seconds change none, and the store copies what it gives."""
        if self._known[0] != self._store.version:
            self._known = self._store.version, list(self._store.select(Resource.PODS, NAMESPACE, {}))
        return self._known[1]


def _is_on_node(pod: Pod) -> bool:
    """Whether a pod of a worker runs, or starts, on a node."""
    meta = pod["metadata"]
    return "nodeName" in pod["spec"] and LABEL_PROBE not in meta["labels"] and "deletionTimestamp" not in meta


def _trains(pod: Pod, attempt: str) -> bool:
    labels = pod["metadata"]["labels"]
    is_of_gang = labels[LABEL_ATTEMPT] == attempt and LABEL_PROBE not in labels
    return is_of_gang and pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]


def _no_room(now: datetime) -> Mapping[str, Any]:
    [condition] = NO_ROOM["conditions"]
    return {"conditions": [{**condition, "lastTransitionTime": now.isoformat()}]}


def _job(*, elastic: bool) -> dict[str, Any]:
    policy: dict[str, Any] = {"elastic": {"minReplicas": 1}} if elastic else {}
    container = {"name": "trainer", "image": "trainer", "command": ["train"]}
    return {
        "apiVersion": "quantumtraining.dev/v1beta1",
        "kind": "QuantumTrainingJob",
        "metadata": {"namespace": NAMESPACE, "name": _KEY[1]},
        "spec": {
            "artifacts": {"uri": "gs://bucket/spot"},
            "replicaSpecs": {"Worker": {"replicas": _WORKERS}},
            "runPolicy": policy,
            "template": {"spec": {"containers": [container]}},
        },
    }


async def simulated(*, elastic: bool, every: float | None, hours: float, times: Times, seed: int) -> Course:
    """Returns what becomes of a job in some hours; see `Cluster`."""
    return await Cluster(elastic=elastic, every=every, times=times, seed=seed).run(timedelta(hours=hours))
