"""What runs for studies beside the jobs: a watch, a cache and a queue of their own, and the same machinery.

kopf watches the jobs, and so the trials; studies are watched as children are (`reflector.py`), which waits for a CRD
that is not there yet: an operator without it goes on with its jobs.
"""

from collections.abc import Coroutine, Sequence
from typing import Any

from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.reflector import Reflector
from qtj_operator.controller.cache import Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import Key
from qtj_operator.controller.fair_limit import FairLimit
from qtj_operator.controller.family import STUDIES
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.reconcile_study import StudyReconciler
from qtj_operator.controller.runtime import Runtime
from qtj_operator.controller.study_memory import Studies as KnownStudies
from qtj_operator.controller.trial_objects import is_same_trial
from qtj_operator.controller.watch_handler import JobsHandler, WatchHandler
from qtj_operator.core.platform import Platform

__all__ = ["Studies"]


class Studies:
    """The studies of an operator.

    Args:
        client: The API server.
        limit: How many requests are under way at once, with those for jobs.
        namespace: The only namespace to look after; None for all.
        queue: Keys of studies that are worth a look.
        metrics: Where passes are counted.
        platform: What pods run on.
        known: The studies that are known.
    """

    def __init__(
        self,
        client: ApiClient,
        limit: FairLimit,
        namespace: str | None,
        *,
        queue: WorkQueue[Key],
        metrics: Metrics,
        platform: Platform,
        known: KnownStudies,
    ) -> None:
        cache = Cache(STUDIES)
        self._handler = WatchHandler(cache, queue.add_news, is_same_trial)
        self._reflector = Reflector(client, STUDIES.owner, namespace, self._handler, STUDIES)
        cached = CachedClient(client, cache, queue.add, limit)
        reconciler = StudyReconciler(cached, client.now, known, is_current=cache.is_current, platform=platform)
        self._runtime = Runtime(
            cached, reconciler.reconcile, queue, namespace,
            jobs=reconciler.studies, metrics=metrics, filled=self._handler.filled, resource=STUDIES.owner,
        )  # fmt: skip

    @property
    def alive(self) -> bool:
        """Whether its resync runs, once it has begun: it waits for the CRD."""
        return self._runtime.alive

    def with_trials(self, jobs: WatchHandler) -> JobsHandler:
        """Returns what takes jobs from their watch, for themselves and for their studies."""
        return JobsHandler(jobs, self._handler, STUDIES)

    def running(self) -> Sequence[Coroutine[Any, Any, None]]:
        """Returns what runs until cancelled."""
        return (self._runtime.run(), self._reflector.run())
