"""Passes over a job that have failed in a row, and the sentence about them."""

from datetime import datetime

from qtj_contract.timestamps import rfc3339
from qtj_operator.controller.client import ApiError

__all__ = ["Failures"]

_CONFLICT = 409
"""The pass was decided on an old state; the next one reads the new one."""


class Failures:
    """Counts the passes over one job that fail in a row.

    One failure is no news: a request is lost now and then, and the next pass makes up for it.

    Attributes:
        told: What the status or an event has said last about them.
    """

    def __init__(self) -> None:
        self._number = 0
        self._since = ""
        self.told = ""

    def add(self, error: Exception, now: datetime) -> str | None:
        """Adds a failed pass; returns what to tell the user, from the second in a row on."""
        if isinstance(error, ApiError) and error.code == _CONFLICT:
            return None
        self._number += 1
        if self._number == 1:
            self._since = rfc3339(now)
            return None
        return f"the operator cannot go on with this job since {self._since}, and tries again: {_reason(error)}"

    def clear(self) -> None:
        """Notes that a pass went well."""
        self._number, self.told = 0, ""


def _reason(error: Exception) -> str:
    if isinstance(error, ApiError):
        return str(error)
    return f"a defect of the operator, see its log ({type(error).__name__}: {error})"
