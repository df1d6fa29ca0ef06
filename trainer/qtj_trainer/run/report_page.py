"""The text of the page of a job, from its artifacts."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime

import qtj_contract as contract
from qtj_contract.predictions import Predictions, predictions_uri
from qtj_contract.progress_log import moments_of_attempts, read_progress
from qtj_report.content import Attempt, Content, TrainingRecord
from qtj_report.page import run_page
from qtj_trainer.errors import TrainerError
from qtj_trainer.run.stored_progress import StoredProgress
from qtj_trainer.storage import Store, read_uri

__all__ = ["report_page"]


def report_page(
    environment: Mapping[str, str],
    store: Store,
    weights: contract.Weights,
    metrics: Mapping[str, float],
    now: datetime,
) -> str:
    """Returns the page as HTML.

    Args:
        environment: The environment of the training or of the inference.
        store: The artifacts.
        weights: The weights of the job.
        metrics: What this process has measured, by name.
        now: The current time.
    """
    infers = bool(environment.get(contract.Env.WEIGHTS_URI))
    raw = _record(weights.uri)
    lines = StoredProgress(store, environment, 0).read()
    attempts = list(_attempts(lines))
    began = attempts[0].began if attempts else None
    progress = read_progress(lines)
    cluster = raw.get("cluster")
    content = Content(
        title=environment.get(contract.Env.JOB, ""),
        phase="Complete" if infers else "Trained",
        headline="inference is done" if infers else "training is done, and its weights are stored",
        asked=_asked(lines),
        epochs=progress.epochs,
        metrics=metrics,
        measured_by="inference" if infers else "training",
        predictions=_predictions(weights.uri),
        record=TrainingRecord.of(raw, circuit=_text(f"{weights.uri.removesuffix('.h5')}.txt") if raw else ""),
        began=began,
        seconds=max(0.0, (now - began).total_seconds()) if began else None,
        attempts=attempts,
        replicas={role: len(members) for role, members in cluster.items()} if isinstance(cluster, dict) else {},
        weights_sha256=weights.sha256,
    )
    return run_page(content, now)


def _attempts(lines: str) -> Iterator[Attempt]:
    """Yields the attempts; what ended one that restarted is known to the cluster alone."""
    moments = moments_of_attempts(lines)
    for number, (first, last) in moments.items():
        following = min((each for each in moments if each > number), default=None)
        end = f"it ended early, and attempt {following} followed" if following else "the weights are stored"
        yield Attempt(number, first, (last - first).total_seconds(), end)


def _asked(lines: str) -> int | None:
    last = contract.Progress.parse(lines.rstrip("\n").rpartition("\n")[2])
    return last.epochs if last else None


def _record(weights: str) -> Mapping[str, object]:
    """Returns the record beside the weights; empty for weights of a program, which have none."""
    with suppress(ValueError):
        raw = json.loads(_text(f"{weights.removesuffix('.h5')}.json")) if weights.endswith(".h5") else {}
        return raw if isinstance(raw, dict) else {}
    return {}


def _predictions(weights: str) -> Predictions | None:
    with suppress(ValueError):
        return Predictions.parse(_text(predictions_uri(weights)))
    return None


def _text(uri: str) -> str:
    with suppress(TrainerError):
        return read_uri(uri).decode(errors="replace")
    return ""
