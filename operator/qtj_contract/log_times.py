"""Lines of a log in JSON, with the names and times that every log collector understands."""

from datetime import UTC, datetime
from typing import Any

__all__ = ["json_lines", "rfc3339"]

_FIELDS = "%(asctime)s %(levelname)s %(name)s %(message)s"
"""What each line has."""
_RENAMED = {"asctime": "time", "levelname": "level"}
"""The names that log collectors look for."""


def json_lines(formatter: type[Any]) -> Any:
    """Returns a formatter that writes each line as JSON.

    Args:
        formatter: `JsonFormatter` of python-json-logger, which this package does not need by itself.
    """
    return type("JsonLines", (formatter,), {"formatTime": _time_of})(_FIELDS, rename_fields=_RENAMED)


def _time_of(_formatter: object, record: Any, _datefmt: str | None = None) -> str:
    return rfc3339(record.created)


def rfc3339(seconds: float) -> str:
    """Returns a time in seconds since 1970 as in `2030-01-31T12:00:00.123Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
