"""What can go wrong on the way of an event from the API server to the operator, and what the operator then lists."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from qtj.local.store import Change, ClusterStore
from qtj_operator.controller.cache import CACHED
from qtj_operator.controller.client import Resource
from qtj_operator.controller.trim import trimmed
from qtj_operator.controller.watch_handler import WatchHandler

STALL = timedelta(seconds=60)
"""After which a watch that is silent is asked for anew."""


class Trouble(StrEnum):
    """What happens to an event, and perhaps to those of its watch after it."""

    DOUBLED = "is delivered again after its successor"
    REORDERED = "is delivered after its successor"
    LATE = "is delivered three changes late"
    STALLED = "stalls its watch for a minute"
    LOST = "is lost with all of its watch for a minute, until there is a list"


_CHANGES = {Trouble.REORDERED: 1, Trouble.LATE: 3}
"""How many changes later a watch delivers what it holds back."""


@dataclass
class _Held:
    """A watch that delivers nothing for now.

    Attributes:
        until: When it delivers again at the latest.
        changes: After how many more changes it does; None where only time counts.
        events: What it holds back.
    """

    trouble: Trouble
    until: datetime
    changes: int | None
    events: list[Change] = field(default_factory=list)


class Watches:
    """The watches of an operator, one for each resource, in the order of the changes as long as nothing is wrong."""

    def __init__(self, store: ClusterStore, clock: Callable[[], datetime], handler: WatchHandler) -> None:
        self._store = store
        self._clock = clock
        self._handler = handler
        self._held: dict[Resource, _Held] = {}
        self._again: list[Change] = []

    @property
    def behind(self) -> bool:
        """Whether something has happened that has not been delivered."""
        return any(held.events for held in self._held.values())

    def list_all(self) -> None:
        """A process that begins lists everything."""
        for resource in CACHED:
            self._list(resource)

    def connect(self, handler: WatchHandler) -> None:
        """A new process watches from now on."""
        self._handler = handler
        self._held.clear()
        self._again.clear()
        self.list_all()

    def spoil(self, trouble: Trouble, resource: Resource) -> None:
        """From the next change on, this goes wrong."""
        if resource in CACHED and trouble is not Trouble.DOUBLED:
            self._held.setdefault(resource, _Held(trouble, self._clock() + STALL, _CHANGES.get(trouble)))

    def repeat(self, change: Change) -> None:
        """Delivers an event once more after the next one."""
        self._again.append(change)

    def tell(self, change: Change) -> None:
        """Something has changed."""
        if change.resource not in CACHED:
            return
        held = self._held.get(change.resource)
        again, self._again = self._again, []
        if held is None:
            self._deliver(change)
        else:
            held.events.append(change)
        for event in again:
            self._deliver(event)
        self._count()

    def recover(self, now: datetime | None = None) -> bool:
        """Delivers what is due, or everything; returns whether there was anything."""
        due = [resource for resource, held in self._held.items() if now is None or held.until <= now]
        behind = self.behind
        for resource in due:
            self._release(resource)
        return behind and bool(due)

    def next_due(self) -> datetime | None:
        """Returns when a watch delivers again at the latest."""
        return min((held.until for held in self._held.values()), default=None)

    def _count(self) -> None:
        for resource, held in list(self._held.items()):
            if held.changes == 0:
                self._release(resource)
            elif held.changes is not None:
                held.changes -= 1

    def _release(self, resource: Resource) -> None:
        held = self._held.pop(resource)
        if held.trouble is Trouble.LOST:
            self._list(resource)
        for event in reversed(held.events) if held.trouble is Trouble.REORDERED else held.events:
            if held.trouble is not Trouble.LOST:
                self._deliver(event)

    def _list(self, resource: Resource) -> None:
        objects = [trimmed(resource, obj) for obj in self._store.select(resource, None, {})]
        self._handler.listed(resource, objects, str(self._store.version))

    def _deliver(self, change: Change) -> None:
        self._handler.changed(change.resource, change.type, change.object)
