"""The termination message: what a training program reports when it ends."""

import json
import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from qtj_contract.digests import is_sha256
from qtj_contract.progress import Progress
from qtj_contract.values import UNREADABLE, number, readable, text

__all__ = ["TERMINATION_MESSAGE_LIMIT", "TERMINATION_MESSAGE_PATH", "TerminationMessage", "Weights"]

TERMINATION_MESSAGE_PATH = "/dev/termination-log"
"""Where a program writes its termination message when `Env.TERMINATION_LOG` is not set."""

TERMINATION_MESSAGE_LIMIT = 4096
"""Bytes that the kubelet keeps of a termination message."""

_SENTENCE_LENGTH = 300
"""Characters kept of an error: even if JSON needs twelve bytes for each, the message stays within its limit."""

_STORED = re.compile(r"(gs|file)://\S.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Trained weights in the artifact store.

    Attributes:
        uri: The object, for example ``gs://bucket/run/weights/1f3c0a.h5``.
        sha256: Hex digest of its bytes.
    """

    uri: str
    sha256: str

    @classmethod
    def from_dict(cls, raw: Any) -> Self:
        """Reads decoded weights.

        Raises:
            ValueError: The address or the checksum is missing or invalid: they could never be loaded.
        """
        uri, sha256 = text(raw["uri"]), text(raw["sha256"])
        if not _STORED.fullmatch(uri) or not is_sha256(sha256):
            raise ValueError(f"{uri!r} with sha256 {sha256!r} are not stored weights")
        return cls(uri=uri, sha256=sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminationMessage:
    """What a program reports when it ends, as one JSON object of at most `TERMINATION_MESSAGE_LIMIT` bytes.

    Attributes:
        weights: Set by the leader after a training whose weights are stored.
        metrics: Final numbers by name, for example ``{"mse": 0.18, "signAccuracy": 0.98}``.
        progress: The last progress of the training, as the progress endpoint would report it.
        report: The address of the page with the report, if there is one.
        warning: One sentence for the user when the program succeeded, and not with all that was asked for.
        error: One sentence for the user when the program failed: what, where, what to do.
    """

    weights: Weights | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    progress: Progress | None = None
    report: str | None = None
    warning: str | None = None
    error: str | None = None

    def to_json(self) -> str:
        """Encodes the message, without what is not known, and with so many metrics and so much of `error` as fit.

        Captures are left out first, then the report: the weights must not be lost.
        """
        is_too_long = len(self._encoded([])) > TERMINATION_MESSAGE_LIMIT
        if is_too_long and self.progress and self.progress.captures:
            return replace(self, progress=replace(self.progress, captures=())).to_json()
        if is_too_long and self.report:
            return replace(self, report=None).to_json()
        finite = [(name, value) for name, value in self.metrics.items() if math.isfinite(value)]
        counts = range(1, len(finite) + 1)
        fitting = bisect_right(counts, TERMINATION_MESSAGE_LIMIT, key=lambda count: len(self._encoded(finite[:count])))
        return self._encoded(finite[:fitting])

    def _encoded(self, metrics: Sequence[tuple[str, float]]) -> str:
        fields = {
            "weights": asdict(self.weights) if self.weights else None,
            "metrics": dict(metrics),
            "progress": self.progress.to_dict() if self.progress else None,
            "report": self.report,
            "warning": _shortened(self.warning or ""),
            "error": _shortened(self.error or ""),
        }
        return json.dumps({key: value for key, value in fields.items() if value}, sort_keys=True)

    @classmethod
    def parse(cls, message: str) -> Self | None:
        """Decodes a message; returns None for other text, because any program may write there."""
        try:
            raw = json.loads(message)
            weights = raw.get("weights")
            metrics = {text(name): readable(number, value) for name, value in (raw.get("metrics") or {}).items()}
            return cls(
                weights=Weights.from_dict(weights) if weights else None,
                metrics={name: value for name, value in metrics.items() if value is not None},
                progress=Progress.from_dict(raw.get("progress")),
                report=_address(raw.get("report")),
                warning=text(raw["warning"]) if raw.get("warning") else None,
                error=text(raw["error"]) if raw.get("error") else None,
            )
        except UNREADABLE:
            return None


def _address(raw: Any) -> str | None:
    """Returns the address of a report; None if it is none."""
    return text(raw) if isinstance(raw, str) and _STORED.fullmatch(raw) else None


def _shortened(sentence: str) -> str:
    return sentence if len(sentence) <= _SENTENCE_LENGTH else sentence[: _SENTENCE_LENGTH - 3] + "..."
