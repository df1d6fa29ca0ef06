"""The contract between the operator and a training program.

The operator writes environment variables into each replica and reads back three things: the exit code, the
termination message and the progress endpoint. Both sides import their half from here, so neither can drift. The
module needs the standard library alone: the trainer image carries no Kubernetes code.

A program that knows nothing of this file and only reads ``TF_CONFIG`` runs as well; its weights are those that the
spec names.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from qtj_operator.api.digests import is_sha256

__all__ = [
    "EXIT_RETRY",
    "MAX_QUBITS",
    "MIN_QUBITS",
    "PROGRESS_PATH",
    "STATES",
    "TERMINATION_MESSAGE_LIMIT",
    "TERMINATION_MESSAGE_PATH",
    "Env",
    "Progress",
    "TerminationMessage",
    "Weights",
    "activity_in",
    "is_retryable",
    "printable",
    "statevector_bytes",
]

MIN_QUBITS = 4
"""Fewer qubits make no network: after one pooling there must be two left to learn from."""

MAX_QUBITS = 40
"""One statevector of more than 8 TiB fits no machine."""

STATES = 3
"""Statevectors that the gradient of one circuit holds (adjoint method): the state, the state being taken back gate by
gate, and a copy to differentiate. TensorFlow Quantum 0.7.6; Luo et al., "Yao.jl", Quantum 4, 341 (2020), section 3."""

TERMINATION_MESSAGE_PATH = "/dev/termination-log"
"""Where a program leaves its last word when `Env.TERMINATION_LOG` is not set."""

TERMINATION_MESSAGE_LIMIT = 4096
"""Bytes the kubelet keeps of a termination message."""

_ERROR_LENGTH = 300
"""Characters kept of an error: even where JSON needs twelve bytes for each, the message stays within its limit."""

_ACTIVITY_LENGTH = 60
"""Characters kept of an activity: it stands beside other things in a line."""

_STORED = re.compile(r"(gs|file)://\S.*")
_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)?")
"""What a terminal takes for a command: ECMA-48, sections 5.4 and 5.6."""

_NOT_ONE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What reading may raise when a program wrote something else: anything at all can be in there."""

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
    IMAGE = "QTJ_IMAGE"
    QUBITS = "QTJ_QUBITS"
    FILTERS = "QTJ_FILTERS"
    PRECISION = "QTJ_PRECISION"
    PROFILER_PORT = "QTJ_PROFILER_PORT"
    METRICS_PORT = "QTJ_METRICS_PORT"
    TERMINATION_LOG = "QTJ_TERMINATION_LOG"
    PROGRESS_LOG = "QTJ_PROGRESS_LOG"
    WEIGHTS_URI = "QTJ_WEIGHTS_URI"
    WEIGHTS_SHA256 = "QTJ_WEIGHTS_SHA256"


