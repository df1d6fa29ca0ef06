"""How long ago a replica took its last step, as its progress endpoint reports it beside the progress."""

import json
import re
from dataclasses import dataclass
from typing import Any, Self

from qtj_contract.values import UNREADABLE, count, finite, readable, text

__all__ = ["Heartbeat", "progress_deadline"]

_PLACE_LENGTH = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """What a replica tells of its last step. It is not part of `Progress`: it changes with every answer.

    Attributes:
        step: Optimizer steps finished; None if they are not counted.
        age: Seconds since the last step of this attempt; None outside of steps, as before the first one, within a
            checkpoint, or in an evaluation.
        place: Where its main thread is, such as `train.py:12 in exchange`; empty if that is not known.
    """

    step: int | None = None
    age: float | None = None
    place: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Returns what the answer has beside the progress, with which it shares `step`."""
        if self.age is None:
            return {}
        return {"stepAge": round(self.age, 1), **({"place": self.place} if self.place else {})}

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
            )
        except UNREADABLE:
            return None


def progress_deadline(text: str | None) -> float | None:
    """Returns the seconds of `QTJ_PROGRESS_DEADLINE`; None if it is not set, or no positive number."""
    return float(text) if text and re.fullmatch("0*[1-9][0-9]{0,9}", text) else None
