"""The page of a job of a cluster: ``<artifacts>/reports/<run>.html``.

training   the leader, after it has stored the weights: curves, attempts, options, versions, circuit
inference  writes the page again, with its metrics and predictions

The operator reads the address from the termination message, and `status.report` has it. What only the cluster knows,
such as the events that ended an attempt, is not on this page: `qtj report --cluster` shows it.

The epochs are beside it, in ``<artifacts>/reports/<run>.jsonl``: inference and later attempts run in other pods. With
`qtj run` they are in the folder of the run already, and nothing is stored here.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import qtj_contract as contract
from qtj_contract import run_name as contract_run_name
from qtj_contract.progress_log import EpochRecord, moments_of_attempts, progress_line, read_progress
from qtj_trainer.errors import TrainerError
from qtj_trainer.storage import MissingObjectError, Store, read_uri
from qtj_trainer.stored.periodic_upload import PeriodicUpload
from qtj_trainer.stored.run_name import run_name

__all__ = ["StoredProgress", "store_report", "stored_report"]

_CLUSTER = "what ended an attempt, the time of each stage and the YAML of the job: kubectl qtj report"

log = logging.getLogger("qtj_trainer")


def store_report(
    environment: Mapping[str, str], store: Store, weights: contract.Weights, metrics: Mapping[str, float]
) -> str:
    """Stores the page of a job.

    Args:
        environment: The environment of the training or of the inference.
        store: The artifacts.
        weights: The weights of the job.
        metrics: What this process has measured, by name.

    Returns:
        The address of the page; empty if there is none. A failure is only logged: the training or inference is done.
    """
    if not _has_report(environment):
        return ""
    name = _report_path(environment, ".html")
    try:
        store.write(name, _page(environment, store, weights, metrics, datetime.now(UTC)).encode())
    except Exception as problem:  # noqa: BLE001  artifacts may hold anything
        log.warning("the report is not stored: %s", " ".join(str(problem).split()) or type(problem).__name__)
        return ""
    log.debug("report %s", store.uri(name))  # the log of a program belongs to its author
    return store.uri(name)


def stored_report(environment: Mapping[str, str], store: Store) -> str:
    """Returns the address of the page that was stored before; empty if there is none."""
    name = _report_path(environment, ".html")
    with suppress(TrainerError):
        if _has_report(environment) and name in store.list(name.rpartition("/")[0]):
            return store.uri(name)
    return ""


def _page(
    environment: Mapping[str, str],
    store: Store,
    weights: contract.Weights,
    metrics: Mapping[str, float],
    now: datetime,
) -> str:
    """Returns the page as HTML."""
    # Their import takes a third of a second, and only a job of a cluster needs them.
    from qtj_report.artifacts import attempts_in, with_artifacts, with_programs
    from qtj_report.content import Content
    from qtj_report.page import run_page

    infers = bool(environment.get(contract.Env.WEIGHTS_URI))
    job = environment.get(contract.Env.JOB, "")
    lines = StoredProgress(store, environment, 0).read()
    attempts = list(attempts_in(lines, is_trained=True))
    began = attempts[0].began if attempts else None
    head = Content(
        title=job,
        phase="Complete" if infers else "Trained",
        headline="inference is done" if infers else "training is done, and its weights are stored",
        metrics=metrics,
        measured_by="inference" if infers else "training",
        began=began,
        seconds=max(0.0, (now - began).total_seconds()) if began else None,
        attempts=attempts,
        weights_sha256=weights.sha256,
    )
    found = with_artifacts(head, lines, weights.uri, _read)
    artifacts, uid = store.uri("x").removesuffix("/x"), environment.get(contract.Env.JOB_UID)
    found = with_programs(found, artifacts, _read, [uid])
    return run_page(replace(found, notes=[*found.notes, f"{_CLUSTER} {job.rpartition('/')[2]} --html FILE"]), now)


def _read(uri: str) -> bytes | None:
    from qtj_report.artifacts import NoAccessError

    try:
        return read_uri(uri)
    except MissingObjectError:
        return None
    except TrainerError as problem:
        raise NoAccessError(str(problem)) from None


def _has_report(environment: Mapping[str, str]) -> bool:
    """Returns whether the trainer writes the report: for a job on a cluster. `qtj run` writes its own."""
    return bool(environment.get(contract.Env.JOB_UID)) and not environment.get(contract.Env.PROGRESS_LOG)


def _report_path(environment: Mapping[str, str], suffix: str) -> str:
    """Returns the name of a file of the report, relative to the artifacts."""
    return contract_run_name.report_path(run_name(environment), suffix)


class StoredProgress:
    """Stores the epochs of all attempts. Only the leader may use it. What cannot be stored never ends a training."""

    def __init__(self, store: Store, environment: Mapping[str, str], attempt: int) -> None:
        self._store = store
        self._name = _report_path(environment, ".jsonl") if _has_report(environment) else ""
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
