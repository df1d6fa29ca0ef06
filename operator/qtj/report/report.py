"""`qtj report`: the results of a job that was run on this machine, as text and as a picture.

progress.jsonl, job.json, predictions ──▶ results  ──▶ report_text   ──▶ report.txt
                                             ├───────▶ report_figure ──▶ report.png
                                             └───────▶ report_data   ──▶ stdout, with -o
"""

from collections.abc import Iterator
from pathlib import Path

from qtj.report.data import report_data
from qtj.report.figure import has_picture, report_figure
from qtj.report.files import report_written, save_picture
from qtj.report.results import RunResults, results_of
from qtj.report.text import report_text
from qtj.runs.folders import find_run
from qtj.terminal.output_format import OutputFormat, formatted

__all__ = ["report_for_programs", "report_job"]


def report_job(run: str | None, artifacts: str | None) -> Iterator[str]:
    """Yields the text, writes it to report.txt, draws report.png where there are data for it, and yields its path.

    Raises:
        InputError: The job was not run here, or its folder cannot be written to.
    """
    of = find_run(run, artifacts)
    folder = of.folder.path
    found = results_of(folder, of.job)
    logs = [f"logs           {folder / 'logs'}"] if found.status.phase == "Failed" else []
    text = "\n".join([*report_text(found), *logs])
    yield text  # first of all: a full disk must not hide it
    with report_written(folder):
        (folder / "report.txt").write_text(f"{text}\n", "utf-8")
        yield f"picture: {_picture(found, folder / 'report.png')}"


def report_for_programs(run: str | None, artifacts: str | None, form: OutputFormat) -> str:
    """Returns the report as programs read it, and writes nothing.

    Raises:
        InputError: The job was not run here.
    """
    of = find_run(run, artifacts)
    return formatted([report_data(results_of(of.folder.path, of.job))], form, name=lambda data: data["run"])


def _picture(found: RunResults, path: Path) -> str:
    """Draws the picture; returns its path, or why there is none."""
    if not has_picture(found):
        return "none, for no epoch with a finite loss and no finite prediction is recorded"
    return save_picture(lambda: report_figure(found), path)
