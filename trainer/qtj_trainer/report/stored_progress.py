"""The epochs of a job among its artifacts, by which its report draws them: ``<artifacts>/reports/<run>.jsonl``.

On a cluster, the inference and later attempts run in other pods, so the epochs must be in the artifacts. With `qtj run`
they are in the folder of the run already, and nothing is stored here.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import qtj_contract as contract
from qtj_contract import run_name as contract_run_name
from qtj_contract.progress_log import EpochRecord, moments_of_attempts, progress_line, read_progress
from qtj_trainer.errors import TrainerError
from qtj_trainer.storage import MissingObjectError, Store
from qtj_trainer.stored.periodic_upload import PeriodicUpload
from qtj_trainer.stored.run_name import run_name

__all__ = ["StoredProgress", "has_report", "report_path"]

log = logging.getLogger("qtj_trainer")


def has_report(environment: Mapping[str, str]) -> bool:
    """Returns whether the trainer writes the report: for a job on a cluster. `qtj run` writes its own."""
    return bool(environment.get(contract.Env.JOB_UID)) and not environment.get(contract.Env.PROGRESS_LOG)


def report_path(environment: Mapping[str, str], suffix: str) -> str:
    """Returns the name of a file of the report, relative to the artifacts."""
    return contract_run_name.report_path(run_name(environment), suffix)


class StoredProgress:
    """Stores the epochs of all attempts. Only the leader may use it. What cannot be stored never ends a training."""

    def __init__(self, store: Store, environment: Mapping[str, str], attempt: int) -> None:
        self._store = store
        self._name = report_path(environment, ".jsonl") if has_report(environment) else ""
        self._attempt = attempt
        self._text = ""
        self._copies = PeriodicUpload(self._write, "the last epochs are not stored for the report")

    def begin(self) -> None:
        """Continues the record of earlier attempts with the start of this one."""
        if not self._name:
            return
        try:
            self._text = self.read()
        except TrainerError as problem:
            log.warning("the report will lack earlier epochs: %s", problem)
        if self._text and not self._text.endswith("\n"):
            self._text += "\n"  # a damaged line must not take the next one with it
        # With `reusePolicy: SameSpec`, a job that is created again counts its attempts from 1.
        self._attempt = max([self._attempt, *(number + 1 for number in moments_of_attempts(self._text))])
        self.add(contract.Progress(epoch=0))

    def add(self, progress: contract.Progress) -> None:
        """Adds an epoch."""
        if not self._name:
            return
        self._text += progress_line(progress, self._attempt, datetime.now(UTC))
        self._copies.grown()

    def epochs(self) -> Sequence[EpochRecord]:
        """Returns the epochs of all attempts."""
        return read_progress(self._text).epochs

    def flush(self) -> None:
        """Stores what was added."""
        self._copies.catch_up()

    def read(self) -> str:
        """Returns the stored lines; empty if there are none.

        Raises:
            TrainerError: They cannot be read.
        """
        try:
            return self._store.read(self._name).decode(errors="replace")
        except MissingObjectError:
            return ""

    def _write(self) -> None:
        self._store.write(self._name, self._text.encode())
