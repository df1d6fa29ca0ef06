"""An operator's controller on a cluster in memory, one pass at a time."""

from datetime import UTC, datetime, timedelta
from typing import Any, Self, TypeVar

from qtj_contract import Progress, TerminationMessage, Weights
from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.job_memory import Jobs
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.reconcile import Reconciler
from tests.controller.memory import Cluster, Kubelet, RecordingClient, Replicas
from tests.jobs import job_object

__all__ = ["ENOUGH", "KEY", "MEASURED", "TRAINED", "WEIGHTS", "Lab", "Settling", "complete", "restarted", "running"]

KEY = ("lab", "qcnn")
WEIGHTS = Weights(uri="gs://lab-bucket/qcnn/weights/1f3c0a.h5", sha256="1f3c0a" + "0" * 58)
TRAINED = TerminationMessage(
    weights=WEIGHTS, progress=Progress(epoch=25, epochs=25, step=1000, loss=0.2, accuracy=0.95)
)
MEASURED = TerminationMessage(metrics={"mse": 0.21, "signAccuracy": 0.94})
ENOUGH = 50
"""Passes in which a job or a study settles when nothing happens in between."""


class Settling:
    """An operator that looks at one object, one pass at a time; its clock stands still until `waits`."""

    now = datetime(2030, 1, 1, 12, tzinfo=UTC)

    async def applies(self, **spec: Any) -> None:
        """The user creates the object."""
        raise NotImplementedError

    async def passes(self) -> timedelta | None:
        """The operator looks once."""
        raise NotImplementedError

    @classmethod
    async def applied(cls, **spec: Any) -> Self:
        """A lab in which the user has created the object."""
        lab = cls()
        await lab.applies(**spec)
        return lab

    @classmethod
    async def settled(cls, **spec: Any) -> Self:
        """One in which the operator has nothing more to do about it, too."""
        lab = await cls.applied(**spec)
        await lab.settles()
        return lab

    async def settles(self) -> timedelta | None:
        """The operator looks until there is nothing more to do; returns after what time it wants to look again."""
        for _ in range(ENOUGH):
            delay = await self.passes()
            if delay != timedelta(0):
                return delay
        raise AssertionError(f"not settled after {ENOUGH} passes")

    async def settles_after(self, **delta: float) -> timedelta | None:
        """Time passes, and then it looks."""
        self.waits(**delta)
        return await self.settles()

    def waits(self, **delta: float) -> None:
        self.now += timedelta(**delta)


L = TypeVar("L", bound="Lab")


class Lab(Settling):
    """One namespace with a job, a kubelet and an operator."""

    def __init__(self) -> None:
        self.cluster = Cluster(lambda: self.now)
        self.client = RecordingClient(self.cluster)
        self.kubelet = Kubelet(self.cluster)
        self.progress = Replicas()
        self.jobs = Jobs()
        self.metrics = Metrics(jobs=self.jobs, clock=lambda: self.now)
        self.reconciler = Reconciler(self.client, self.progress, lambda: self.now, self.jobs, self.metrics)

    async def applies(self, **spec: Any) -> None:
        """The user creates the job."""
        await self.cluster.create(Resource.QUANTUM_TRAINING_JOBS, job_object(**spec))

    async def edits(self, **fields: Any) -> None:
        """The user changes fields of the job's spec."""
        spec = {**(await self.job())["spec"], **fields}
        self.cluster.edit(Resource.QUANTUM_TRAINING_JOBS, *KEY, spec=spec)

    async def relabels(self, **labels: str) -> Object:
        """The user gives the template other labels; returns the template before."""
        template: Object = (await self.job())["spec"]["template"]
        await self.edits(template={**template, "metadata": {"labels": labels}})
        return template

    async def passes(self) -> timedelta | None:
        """The operator looks once."""
        return await self.reconciler.reconcile(KEY)

    async def starts(self, *pods: str) -> None:
        """Pods start, all without names, and the operator settles; likewise below."""
        self.kubelet.starts(*pods)
        await self.settles()

    async def ends(self, pod: str, exit_code: int, message: TerminationMessage | None = None) -> None:
        self.kubelet.ends(pod, exit_code, message)
        await self.settles()

    async def reaps(self) -> None:
        self.kubelet.reaps()
        await self.settles()

    async def trains(self) -> None:
        """Both workers of the job end, the leader with its weights."""
        self.kubelet.ends("qcnn-worker-1", 0)
        await self.ends("qcnn-worker-0", 0, TRAINED)

    async def job(self) -> Object:
        found = await self.cluster.get(Resource.QUANTUM_TRAINING_JOBS, *KEY)
        assert found is not None
        return found

    async def status(self) -> dict[str, Any]:
        return dict((await self.job()).get("status") or {})

    async def phase(self) -> str | None:
        return (await self.status()).get("phase")

    async def condition(self, kind: str) -> dict[str, Any]:
        conditions: list[dict[str, Any]] = (await self.status())["conditions"]
        return next(condition for condition in conditions if condition["type"] == kind)

    async def events(self) -> list[str]:
        """The reasons of all Events written so far, in order."""
        found = await self.cluster.list(Resource.EVENTS, "lab", {})
        return [event["reason"] for event in sorted(found, key=lambda e: int(e["metadata"]["resourceVersion"]))]

    @property
    def pods(self) -> tuple[str, ...]:
        return self.cluster.names(Resource.PODS)

    @property
    def services(self) -> tuple[str, ...]:
        return self.cluster.names(Resource.SERVICES)


async def running(lab: L, **spec: Any) -> L:
    """The job's replicas all run; returns the lab."""
    await lab.applies(**spec)
    await lab.settles()
    await lab.starts()
    return lab


async def restarted(lab: Lab) -> None:
    """What is left of the gang has gone, and the next attempt runs."""
    await lab.settles()
    lab.kubelet.reaps()
    await lab.settles_after(seconds=5)
    lab.kubelet.starts()
    await lab.settles()


async def complete(lab: L) -> L:
    """The job has trained and inferred; returns the lab."""
    await running(lab, inference={})
    await lab.trains()
    await lab.kubelet.runs_inference("qcnn", 0, MEASURED)
    await lab.settles()
    return lab
