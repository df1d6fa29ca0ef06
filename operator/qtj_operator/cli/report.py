"""`qtj report`: what came of a job that was run on this machine, as text and as a picture.

progress.jsonl, job.json, predictions ──▶ findings ──▶ report_text   ──▶ report.txt
                                             └───────▶ report_figure ──▶ report.png
"""

import warnings
from pathlib import Path

from qtj_operator.cli.errors import InputError
from qtj_operator.cli.findings import Findings, findings_of
from qtj_operator.cli.places import recorded
from qtj_operator.cli.report_figure import has_picture, report_figure
from qtj_operator.cli.report_text import report_text

__all__ = ["GET_MATPLOTLIB", "report_job"]

GET_MATPLOTLIB = "in a checkout of this project, `make venv`, or `pip install '.[trainer]'`, installs it"


def report_job(run: str | None, artifacts: str | None) -> str:
    """Writes report.txt and, where there is something to draw, report.png into the run's folder; returns the text.

    Raises:
        InputError: The job was not run here, or its folder cannot be written to.
    """
    of = recorded(run, artifacts)
    folder, record = of.folder, of.job
    found = findings_of(folder.path, record)
    logs = [f"logs           {folder.path / 'logs'}"] if found.status.phase == "Failed" else []
    text = "\n".join([*report_text(found), *logs])
    try:
        (folder.path / "report.txt").write_text(f"{text}\n", "utf-8")
        return f"{text}\npicture: {_picture(found, folder.path / 'report.png')}"
    except OSError as problem:
        raise InputError(f"cannot write the report to {folder.path} ({problem.strerror})") from None


def _picture(found: Findings, path: Path) -> str:
    """Draws what there is to draw; returns where the picture is, or why there is none."""
    if not has_picture(found):
        return "none, for no finite loss and no finite prediction is recorded"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a letter that the font lacks, say: the text has it
        try:
            report_figure(found).savefig(path, dpi=120)
        except ImportError:
            return f"none, for matplotlib is missing: {GET_MATPLOTLIB}"
    return str(path)
