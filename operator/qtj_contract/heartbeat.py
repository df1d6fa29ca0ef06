"""How old the last step of a replica is, and how long its steps take: what it reports beside its progress."""

import json
import re
from dataclasses import dataclass
from typing import Any, Self

from qtj_contract.values import UNREADABLE, count, finite, readable, text

__all__ = ["Heartbeat", "StepTimes", "progress_deadline"]

_PLACE_LENGTH = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """How long the last steps of a replica took: medians, without compilation, checkpoints and evaluations.

    Attributes:
        seconds: Seconds of a step. In a gang whose replicas exchange their gradients, it is the same for all.
        own: Seconds of it in which the replica did not wait for its peers.
        steps: How many steps the medians are of.
        span: How many seconds these steps took together.
    """

    seconds: float
    own: float
    steps: int
    span: float

    def to_dict(self) -> dict[str, Any]:
        """Returns what the answer has for it."""
        numbers = {"seconds": self.seconds, "own": self.own, "span": self.span}
        return {**{name: float(f"{value:.4g}") for name, value in numbers.items()}, "steps": self.steps}

    @classmethod
    def from_dict(cls, raw: Any) -> Self:
        """Reads decoded JSON.

        Raises:
            ValueError: A number is negative or not finite; or another error of `UNREADABLE`, for anything else.
        """
        seconds, own, span = (_duration(raw[name]) for name in ("seconds", "own", "span"))
        return cls(seconds=seconds, own=own, steps=count(raw["steps"]), span=span)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """What a replica tells of its last step. It is not part of `Progress`: it changes with every answer.

    Attributes:
        step: Optimizer steps finished; None if they are not counted.
        age: Seconds since the last step of this attempt; None outside of steps, as before the first one, within a
            checkpoint, or in an evaluation.
        place: Where its main thread is, such as `train.py:12 in exchange`; empty if that is not known.
        times: How long its steps take; None if that is not known yet.
    """

    step: int | None = None
    age: float | None = None
    place: str = ""
    times: StepTimes | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns what the answer has beside the progress, with which it shares `step`."""
        times = {} if self.times is None else {"stepTimes": self.times.to_dict()}
        if self.age is None:
            return times
        return {"stepAge": round(self.age, 1), **({"place": self.place} if self.place else {}), **times}

    @classmethod
    def parse(cls, answer: str) -> Self | None:
        """Decodes the answer of a progress endpoint; returns None for other text."""
        try:
            raw = json.loads(answer)
            count(raw["epoch"])
            age = readable(finite, raw.get("stepAge"))
            place = " ".join(text(raw.get("place") or "").split())
            return cls(
                step=readable(count, raw.get("step")),
                age=None if age is None else max(age, 0.0),
                place=place[:_PLACE_LENGTH],
                times=readable(StepTimes.from_dict, raw.get("stepTimes")),
            )
        except UNREADABLE:
            return None


def _duration(value: object) -> float:
    seconds = finite(value)
    if seconds is None or seconds < 0:
        raise ValueError(f"{value} is not a time")
    return seconds


def progress_deadline(text: str | None) -> float | None:
    """Returns the seconds of `QTJ_PROGRESS_DEADLINE`; None if it is not set, or no positive number."""
    return float(text) if text and re.fullmatch("0*[1-9][0-9]{0,9}", text) else None
