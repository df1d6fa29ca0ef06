"""A user's folder with a file of jobs, and a run of one of them that has ended."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from qtj.files.documents import Document, read_file
from qtj.local.folder import Folder
from qtj.runs.resume_policy import EarlierRun, Start, start_of
from qtj.terminal.errors import InputError
from tests.local.laptop import toy_job

__all__ = ["Desk", "refusal", "start", "with_args"]


def with_args(*args: Any, **spec: Any) -> dict[str, Any]:
    """A job whose containers have these arguments."""
    job = toy_job(**spec)
    job["spec"]["template"]["spec"]["containers"][0]["args"] = list(args)
    return job


class Desk:
    """A folder of a user."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def written(self, job: dict[str, Any] | None = None, *others: dict[str, Any]) -> Document:
        """Writes a job into a file, and reads it as `qtj run` does."""
        path = self._folder / "job.yaml"
        path.write_text(yaml.safe_dump_all([job or toy_job(), *others]))
        return read_file(path).jobs[0]

    def ended(self, phase: str, job: dict[str, Any] | None = None, /, configs: Any = None, **status: Any) -> EarlierRun:
        """Makes a run of a job that has ended in this phase."""
        folder = Folder(self._folder / "qtj-artifacts/toy/1")
        folder.claim(configs=configs)
        record = job or toy_job()
        meta = {**record["metadata"], "namespace": "default", "uid": "uid-1"}
        folder.save({**record, "metadata": meta, "status": {"phase": phase, **status}})
        folder.release()
        return EarlierRun.of("toy/1", folder)


def start(document: Document, earlier: EarlierRun | None, *, resume: bool = False, alongside: bool = False) -> Start:
    return start_of(document, earlier, resume=resume, alongside=alongside)


def refusal(document: Document, earlier: EarlierRun) -> str:
    """Returns why a run cannot be resumed."""
    with pytest.raises(InputError) as refused:
        start(document, earlier, resume=True)
    return str(refused.value)
