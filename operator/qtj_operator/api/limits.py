"""How large a job may be: the operator keeps all jobs of a cluster in memory, and one user may write a thousand.

The API server has no such limits within a pod template. Its own are 1.5 MB and 10,000 levels, which Python holds in 25
times as much memory, or cannot decode at all. They are found in the bytes, before anything is decoded.
"""

import re

__all__ = [
    "BEYOND",
    "LEVELS",
    "MOST_BYTES",
    "MOST_VALUES",
    "RAW_BYTES",
    "beyond",
    "is_decodable",
]

LEVELS = 100
"""The most levels of a file. A pod has about twenty."""

_OBJECT_LEVELS = LEVELS + 10
"""The record of who owns which field, in the metadata, is some levels deeper than the fields."""

MOST_BYTES = 128 * 1024
"""The most bytes of a job as JSON, without that record. A large job has 10 KB. 1,000 jobs just below both limits take
the operator to 358 MiB of its 512 (`make bench-scale`); with twice the limits it was 624."""

MOST_VALUES = 25_000
"""The most values of a job. To read as many takes some hundredths of a second, in every pass."""

RAW_BYTES = 1024 * 1024
_RAW_VALUES = 4 * MOST_VALUES
"""What is decoded at a time: one job with everything, or several."""

_QUOTES_OF_A_VALUE = 4
"""A text has two, and so has its name."""

BEYOND = "beyondLimits"
"""The field in which an object of which only the identity is known has the reason. No job of a user has it: the CRD
allows no field of this name."""

_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+', re.DOTALL)
"""The last may have no end, in an answer that broke off: else each quote within it would be tried for a beginning."""
_STRUCTURE = b"[]{},"
_OTHERS = bytes(set(range(256)) - set(_STRUCTURE))
_ONE_KIND = bytes.maketrans(b"[]", b"{}")


def _nested(levels: int) -> re.Pattern[bytes]:
    """Returns a pattern of braces that are nested at most so deeply."""
    inner = b""
    for _ in range(levels):
        inner = rb"(?:\{" + inner + rb"\})*+"
    return re.compile(inner)


_NESTED = _nested(_OBJECT_LEVELS)


def beyond(text: bytes, what: str = "the job") -> str | None:
    """Returns what is too large about a job, in one sentence; None if nothing is.

    It does not say how much there is: with a status that says so there is more, and the status would be written again.

    Args:
        text: The job as JSON, in UTF-8.
        what: What it is called in the sentence.
    """
    if len(text) > MOST_BYTES:
        return f"{what} has more than the {MOST_BYTES:,} bytes as JSON that are read: make it smaller"
    structure = _structure(text)
    if _values(structure) > MOST_VALUES:
        return f"{what} has more than the {MOST_VALUES:,} values that are read: write fewer"
    return _too_deep(structure, what)


def is_decodable(text: bytes) -> bool:
    """Tells whether JSON may be decoded: it has few enough levels for Python, and costs little memory and time."""
    if len(text) > RAW_BYTES or text.count(b'"') > _QUOTES_OF_A_VALUE * _RAW_VALUES:
        return False
    structure = _structure(text)
    return _values(structure) <= _RAW_VALUES and _too_deep(structure, "") is None


def _structure(text: bytes) -> bytes:
    """Returns the brackets and commas of JSON that are not in strings."""
    return _STRINGS.sub(b"", text).translate(None, _OTHERS)


def _values(structure: bytes) -> int:
    """Returns how many values there are at most: an empty list counts as two."""
    return 1 + sum(structure.count(each) for each in (b",", b"[", b"{"))


def _too_deep(structure: bytes, what: str) -> str | None:
    brackets = structure.translate(_ONE_KIND, b",")
    return None if _NESTED.fullmatch(brackets) else f"{what} is nested too deeply: use at most {LEVELS} levels"
