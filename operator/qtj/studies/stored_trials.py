"""The trials of a study as runs that are stored here: their epochs, and the pages that a report links to."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from qtj.local.folder import Folder, FolderError
from qtj.report.local import page_at_end, run_content
from qtj.runs.folders import PAGE, RecordedRun
from qtj.studies.content import study_content
from qtj.studies.record import StudyRecord
from qtj_contract.progress_log import EpochRecord
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import StudyStatus, TrialStatus
from qtj_report.study import StudyContent

__all__ = ["linked_content"]


def linked_content(
    record: StudyRecord, spec: StudySpec, status: StudyStatus, baseline: Mapping[str, str] | None, page: Path
) -> StudyContent:
    """Returns what a page shows of a study, with curves and with links to the pages of its runs.

    Args:
        record: Its record.
        spec: Its spec.
        status: Its status.
        baseline: Values of the point that the best one is compared with; None for the first point.
        page: Where the page is written.
    """
    stored, folder = StoredTrials(record), page.absolute().parent
    return study_content(
        record.name,
        spec,
        status,
        baseline=baseline,
        epochs=stored.epochs,
        page=lambda each: stored.page(each, folder),
    )


class StoredTrials:
    """The folders of the trials.

    Args:
        record: The record of the study.
    """

    def __init__(self, record: StudyRecord) -> None:
        self._record = record

    def epochs(self, trial: TrialStatus) -> Sequence[EpochRecord]:
        """Returns the epochs of a trial; nothing if its folder was deleted."""
        folder = self._folder(trial)
        try:
            job = folder.load()
        except FolderError:
            return ()
        return run_content(RecordedRun(str(trial.number), folder, job), datetime.now(UTC)).epochs

    def page(self, trial: TrialStatus, beside: Path) -> str:
        """Returns the address of the page of a trial, and writes that page if it is missing; "" if there is none.

        Args:
            trial: The trial.
            beside: The folder of the page that links to it.
        """
        folder = self._folder(trial)
        page = folder.path / PAGE
        if trial.is_over and not _is_newer(page, folder):
            try:
                page_at_end(folder, folder.load())
            except FolderError:
                return ""
        return Path(os.path.relpath(page, beside)).as_posix() if page.is_file() else ""

    def _folder(self, trial: TrialStatus) -> Folder:
        return Folder(self._record.path / str(trial.number))


def _is_newer(page: Path, folder: Folder) -> bool:
    try:
        return page.stat().st_mtime_ns >= folder.changed
    except OSError:
        return False
