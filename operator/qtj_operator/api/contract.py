"""The contract between the operator and a training program.

The operator writes environment variables into each replica and reads back three things: the exit code, the
termination message and the progress endpoint. Both sides import their half from here, so neither can drift. The
module needs the standard library alone: the trainer image carries no Kubernetes code.

A program that knows nothing of this file and only reads ``TF_CONFIG`` runs as well; it merely has no weights recorded.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Self

__all__ = [
    "EXIT_RETRY",
    "PROGRESS_PATH",
    "TERMINATION_MESSAGE_LIMIT",
    "TERMINATION_MESSAGE_PATH",
    "Env",
    "Progress",
    "TerminationMessage",
    "Weights",
    "is_retryable",
]

TERMINATION_MESSAGE_PATH = "/dev/termination-log"
"""Where a program leaves its last word when `Env.TERMINATION_LOG` is not set."""

TERMINATION_MESSAGE_LIMIT = 4096
"""Bytes the kubelet keeps of a termination message."""

PROGRESS_PATH = "/progress"
"""HTTP path on the metrics port that answers with a `Progress` as JSON."""

EXIT_RETRY = 75
"""Exit code (EX_TEMPFAIL of sysexits.h) with which a program asks to be run again, for example after a peer died."""


class Env(StrEnum):
    """Names of the environment variables of the contract."""

    TF_CONFIG = "TF_CONFIG"
    JOB = "QTJ_JOB"
    JOB_UID = "QTJ_JOB_UID"
    ATTEMPT = "QTJ_ATTEMPT"
    ARTIFACTS_URI = "QTJ_ARTIFACTS_URI"
    QUBITS = "QTJ_QUBITS"
    PROFILER_PORT = "QTJ_PROFILER_PORT"
    METRICS_PORT = "QTJ_METRICS_PORT"
    TERMINATION_LOG = "QTJ_TERMINATION_LOG"
    WEIGHTS_URI = "QTJ_WEIGHTS_URI"
    WEIGHTS_SHA256 = "QTJ_WEIGHTS_SHA256"


def is_retryable(exit_code: int) -> bool:
    """Tells whether a replica that ended with `exit_code` may be run again.

    Codes from 128 up mean a signal (128 + its number), which the program did not choose; 75 asks for a retry. Every
    other code is the program's own verdict and is final.
    """
    return exit_code == EXIT_RETRY or exit_code >= 128  # noqa: PLR2004  shells report signal N as 128 + N


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Trained weights in the artifact store.

    Attributes:
        uri: The object, for example ``gs://bucket/run/weights/1f3c0a.h5``.
        sha256: Hex digest of its bytes.
    """

    uri: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminationMessage:
    """What a program says when it ends, as one JSON object of at most `TERMINATION_MESSAGE_LIMIT` bytes.

    Attributes:
        weights: Set by the chief after a training run whose weights are stored.
        metrics: Final numbers by name, for example ``{"mse": 0.18, "signAccuracy": 0.98}``.
        error: One sentence for the user when the program failed: what, where, what to do.
    """

    weights: Weights | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None

    def to_json(self) -> str:
        """Encodes the message, cutting `error` where the kubelet would cut the JSON."""
        said = {key: value for key, value in asdict(self).items() if value}
        text = json.dumps(said, sort_keys=True)
        excess = len(text.encode()) - TERMINATION_MESSAGE_LIMIT
        if excess > 0 and self.error:
            said["error"] = json.dumps(self.error)[1 : -excess - 4] + "..."
            text = json.dumps(said, sort_keys=True)
        return text

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Decodes a message, or returns None for text that is not one (any program may write there)."""
        try:
            said = json.loads(text)
            weights = said.get("weights")
            return cls(
                weights=Weights(uri=str(weights["uri"]), sha256=str(weights["sha256"])) if weights else None,
                metrics={str(name): float(value) for name, value in said.get("metrics", {}).items()},
                error=str(said["error"]) if said.get("error") else None,
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far training is, served by the chief at `PROGRESS_PATH`.

    Attributes:
        epoch: Epochs finished.
        epochs: Epochs asked for.
        step: Optimizer steps finished.
        loss: Training loss of the last finished epoch.
        accuracy: Sign accuracy on the held-out set after the last finished epoch, 0 to 1.
        examples_per_second: Training examples of all replicas per second in the last finished epoch.
    """

    epoch: int
    epochs: int
    step: int
    loss: float | None = None
    accuracy: float | None = None
    examples_per_second: float | None = None

    def to_json(self) -> str:
        """Encodes the progress with the status' field names (camelCase), leaving out what is not known yet."""
        said = asdict(self)
        said["examplesPerSecond"] = said.pop("examples_per_second")
        return json.dumps({key: value for key, value in said.items() if value is not None}, sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Decodes a progress, or returns None for text that is not one."""
        try:
            said = json.loads(text)
            return cls(
                epoch=int(said["epoch"]),
                epochs=int(said["epochs"]),
                step=int(said["step"]),
                loss=_number(said.get("loss")),
                accuracy=_number(said.get("accuracy")),
                examples_per_second=_number(said.get("examplesPerSecond")),
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))
