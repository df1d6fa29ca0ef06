"""Where a job runs, as a handle asks it."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from qtj.monitor.snapshot import Source
from qtj_report.artifacts import Read
from qtj_report.content import Content

__all__ = ["Place"]

T = TypeVar("T")


class Place(Protocol):
    """A job on this machine or on a cluster."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        ...

    @property
    def period(self) -> float:
        """Seconds between two looks."""
        ...

    @property
    def read(self) -> Read:
        """Reads what it has stored."""
        ...

    def ask(self, look: Callable[[Source], Coroutine[Any, Any, T]]) -> T:
        """Looks at the job.

        Raises:
            InputError: It is not there, or the cluster does not answer.
        """
        ...

    def content(self) -> Content:
        """Returns what a report shows of it.

        Raises:
            InputError: As in `ask`.
        """
        ...

    def logs(self, replica: str | None) -> str:
        """Returns what its replicas wrote.

        Raises:
            InputError: There is no such log.
        """
        ...

    def suspend(self) -> str:
        """Ends its programs, which store a checkpoint; returns the sentence of the command.

        Raises:
            InputError: It is not active, or the API server refuses.
        """
        ...

    def resume(self) -> str:
        """Continues it; returns what follows.

        Raises:
            InputError: It cannot be continued.
        """
        ...

    def delete(self) -> str:
        """Deletes it; returns the sentence of the command.

        Raises:
            InputError: It is active on this machine, or the API server refuses.
        """
        ...
