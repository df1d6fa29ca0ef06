"""One pass over one job: read, decide, act, write the status once, log it and write events."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from qtj_operator.api.conditions import ConditionType, is_true
from qtj_operator.api.job import Job, is_managed_elsewhere
from qtj_operator.api.limits import BEYOND
from qtj_operator.api.reading import InvalidJob, read_status
from qtj_operator.api.status import Status
from qtj_operator.controller.act import JobChanged, act, always
from qtj_operator.controller.client import ApiError, Client, Key, Object, ProgressSource, Resource
from qtj_operator.controller.events import emit
from qtj_operator.controller.job_memory import Actions, JobMemory, Jobs
from qtj_operator.controller.journal import log_deleted, log_fields, log_transition
from qtj_operator.controller.killed import with_killed
from qtj_operator.controller.last_events import with_told
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.observe import observe, with_namespace, with_nodes
from qtj_operator.controller.observe_tensorboard import with_board
from qtj_operator.core.decide import await_status, decide, refuse, stuck
from qtj_operator.core.decision import Action, Decision, earliest
from qtj_operator.core.observed import Observed
from qtj_operator.core.obstacle import Obstacle
from qtj_operator.core.platform import CLUSTER, Platform

__all__ = ["Reconciler", "utc_now"]

log = logging.getLogger(__name__)


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
        jobs: The jobs that are known, and what is remembered of each.
        metrics: What is counted.
        paced: Whether numbers wait for some time after the last write of a status.
        platform: What pods run on.
        is_current: Tells whether a job is still as it was when it was read; see `Cache.is_current`.
    """

    client: Client
    progress: ProgressSource
    clock: Callable[[], datetime] = utc_now
    jobs: Jobs = field(default_factory=Jobs)
    metrics: Metrics = field(default_factory=Metrics)
    paced: bool = True
    platform: Platform = CLUSTER
    is_current: Callable[[Job], bool] = always

    async def reconcile(self, key: Key) -> timedelta | None:
        """Does one pass over the job and returns after what time to look again, if nothing happens before.

        Raises:
            ApiError: A request failed; the pass is to be repeated.
        """
        raw = await self.client.get(Resource.QUANTUM_TRAINING_JOBS, *key)
        if raw is None or "deletionTimestamp" in raw["metadata"] or is_managed_elsewhere(raw):
            self._forget(key, raw)
            return None
        self.jobs[key].shows(raw)
        now, failures = self.clock(), self.jobs[key].failures
        try:
            delay = await self._pass(key, raw, now)
        except Exception as error:
            await self._tell(key, raw, failures.add(error, now), now)
            raise
        failures.clear()
        return delay

    async def _pass(self, key: Key, raw: Object, now: datetime) -> timedelta | None:
        try:
            decision = await self._decide_and_act(raw, now)
        except JobChanged:
            return timedelta(0)
        return None if decision is None else await self._record(key, raw, decision, now)

    async def _tell(self, key: Key, raw: Object, message: str | None, now: datetime) -> None:
        """Writes why passes fail, once for each reason; where that fails too, the next failure tells."""
        failures = self.jobs[key].failures
        if message is None or message == failures.told:
            return
        decision = stuck(read_status(raw), raw["metadata"].get("generation", 1), message, now)
        with suppress(ApiError):
            await self._write(key, raw, decision, now)
            await self._emit(raw, decision, now)
            failures.told = message

    def _forget(self, key: Key, raw: Object | None) -> None:
        self.progress.ask(key, {}, {})
        if key not in self.jobs:
            return
        del self.jobs[key]
        if raw is None or "deletionTimestamp" in raw["metadata"]:
            log_deleted(key)

    async def _decide_and_act(self, raw: Object, now: datetime) -> Decision | None:
        meta = raw["metadata"]
        if (due := self.jobs[meta["namespace"], meta["name"]].awaited.until(raw, now)) is not None:
            return await_status(read_status(raw), due)
        try:
            job = Job.parse(raw, self.platform.copied_labels)
            job = replace(job, offered=self.platform.settings.policy_of(meta["namespace"]))
        except InvalidJob as error:
            return self._fail_unreadable(raw, str(error), now)
        memory = self.jobs[job.namespace, job.name]
        memory.unreadable = ""
        seen = await self._observe(job, memory, now)
        decision = decide(seen, now)
        self.progress.ask((job.namespace, job.name), decision.asked, decision.followers)
        if (found := await self._act(job, decision.actions, memory.actions, now)) is not None:
            seen = replace(seen, obstacle=found)
            decision = decide(seen, now)
        found = await self._act(job, decision.tensorboard_actions, memory.tensorboard, now)
        if found is not None and seen.board is not None:
            decision = decide(replace(seen, board=replace(seen.board, obstacle=found)), now)
        return decision

    def _fail_unreadable(self, raw: Object, sentence: str, now: datetime) -> Decision | None:
        """Fails a job that cannot be read, unless it has started.

        Then the rules have become stricter since. Failed would be untrue while its pods run, and final if it is
        complete. So it is only logged, once for each reason.
        """
        meta, before = raw["metadata"], read_status(raw)
        key = meta["namespace"], meta["name"]
        told, self.jobs[key].unreadable = self.jobs[key].unreadable, sentence
        if not before.attempt:
            return refuse(before, meta.get("generation", 1), sentence, now)
        if told != sentence:
            log.warning("%s/%s started earlier and is left as it is: %s", *key, sentence, extra=log_fields(key))
        return None

    async def _observe(self, job: Job, memory: JobMemory, now: datetime) -> Observed:
        """Returns what there is, and what became of earlier actions."""
        seen = await observe(self.client, self.progress, job, now, self.platform, memory)
        memory.saw(seen)
        seen = await with_killed(self.client, seen, memory.killed)
        seen = await with_told(self.client, seen, memory.events, now)
        seen = await with_board(self.client, await with_nodes(self.client, seen, now))
        seen = replace(await with_namespace(self.client, seen), looked=memory.looked)
        of_job, of_board = memory.actions, memory.tensorboard
        if seen.board is not None:
            obstacle, due = of_board.refusals.standing(job, now), of_board.repairs.due(job, now)
            seen = replace(seen, board=replace(seen.board, obstacle=obstacle, repairs_due=due))
        obstacle, due = of_job.refusals.standing(job, now), of_job.repairs.due(job, now)
        return replace(seen, obstacle=obstacle, repairs_due=due)

    async def _act(self, job: Job, actions: Sequence[Action], memory: Actions, now: datetime) -> Obstacle | None:
        """Carries out actions and remembers what becomes of them; returns what the API server has refused."""
        if not actions:
            return None
        memory.repairs.add(job, actions, now)
        found = await act(self.client, job, actions, self.is_current)
        if found is not None:
            return memory.refusals.add(job, found, now)
        if memory.refusals.standing(job, now) is None:
            memory.refusals.clear()
        return None

    async def _record(self, key: Key, raw: Object, decision: Decision, now: datetime) -> timedelta | None:
        """Writes the status if it changed, and events; returns after what time to look again."""
        pace = self.jobs[key].pace
        due = pace.due(read_status(raw), decision.status, now, self.jobs.starting) if self.paced else None
        changed = due is None and await self._write(key, raw, decision, now)
        await self._emit(raw, decision, now)
        self.jobs[key].looked = now
        if changed:
            return timedelta(0)  # the next pass acts on what was recorded; do not count on an event of the watch
        wake_at = earliest(decision.wake_at, due)
        return None if wake_at is None else max(wake_at - now, timedelta(seconds=1))

    async def _write(self, key: Key, raw: Object, decision: Decision, now: datetime) -> bool:
        """Writes the status if it changed, and logs and counts the change; returns whether it did."""
        status = decision.status.to_dict(raw.get("status"))
        changed = status != (raw.get("status") or {}) and await self._replace({**raw, "status": status})
        if changed:
            before = read_status(raw)
            self.jobs[key].pace.wrote(now)
            log_transition(key, before, decision)
            self.metrics.status_written(key[0], before, decision.status)
            if _runs_for_the_first_time(before, decision.status):
                self.metrics.began(now - datetime.fromisoformat(raw["metadata"]["creationTimestamp"]))
        return changed

    async def _emit(self, raw: Object, decision: Decision, now: datetime) -> None:
        for event in decision.events:
            await emit(self.client, {**raw, "status": decision.status.to_dict(raw.get("status"))}, event, now)

    async def _replace(self, raw: Object) -> bool:
        """Writes the status; returns whether the object has changed.

        It has not if the API server has dropped what is new, because its CRD is of an earlier version. Another pass
        would then write the same again, for ever.
        """
        known = {name: value for name, value in raw.items() if name != BEYOND}
        written = await self.client.replace_status(Resource.QUANTUM_TRAINING_JOBS, known)
        return bool(written["metadata"]["resourceVersion"] != raw["metadata"]["resourceVersion"])


def _runs_for_the_first_time(before: Status, after: Status) -> bool:
    """Whether all replicas run for the first time; an earlier operator or CRD did not record when they first did."""
    running = ConditionType.RUNNING
    ran = before.first_running_time or before.failures or before.disruptions or is_true(before.conditions, running)
    return is_true(after.conditions, running) and not ran
