"""`qtj report` of a study, from its record on this machine, or from its status on a cluster.

                                        ┌─▶ study_text ──▶ the terminal
record here ────┐                       ├─▶ study_page ──▶ report.html, or the file of --html
                ├─▶ spec and status ────┼─▶ trials_csv ──▶ the file of --csv
API server ─────┘                       └─▶ study_data ──▶ stdout, with -o
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from qtj.local.folder import Folder, FolderError
from qtj.report.files import is_stream, write_chosen, write_named
from qtj.report.local import page_at_end, run_content
from qtj.runs.folders import PAGE, RecordedRun
from qtj.studies.compare import baseline_of
from qtj.studies.content import study_content, study_data, trials_csv
from qtj.studies.record import StudyRecord, shown_study
from qtj.studies.words import study_text
from qtj.terminal.output_format import OutputFormat, formatted
from qtj_contract.progress_log import EpochRecord
from qtj_operator.api.names import NAME_PATTERN
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import StudyStatus, TrialStatus
from qtj_report.content import StudyContent
from qtj_report.study_page import study_page

__all__ = ["Asked", "cluster_study_report", "linked_content", "study_report"]

_NO_CURVES = "curves and pages of the runs are not here: `qtj report {}-NUMBER -n NAMESPACE --html FILE` writes one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of a report.

    Attributes:
        output: The format for programs; None for people.
        html: Where the page is written, and nothing else; None for the usual place.
        table: Where the trials are written as CSV, and nothing else.
        baseline: The values of the point that the best one is compared with; None for the first one.
    """

    output: OutputFormat | None = None
    html: Path | None = None
    table: Path | None = None
    baseline: str | None = None

    def values(self, spec: StudySpec, status: StudyStatus) -> Mapping[str, str] | None:
        """Returns the values of the baseline; None for the first point.

        Raises:
            InputError: No point, or more than one, has them.
        """
        return baseline_of(self.baseline, spec, status) if self.baseline else None


def study_report(name: str, asked: Asked) -> str | None:
    """Returns the report of a study that was run here, and writes its page; None if the name is that of no study.

    Raises:
        InputError: Its record cannot be read, a file cannot be written, or there is no such baseline.
    """
    if not re.fullmatch(NAME_PATTERN, name) or not StudyRecord(name).exists:
        return None
    record = StudyRecord(name)
    spec, status = record.load()

    def content(page: Path | None) -> StudyContent:
        baseline = asked.values(spec, status)
        if page is None:
            return study_content(name, spec, status, baseline=baseline)
        return linked_content(record, spec, status, baseline, page)

    return _answer(name, spec, status, asked, content, record.path / PAGE)


def cluster_study_report(name: str, namespace: str | None, asked: Asked) -> str | None:
    """Returns the report of a study on a cluster; None if the name is that of no study.

    Args:
        name: The name on the command line.
        namespace: Its namespace; None for that of the current context.
        asked: What is asked.

    Raises:
        InputError: There is no cluster, it refuses, or the study can never run; or as in `study_report`.
    """
    from qtj.studies.on_cluster import study_on_cluster  # needs the extra `operator`

    if (found := study_on_cluster(name, namespace)) is None:
        return None
    spec, status = found

    def content(page: Path | None) -> StudyContent:
        notes = [_NO_CURVES.format(name)] if page else []
        return study_content(name, spec, status, separator="-", baseline=asked.values(spec, status), notes=notes)

    return _answer(name, spec, status, asked, content, None)


def _answer(
    name: str,
    spec: StudySpec,
    status: StudyStatus,
    asked: Asked,
    content: Callable[[Path | None], StudyContent],
    usual: Path | None,
) -> str:
    """Returns what is printed, and writes the files.

    Args:
        name: The name of the study.
        spec: Its spec.
        status: Its status.
        asked: What is asked.
        content: Returns the content for a page at a path, with curves and links; for None without them.
        usual: Where the page is written if no file is asked for; None for nowhere.
    """
    if asked.output:
        data = study_data(shown_study(name, spec, status), spec, status, asked.values(spec, status))
        return formatted([data], asked.output)
    if asked.table:
        return _written("trials", asked.table, trials_csv(spec, status), "--csv")
    if asked.html:
        return _written("page", asked.html, study_page(content(asked.html), datetime.now(UTC)), "--html")
    text = study_text(content(None))
    if usual is None:
        return text
    return f"{text}\n{_usual_page(content, usual)}"


def _usual_page(content: Callable[[Path | None], StudyContent], path: Path) -> str:
    """Writes the page beside the record, which another user may have made: the table is shown in any case."""
    try:
        write_chosen(study_page(content(path), datetime.now(UTC)), path)
    except OSError as problem:
        return f"page: none, because {path} cannot be written ({problem.strerror}): name another file with --html"
    return f"page: {os.path.relpath(path)}"


def _written(what: str, path: Path, text: str, option: str) -> str:
    """Writes a file that the user has named; returns where it is, but not into stdout, where it may be itself."""
    write_named(text, path, option)
    return "" if is_stream(path) else f"{what}: {path}"


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
    beside = page.absolute().parent

    def folder(trial: TrialStatus) -> Folder:
        return Folder(record.path / str(trial.number))

    return study_content(
        record.name,
        spec,
        status,
        baseline=baseline,
        epochs=lambda each: _epochs(folder(each)),
        page=lambda each: _page(folder(each), beside, is_over=each.is_over),
    )


def _epochs(folder: Folder) -> Sequence[EpochRecord]:
    """Returns the epochs of a trial; nothing if its folder was deleted."""
    try:
        job = folder.load()
    except FolderError:
        return ()
    return run_content(RecordedRun(folder.path.name, folder, job), datetime.now(UTC)).epochs


def _page(folder: Folder, beside: Path, *, is_over: bool) -> str:
    """Returns the address of the page of a trial, and writes that page if it is missing; "" if there is none.

    Args:
        folder: The folder of the trial.
        beside: The folder of the page that links to it.
        is_over: Whether the trial has ended.
    """
    page = folder.path / PAGE
    if is_over and not _is_newer(page, folder):
        try:
            page_at_end(folder, folder.load())
        except FolderError:
            return ""
    return Path(os.path.relpath(page, beside)).as_posix() if page.is_file() else ""


def _is_newer(page: Path, folder: Folder) -> bool:
    try:
        return page.stat().st_mtime_ns >= folder.changed
    except OSError:
        return False