def statevector_bytes(qubits: int, *, bytes_per_amplitude: int = 8) -> int:
    """Returns the bytes of one statevector: 2^qubits complex amplitudes."""
    return bytes_per_amplitude << qubits


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

    @classmethod
    def from_dict(cls, said: Any) -> Self:  # noqa: ANN401  JSON is anything
        """Reads decoded weights.

        Raises:
            ValueError: They are nowhere, or cannot be told from others: nobody could ever load them.
        """
        uri, sha256 = _text(said["uri"]), _text(said["sha256"])
        if not _STORED.fullmatch(uri) or not is_sha256(sha256):
            raise ValueError(f"{uri!r} with sha256 {sha256!r} are no stored weights")
        return cls(uri=uri, sha256=sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far training is, served by the chief at `PROGRESS_PATH`. All but the epoch may be unknown.

    Attributes:
        epoch: Epochs finished.
        epochs: Epochs asked for.
        step: Optimizer steps finished.
        checkpoint_step: Optimizer steps that the last stored checkpoint holds.
        devices: Devices of all replicas that train.
        steps: Optimizer steps of all epochs together.
        loss: Training loss of the last finished epoch.
        accuracy: Accuracy on the held-out set after the last finished epoch, 0 to 1.
        validation_loss: Loss on the held-out set after the last finished epoch.
        training_accuracy: Accuracy on the training set over the last finished epoch, as the model trained, 0 to 1.
        examples_per_second: Training examples of all replicas per second in the last finished epoch.
        gradient_variance: Variance over the components of the circuits' gradient; vanishing, it is a barren plateau.
        best_epoch: With early stopping, the epoch with the lowest loss on the held-out set, whose weights are kept.
    """

    epoch: int
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    accuracy: float | None = None
    validation_loss: float | None = None
    training_accuracy: float | None = None
    examples_per_second: float | None = None
    gradient_variance: float | None = None
    checkpoint_step: int | None = None
    devices: int | None = None
    best_epoch: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the progress with the status' field names (camelCase), leaving out what is not known yet."""
        known = {name: value for name, value in asdict(self).items() if value is not None and math.isfinite(value)}
        return {re.sub("_(.)", lambda letter: letter[1].upper(), name): value for name, value in known.items()}

    def to_json(self) -> str:
        """Encodes the progress."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_dict(cls, said: Any) -> Self | None:  # noqa: ANN401  JSON is anything
        """Reads a decoded progress, or returns None for something else."""
        try:
            return cls(
                epoch=_count(said["epoch"]),
                epochs=_known_count(said.get("epochs")),
                step=_known_count(said.get("step")),
                steps=_known_count(said.get("steps") or None),
                loss=_number(said.get("loss")),
                accuracy=_number(said.get("accuracy")),
                validation_loss=_number(said.get("validationLoss")),
                training_accuracy=_number(said.get("trainingAccuracy")),
                examples_per_second=_number(said.get("examplesPerSecond")),
                gradient_variance=_number(said.get("gradientVariance")),
                checkpoint_step=_known_count(said.get("checkpointStep") or None),
                devices=_known_count(said.get("devices") or None),
                best_epoch=_known_count(said.get("bestEpoch") or None),
            )
        except _NOT_ONE:
            return None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Decodes a progress, or returns None for text that is not one."""
        try:
            return cls.from_dict(json.loads(text))
        except _NOT_ONE:
            return None


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
    def parse(cls, text: str) -> Self | None:
        """Decodes a message, or returns None for text that is not one (any program may write there)."""
        try:
            said = json.loads(text)
            weights = said.get("weights")
            metrics = {_text(name): _measured(value) for name, value in (said.get("metrics") or {}).items()}
            return cls(
                weights=Weights.from_dict(weights) if weights else None,
                metrics={name: value for name, value in metrics.items() if value is not None},
                progress=Progress.from_dict(said.get("progress")),
                error=_text(said["error"]) if said.get("error") else None,
            )
        except _NOT_ONE:
            return None


def activity_in(answer: str) -> str | None:
    """Returns what a program says it is doing when it is not training; "" while it trains, None where it said nothing.

    Args:
        answer: What its progress endpoint answered. It is no part of `Progress`: the status has numbers alone.
    """
    try:
        said = json.loads(answer)
        return _text(said.get("activity") or "").replace("\n", " ")[:_ACTIVITY_LENGTH]
    except _NOT_ONE:
        return None


def printable(text: str) -> str:
    """Returns a program's text without escape sequences, and with spaces for what else cannot be shown."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in _ESCAPE.sub("", text))


def _shortened(text: str) -> str:
    return text if len(text) <= _ERROR_LENGTH else text[: _ERROR_LENGTH - 3] + "..."


def _text(value: object) -> str:
    """Returns the value as text that can be written and shown: JSON may name half of a surrogate pair, or an escape."""
    return printable(str(value).encode(errors="replace").decode())


def _number(value: object) -> float | None:
    """Returns the number; a loss that became infinite or NaN counts as unknown, for JSON has no word for it."""
    number = None if value is None else float(str(value))
    return number if number is not None and math.isfinite(number) else None


def _measured(value: object) -> float | None:
    """Returns a metric's number, or None for what is none: one flag among metrics must not lose the others."""
    try:
        return _number(value)
    except _NOT_ONE:
        return None


def _known_count(value: Any) -> int | None:  # noqa: ANN401  JSON is anything
    return None if value is None else _count(value)


def _count(value: Any) -> int:  # noqa: ANN401  JSON is anything
    number = int(value)
    if not 0 <= number < 2**63:  # what an integer of the status can hold
        raise ValueError(f"{number} counts nothing")
    return number
