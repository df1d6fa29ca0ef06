"""An operator's controller of studies on a cluster in memory, one pass at a time, whose jobs the test ends."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import TrialStatus
from qtj_operator.controller.cache import Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.family import STUDIES
from qtj_operator.controller.reconcile_study import StudyReconciler
from qtj_operator.controller.trial_objects import is_same_trial
from qtj_operator.controller.watch_handler import WatchHandler
from qtj_operator.core.study.points import Point
from tests.controller.lab import ENOUGH, Settling
from tests.controller.memory import Cluster, RecordingClient
from tests.jobs import a_template

__all__ = ["ENDED", "JOBS", "QTS", "TEMPLATE", "StudyLab", "mse_of", "study_object"]

QTS = Resource.QUANTUM_TRAINING_STUDIES
JOBS = Resource.QUANTUM_TRAINING_JOBS
KEY = ("lab", "rates")
ENDED = "2030-01-01T12:00:00Z"

TEMPLATE = {
    "artifacts": {"uri": "gs://lab-bucket/rates"},
    "replicaSpecs": {"Worker": {}},
    "template": a_template(),
}


def study_object(*, name: str = "rates", namespace: str = "lab", **spec: Any) -> dict[str, Any]:
    """Two learning rates with two seeds, as a user applies them; `spec` replaces whole fields."""
    fields = {
        "jobTemplate": TEMPLATE,
        "parameters": [{"name": "learning-rate", "values": [0.01, 0.1]}],
        "seeds": {"count": 2},
        "objective": {"metric": "mse"},
        **spec,
    }
    return {
        "apiVersion": "quantumtraining.dev/v1alpha1",
        "kind": "QuantumTrainingStudy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": fields,
    }


class StudyLab(Settling):
    """One namespace with a study, and an operator that reads what its watches have delivered before each pass."""

    def __init__(self) -> None:
        self.cluster = Cluster(lambda: self.now)
        self.client = RecordingClient(self.cluster)
        self.hints: list[tuple[str, str]] = []
        self.stalled: set[Resource] = set()
        self.asked: list[int] = []
        self.starts_again()

    def starts_again(self) -> None:
        """The operator begins with an empty memory, as after a crash."""
        self.cache = Cache(STUDIES)
        self.handler = WatchHandler(self.cache, self.hints.append, is_same_trial)
        cached = CachedClient(self.client, self.cache, self.hints.append)
        self.reconciler = StudyReconciler(
            cached, lambda: self.now, is_current=self.cache.is_current, suggest=self.suggest
        )
        store = self.cluster.store
        for resource in STUDIES.cached:
            objects = [STUDIES.trim(resource, each) for each in store.select(resource, None, {})]
            self.handler.listed(resource, objects, str(store.version))
        self._heard = store.version

    async def suggest(self, spec: StudySpec, trials: Sequence[TrialStatus], count: int) -> Sequence[Point]:
        """Stands for a sampler: the learning rates 0.01, 0.02 and so on, by what is known."""
        self.asked.append(count)
        known = len({each.parameters["learning-rate"] for each in trials})
        return [(("learning-rate", (known + number) / 100),) for number in range(1, count + 1)]

    def hear(self) -> None:
        for change in self.cluster.store.changes(self._heard):
            if change.resource in STUDIES.cached and change.resource not in self.stalled:
                self.handler.changed(change.resource, change.type, change.object)
        self._heard = self.cluster.store.version

    async def applies(self, **spec: Any) -> None:
        await self.cluster.create(QTS, study_object(**spec))

    def edits(self, **fields: Any) -> None:
        """The user changes fields of the study's spec."""
        self.cluster.edit(QTS, *KEY, spec={**self.study()["spec"], **fields})

    async def passes(self) -> timedelta | None:
        self.hear()
        return await self.reconciler.reconcile(KEY)

    def ends(self, name: str, mse: float | None = None, *, why: str = "no memory") -> None:
        """The job of a trial is complete with an mse, or has failed."""
        if mse is None:
            failed = {"type": "Failed", "status": "True", "reason": "ReplicaFailed", "message": why}
            status: dict[str, Any] = {"phase": "Failed", "conditions": [failed]}
        else:
            status = {"phase": "Complete", "metrics": {"mse": mse}, "progress": {"epoch": 5, "loss": mse / 2}}
        self.cluster.edit(JOBS, "lab", name, status={**status, "completionTime": ENDED})

    def study(self) -> Object:
        return self.cluster.store.find(QTS, *KEY)

    def status(self) -> dict[str, Any]:
        return dict(self.study().get("status") or {})

    def condition(self, kind: str) -> dict[str, Any]:
        return next(each for each in self.status()["conditions"] if each["type"] == kind)

    @property
    def jobs(self) -> tuple[str, ...]:
        return self.cluster.names(JOBS)

    @property
    def created(self) -> list[str]:
        """The names of all jobs that the operator has asked for, in order."""
        return [call.split()[-1] for call in self.client.calls if call.startswith("create quantumtrainingjobs")]

    async def finishes(self) -> dict[str, Any]:
        """Every job ends as soon as it is there, with an mse that follows from its arguments, until the study ends."""
        for _ in range(ENOUGH):
            await self.settles()
            running = [name for name in self.jobs if not self.cluster.store.find(JOBS, "lab", name).get("status")]
            if not running:
                return self.status()
            for name in running:
                self.ends(name, mse_of(self.cluster.store.find(JOBS, "lab", name)))
        raise AssertionError(f"not finished: {self.status()}")


def mse_of(job: Object) -> float:
    """What a training with these arguments measures: no chance is in it."""
    (container,) = job["spec"]["template"]["spec"]["containers"]
    given = dict(each.split("=") for each in container["args"])
    return round(float(given["--learning-rate"]) * 2 + float(given["--seed"]) / 100, 6)
