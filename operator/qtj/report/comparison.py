"""The differences between runs: a table for the terminal, and values that the page also shows."""

from collections.abc import Mapping, Sequence
from typing import Any

from qtj.report.results import results_of
from qtj.runs.folders import RecordedRun
from qtj.runs.summary import epoch_and_loss
from qtj.terminal.text import columns

__all__ = ["comparison_text", "differences"]


def comparison_text(runs: Sequence[RecordedRun]) -> str:
    """Returns a table with a line for each run: phase, epochs, loss and final metrics."""
    results = [results_of(each.folder.path, each.job) for each in runs]
    metrics = list(dict.fromkeys(name for found in results for name in found.metrics))
    headings = ["RUN", "PHASE", "EPOCH", "LOSS", *(name.upper() for name in metrics)]
    rows = [
        [run.name, found.phase, *(each or "-" for each in epoch_and_loss(run)), *_numbers(metrics, found.metrics)]
        for run, found in zip(runs, results, strict=True)
    ]
    return columns([headings, *rows])


def differences(values: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """Returns the names whose values differ between runs. A name that one of the runs lacks counts as different."""
    names = sorted({name for each in values for name in each})
    return [name for name in names if any(each.get(name, _MISSING) != values[0].get(name, _MISSING) for each in values)]


_MISSING = object()


def _numbers(names: Sequence[str], metrics: Mapping[str, float]) -> Sequence[str]:
    return [f"{metrics[name]:.4g}" if name in metrics else "-" for name in names]
