"""Pages as files: report.html in the folder of a run, or a file that the user names."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from qtj.local.folder import Folder
from qtj.local.history import History
from qtj.report.local import run_content
from qtj.runs.folders import PAGE, RecordedRun
from qtj_operator.api.status import FINISHED
from qtj_operator.controller.client import Object
from qtj_report.comparison_page import comparison_page
from qtj_report.content import Content
from qtj_report.page import run_page

__all__ = ["page_at_end", "write_page"]


def write_page(found: Sequence[Content], path: Path, now: datetime) -> None:
    """Writes the page of a run, or one that compares several runs.

    Raises:
        OSError: It cannot be written.
    """
    text = run_page(found[0], now) if len(found) == 1 else comparison_page(found, now)
    path.write_text(text, "utf-8")


def page_at_end(folder: Folder, job: Object) -> str:
    """Writes the page of a job that has just finished; returns where it is or why there is none.

    Args:
        folder: The folder of its run.
        job: The job at its end. If it was only interrupted, no page is written yet.
    """
    if (job.get("status") or {}).get("phase") not in FINISHED or not folder.is_used:
        return ""
    path = folder.path / PAGE
    name = History().name_of(job["metadata"]["name"], folder)
    unfinished = path.with_name(f".{PAGE}.{os.getpid()}")  # `qtj run` and `qtj attach` may write the page at once
    try:
        now = datetime.now(UTC)
        write_page([run_content(RecordedRun(name, folder, dict(job)), now)], unfinished, now)
        unfinished.replace(path)
    except OSError as problem:
        return f"cannot write {path} ({problem.strerror}): free space on the disk, then run `qtj report {name}`"
    return f"report: {path}"
