"""`qtj report`: the results of runs on this machine, as text, as a picture and as a page.

                                         ┌─▶ run_page, comparison_page ──▶ report.html, comparison.html
the folder of a run ──▶ Content ─────────┼─▶ report_text   ──▶ report.txt
(a job of a cluster: qtj.report.cluster) ├─▶ report_picture ─▶ report.svg
                                         └─▶ report_data   ──▶ stdout, with -o
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qtj.local.history import History
from qtj.report.files import report_written, write_named
from qtj.report.local import page_of, run_content
from qtj.runs.folders import PAGE, RecordedRun
from qtj.runs.summary import epoch_and_loss
from qtj.terminal.output_format import OutputFormat, formatted
from qtj.terminal.text import columns
from qtj_contract.digits import in_digits
from qtj_contract.stored_source import changes
from qtj_contract.whole_file import write_whole
from qtj_operator.api.status import Phase
from qtj_report.comparison import COMPARED, differing_names
from qtj_report.content import Content
from qtj_report.picture import report_picture
from qtj_report.text import report_data, report_text
from qtj_report.wording import named_metrics, option_text

__all__ = ["differences", "report_for_programs", "report_runs"]

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
        write_named(page_of(_contents(runs), datetime.now(UTC)), html)
        yield f"page: {html}"
    elif len(runs) == 1:
        yield from _report_run(runs[0])
    else:
        contents = _contents(runs)
        yield comparison_text(runs, contents)
        root = History().root
        with report_written(root.absolute()):
            yield _page(contents, root / _COMPARISON)


def report_for_programs(runs: Sequence[RecordedRun], form: OutputFormat) -> str:
    """Returns the report as programs read it, and writes nothing."""
    data = [report_data(each) for each in _contents(runs)]
    return formatted(data, form, name=lambda each: each["run"])


def _report_run(run: RecordedRun) -> Iterator[str]:
    """Yields the text, writes it to report.txt, writes the page, and draws report.svg if there are data for it."""
    folder = run.folder.path
    [found] = _contents([run])
    logs = [f"logs           {folder / 'logs'}"] if found.phase == Phase.FAILED else []
    text = "\n".join([*report_text(found), *logs])
    yield text  # first, so that a full disk cannot hide it
    with report_written(folder.absolute()):
        write_whole(folder / "report.txt", f"{text}\n".encode())
        yield _page([found], folder / PAGE)
        yield f"picture: {_picture(found, folder / 'report.svg')}"


def _contents(runs: Sequence[RecordedRun]) -> Sequence[Content]:
    now = datetime.now(UTC)
    return [run_content(run, now) for run in runs]


def _page(found: Sequence[Content], path: Path) -> str:
    write_whole(path, page_of(found, datetime.now(UTC)).encode())
    return f"page: {path}"


def _picture(found: Content, path: Path) -> str:
    """Draws the picture; returns its path, or why there is none."""
    drawn = report_picture(found)
    if drawn is None:
        return "none, because no epoch with a finite loss and no finite prediction is recorded"
    write_whole(path, drawn.encode())
    return str(path)


def comparison_text(runs: Sequence[RecordedRun], contents: Sequence[Content]) -> str:
    """Returns what differs from the first run, and a table with a line for each: phase, epochs, loss, final metrics."""
    measured = [named_metrics(found.metrics, found.measured_by) for found in contents]
    metrics = list(dict.fromkeys(name for each in measured for name in each))
    headings = ["RUN", "PHASE", "EPOCH", "TRAINING LOSS", *(name.upper() for name in metrics)]
    rows = [
        [run.name, found.phase, *(each or "-" for each in epoch_and_loss(run)), *_numbers(metrics, numbers)]
        for run, found, numbers in zip(runs, contents, measured, strict=True)
    ]
    first, *others = contents
    changed = [
        f"{each.title} differs from {first.title}: {'; '.join(words)}"
        for each in others
        if (words := differences(first, each))
    ]
    return "\n".join([*changed, columns([headings, *rows])])


def _numbers(names: Sequence[str], metrics: Mapping[str, float]) -> Sequence[str]:
    return [in_digits(metrics[name]) if name in metrics else "-" for name in names]


def differences(first: Content, other: Content) -> list[str]:
    """Returns what differs, a few words each; nothing about what one of them has not recorded.

    Arguments and lines of programs are first, then options and versions.
    """
    programs = changes(first.programs, other.programs) if first.programs and other.programs else []
    return [*programs, *(words for of in COMPARED.values() for words in _changed(of(first), of(other)))]


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    if not before or not now:
        return
    for name in differing_names((before, now)):
        yield f"{name} {option_text(before.get(name))} -> {option_text(now.get(name))}"
