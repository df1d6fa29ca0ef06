"""A job that a backup tool restores: its status follows its creation by a second request.

::

    Velero   creates the job   ...   writes the status, for the version that it created
    here     |--- writes nothing to it ---|

A write of ours in between would make the API server refuse the status, and what has finished would train again.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from qtj_operator.controller.client import Object

__all__ = ["Awaited"]

_RESTORED = "velero.io/restore-name"
"""Velero gives this label to all that it restores."""

_PATIENCE = timedelta(seconds=60)


@dataclass(slots=True)
class Awaited:
    """Until when the status of a restored job may come.

    It counts from when this operator first sees the job, not from its creation: then clocks need not agree.
    """

    _uid: str = ""
    _since: datetime | None = None

    def until(self, job: Object, now: datetime) -> datetime | None:
        """Returns until when nothing is written to a job; None if nothing keeps it from starting."""
        if not _is_restored(job):
            return None
        if self._since is None or self._uid != job["metadata"]["uid"]:
            self._uid, self._since = job["metadata"]["uid"], now
        due = self._since + _PATIENCE
        return due if now < due else None


def _is_restored(job: Object) -> bool:
    return _RESTORED in (job["metadata"].get("labels") or {}) and not (job.get("status") or {}).get("conditions")
