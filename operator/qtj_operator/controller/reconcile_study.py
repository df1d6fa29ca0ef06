"""One pass over one study: read, decide, act, write the status once."""

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Self

from pydantic import ValidationError

from qtj_operator.api.digest import digest_of
from qtj_operator.api.limits import BEYOND
from qtj_operator.api.reading import dotted, faults
from qtj_operator.api.study import STUDY_KIND, StudySpec
from qtj_operator.api.study_status import StudyPhase, StudyStatus, TrialStatus
from qtj_operator.controller.children import is_controlled_by
from qtj_operator.controller.client import ApiError, Client, Key, Object, Resource
from qtj_operator.controller.events import emit
from qtj_operator.controller.fair_limit import FairLimit
from qtj_operator.controller.journal import log_fields
from qtj_operator.controller.reconcile import utc_now
from qtj_operator.controller.study_memory import Studies, StudyMemory
from qtj_operator.controller.suggest import NoSuggestion, suggest
from qtj_operator.controller.trial_objects import trial_jobs, within_limits
from qtj_operator.core.platform import CLUSTER, Platform
from qtj_operator.core.study.on_cluster import SeenStudy, StudyPass, TrialJob, decide_pass, recorded_trials
from qtj_operator.core.study.plan import plan_of, unplannable
from qtj_operator.core.study.points import Point
from qtj_operator.core.study.status import invalid, study_events
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.trial import LABEL_STUDY, misspelt_reference, owned_trial

__all__ = ["InvalidStudy", "Study", "StudyReconciler"]

_MOST_BYTES = 192 * 1024
"""Of the values of all trials as JSON. With their results, and with the spec, which kubectl writes twice, a study then
has less than the 1 MiB up to which an object is read whole."""


class InvalidStudy(ValueError):
    """A study that can never run; the message is one sentence for its author."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study that can run.

    Attributes:
        name: Its name.
        namespace: Its namespace.
        uid: Its uid.
        generation: That of its spec.
        spec: Its spec.
        status: Its status.
        template_digest: A digest of the template of its jobs.
    """

    name: str
    namespace: str
    uid: str
    generation: int
    spec: StudySpec
    status: StudyStatus
    template_digest: str

    @classmethod
    def parse(cls, raw: Object) -> Self:
        """Reads a study.

        Raises:
            InvalidStudy: It can never run.
        """
        spec, meta = _spec(raw), raw["metadata"]
        return cls(
            name=meta["name"],
            namespace=meta["namespace"],
            uid=meta["uid"],
            generation=meta.get("generation", 1),
            spec=spec,
            status=study_status(raw),
            template_digest=digest_of(spec.job_template),
        )


def study_status(raw: Object) -> StudyStatus:
    """Returns the status of a study.

    Raises:
        ValidationError: It is not one that this version understands: without it, trials would run again.
    """
    return StudyStatus.read(raw.get("status") or {}, extra="ignore")


def _spec(raw: Object) -> StudySpec:
    if BEYOND in raw:
        raise InvalidStudy(str(raw[BEYOND]))
    try:
        spec = StudySpec.read(raw["spec"], extra="ignore")
    except ValidationError as error:
        path, what = next(faults(error))
        raise InvalidStudy(f"{dotted(('spec', *path))}: {what}") from None
    if why := unplannable(spec):
        raise InvalidStudy(f"spec: {why}")
    if misspelt := misspelt_reference(spec):
        name, near = misspelt
        raise InvalidStudy(f"spec.jobTemplate: there is no parameter {name}: write ${{{near}}}")
    _check_size(spec)
    return spec


def _check_size(spec: StudySpec) -> None:
    sizes = [len(json.dumps(dict(setting.point))) for setting in plan_of(spec)]
    added = json.dumps(dict(spec.final.parameters or {})) if spec.final else ""
    size = sum(sizes) + (max(sizes) + len(added)) * len(spec.final_seeds)
    if size > _MOST_BYTES:
        raise InvalidStudy(
            f"spec: the values of all trials have {size:,} bytes, and at most {_MOST_BYTES:,} fit into a status: "
            "shorten them, or take fewer"
        )


log = logging.getLogger(__name__)

_STUDIES = Resource.QUANTUM_TRAINING_STUDIES
_JOBS = Resource.QUANTUM_TRAINING_JOBS

_AGAIN = timedelta(seconds=30)
"""After a refusal: a quota is raised and a policy goes away without any event for us."""


