"""A profile that is requested while a job trains: what the replicas answer at `PROFILE_PATH`.

    GET       the leader answers with a `ProfileSchedule`
    POST      a replica takes a `Capture` as JSON, to start before a later step
    DELETE    a replica drops that capture, if it has not started

A replica answers 202 if it agrees, 412 if it has begun the step already, and else 400 or 409, with one sentence.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from qtj_contract.captures import LONGEST_SECONDS, MOST_STEPS, Capture, parsed_capture, seconds_of
from qtj_contract.values import UNREADABLE, count, finite, readable

__all__ = ["PROFILE_PATH", "ProfileSchedule", "parse_request", "request_body"]

PROFILE_PATH = "/profile"
"""HTTP path on the metrics port of each replica that takes steps."""

_LARGEST = 2**31 - 1
_EXAMPLE = '{"id": "0123abcd", "step": 9}'


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSchedule:
    """What one has to know to choose a step at which all replicas can start.

    Attributes:
        replicas: Those that take a profile, such as worker-0.
        step: Optimizer steps finished.
        steps: Optimizer steps of the whole training; None if that is unknown.
        seconds_per_step: Seconds from one finished step to the next; None before the second one of an attempt.
    """

    replicas: tuple[str, ...]
    step: int
    steps: int | None = None
    seconds_per_step: float | None = None

    def to_dict(self) -> Mapping[str, Any]:
        """Returns what the leader answers."""
        numbers = {"step": self.step, "steps": self.steps, "secondsPerStep": self.seconds_per_step}
        return {"replicas": list(self.replicas), **{name: each for name, each in numbers.items() if each is not None}}

    @classmethod
    def parse(cls, answer: str) -> Self | None:
        """Reads the answer of the leader; None for other text."""
        try:
            raw = json.loads(answer)
            return cls(
                replicas=tuple(map(_replica, raw["replicas"])),
                step=count(raw["step"]),
                steps=readable(count, raw.get("steps") or None),
                seconds_per_step=readable(finite, raw.get("secondsPerStep")),
            )
        except UNREADABLE:
            return None


def request_body(capture: Capture) -> str:
    """Returns the JSON of a request."""
    fields = {"id": capture.id, "step": capture.step, "steps": capture.steps, "duration": capture.duration}
    return json.dumps({name: value for name, value in fields.items() if value is not None})


def parse_request(body: str) -> Capture:
    """Reads a request. It names no folder: the id and the step are the name of the capture.

    Raises:
        ValueError: It is something else, or longer than a capture may be.
    """
    try:
        capture = parsed_capture(json.loads(body))
    except UNREADABLE as problem:
        raise ValueError(
            f'this is no request for a profile: write {{"id": "0123abcd", "step": 9}} ({problem})'
        ) from None
    if not capture.id or capture.step is None or capture.step > _LARGEST:
        raise ValueError("a request for a profile has an id of eight hexadecimal digits, and a step")
    if capture.steps is not None and capture.duration is not None:
        raise ValueError("a profile takes steps or a duration: leave one of them out")
    if (capture.steps or 1) > MOST_STEPS:
        raise ValueError(f"a profile has at most {MOST_STEPS} steps")
    if capture.duration is not None and not 0 < seconds_of(capture.duration) <= LONGEST_SECONDS:
        raise ValueError(f"a profile takes from 1ms to {LONGEST_SECONDS:.0f}s")
    return capture


def _replica(name: str) -> str:
    """Returns the name of a replica. A program chooses it, and it becomes part of an address."""
    if not re.fullmatch("[a-z]{1,9}-[0-9]{1,4}", name):
        raise ValueError(f"{name!r} is no name of a replica")
    return name
