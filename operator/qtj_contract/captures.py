"""Profiles that a job takes of itself: what `spec.profiler.captures` asks for, and what became of each."""

import json
import re
from dataclasses import dataclass
from typing import Any, Self

from qtj_contract.values import UNREADABLE, text

__all__ = [
    "LONGEST_SECONDS",
    "MOST_CAPTURES",
    "MOST_STEPS",
    "STEPS",
    "Capture",
    "CaptureRecord",
    "parse_captures",
    "parsed_capture",
    "seconds_of",
]

MOST_CAPTURES = 8
"""Captures of a job, and records of them that a leader reports: all of its answer has to fit into `PROGRESS_LIMIT`."""

STEPS = 10
"""Steps of a capture that names neither steps nor a duration."""

LONGEST_SECONDS, MOST_STEPS = 60.0, 1000
"""The limits of a capture: a trace takes memory for each operation. One by steps also ends after that time."""

_LONGEST = {"name": 40, "path": 200, "error": 120}
"""Characters kept of the texts of a record."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_STATES = frozenset({"Running", "Stored", "Failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """When a profile starts, by one of the first three, and how long it takes, by at most one of the others.

    Attributes:
        epoch: It starts with this epoch, from 1.
        step: It starts with this optimizer step, from 1.
        elapsed: It starts this long after the first step of an attempt, such as 10m.
        steps: It takes so many steps.
        duration: It takes so long, such as 2s, and ends with a step.
        id: Eight hexadecimal digits of a capture that was requested while the training runs: an attempt may reach the
            same step again. Empty otherwise.
    """

    epoch: int | None = None
    step: int | None = None
    elapsed: str | None = None
    steps: int | None = None
    duration: str | None = None
    id: str = ""

    @property
    def name(self) -> str:
        """Its name, which is that of its folder."""
        start = {"epoch": self.epoch, "step": self.step, "elapsed": self.elapsed}
        parts = [f"{name}-{value}" for name, value in start.items() if value is not None]
        return "-".join([*parts, self.id] if self.id else parts)


@dataclass(frozen=True, slots=True)
class CaptureRecord:
    """What became of a capture.

    Attributes:
        name: Its name.
        state: Running, Stored or Failed.
        path: Its folder, relative to the artifacts, with one file for each replica; empty if nothing is stored.
        error: Why it failed, or of which replicas nothing is stored; empty otherwise.
    """

    name: str
    state: str
    path: str = ""
    error: str = ""

    def to_dict(self) -> dict[str, str]:
        """Returns the fields that are not empty."""
        fields = {"name": self.name, "state": self.state, "path": self.path, "error": self.error}
        return {name: value[: _LONGEST.get(name, len(value))] for name, value in fields.items() if value}

    @classmethod
    def from_dict(cls, raw: Any) -> Self:
        """Reads decoded JSON.

        Raises:
            ValueError: It has no such state.
        """
        shortened = {name: text(raw.get(name) or "")[:longest] for name, longest in _LONGEST.items()}
        if raw["state"] not in _STATES or not shortened["name"]:
            raise ValueError(f"{raw!r} is no record of a capture")
        return cls(state=raw["state"], **shortened)


def parse_captures(written: str) -> tuple[Capture, ...]:
    """Reads the environment variable: a JSON list of objects with the fields of `Capture`.

    Raises:
        ValueError: It is something else.
    """
    try:
        captures = tuple(map(parsed_capture, json.loads(written)))
    except UNREADABLE as problem:
        raise ValueError(f"{written!r} is no list of captures") from problem
    return captures[:MOST_CAPTURES]


def seconds_of(duration: str) -> float:
    """Returns the seconds of a duration such as 500ms, 2s, 10m or 1h.

    Raises:
        ValueError: It is something else.
    """
    matched = re.fullmatch("([0-9]{1,9})(ms|s|m|h)", duration)
    if matched is None:
        raise ValueError(f"{duration!r} is no duration such as 2s")
    return int(matched[1]) * _UNITS[matched[2]]


def parsed_capture(raw: Any) -> Capture:
    """Reads decoded JSON: an object with the fields of `Capture`.

    Raises:
        ValueError: A field has another type or form, or there is not one start; or another error of `UNREADABLE`.
    """
    capture = Capture(**raw)
    if sum(each is not None for each in (capture.epoch, capture.step, capture.elapsed)) != 1:
        raise ValueError("a capture has one start")
    for duration in filter(None, (capture.elapsed, capture.duration)):
        seconds_of(duration)
    for number in (capture.epoch, capture.step, capture.steps):
        if number is not None and (not isinstance(number, int) or number < 1):
            raise ValueError(f"{number!r} is no number of a step or an epoch")
    if not re.fullmatch("([0-9a-f]{8})?", capture.id):
        raise ValueError(f"{capture.id!r} is no id of a capture")
    return capture
