"""The training of a job at a tracking server, if its environment asks for one.

A training has one run there, in all its attempts. Its id is the uid of the job. Without one, and for jobs with
`reusePolicy: SameSpec`, whose id stays when their artifacts go, it is kept beside the checkpoints.
"""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import qtj_contract as contract
from qtj_contract.progress_log import EpochRecord
from qtj_trainer.errors import TrainerError
from qtj_trainer.storage import MissingObjectError, Store
from qtj_trainer.stored.artifacts import Result
from qtj_trainer.tracking.content import Description, Point, Study, described, numbers_of
from qtj_trainer.tracking.mlflow import MlflowRun, experiment_of, mlflow_of
from qtj_trainer.tracking.tracker import Tracker

__all__ = ["About", "Tracked"]

log = logging.getLogger("qtj_trainer")


@dataclass(frozen=True, slots=True)
class About:
    """What a training is.

    Attributes:
        name: Its name where there is no job: that of its script or of its workload.
        parameters: Its settings.
        labels: Where it comes from.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


class Tracked:
    """The run of one training. Only the leader may begin it; without a `begin`, nothing is sent."""

    def __init__(self, environment: Mapping[str, str], store: Store) -> None:
        self._environment = environment
        self._store = store
        self._tracker: Tracker | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether the environment asks for a server."""
        return bool(self._environment.get(contract.TRACKING))

    def begin(self, about: About, earlier: Sequence[EpochRecord], *, is_resumed: bool) -> None:
        """Opens the run, if the environment asks for a server.

        Args:
            about: The training.
            earlier: The epochs that earlier attempts have recorded.
            is_resumed: Whether this is not the first process of the training.
        """
        try:
            api = mlflow_of(self._environment)
            if api is None:
                return
            now = _now()
            labels = {**self._labels(), **about.labels}
            name = self._environment.get(contract.Env.JOB) or about.name
            identity, settings = self._run(is_resumed=is_resumed), described(about.parameters)
            run = Description(identity, name, now, settings, labels, self._study())
        except TrainerError as problem:
            log.warning("this training is not tracked: %s", problem)
            return
        self._tracker = Tracker(MlflowRun(api, experiment_of(self._environment), run), f"MLflow at {api.server}")
        self._tracker.begin([Point(each.number, now, numbers_of(each)) for each in earlier])

    def add(self, progress: contract.Progress) -> None:
        """Sends an epoch."""
        if self._tracker:
            self._tracker.add(Point(progress.epoch, _now(), numbers_of(progress)))

    def flush(self) -> None:
        """Waits for some seconds until everything is sent: the process ends before the training."""
        if self._tracker:
            self._tracker.flush()

    def finish(self, result: Result, report: str) -> None:
        """Ends the run. It has the addresses of weights and report, not the files."""
        if self._tracker:
            epoch = result.progress.epoch if result.progress else result.epoch
            labels = {"weights": result.weights.uri, "weights.sha256": result.weights.sha256, "report": report}
            self._tracker.finish(Point(epoch, _now(), result.metrics), labels)

    def _labels(self) -> dict[str, str]:
        known = {"job": contract.Env.JOB, "namespace": contract.Env.NAMESPACE, "attempt": contract.Env.ATTEMPT}
        if not self._environment.get(contract.Env.PROGRESS_LOG):  # `qtj run` starts no image
            known["image"] = contract.Env.IMAGE
        return {name: self._environment.get(variable, "") for name, variable in known.items()}

    def _study(self) -> Study | None:
        given = json.loads(self._environment.get(contract.Env.STUDY) or "{}")
        return Study(given["id"], given["name"]) if given else None

    def _run(self, *, is_resumed: bool) -> str:
        """Returns the id of the run.

        Raises:
            TrainerError: It cannot be kept.
        """
        uid = self._environment.get(contract.Env.JOB_UID, "")
        if uid and not uid.startswith(contract.SAME_SPEC_ID):
            return uid
        name = f"tracking/{uid or 'local'}"
        if is_resumed:
            try:
                return self._store.read(name).decode(errors="replace").strip()
            except MissingObjectError:
                pass  # it was not tracked so far
        fresh = uuid4().hex
        self._store.write(name, fresh.encode())
        return fresh


def _now() -> int:
    """Returns the time in milliseconds, as MLflow has it."""
    return time.time_ns() // 1_000_000
