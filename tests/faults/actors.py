"""Kubelet and user, each doing one thing at a time; the Job controller is that of `qtj run`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qtj_operator.api.contract import EXIT_RETRY, TerminationMessage, Weights
from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_INFERENCE, LABEL_ROLE
from qtj_operator.controller.client import Resource
from qtj_operator.local.store import Store

NAMESPACE = "lab"
WEIGHTS = Weights(uri="gs://bucket/qcnn/weights/1f3c0a.h5", sha256="1f" * 32)
TRAINED = TerminationMessage(weights=WEIGHTS, metrics={"mse": 0.2})
INFERRED = TerminationMessage(metrics={"mse": 0.25, "signAccuracy": 0.95})

Pod = dict[str, Any]


@dataclass(frozen=True)
class Script:
    """How the programs of a scenario behave.

    Attributes:
        ends: Exit code by pod and its number under that name, for example {"qcnn-worker-1#1": 137} for the first;
            0 for what is not named.
        endless: Pods that run until they are deleted or lose a peer: all under a name, or one, as in
            "qcnn-worker-0#1".
        inference: Exit code of inference by the arguments it is called with; 0 for what is not named.
        dead_node: Whether the node of worker 1 is silent: it confirms no deletion.
        sidecar: Whether a sidecar runs on in each pod whose program has ended.
    """

    ends: Mapping[str, int] = field(default_factory=dict)
    endless: frozenset[str] = frozenset()
    inference: Mapping[str, int] = field(default_factory=dict)
    dead_node: bool = False
    sidecar: bool = False


def start(store: Store, name: str, node: str = "node-1", *, ready: bool = True) -> None:
    """The pod's node runs it."""

    def running(obj: Pod) -> None:
        obj["spec"]["nodeName"] = node
        obj["status"] = {"phase": "Running", "conditions": _readiness(ready=ready)}

    store.update(Resource.PODS, NAMESPACE, name, running)


def miss(store: Store, name: str) -> None:
    """The cluster hears nothing of the pod's node."""

    def missed(obj: Pod) -> None:
        for condition in obj["status"].get("conditions", ()):
            if condition["type"] == "Ready":
                condition["status"] = "False"

    store.update(Resource.PODS, NAMESPACE, name, missed)


def _readiness(*, ready: bool) -> list[dict[str, str]]:
    return [{"type": kind, "status": str(ready)} for kind in ("ContainersReady", "Ready")]


def end(
    store: Store,
    name: str,
    code: int,
    said: TerminationMessage | None,
    reason: str | None = None,
    *,
    sidecar: bool = False,
    settled: bool = True,
) -> None:
    """The pod's program ends, and the pod with it unless a sidecar runs on, or its phase is not `settled` yet."""
    word = reason or ("Error" if code else "Completed")
    terminated = {"exitCode": code, "reason": word, "message": said.to_json() if said else ""}

    def ended(obj: Pod) -> None:
        others = [known for known in obj["status"].get("conditions", ()) if not known["type"].endswith("Ready")]
        obj["status"] |= {
            "phase": "Running" if sidecar or not settled else "Failed" if code else "Succeeded",
            "conditions": [*_readiness(ready=False), *others],
            "containerStatuses": [
                {"name": "trainer", "state": {"terminated": terminated}},
                *([{"name": "proxy", "state": {"running": {}}}] if sidecar else ()),
            ],
        }

    store.update(Resource.PODS, NAMESPACE, name, ended)


class Kubelet:
    """Starts pods, ends them as the script says, and confirms deletions.

    A real one tells of a container's end a moment before the pod's phase, as here.
    """

    def __init__(self, store: Store, script: Script) -> None:
        self._store = store
        self._script = script
        self._started: dict[str, list[str]] = {}

    def step(self) -> bool:
        """Does the next thing; returns whether there was one."""
        pods = list(self._store.select(Resource.PODS, NAMESPACE, {}))
        return any(self._care(pod, pods) for pod in pods)

    def _care(self, pod: Pod, pods: list[Pod]) -> bool:
        name, phase = pod["metadata"]["name"], pod["status"]["phase"]
        if phase in {"Succeeded", "Failed"}:
            return False
        if "deletionTimestamp" in pod["metadata"]:
            return self._confirm(name)
        if phase == "Pending":
            return self._start(pod)
        if "containerStatuses" in pod["status"]:
            return not self._script.sidecar and self._settle(name)
        code = self._end(pod, pods)
        return code is not None and self._stop(pod, code)

    def _confirm(self, name: str) -> bool:
        if self._script.dead_node and name == "qcnn-worker-1":
            return False
        self._store.remove(Resource.PODS, NAMESPACE, name)
        return True

    def _settle(self, name: str) -> bool:
        """The pod's phase follows its containers."""

        def settled(obj: Pod) -> None:
            obj["status"]["phase"] = "Failed" if _ended_badly(obj) else "Succeeded"

        self._store.update(Resource.PODS, NAMESPACE, name, settled)
        return True

    def _start(self, pod: Pod) -> bool:
        meta = pod["metadata"]
        self._started.setdefault(meta["name"], []).append(meta["uid"])
        start(self._store, meta["name"])
        return True

    def _end(self, pod: Pod, pods: list[Pod]) -> int | None:
        """Returns the exit code of a program that ends now, or None while it goes on."""
        meta = pod["metadata"]
        if LABEL_INFERENCE in meta["labels"]:
            return self._script.inference.get(" ".join(pod["spec"]["containers"][0]["args"]), 0)
        if meta["labels"][LABEL_ROLE] in {"ps", "evaluator"}:
            return None
        peers = [
            peer for peer in pods if peer["metadata"]["labels"].get(LABEL_ATTEMPT) == meta["labels"][LABEL_ATTEMPT]
        ]
        if any(peer["status"]["phase"] == "Pending" for peer in peers):
            return None  # a gang begins together
        started = self._started.get(meta["name"], ())
        run = f"{meta['name']}#{started.index(meta['uid']) + 1 if meta['uid'] in started else 0}"
        if run in self._script.ends:
            return self._script.ends[run]
        lost = any(_ended_badly(peer) for peer in peers)
        if lost and "ps" not in {peer["metadata"]["labels"][LABEL_ROLE] for peer in peers}:
            return EXIT_RETRY
        return None if {meta["name"], run} & self._script.endless else 0

    def _stop(self, pod: Pod, code: int) -> bool:
        inferring = LABEL_INFERENCE in pod["metadata"]["labels"]
        said = (INFERRED if inferring else TRAINED) if code == 0 else TerminationMessage(error="it broke")
        end(self._store, pod["metadata"]["name"], code, said, sidecar=self._script.sidecar, settled=False)
        return True


def _ended_badly(pod: Pod) -> bool:
    ends = (each["state"].get("terminated", {}) for each in pod["status"].get("containerStatuses", ()))
    return any(end.get("exitCode") for end in ends)


@dataclass
class Deed:
    """Something that a user does once, when the job looks a certain way."""

    when: Callable[[dict[str, Any]], bool]
    what: Callable[[Store], None]
    done: bool = False


class User:
    """Does deeds in order, each when its time has come."""

    def __init__(self, store: Store, deeds: list[Deed]) -> None:
        self._store = store
        self._deeds = deeds

    def step(self) -> bool:
        """Does the next deed if it is time; returns whether it was."""
        deed = next((deed for deed in self._deeds if not deed.done), None)
        job = next(self._store.select(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, {}), None)
        if deed is None or job is None or not deed.when(job):
            return False
        deed.done = True
        deed.what(self._store)
        return True
