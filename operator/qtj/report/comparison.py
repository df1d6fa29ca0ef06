"""The differences between runs, in words and as a table for the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qtj.runs.folders import RecordedRun
from qtj.runs.summary import epoch_and_loss
from qtj.terminal.text import columns
from qtj_contract.digits import in_digits
from qtj_contract.stored_source import changes
from qtj_report.content import Content
from qtj_report.wording import named_metrics, option_text

__all__ = ["comparison_text", "differences"]


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
    settings = (
        (first.record.options, other.record.options),
        (first.versions, other.versions),
        (first.origin.facts(), other.origin.facts()),
    )
    return [*programs, *(words for before, now in settings for words in _changed(before, now))]


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    if not before or not now:
        return
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"{name} {option_text(before.get(name))} -> {option_text(now.get(name))}"
