"""One pass over a study on a cluster: what its status is to say, or which jobs are to be created and deleted.

status ──▶ results of jobs that have ended ──▶ decide ──▶ is the record another? ──▶ write it, and nothing else
   ▲                                                             │ no
   └───────────── the next pass ◀────────────────────────────────┴──▶ create what the record has, delete what is over

The record comes first: a trial is in the status before its job exists, the study is suspended before its jobs are, and
a result is there before its job may go. So a pass that breaks off at any place loses nothing, and no trial that has a
result is run again. A job that somebody deletes before its result is known is created again, with the same values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from qtj_operator.api.conditions import ConditionType, is_true
from qtj_operator.api.platform_policy import NO_POLICY, PlatformPolicy, effective_run_policy
from qtj_operator.api.run_policy import RunPolicy
from qtj_operator.api.study import PARALLEL_TRIALS, StudySpec
from qtj_operator.api.study_status import ENDED, StudyPhase, StudyReason, StudyStatus, TrialPhase, TrialStatus
from qtj_operator.core.decision import earliest
from qtj_operator.core.study.decide import StudyDecision, decide_study
from qtj_operator.core.study.epoch import Reached
from qtj_operator.core.study.plan import Setting
from qtj_operator.core.study.points import Point
from qtj_operator.core.study.status import reported
from qtj_operator.core.study.stopping import judged

__all__ = ["SeenStudy", "StudyPass", "TrialJob", "decide_pass", "recorded_trials"]

_MESSAGE_LENGTH = 300
"""Of the message of a failed trial: a thousand of them have to fit into one object."""

_LOOK_EVERY = timedelta(seconds=5)
"""At the progress of trials, if some may be stopped."""

_TEMPLATE_CHANGED = (
    "jobTemplate was changed after the first trial had started, so results could not be compared: undo that, or create "
    "a study with another name"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialJob:
    """The job of a trial, as it is now.

    Attributes:
        name: Its name.
        uid: Its uid.
        version: Its resourceVersion.
        result: Complete or Failed; Running as long as it may still report something.
        metrics: What it has reported, once it is complete.
        message: Why it has failed.
        end: When it has ended.
        is_leaving: Whether it is being deleted.
        is_suspended: Whether its spec says so.
        reached: How far it is, while it runs.
    """

    name: str
    uid: str
    version: str
    result: TrialPhase
    metrics: Mapping[str, float] | None = None
    message: str | None = None
    end: datetime | None = None
    is_leaving: bool = False
    is_suspended: bool = False
    reached: Reached | None = None

    @property
    def runs(self) -> bool:
        """Whether it may still report something."""
        return self.result == TrialPhase.RUNNING and not self.is_leaving


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenStudy:
    """A study and the jobs of its trials.

    Attributes:
        spec: Its spec.
        generation: That of the spec.
        template_digest: A digest of its template.
        status: Its status.
        jobs: The jobs that it owns, by the numbers of their trials.
        obstacle: Why a job cannot be created, as the API server has just said.
        suggested: New points, of a search that learns.
        no_suggestion: Why there are none.
        policy: What the platform gives to jobs of its namespace.
    """

    spec: StudySpec
    generation: int
    template_digest: str
    status: StudyStatus
    jobs: Mapping[int, TrialJob]
    obstacle: str | None = None
    suggested: Sequence[Point] = ()
    no_suggestion: str | None = None
    policy: PlatformPolicy = NO_POLICY


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPass:
    """What is to be done, in this order.

    Attributes:
        create: Trials whose job is to be created.
        suspend: Jobs that are to be suspended.
        resume: Jobs that are to be resumed.
        delete: Jobs that are to be deleted.
        suggest: How many new points are wanted, before anything else is done.
        is_expired: Whether the study itself is to be deleted.
        status: The status to write.
        wake_at: When to look again, if nothing happens before.
    """

    status: StudyStatus
    create: Sequence[TrialStatus] = ()
    suspend: Sequence[TrialJob] = ()
    resume: Sequence[TrialJob] = ()
    delete: Sequence[TrialJob] = ()
    suggest: int = 0
    is_expired: bool = False
    wake_at: datetime | None = None


def decide_pass(seen: SeenStudy, now: datetime) -> StudyPass:
    """Decides one pass; it depends on nothing but its arguments."""
    trials = recorded_trials(seen)
    is_edited = bool(trials) and seen.status.template_digest not in {None, seen.template_digest}
    room = 0 if is_edited else seen.spec.parallelism or PARALLEL_TRIALS
    decision = decide_study(
        seen.spec, trials, room, now - (seen.status.active_since or now), [] if is_edited else seen.suggested
    )
    if resumed := _to_resume(seen, decision):
        return _resumption(seen, resumed, now)
    was_suspended = is_true(seen.status.conditions or (), ConditionType.SUSPENDED)
    recorded = [*trials, *_begun(decision.start, trials)]
    edited = _TEMPLATE_CHANGED if is_edited and decision.phase not in ENDED else None
    record = seen.status.changed(
        trials=recorded, template_digest=seen.status.template_digest or seen.template_digest if recorded else None
    )
    status = reported(seen.spec, record, _explained(decision, seen), edited, seen.generation, now)
    if recorded != seen.status.trials or (decision.phase, was_suspended) == (StudyPhase.SUSPENDED, False):
        return StudyPass(status=status, suggest=decision.suggest)
    if is_edited or decision.phase != StudyPhase.RUNNING:
        missing = []
    else:
        missing = [each for each in recorded if not each.is_over and each.number not in seen.jobs]
    running = [job for job in seen.jobs.values() if job.runs]
    over = {each.number for each in recorded if each.is_over or decision.phase in ENDED}
    expired, due = _expired(seen, now)
    return StudyPass(
        status=status,
        create=missing,
        suspend=[job for job in running if decision.phase == StudyPhase.SUSPENDED and not job.is_suspended],
        delete=[*expired, *(job for number, job in seen.jobs.items() if job.runs and number in over)],
        suggest=decision.suggest,
        is_expired=_study_is_expired(seen, status, now),
        wake_at=earliest(due, _deadline(seen, status), _end_of_life(seen, status), _next_look(seen, status, now)),
    )


def recorded_trials(seen: SeenStudy) -> list[TrialStatus]:
    """Returns the trials with what their jobs have reported by now."""
    results = [_with_result(each, seen.jobs.get(each.number)) for each in seen.status.trials]
    return judged(seen.spec, results, {number: job.reached for number, job in seen.jobs.items() if job.reached})


def _to_resume(seen: SeenStudy, decision: StudyDecision) -> Sequence[TrialJob]:
    """Returns the jobs that were suspended with their study, which is resumed.

    Its condition says that it is suspended until all of them are resumed, also if its spec was wrong in between. After
    that, one that somebody suspends stays so.
    """
    if not is_true(seen.status.conditions or (), ConditionType.SUSPENDED) or decision.phase != StudyPhase.RUNNING:
        return ()
    if seen.spec.job_template.get("suspend") is True:
        return ()
    return [job for job in seen.jobs.values() if job.runs and job.is_suspended]


def _resumption(seen: SeenStudy, resumed: Sequence[TrialJob], now: datetime) -> StudyPass:
    """Returns what resumes jobs. The study stays suspended until that was done, also where it is refused."""
    if seen.obstacle is None:
        return StudyPass(status=seen.status, resume=resumed)
    refused = StudyDecision(phase=StudyPhase.SUSPENDED, reason=StudyReason.TRIAL_REJECTED, message=seen.obstacle)
    return StudyPass(status=reported(seen.spec, seen.status, refused, None, seen.generation, now))


def _next_look(seen: SeenStudy, status: StudyStatus, now: datetime) -> datetime | None:
    """Returns when to compare trials again: their progress is no news for a study, so that many cost little."""
    return now + _LOOK_EVERY if seen.spec.stopping and status.phase == StudyPhase.RUNNING else None


def _deadline(seen: SeenStudy, status: StudyStatus) -> datetime | None:
    limit, since = seen.spec.active_deadline_seconds, status.active_since
    if limit is None or since is None or status.phase != StudyPhase.RUNNING:
        return None
    return since + timedelta(seconds=limit)


def _end_of_life(seen: SeenStudy, status: StudyStatus) -> datetime | None:
    ttl, end = seen.spec.ttl_seconds_after_finished, status.completion_time
    return None if ttl is None or end is None else end + timedelta(seconds=ttl)


def _study_is_expired(seen: SeenStudy, status: StudyStatus, now: datetime) -> bool:
    """Whether the study may go: its end has been recorded, so that whoever waits for it can have seen it."""
    due = _end_of_life(seen, status)
    return seen.status.completion_time is not None and due is not None and due <= now


def _with_result(trial: TrialStatus, job: TrialJob | None) -> TrialStatus:
    """Returns a trial with what its job has reported; a result that is recorded stays, whatever becomes of the job."""
    if trial.is_over or job is None or job.result == TrialPhase.RUNNING:
        return trial
    message = job.message[:_MESSAGE_LENGTH] if job.message else None
    return trial.changed(phase=job.result, metrics=job.metrics, message=message)


def _begun(start: Sequence[Setting], trials: Sequence[TrialStatus]) -> list[TrialStatus]:
    first = max((each.number for each in trials), default=0) + 1
    return [setting.trial(number) for number, setting in enumerate(start, first)]


def _explained(decision: StudyDecision, seen: SeenStudy) -> StudyDecision:
    """Returns the decision with what keeps trials from starting, if something does."""
    obstacle = seen.obstacle or seen.no_suggestion
    if obstacle is None or decision.phase in ENDED:
        return decision
    reason = StudyReason.TRIAL_REJECTED if seen.obstacle else StudyReason.SEARCH_REFUSED
    return StudyDecision(phase=decision.phase, reason=reason, message=obstacle)


def _time_to_live(seen: SeenStudy) -> int | None:
    written = seen.spec.job_template.get("runPolicy")
    asked = written.get("ttlSecondsAfterFinished") if isinstance(written, Mapping) else None
    policy = RunPolicy(ttl_seconds_after_finished=max(asked, 0) if isinstance(asked, int) else None)
    return effective_run_policy(policy, seen.policy).ttl_seconds_after_finished


def _expired(seen: SeenStudy, now: datetime) -> tuple[Sequence[TrialJob], datetime | None]:
    """Returns the jobs whose time to live is over, and when that of the next one is.

    Only those whose result is in the status: else a job could be gone before anybody has read it.
    """
    ttl = _time_to_live(seen)
    if ttl is None:
        return (), None
    recorded = {each.number for each in seen.status.trials if each.is_over}
    ended = [job for number, job in seen.jobs.items() if number in recorded and job.end and not job.is_leaving]
    dues = [(job, job.end + timedelta(seconds=ttl)) for job in ended if job.end]
    later = [due for _, due in dues if due > now]
    return [job for job, due in dues if due <= now], min(later, default=None)
