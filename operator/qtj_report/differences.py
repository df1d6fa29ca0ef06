"""What differs between two runs, a few words each: arguments and lines of programs first, then options and versions."""

from collections.abc import Iterator, Mapping
from typing import Any

from qtj_contract.stored_source import changes
from qtj_report.content import Content
from qtj_report.wording import option_text

__all__ = ["differences"]


def differences(first: Content, other: Content) -> list[str]:
    """Returns what differs; nothing about what one of them has not recorded."""
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
