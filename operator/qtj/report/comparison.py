"""The differences between runs: a table for the terminal, and values that the page also shows."""

from collections.abc import Mapping, Sequence
from typing import Any

from qtj.report.results import results_of
from qtj.runs.folders import RecordedRun
from qtj.runs.summary import epoch_and_loss
from qtj.terminal.text import columns
from qtj_report.wording import metric_name

__all__ = ["comparison_text", "differences", "named_metrics"]


def comparison_text(runs: Sequence[RecordedRun]) -> str:
    """Returns a table with a line for each run: phase, epochs, loss and final metrics."""
    results = [results_of(each.folder.path, each.job) for each in runs]
    measured = [named_metrics(found.metrics, found.measured_by) for found in results]
    metrics = list(dict.fromkeys(name for each in measured for name in each))
    headings = ["RUN", "PHASE", "EPOCH", "TRAINING LOSS", *(name.upper() for name in metrics)]
    rows = [
        [run.name, found.phase, *(each or "-" for each in epoch_and_loss(run)), *_numbers(metrics, numbers)]
        for run, found, numbers in zip(runs, results, measured, strict=True)
    ]
    return columns([headings, *rows])


def named_metrics(metrics: Mapping[str, float], measured_by: str) -> Mapping[str, float]:
    """Returns metrics by names that no curve of the training has."""
    return {metric_name(name, measured_by): value for name, value in metrics.items()}


def differences(values: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """Returns the names whose values differ between runs. A name that one of the runs lacks counts as different."""
    names = sorted({name for each in values for name in each})
    return [name for name in names if any(each.get(name, _MISSING) != values[0].get(name, _MISSING) for each in values)]


_MISSING = object()


def _numbers(names: Sequence[str], metrics: Mapping[str, float]) -> Sequence[str]:
    return [f"{metrics[name]:.4g}" if name in metrics else "-" for name in names]
