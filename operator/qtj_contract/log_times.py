"""Lines of a log in JSON, with the names and times that every log collector understands."""

from datetime import UTC, datetime

__all__ = ["FIELDS", "RENAMED", "rfc3339"]

FIELDS = "%(asctime)s %(levelname)s %(name)s %(message)s"
"""What each line has."""
RENAMED = {"asctime": "time", "levelname": "level"}
"""The names that log collectors look for."""


def rfc3339(seconds: float) -> str:
    """Returns a time in seconds since 1970 as in `2030-01-31T12:00:00.123Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
