"""`qtj report`: the results of runs on this machine, as text, as a picture and as a page.

progress.jsonl, job.json, predictions ──▶ results ─┬─▶ report_text   ──▶ report.txt
                                             │     ├─▶ report_figure ──▶ report.png
                                             │     └─▶ report_data   ──▶ stdout, with -o
events.jsonl, activity.jsonl, record ──▶ details ────▶ run_page, comparison_page ──▶ report.html, comparison.html
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from qtj.local.history import History
from qtj.report.comparison import comparison_text
from qtj.report.data import report_data
from qtj.report.figure import has_picture, report_figure
from qtj.report.files import chosen_page_written, report_written, save_picture
from qtj.report.page_file import write_page
from qtj.report.results import RunResults, results_of
from qtj.report.text import report_text
from qtj.runs.folders import PAGE, RecordedRun
from qtj.terminal.output_format import OutputFormat, formatted

__all__ = ["report_for_programs", "report_runs"]

_COMPARISON = "comparison.html"


def report_runs(runs: Sequence[RecordedRun], html: Path | None) -> Iterator[str]:
    """Yields the report of a run, or a comparison of several, and where its files are.

    Args:
        runs: The runs, at least one.
        html: Where the page is written, and nothing else; None for the usual files.

    Raises:
        InputError: A file cannot be written.
    """
    if html is not None:
        with chosen_page_written(html):
            yield _page(runs, html)
    elif len(runs) == 1:
        yield from _report_run(runs[0])
    else:
        yield comparison_text(runs)
        root = History().root
        with report_written(root.absolute()):
            yield _page(runs, root / _COMPARISON)


def report_for_programs(runs: Sequence[RecordedRun], form: OutputFormat) -> str:
    """Returns the report as programs read it, and writes nothing."""
    data = [report_data(results_of(each.folder.path, each.job)) for each in runs]
    return formatted(data, form, name=lambda each: each["run"])


def _report_run(run: RecordedRun) -> Iterator[str]:
    """Yields the text, writes it to report.txt, writes the page, and draws report.png if there are data for it."""
    folder = run.folder.path
    found = results_of(folder, run.job)
    logs = [f"logs           {folder / 'logs'}"] if found.status.phase == "Failed" else []
    text = "\n".join([*report_text(found), *logs])
    yield text  # first, so that a full disk cannot hide it
    with report_written(folder.absolute()):
        (folder / "report.txt").write_text(f"{text}\n", "utf-8")
        yield _page([run], folder / PAGE)
        yield f"picture: {_picture(found, folder / 'report.png')}"


def _page(runs: Sequence[RecordedRun], path: Path) -> str:
    write_page(runs, path)
    return f"page: {path}"


def _picture(found: RunResults, path: Path) -> str:
    """Draws the picture; returns its path, or why there is none."""
    if not has_picture(found):
        return "none, because no epoch with a finite loss and no finite prediction is recorded"
    return save_picture(lambda: report_figure(found), path)