def _always(_study: Study) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class StudyReconciler:
    """Brings studies and the jobs of their trials in line, one pass at a time.

    Attributes:
        client: The cluster.
        clock: Tells the time.
        studies: The studies that are known, and what is remembered of each.
        is_current: Tells whether a study is still as it was when it was read; see `Cache.is_current`.
        platform: What it gives to jobs, and which labels are copied.
        suggest: Returns new points of a search that learns.
        sampler: Lets one study at a time ask for points, of one namespace after the other: each may take two minutes.
    """

    client: Client
    clock: Callable[[], datetime] = utc_now
    studies: Studies = field(default_factory=dict)
    is_current: Callable[[Study], bool] = _always
    platform: Platform = CLUSTER
    suggest: Callable[[StudySpec, Sequence[TrialStatus], int], Awaitable[Sequence[Point]]] = suggest
    sampler: FairLimit = field(default_factory=lambda: FairLimit(1))

    async def reconcile(self, key: Key) -> timedelta | None:
        """Does one pass over the study and returns after what time to look again, if nothing happens before.

        Raises:
            ApiError: A request failed; the pass is to be repeated.
        """
        raw = await self.client.get(_STUDIES, *key)
        if raw is None or "deletionTimestamp" in raw["metadata"]:
            self.studies.pop(key, None)
            return None
        self.studies[key] = StudyMemory.of(raw)
        raw = within_limits(raw)  # it may have been read past the cache
        if "spec" not in raw and BEYOND not in raw:
            # Nothing but its identity was read: whatever was written into its status now, would drop its trials.
            log.warning(
                "study %s/%s is left as it is: it is too large to be read", *key, extra=log_fields(key, "study")
            )
            return None
        now = self.clock()
        try:
            study = Study.parse(raw)
        except InvalidStudy as error:
            status = invalid(study_status(raw), str(error), raw["metadata"].get("generation", 1), now)
            await self._write(key, raw, status)
            return None
        return await self._pass(study, raw, now)

    async def _pass(self, study: Study, raw: Object, now: datetime) -> timedelta | None:
        key = study.namespace, study.name
        found = await self.client.list(_JOBS, study.namespace, {LABEL_STUDY: study.name})
        seen = SeenStudy(
            spec=study.spec,
            generation=study.generation,
            template_digest=study.template_digest,
            status=study.status,
            jobs=trial_jobs(found, raw, study.spec.objective.metric),
            policy=self.platform.settings.policy_of(study.namespace),
        )
        decision = decide_pass(seen, now)
        if decision.is_expired:
            await self.client.delete(_STUDIES, *key, raw["metadata"]["resourceVersion"])
            return None
        if decision.suggest:
            seen = await self._with_suggestions(key, seen, decision.suggest)
            decision = decide_pass(seen, now)
        obstacle = await self._act(study, raw, decision)
        if obstacle is not None:
            decision = decide_pass(replace(seen, obstacle=obstacle), now)
        if await self._write(key, raw, decision.status) or decision.resume:
            return timedelta(0)  # the next pass acts on what was recorded; do not count on an event of the watch
        if obstacle is not None or seen.no_suggestion is not None:
            return _AGAIN
        return None if decision.wake_at is None else max(decision.wake_at - now, timedelta(seconds=1))

    async def _with_suggestions(self, key: Key, seen: SeenStudy, count: int) -> SeenStudy:
        """Returns what is seen with new points, or why there are none. They are recorded before their jobs exist."""
        try:
            async with self.sampler.turn(key):
                return replace(seen, suggested=await self.suggest(seen.spec, recorded_trials(seen), count))
        except NoSuggestion as problem:
            return replace(seen, no_suggestion=str(problem))

    async def _act(self, study: Study, raw: Object, decision: StudyPass) -> str | None:
        """Deletes, suspends, resumes and creates jobs, in turn; returns what keeps one from being created."""
        for job in decision.delete:
            await self.client.delete(_JOBS, study.namespace, job.name, job.version)
        for jobs, is_suspended in ((decision.suspend, True), (decision.resume, False)):
            for job in jobs:
                obstacle = await self._set_suspended(study, job, is_suspended=is_suspended)
                if obstacle is not None:
                    return obstacle
        for trial in decision.create:
            if not self.is_current(study):
                return None
            obstacle = await self._create(study, owned_trial(raw, trial, self.platform.copied_labels))
            if obstacle is not None:
                return obstacle
        return None

    async def _set_suspended(self, study: Study, job: TrialJob, *, is_suspended: bool) -> str | None:
        try:
            await self.client.patch(_JOBS, study.namespace, job.name, _suspension(job, is_suspended=is_suspended))
        except ApiError as error:
            if error.refused_by is None:
                raise
            what = "suspended" if is_suspended else "resumed"
            return f"job {job.name} cannot be {what}: it was refused by {error.refused_by}: {error}"
        return None

    async def _create(self, study: Study, manifest: Manifest) -> str | None:
        name = manifest["metadata"]["name"]
        try:
            await self.client.create(_JOBS, manifest)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return await self._not_ours(study, name)
            if not error.final and error.refused_by is None:
                raise
            return f"job {name} was refused by {error.refused_by or 'the API server'}: {error}"
        return None

    async def _not_ours(self, study: Study, name: str) -> str | None:
        there = await self.client.get(_JOBS, study.namespace, name)
        if there is None or is_controlled_by(there, study.uid):
            return None
        return f"job {name} exists and does not belong to this study: delete it, or give the study another name"

    async def _write(self, key: Key, raw: Object, status: StudyStatus) -> bool:
        """Writes the status if it changed; returns whether the object has changed.

        It has not if the API server has dropped what is new, because its CRD is of an earlier version.
        """
        before, after = raw.get("status") or {}, status.to_dict(raw.get("status"))
        if after == before:
            return False
        known = {name: value for name, value in raw.items() if name != BEYOND}
        written = await self.client.replace_status(_STUDIES, {**known, "status": after})
        if before.get("phase") != after.get("phase"):
            _log_phase(key, status)
        for event in study_events(study_status(raw), status):
            await emit(self.client, raw, event, self.clock(), STUDY_KIND)
        return bool(written["metadata"]["resourceVersion"] != raw["metadata"]["resourceVersion"])


def _suspension(job: TrialJob, *, is_suspended: bool) -> list[Object]:
    """Returns a change of this very job, and of no later one with its name."""
    return [
        {"op": "test", "path": "/metadata/uid", "value": job.uid},
        {"op": "add", "path": "/spec/suspend", "value": is_suspended},
    ]


def _log_phase(key: Key, status: StudyStatus) -> None:
    level = logging.WARNING if status.phase == StudyPhase.FAILED else logging.INFO
    why = f": {status.message}" if status.message else ""
    log.log(level, "study %s/%s is %s%s", *key, status.phase, why, extra=log_fields(key, "study"))
