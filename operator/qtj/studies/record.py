"""The record of a study on this machine: its file and its lock, beside the folders of its trials.

qtj-artifacts/rates/study.json    the study with its status, written before a trial starts and after one has ended
qtj-artifacts/rates/trials.csv    the same trials as a table, once the study ends
qtj-artifacts/rates/.qtj-study    locked while a `qtj run` has the study
qtj-artifacts/rates/7             the run of trial 7, as any other run: `qtj report rates/7`, `qtj logs rates/7`
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from qtj.local.folder import locked
from qtj.local.hidden import recorded_spec, shown_spec
from qtj.local.history import History
from qtj.terminal.errors import InputError
from qtj_contract.values import decoded
from qtj_contract.whole_file import read_regular, write_whole
from qtj_operator.api.names import NEWEST_API_VERSION
from qtj_operator.api.study import STUDY_KIND, StudySpec
from qtj_operator.api.study_status import StudyStatus
from qtj_operator.core.study.plan import unplannable

__all__ = ["StudyRecord", "recorded_study", "shown_study"]

_FILE, _LOCK, _TABLE = "study.json", ".qtj-study", "trials.csv"


class StudyRecord:
    """The folder of a study.

    Attributes:
        name: The name of the study.
        path: The folder.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = (History().root / name).absolute()

    @property
    def exists(self) -> bool:
        """Whether a study has run here."""
        return (self.path / _FILE).is_file()

    def lock(self) -> int:
        """Keeps other commands away from the study until the descriptor that is returned is closed.

        Raises:
            InputError: Another one has it, or the folder cannot be written to.
        """
        descriptor = None
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            locked(descriptor)
        except OSError as problem:
            if descriptor is not None:
                os.close(descriptor)
            if isinstance(problem, BlockingIOError):
                raise InputError(f"another qtj run has the study {self.name}: wait for its end") from None
            raise InputError(f"cannot write to {self.path} ({problem.strerror}): go to another folder") from None
        return descriptor

    def load(self) -> tuple[StudySpec, StudyStatus]:
        """Reads the study.

        Raises:
            InputError: It cannot be read.
        """
        path = self.path / _FILE
        try:
            raw = decoded(read_regular(path))
            spec, status = StudySpec.read(raw["spec"]), StudyStatus.read(raw["status"], extra="ignore")
        except OSError as problem:
            raise InputError(f"cannot read {path} ({problem.strerror}): make it readable") from None
        except (ValueError, TypeError, KeyError, ValidationError):
            raise InputError(_changed(path)) from None
        if unplannable(spec):
            raise InputError(_changed(path))
        return spec, status

    def save(self, study: dict[str, Any]) -> None:
        """Writes the study.

        Raises:
            InputError: It cannot be written.
        """
        self._write(_FILE, json.dumps(study, indent=4))

    def save_table(self, text: str) -> Path:
        """Writes the trials as CSV and returns the path.

        Raises:
            InputError: It cannot be written.
        """
        return self._write(_TABLE, text)

    def _write(self, name: str, text: str) -> Path:
        path = self.path / name
        try:
            write_whole(path, text.encode(), durable=name == _FILE)
        except OSError as problem:
            raise InputError(f"cannot write {path} ({problem.strerror}): make room, and run this again") from None
        return path


def _changed(path: Path) -> str:
    return f"{path} is no record of a study: it was changed, so start over with --fresh"


def recorded_study(name: str, spec: StudySpec, status: StudyStatus) -> dict[str, Any]:
    """Returns a study with its status, as it is recorded: with keyed digests of what is secret in its template."""
    return _study(name, spec, status, recorded_spec(spec.job_template))


def shown_study(name: str, spec: StudySpec, status: StudyStatus) -> dict[str, Any]:
    """Returns a study with its status, as programs read it."""
    return _study(name, spec, status, shown_spec(spec.job_template))


def _study(name: str, spec: StudySpec, status: StudyStatus, template: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": NEWEST_API_VERSION,
        "kind": STUDY_KIND,
        "metadata": {"name": name},
        "spec": {**spec.model_dump(mode="json", by_alias=True, exclude_none=True), "jobTemplate": template},
        "status": status.model_dump(mode="json", by_alias=True, exclude_none=True),
    }
