"""The termination message: what a training program reports when it ends."""

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from qtj_contract.digests import is_sha256
from qtj_contract.progress import Progress
from qtj_contract.values import UNREADABLE, finite, readable, text

__all__ = ["TERMINATION_MESSAGE_LIMIT", "TERMINATION_MESSAGE_PATH", "TerminationMessage", "Weights", "message_limit"]

TERMINATION_MESSAGE_PATH = "/dev/termination-log"
"""Where a program writes its termination message when `Env.TERMINATION_LOG` is not set."""

TERMINATION_MESSAGE_LIMIT = 4096
"""The most bytes that the kubelet keeps of a termination message; of a pod with many containers it keeps fewer."""

_OF_A_POD = 12 * 1024
"""Bytes that the kubelet keeps for all containers of a pod, divided evenly among them (`normalizeStatus` in
pkg/kubelet/status/status_manager.go, Kubernetes 1.34)."""

_ADDED_LATER = 2
"""Containers that a webhook may add, such as the proxy of a mesh with its init container, or a driver of volumes."""

_SENTENCE_LENGTHS = (300, 120, 40)
"""Characters kept of an error or a warning: even if JSON needs twelve bytes for each, 300 stay within 4096 bytes."""

_STORED = re.compile(r"(gs|file)://\S.*")


def message_limit(containers: int) -> int:
    """Returns how many bytes a termination message may have.

    Args:
        containers: Containers and init containers in the pod's template.
    """
    return min(TERMINATION_MESSAGE_LIMIT, _OF_A_POD // (containers + _ADDED_LATER))


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
    """What a program reports when it ends, as one JSON object of at most `message_limit` bytes.

    Attributes:
        weights: Set by the leader after a training whose weights are stored.
        result: The address of the file with all metrics of an inference, if it has stored one.
        metrics: Final numbers by name, for example ``{"mse": 0.18, "signAccuracy": 0.98}``.
        progress: The last progress of the training, as the progress endpoint would report it.
        report: The address of the page with the report, if there is one.
        warning: One sentence for the user when the program succeeded, and not with all that was asked for.
        error: One sentence for the user when the program failed: what, where, what to do.
        is_cut: Whether the kubelet has cut the message that was read. What was complete is here.
    """

    weights: Weights | None = None
    result: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    progress: Progress | None = None
    report: str | None = None
    warning: str | None = None
    error: str | None = None
    is_cut: bool = False

    def to_json(self, limit: int = TERMINATION_MESSAGE_LIMIT) -> str:
        """Encodes the message, without what is not known, and with as much as fits. Weights come first and always.

        Args:
            limit: The most bytes.
        """
        finite = [(name, value) for name, value in self.metrics.items() if math.isfinite(value)]
        *larger, smallest = self._smaller()
        less, length = next((each for each in larger if len(_encoded(each[0], [], each[1])) <= limit), smallest)
        counts = range(1, len(finite) + 1)
        fitting = bisect_right(counts, limit, key=lambda count: len(_encoded(less, finite[:count], length)))
        return _encoded(less, finite[:fitting], length)

    def _smaller(self) -> Iterator[tuple[Self, int]]:
        """Yields the message with less in it each time, and how many characters its sentences may have."""
        longest, *shorter = _SENTENCE_LENGTHS
        less = self
        yield less, longest
        if self.progress and self.progress.captures:
            less = replace(self, progress=replace(self.progress, captures=()))
            yield less, longest
        yield (less := replace(less, report=None)), longest
        yield (less := replace(less, progress=None)), longest
        yield from ((less, length) for length in shorter)

    @classmethod
    def parse(cls, message: str) -> Self | None:
        """Decodes a message; returns None for other text, because any program may write there."""
        try:
            members = _complete_members(message)
            return cls._from_dict(json.loads(message)) if members is None else cls._from_dict(members, is_cut=True)
        except UNREADABLE:
            return None

    @classmethod
    def _from_dict(cls, raw: Any, *, is_cut: bool = False) -> Self:
        weights = raw.get("weights")
        metrics = {text(name): readable(finite, value) for name, value in (raw.get("metrics") or {}).items()}
        return cls(
            weights=Weights.from_dict(weights) if weights else None,
            result=_address(raw.get("result")),
            metrics={name: value for name, value in metrics.items() if value is not None},
            progress=Progress.from_dict(raw.get("progress")),
            report=_address(raw.get("report")),
            warning=text(raw["warning"]) if raw.get("warning") else None,
            error=text(raw["error"]) if raw.get("error") else None,
            is_cut=is_cut,
        )


def _encoded(message: TerminationMessage, metrics: Sequence[tuple[str, float]], length: int) -> str:
    fields = {
        "weights": asdict(message.weights) if message.weights else None,
        "error": _shortened(message.error or "", length),
        "warning": _shortened(message.warning or "", length),
        "result": message.result,
        "report": message.report,
        "progress": message.progress.to_dict() if message.progress else None,
        "metrics": dict(sorted(metrics)),
    }
    return json.dumps({key: value for key, value in fields.items() if value})


def _address(raw: Any) -> str | None:
    """Returns the address of an object; None if it is none."""
    return text(raw) if isinstance(raw, str) and _STORED.fullmatch(raw) else None


def _shortened(sentence: str, length: int) -> str:
    return sentence if len(sentence) <= length else sentence[: length - 3] + "..."


_BEGIN = re.compile(r'\s*\{\s*(?=")')
_COLON = re.compile(r"\s*:\s*")
_NEXT = re.compile(r"\s*,\s*")
_END = re.compile(r"\s*\}")
_DECODER = json.JSONDecoder()
_LONGEST_TOKEN = 6
"""Characters of \\u0041: where the text ends within one, the error is at its beginning."""


def _complete_members(text: str) -> Mapping[str, Any] | None:
    """Returns the members of a cut object that are complete; None if the text is no JSON object or was not cut.

    A member counts if a comma follows: the number 0.1 may be the beginning of 0.12.

    Raises:
        RecursionError: It is nested too deeply.
    """
    members: dict[str, Any] = {}
    here = _BEGIN.match(text)
    while here:
        try:
            name, after = _DECODER.raw_decode(text, here.end())
            value, after = _DECODER.raw_decode(text, _after_colon(text, after))
        except json.JSONDecodeError as error:
            is_cut = error.msg.startswith("Unterminated string") or _is_at_the_end(text, error.pos)
            return members if is_cut else None
        here = _NEXT.match(text, after)
        if here:
            members[str(name)] = value
        elif not _END.match(text, after) and _is_at_the_end(text, after):
            return members
    return None


def _is_at_the_end(text: str, position: int) -> bool:
    """Whether the text ends too early there, rather than being no JSON."""
    return position >= len(text) - _LONGEST_TOKEN


def _after_colon(text: str, position: int) -> int:
    """Returns where a value begins; the end of the text, if there is none."""
    found = _COLON.match(text, position)
    return found.end() if found else len(text)
