"""A job as it is at one moment, wherever it runs: what every view of it shows.

runs on this machine ──▶ LocalSource ────┐
                                         ├──▶ Snapshot ──▶ text, tables, documents
jobs of a cluster ─────▶ ClusterSource ──┘
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from qtj.monitor.replica import UNKNOWN, Replica
from qtj.runs.summary import age_of, age_text
from qtj_operator.controller.client import Object

__all__ = ["Snapshot", "Source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A job at one moment.

    Attributes:
        name: Its name on the command line.
        job: The object.
        now: The moment, by the clock of who wrote the job.
        phase: Its phase, or what this machine knows besides, such as Interrupted.
        why: Why it has that phase; empty where there is nothing to add.
        is_over: Whether nothing more happens to it.
        progress: Its progress, as the status has it or as it was recorded since.
        losses: The loss of each epoch that is known.
        left: The time left, empty where it is not known.
        activity: What its program does; "" while it trains, None where it has reported nothing.
        replicas: Its replicas.
        pods: Its pods, where they change.
        events: Its events, oldest first.
        places: Where it is and where its files are, by name.
        follows: The commands that can be used next.
    """

    name: str
    job: Object
    now: datetime
    phase: str
    why: str
    is_over: bool
    progress: Mapping[str, Any]
    losses: Sequence[float | None] = ()
    left: str = ""
    activity: str | None = None
    replicas: Sequence[Replica] = ()
    pods: Sequence[Object] = ()
    events: Sequence[Object] = ()
    places: Mapping[str, str]
    follows: str = ""

    @property
    def status(self) -> Mapping[str, Any]:
        """The status of the job; empty before it has one."""
        status: Mapping[str, Any] = self.job.get("status") or {}
        return status

    @property
    def age(self) -> str:
        """The time since it began, for people; a dash where that is not known."""
        age = age_of(self.job, self.now)
        return "-" if age is None else age_text(age)

    @property
    def replica_rows(self) -> Sequence[Replica]:
        """The replicas as a table shows them; none if nothing is known of any of them."""
        return self.replicas if any(each.state != UNKNOWN for each in self.replicas) else ()

    def to_dict(self) -> dict[str, Any]:
        """Returns it for programs."""
        found: dict[str, Any] = {"name": self.name, "namespace": self.job["metadata"].get("namespace")}
        found |= {
            "phase": str(self.phase),
            "reason": self.status.get("reason"),
            "message": self.why,
            "ready": self.status.get("ready"),
        }
        found |= {"attempt": self.status.get("attempt"), "restarts": self.status.get("restarts", 0)}
        known = {name: value for name, value in found.items() if value is not None}
        numbers = {"progress": dict(self.progress), "timeLeft": self.left.removesuffix(" left")}
        return {**known, **numbers, "replicas": [each.to_dict() for each in self.replicas]}


class Source(Protocol):
    """Where jobs are looked at."""

    async def look(self) -> Sequence[Snapshot]:
        """Returns the jobs as they are now.

        Raises:
            InputError: One of them is not there, or not any more.
            ApiError: The cluster does not answer.
        """
        ...
