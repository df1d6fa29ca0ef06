"""The termination message: what a training program leaves when it ends."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from qtj_contract.digests import is_sha256
from qtj_contract.progress import Progress
from qtj_contract.values import UNREADABLE, number, text

__all__ = ["TERMINATION_MESSAGE_LIMIT", "TERMINATION_MESSAGE_PATH", "TerminationMessage", "Weights"]

TERMINATION_MESSAGE_PATH = "/dev/termination-log"
"""Where a program leaves its last word when `Env.TERMINATION_LOG` is not set."""

TERMINATION_MESSAGE_LIMIT = 4096
"""Bytes the kubelet keeps of a termination message."""

_ERROR_LENGTH = 300
"""Characters kept of an error: even where JSON needs twelve bytes for each, the message stays within its limit."""

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
    def from_dict(cls, said: Any) -> Self:  # noqa: ANN401  JSON is anything
        """Reads decoded weights.

        Raises:
            ValueError: They are nowhere, or cannot be told from others: nobody could ever load them.
        """
        uri, sha256 = text(said["uri"]), text(said["sha256"])
        if not _STORED.fullmatch(uri) or not is_sha256(sha256):
            raise ValueError(f"{uri!r} with sha256 {sha256!r} are no stored weights")
        return cls(uri=uri, sha256=sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminationMessage:
    """What a program says when it ends, as one JSON object of at most `TERMINATION_MESSAGE_LIMIT` bytes.

    Attributes:
        weights: Set by the chief after a training run whose weights are stored.
        metrics: Final numbers by name, for example ``{"mse": 0.18, "signAccuracy": 0.98}``.
        progress: How far training came: the last that the progress endpoint would have said.
        error: One sentence for the user when the program failed: what, where, what to do.
    """

    weights: Weights | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    progress: Progress | None = None
    error: str | None = None

    def to_json(self) -> str:
        """Encodes the message, leaving out what is not known and the end of a long `error`."""
        said = {
            "weights": asdict(self.weights) if self.weights else None,
            "metrics": {name: value for name, value in self.metrics.items() if math.isfinite(value)},
            "progress": self.progress.to_dict() if self.progress else None,
            "error": _shortened(self.error or ""),
        }
        return json.dumps({key: value for key, value in said.items() if value}, sort_keys=True)

    @classmethod
    def parse(cls, message: str) -> Self | None:
        """Decodes a message, or returns None for text that is not one (any program may write there)."""
        try:
            said = json.loads(message)
            weights = said.get("weights")
            metrics = {text(name): _measured(value) for name, value in (said.get("metrics") or {}).items()}
            return cls(
                weights=Weights.from_dict(weights) if weights else None,
                metrics={name: value for name, value in metrics.items() if value is not None},
                progress=Progress.from_dict(said.get("progress")),
                error=text(said["error"]) if said.get("error") else None,
            )
        except UNREADABLE:
            return None


def _shortened(error: str) -> str:
    return error if len(error) <= _ERROR_LENGTH else error[: _ERROR_LENGTH - 3] + "..."


def _measured(value: object) -> float | None:
    """Returns a metric's number, or None for what is none: one flag among metrics must not lose the others."""
    try:
        return number(value)
    except UNREADABLE:
        return None
