"""Runs that are recorded in the current folder, without any process."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from qtj.local.folder import Folder
from qtj.local.history import History
from qtj.monitor.facts import status_text
from qtj.monitor.local_source import LocalSource
from qtj.runs.folders import RecordedRun, find_run
from tests.local.laptop import Manifest, toy_job

__all__ = ["described", "epochs", "found", "make_run", "recorded", "write_epochs"]


def recorded(job: str = "toy", spec: Manifest | None = None, **status: Any) -> Manifest:
    """Returns the record of a job with this status."""
    manifest = toy_job(name=job)
    meta = {"name": job, "namespace": "default", "uid": f"uid-{job}", "generation": 1}
    return {**manifest, "metadata": meta, "spec": spec or manifest["spec"], "status": status}


def make_run(job: str = "toy", *, changed: float | None = None, bucket: str | None = None, **status: Any) -> Folder:
    """Makes the next run of a job, which is over.

    Args:
        job: The job's name.
        changed: When its record was written, in seconds since 1970; None for now.
        bucket: The bucket of its artifacts.
        status: The status of its job.
    """
    folder = History().make_folder(job)
    folder.claim(bucket)
    folder.save(recorded(job, **status))
    folder.release()
    if changed is not None:
        os.utime(folder.path / "job.json", (changed, changed))
    return folder


def found(name: str = "toy") -> RecordedRun:
    return find_run(name)


def described() -> str:
    """Returns what `qtj status` prints of the run."""
    (seen,) = asyncio.run(LocalSource(lambda: [found()]).look())
    return status_text(seen)


def epochs(*losses: float, attempt: int = 1, first: int = 1) -> list[Manifest]:
    """Returns lines of progress.jsonl, one for each epoch."""
    return [{"epoch": first + i, "attempt": attempt, "loss": loss} for i, loss in enumerate(losses)]


def write_epochs(folder: Path, *records: Manifest) -> None:
    """Writes the epochs of a run as the trainer's progress is recorded."""
    (folder / "progress.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in records))
