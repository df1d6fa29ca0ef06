"""Which job has a pass next, and when a pass with many actions ends before it has carried out all of them."""

from dataclasses import dataclass
from operator import itemgetter

from qtj_operator.api.job import Job
from qtj_operator.controller.bulkhead import Bulkhead
from qtj_operator.controller.cache import Cache
from qtj_operator.controller.client import Key, Resource
from qtj_operator.controller.queue import WorkQueue

__all__ = ["AT_LEAST", "WORKERS", "TurnOver", "Turns", "never_over"]

WORKERS = 16
"""Passes at a time, each over another job."""

AT_LEAST = 31
"""Actions of a pass in any case, unless answers are late; of creates, the first stages: 1, 2, 4, 8 and 16."""


class TurnOver(Exception):  # noqa: N818  it is no error
    """The pass has ended early, and another one is to continue."""


def never_over(_job: Job, _begun: int) -> bool:
    """Lets every pass carry out all its actions."""
    return False


@dataclass(frozen=True, slots=True)
class Turns:
    """Tells whether a pass has had its turn.

    A pass holds a worker until its last request is answered. Some large jobs that start together would hold all of
    them, for minutes where the API server is slow, while other jobs are suspended, deleted or lose a replica.

    Attributes:
        cache: What the watches have delivered meanwhile.
        queue: The jobs that wait for a worker.
        bulkhead: Which passes wait for long.
    """

    cache: Cache
    queue: WorkQueue[Key]
    bulkhead: Bulkhead

    @classmethod
    def new(cls, jitter: float = 0.2) -> "Turns":
        """Returns the turns of an operator that starts, with a queue in which namespaces alternate.

        Args:
            jitter: See `WorkQueue`.
        """
        queue = WorkQueue[Key](group=itemgetter(0), jitter=jitter)
        return cls(Cache(), queue, Bulkhead(queue.holds))

    @property
    def waiting(self) -> int:
        """How many jobs wait for a pass: for a worker, or for a place in the share of their namespace."""
        return len(self.queue) + self.bulkhead.waiting

    def is_over(self, job: Job, begun: int) -> bool:
        """Whether another job needs the worker, or this one was deleted, created again, suspended or edited.

        Args:
            job: The job.
            begun: How many actions the pass has begun.
        """
        key = job.namespace, job.name
        if begun < AT_LEAST and not self.bulkhead.is_late(key):
            return False
        is_needed = len(self.queue) > 0 and self.queue.under_way >= WORKERS
        return is_needed or self.bulkhead.is_contended(key) or not self._is_as_it_was(job)

    def _is_as_it_was(self, job: Job) -> bool:
        now = self.cache.get(Resource.QUANTUM_TRAINING_JOBS, job.namespace, job.name)
        if now is None or "deletionTimestamp" in now["metadata"]:
            return False
        return (now["metadata"]["uid"], now["metadata"].get("generation", 1)) == (job.uid, job.generation)
