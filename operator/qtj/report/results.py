"""The results of a job that was run on this machine: its record, its epochs, its metrics and its predictions."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qtj.local.folder import Folder
from qtj.local.history import INTERRUPTED, phase_of
from qtj.local.progress_log import progress_history
from qtj.report.stored import stored_path, stored_text
from qtj.runs.line_view import end_sentence
from qtj_contract import TerminationMessage
from qtj_contract.predictions import Predictions, predictions_uri
from qtj_contract.progress_log import EpochRecord, ProgressHistory
from qtj_operator.api.job import training_id
from qtj_operator.api.reading import read_status
from qtj_operator.api.status import InferencePhase, Status

__all__ = ["RunResults", "results_of"]

_RESULT = "result.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResults:
    """What a report shows.

    Attributes:
        title: The job, with the number of its run if it has one.
        phase: Its phase, or Interrupted.
        headline: How it ended, or its current state.
        status: Its status.
        epochs: Its epochs, in order.
        metrics: The final metrics, by name.
        predictions: The predictions of its inference, if they are on this machine.
        notes: Sentences about data that are in another place or cannot be read.
    """

    title: str
    phase: str
    headline: str
    status: Status
    epochs: Sequence[EpochRecord] = ()
    metrics: Mapping[str, float]
    predictions: Predictions | None = None
    notes: Sequence[str] = ()

    @property
    def measured_by(self) -> str:
        """What measured the metrics."""
        return "inference" if self.status.inference and self.status.inference.metrics else "training"


def results_of(folder: Path, record: Mapping[str, Any]) -> RunResults:
    """Reads the results of a run from its folder."""
    meta, status = record["metadata"], read_status(record)
    name, notes = meta["name"], list[str]()
    phase = phase_of(record, is_active=Folder(folder).is_active)
    return RunResults(
        title=f"{name}/{folder.name}" if folder.name.isdecimal() and folder.parent.name == name else name,
        phase=phase,
        headline=_headline(name, status, phase),
        status=status,
        epochs=_history(folder, notes).epochs,
        metrics=(status.inference and status.inference.metrics) or _result(folder, _owners(meta, status), notes),
        predictions=_predictions(status, notes),
        notes=notes,
    )


def _headline(name: str, status: Status, phase: str) -> str:
    if phase == INTERRUPTED:
        return f"{name} was interrupted"
    return end_sentence({"metadata": {"name": name}, "status": status.to_dict()})


def _history(folder: Path, notes: list[str]) -> ProgressHistory:
    try:
        history = progress_history(folder)
    except OSError as problem:
        notes.append(f"the epochs cannot be read from {problem.filename} ({problem.strerror})")
        return ProgressHistory()
    if history.unreadable:
        notes.append(f"lines of progress.jsonl that cannot be read and are left out: {history.unreadable}")
    return history


def _owners(meta: Mapping[str, Any], status: Status) -> Collection[str | None]:
    """Returns the values of `QTJ_JOB_UID` in a result of the job; None stands for an earlier trainer."""
    same_spec = training_id(meta["namespace"], meta["name"], status.spec_digest or "")
    return (None, meta.get("uid"), same_spec)


def _result(folder: Path, owners: Collection[str | None], notes: list[str]) -> Mapping[str, float]:
    """Returns the metrics of result.json, which is on this machine unless the artifacts are in a bucket."""
    text = stored_text(folder / _RESULT, "the metrics of the training", notes)
    if text is None:
        return {}
    result = _without_weights(text)
    message = TerminationMessage.parse(json.dumps(result))
    if result is None or message is None:
        notes.append(f"the metrics of the training cannot be read: {folder / _RESULT} is not the result of a training")
        return {}
    # Another job that used the same folder may have written it.
    return message.metrics if result.get("jobUid") in owners else {}


def _without_weights(text: str) -> dict[str, Any] | None:
    """Returns a result without weights that have a relative address, because no termination message has them."""
    try:
        return {name: value for name, value in json.loads(text).items() if name != "weights"}
    except (ValueError, AttributeError, RecursionError):
        return None


def _predictions(status: Status, notes: list[str]) -> Predictions | None:
    """Returns the predictions that are stored beside the weights."""
    if status.weights is None:
        return None
    uri = predictions_uri(status.weights.uri)
    path = stored_path(uri)
    if path is None:
        if status.inference and status.inference.phase == InferencePhase.COMPLETE:
            notes.append(f"predictions, if inference has stored any, are in the bucket: {uri}")
        return None
    text = stored_text(path, "the predictions", notes)
    try:
        return None if text is None else Predictions.parse(text)
    except ValueError:
        notes.append(f"the predictions cannot be read: {path} is not what docs/reference/contract.md describes")
        return None
