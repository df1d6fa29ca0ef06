"""Everything that happens in the test namespace, watched once for all scenarios, and the times of events."""

import re
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import datetime
from typing import Any, Self

from tests.e2e.kubectl import KubectlError, Sight, Watch, kubectl

JOB_LABEL = "quantumtraining.dev/job"
_FRACTION = re.compile(r"\.(\d{1,6})\d*")


class World:
    """The namespace and what is seen of it.

    Attributes:
        namespace: Its name.
        trainings: The QuantumTrainingJobs.
        pods: The pods.
        jobs: The Jobs, namely those of inference.
    """

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._stack = ExitStack()
        self.trainings, self.pods, self.jobs = (
            self._stack.enter_context(Watch("-n", namespace, kind)) for kind in ("qtj", "pods", "jobs.batch")
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def pods_of(self, name: str, since: float) -> list[Sight]:
        """What was seen of a job's pods."""
        return _labelled(self.pods, name, since)

    def jobs_of(self, name: str, since: float) -> list[Sight]:
        """What was seen of a job's inference Jobs."""
        return _labelled(self.jobs, name, since)


def first(sights: Iterable[Sight], holds: Callable[[Sight], object], since: float = 0.0) -> float | None:
    """Returns when something was first seen, or None."""
    return next((sight.at for sight in sights if sight.at >= since and holds(sight)), None)


def is_running(sight: Sight) -> bool:
    """Tells whether the pod's container runs."""
    statuses = sight.status.get("containerStatuses") or ()
    return sight.event != "DELETED" and any("running" in status["state"] for status in statuses)


def log_moment(namespace: str, pod: str, text: str) -> float | None:
    """Returns when a pod logged a line with this text, by `time.monotonic`."""
    try:
        lines = kubectl("-n", namespace, "logs", pod, "--timestamps").splitlines()
    except KubectlError:
        return None
    stamp = next((line.split()[0] for line in lines if text in line), None)
    if stamp is None:
        return None
    moment = datetime.fromisoformat(_FRACTION.sub(lambda found: f".{found[1]:0<6}", stamp)).timestamp()
    return moment - time.time() + time.monotonic()


def _labelled(watch: Watch, name: str, since: float) -> list[Sight]:
    def label(state: dict[str, Any]) -> str | None:
        found: str | None = state["metadata"].get("labels", {}).get(JOB_LABEL)
        return found

    return [sight for sight in watch.all() if sight.at >= since and label(sight.state) == name]
