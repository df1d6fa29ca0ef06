"""The text of the page of a job, from its artifacts."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import qtj_contract as contract
from qtj_report.artifacts import NoAccessError, attempts_in, with_artifacts, with_programs
from qtj_report.content import Content
from qtj_report.page import run_page
from qtj_trainer.errors import TrainerError
from qtj_trainer.report.stored_progress import StoredProgress
from qtj_trainer.storage import MissingObjectError, Store, read_uri

__all__ = ["report_page"]

_CLUSTER = "what ended an attempt, the time of each stage and the YAML of the job: kubectl qtj report"


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
    try:
        return read_uri(uri)
    except MissingObjectError:
        return None
    except TrainerError as problem:
        raise NoAccessError(str(problem)) from None
