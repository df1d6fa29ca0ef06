"""Moments as text: RFC 3339 to the second in UTC, as Kubernetes writes them."""

from datetime import UTC, datetime

__all__ = ["rfc3339"]


def rfc3339(moment: datetime) -> str:
    """Returns a moment as text, for example 2030-01-01T12:00:00Z.

    Args:
        moment: With its time zone; fractions of a second are cut off.
    """
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
