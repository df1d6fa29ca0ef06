"""One pass over one job: read, decide, act, write the status once, tell."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from qtj_operator.api.job import InvalidJob, Job, is_managed_elsewhere, read_status
from qtj_operator.controller.act import Obstacle, act
from qtj_operator.controller.client import Client, Object, ProgressSource, Resource
from qtj_operator.controller.events import emit
from qtj_operator.controller.observe import observe
from qtj_operator.core.decide import decide, refuse
from qtj_operator.core.decision import Decision
from qtj_operator.core.events import events_between
from qtj_operator.core.status import with_obstacle

__all__ = ["Key", "Reconciler", "utc_now"]

log = logging.getLogger(__name__)

Key = tuple[str, str]
"""Namespace and name of a job."""

_OBSTACLE_RETRY = timedelta(seconds=15)
"""How often a child that was refused is tried again: quotas are raised and names freed without any event for us."""


def utc_now() -> datetime:
    """The time as it is written into a status: UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Brings jobs and their children in line, one pass at a time.

    Attributes:
        client: The cluster.
        progress: Where the progress of running jobs comes from.
        clock: Tells the time.
    """

    client: Client
    progress: ProgressSource
    clock: Callable[[], datetime] = utc_now

    async def reconcile(self, key: Key) -> timedelta | None:
        """Does one pass over the job and returns after what time to look again, if nothing happens before.

        Raises:
            ApiError: The API server did not play along; the pass is to be repeated.
        """
        raw = await self.client.get(Resource.QUANTUM_TRAINING_JOBS, *key)
        if raw is None or "deletionTimestamp" in raw["metadata"] or is_managed_elsewhere(raw):
            self.progress.latest(key, None)
            return None
        now = self.clock()
        decision = await self._decide_and_act(raw, now)
        if decision is None:
            return None
        moved = await self._record(raw, decision, now)
        if moved:
            return timedelta(0)  # the next pass acts on what was recorded; do not count on the watch to tell us
        return None if decision.wake_at is None else max(decision.wake_at - now, timedelta(seconds=1))

    async def _decide_and_act(self, raw: Object, now: datetime) -> Decision | None:
        try:
            job = Job.parse(raw)
        except InvalidJob as error:
            return _refused(raw, str(error), now)
        seen = await observe(self.client, self.progress, job)
        decision = decide(seen, now)
        obstacle = await act(self.client, job, decision.actions)
        return decision if obstacle is None else _hindered(job, decision, obstacle, now)

    async def _record(self, raw: Object, decision: Decision, now: datetime) -> bool:
        """Writes the status if it changed, and tells about it only then; returns whether it did."""
        status = decision.status.to_dict()
        changed = status != raw.get("status")
        if changed:
            raw = {**raw, "status": status}
            await self.client.replace_status(Resource.QUANTUM_TRAINING_JOBS, raw)
            log.info("%s/%s is %s", raw["metadata"]["namespace"], raw["metadata"]["name"], decision.status.phase)
        for event in decision.events:
            await emit(self.client, raw, event, now)
        return changed


def _refused(raw: Object, sentence: str, now: datetime) -> Decision | None:
    """Fails a job that cannot be read, unless it has started.

    Then its rules became stricter since: Failed would be untrue while its pods go on, and final where it is complete.
    """
    meta, before = raw["metadata"], read_status(raw)
    if before.attempt:
        log.warning("%s/%s started earlier and is left as it is: %s", meta["namespace"], meta["name"], sentence)
        return None
    return refuse(before, meta.get("generation", 1), sentence, now)


def _hindered(job: Job, decision: Decision, obstacle: Obstacle, now: datetime) -> Decision:
    status = with_obstacle(job.status, decision.status, obstacle.reason, obstacle.message, now)
    events = events_between(job.status, status)
    retry = now + _OBSTACLE_RETRY
    wake_at = retry if decision.wake_at is None else min(decision.wake_at, retry)
    return replace(decision, status=status, events=events, wake_at=wake_at)
