"""The operator's process in a simulation: which jobs it looks at, when, and what an error costs."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from qtj.local.store import ClusterStore
from qtj_operator.controller.cache import Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import ApiError, Key, Object, Resource
from qtj_operator.controller.reconcile import Reconciler
from qtj_operator.controller.watch_handler import WatchHandler
from tests.faults.admission import Gatekeeper
from tests.faults.client import Crash, FaultyClient
from tests.faults.hanging import Asked, Hanging
from tests.faults.invariants import Invariants
from tests.faults.memory import untrue
from tests.faults.watches import Watches
from tools.pod_status import NAMESPACE

FIRST_DELAY, LAST_DELAY = 0.2, 60
"""Seconds after which a pass that failed is repeated, the first time and after many."""

FOLLOWS_SERVER = True
"""Whether the operator takes the time from the API server, so that the clock of its own machine does not matter."""


class Operator:
    """The operator's process: which jobs are worth a look, and when it wants to look again.

    Attributes:
        pending: Jobs to look at, in order.
        alarms: When to look again although nothing happens.
        passes: How many there were.
        ahead: By how much the clock of its machine is ahead of the API server's.
    """

    def __init__(
        self,
        store: ClusterStore,
        clock: Callable[[], datetime],
        gatekeeper: Gatekeeper,
        hear: Callable[[Key], None],
        hanging: Hanging,
    ) -> None:
        self._hear = hear
        self._hanging = hanging
        self._cache = Cache()
        self.watches = Watches(store, clock, WatchHandler(self._cache, hear))
        self.invariants = Invariants(clock, self._seen)
        self.client = FaultyClient(store, clock, self.invariants, gatekeeper)
        self.ahead = timedelta(0)
        self._failures: Counter[Key] = Counter()
        self.pending: list[Key] = []
        self.alarms: dict[Key, datetime] = {}
        self.passes = 0
        self._clock = clock
        self._store = store
        self._reconciler = self._process()

    def wrong(self) -> list[str]:
        """Returns what must never happen, and did, where no event is under way."""
        return [*self.invariants.broken, *self.client.own.broken, *untrue(self._cache, self._store)]

    def _seen(self, resource: Resource, namespace: str, name: str) -> Object | None:
        return self._cache.get(resource, namespace, name)

    async def look(self, key: Key) -> None:
        """One pass."""
        self.passes += 1
        self.invariants.begins(late=self.watches.behind)
        try:
            delay = await self._reconciler.reconcile(key)
        except Crash:
            self.restart()
            self.invariants.ends(well=False)
        except ApiError:
            self.alarms[key] = self._clock() + self._back_off(key)
            self.invariants.ends(well=False)
        else:
            self.invariants.ends(well=True)
            self._failures.pop(key, None)
            if delay == timedelta(0):
                self.pending.append(key)
            elif delay is not None:
                self.alarms[key] = self._clock() + delay

    def _back_off(self, key: Key) -> timedelta:
        self._failures[key] += 1
        return timedelta(seconds=max(1, min(FIRST_DELAY * 2 ** self._failures[key], LAST_DELAY)))

    def _tell_time(self) -> datetime:
        return self._clock() + (timedelta(0) if FOLLOWS_SERVER else self.ahead)

    def restart(self) -> None:
        """A new process knows nothing, and lists all jobs."""
        self.client.revive()
        self.invariants.disturbs()
        self._failures.clear()
        self.alarms.clear()
        self.pending.clear()
        self._reconciler = self._process()

    def _process(self) -> Reconciler:
        self._cache = Cache()
        self.watches.connect(WatchHandler(self._cache, self._hear))
        self.client.seen = self._seen
        progress = Asked(self._hanging, self._tell_time)
        return Reconciler(CachedClient(self.client, self._cache, self._hear), progress, self._tell_time)

    def known(self) -> list[Key]:
        """Returns all jobs that a resync looks at: it asks nobody."""
        jobs = self._cache.select(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, {})
        return [(NAMESPACE, job["metadata"]["name"]) for job in jobs]
