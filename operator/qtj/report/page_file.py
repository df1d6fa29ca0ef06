"""Pages as files: report.html in the folder of a run, or a file that the user names."""

from collections.abc import Sequence
from datetime import UTC, datetime

from qtj.local.folder import Folder
from qtj.local.history import History
from qtj.report.local import run_content
from qtj.runs.folders import PAGE, RecordedRun
from qtj_contract.whole_file import write_whole
from qtj_operator.api.status import FINISHED
from qtj_operator.controller.client import Object
from qtj_report.comparison_page import comparison_page
from qtj_report.content import Content
from qtj_report.page import run_page

__all__ = ["page_at_end", "page_of"]


def page_of(found: Sequence[Content], now: datetime) -> str:
    """Returns the page of a run, or one that compares several runs."""
    return run_page(found[0], now) if len(found) == 1 else comparison_page(found, now)


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
    try:
        now = datetime.now(UTC)
        write_whole(path, page_of([run_content(RecordedRun(name, folder, dict(job)), now)], now).encode())
    except OSError as problem:
        return f"cannot write {path} ({problem.strerror}): free space on the disk, then run `qtj report {name}`"
    return f"report: {path}"
