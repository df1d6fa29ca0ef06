"""The sections about the course of a run: time by stage, attempts and failures."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from qtj_contract.progress_log import EpochRecord
from qtj_report.content import Attempt, Content, FailedReplica, Stage
from qtj_report.element import node
from qtj_report.parts import section, table
from qtj_report.wording import duration, moment, share

__all__ = ["attempts_section", "time_section"]

_COLORS = {"training": 0, "inferring": 2, "restarting": 1, "suspended": 5, "failed": 3}
_PREPARING = 4
"""The colour of all other stages, such as starting."""
_SHADES = (1.0, 0.45, 0.75, 0.3, 0.6)


def time_section(stages: Sequence[Stage]) -> Element:
    """Returns the time of each stage, as a bar and as a table."""
    total = sum(each.seconds for each in stages)
    looks = [_look(each, place) for place, each in enumerate(stages)]
    bar = [
        node("span", node("span", **look), style=f"flex-grow: {each.seconds:.0f}")
        for each, look in zip(stages, looks, strict=True)
    ]
    rows = [
        (
            node("span", node("i", **look, aria_hidden="true"), each.name),
            duration(each.seconds),
            share(each.seconds / total),
        )
        for each, look in zip(stages, looks, strict=True)
    ]
    return section(
        "Time",
        node("div", *bar, class_="bar", aria_hidden="true"),
        table(("Stage", "Time", "Share"), rows, numbers=(1, 2)),
    )


def attempts_section(found: Content) -> Element:
    """Returns the attempts with the reason for the end of each, and the replicas that failed."""
    rows = [_attempt_row(each, found.epochs) for each in found.attempts]
    return section(
        "Attempts",
        table(("Attempt", "Began", "Time", "Epochs", "Ended by"), rows, numbers=(2,)) if rows else None,
        _failure_table(found.failures) if found.failures else None,
    )


def _attempt_row(attempt: Attempt, epochs: Sequence[EpochRecord]) -> Sequence[str]:
    own = [each.number for each in epochs if each.attempt == attempt.number]
    numbers = f"{own[0]} to {own[-1]}" if len(own) > 1 else "".join(map(str, own)) or "–"
    end = attempt.end or "nothing yet"
    return str(attempt.number), moment(attempt.began), duration(attempt.seconds), numbers, end


def _failure_table(failures: Sequence[FailedReplica]) -> Element:
    rows = [
        (each.pod, str(each.attempt), "–" if each.exit_code is None else str(each.exit_code), each.reason, each.message)
        for each in failures
    ]
    return table(("Failed replica", "Attempt", "Exit code", "Reason", "Message"), rows, numbers=(1, 2))


def _look(stage: Stage, place: int) -> dict[str, str]:
    """Returns colour and shade of a stage; those that share a colour differ in their shade."""
    known = _COLORS.get(stage.name)
    if known is not None:
        return {"class_": f"b{known}"}
    return {"class_": f"b{_PREPARING}", "style": f"opacity: {_SHADES[place % len(_SHADES)]}"}
