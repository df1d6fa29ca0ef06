"""The status that follows from what was observed and decided."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from qtj_contract import MOST_CAPTURES, Progress, named_numbers
from qtj_operator.api import conditions
from qtj_operator.api.conditions import ConditionType, Fact, Reason, find, is_over, is_true, merge, phase_of
from qtj_operator.api.indexes import format_indexes
from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import LABEL_QUEUE, Role
from qtj_operator.api.sizes import sizes_of
from qtj_operator.api.spec import Spec
from qtj_operator.api.status import Condition, Phase, ProfileStatus, ProgressStatus, ReplicaStatus, Status
from qtj_operator.core.absent import absent_replicas, with_absent
from qtj_operator.core.decision import Move, Verdict
from qtj_operator.core.editable import has_run, ignores_edit
from qtj_operator.core.observed import Observed
from qtj_operator.core.pending_reason import pending_reason, terminating_reason, with_known_words
from qtj_operator.core.pod import Pod
from qtj_operator.core.queued import clocked, is_held
from qtj_operator.core.reconciling import reconciling
from qtj_operator.core.resized import not_taken
from qtj_operator.core.slow_start import slow_start
from qtj_operator.core.step_times import new_stragglers, slow_sentence, step_times

__all__ = [
    "NEVER_STARTED",
    "QUEUE_LABEL_IGNORED",
    "closed",
    "differ_in_numbers_alone",
    "is_training",
    "progress_status",
    "status_of",
]

_SIGNIFICANT = 5
"""Digits kept of a progress number, which people read and which should cause few writes."""

_NAMED = 5
"""How many fields that are ignored are named: there may be thousands."""

_OVER = (ConditionType.TRAINED, ConditionType.FAILED, ConditionType.COMPLETE)
"""Conditions with which training is over."""
QUEUE_LABEL_IGNORED = (
    f"the label {LABEL_QUEUE} of a job does not put its pods into a queue: write the name of the queue into "
    "spec.runPolicy.schedulingPolicy.queueName"
)

NEVER_STARTED = conditions.not_running(Reason.NOT_STARTED, "training never started")
"""No attempt ever ran."""


def status_of(seen: Observed, verdict: Verdict, now: datetime) -> Status:
    """Returns the status after this pass; equal to the one before if nothing happened."""
    before = seen.job.status
    progress = progress_status(seen.progress) if seen.progress else before.progress
    measured = _evaluation(seen)
    evaluation = progress_status(measured) if measured else before.evaluation
    retry = before.retry if seen.job.is_over else seen.job.spec.retry
    change = verdict.change if isinstance(verdict, Move) else verdict.report
    profiles = _profiles_of(seen)
    base = change.applied_to(before.changed(progress=progress, evaluation=evaluation, profiles=profiles, retry=retry))
    base = _with_digests(seen.job, base)
    base = base.changed(elastic=replace(seen.job, status=base).decided)
    replicas = _counts(seen, _spec_after(seen, base), same_attempt=base.attempt == before.attempt or seen.leader_done)
    ready, size = (sum(getattr(counts, name) for counts in replicas.values()) for name in ("ready", "desired"))
    base = base.changed(replicas=replicas, ready=f"{ready}/{size}")
    if before.attempt and has_run(before) and not has_run(base):  # another attempt forgets the results of this one
        base = base.changed(first_running_time=base.start_time or now)
    base = base.changed(steps=step_times(seen, base.attempt, now))
    if base.attempt == before.attempt and _runs_together_now(seen):
        base = base.changed(last_running_attempt=base.attempt)
    facts = verdict.conditions
    stops = any(fact.status and fact.type in (*_OVER, ConditionType.SUSPENDED) for fact in facts)
    base = clocked(seen.job, base, now, held=is_held(seen) and not stops)
    if not any(fact.type == ConditionType.RUNNING for fact in facts) and not _never_ran(seen, facts):
        facts = (_running(seen, facts, base, now), *facts)
    recorded = replace(seen.job, status=base)
    facts = tuple(with_known_words(before.conditions, with_absent(recorded, fact)) for fact in facts)
    after = closed(base, facts, seen.job.generation, now)
    ignored = tuple(spec_ignored(seen, replace(seen.job, status=after)))
    return closed(after, ignored, seen.job.generation, now) if ignored else after


def _with_digests(job: Job, base: Status) -> Status:
    """Returns the status with the digests of the spec that the job started with."""
    if job.is_over or not base.attempt:
        return base
    base = base.changed(spec_digest=base.spec_digest or job.digest)
    known = base.fixed_digest or (None if replace(job, status=base).edited else job.fixed_digest)
    return base.changed(fixed_digest=known)


def _spec_after(seen: Observed, base: Status) -> Spec:
    """Returns the spec with the numbers of replicas of the attempt after this pass: a new one takes what is asked."""
    after = replace(seen.job, status=base)
    begins = base.attempt != seen.job.status.attempt
    return after.wanted if begins and not (after.edited or not_taken(seen, after)) else seen.job.spec


def spec_ignored(seen: Observed, job: Job) -> Iterator[Fact]:
    """Yields whether part of the spec has no effect, if it has not or had not.

    Args:
        seen: What was observed.
        job: The job as it is after the pass.
    """
    if ignores_edit(job):
        why = "a field that cannot be changed was changed after the job had started"
        yield conditions.spec_ignored(
            Reason.IMMUTABLE_FIELD_CHANGED, f"{why}: put it back, or create a job with another name"
        )
    elif job.ignored:
        more = f" and {len(job.ignored) - _NAMED} more" if len(job.ignored) > _NAMED else ""
        fields = ", ".join(job.ignored[:_NAMED]) + more
        yield conditions.spec_ignored(
            Reason.UNKNOWN_FIELD, f"this operator does not know {fields}: upgrade it, or remove the field"
        )
    elif ignored := not_taken(seen, job):
        yield conditions.spec_ignored(Reason.RESIZE_IGNORED, ignored)
    elif job.queue_label and not job.queued:
        yield conditions.spec_ignored(Reason.LABEL_IGNORED, QUEUE_LABEL_IGNORED)
    elif is_true(job.status.conditions, ConditionType.SPEC_IGNORED):
        yield conditions.spec_applied("the spec is applied")


def closed(base: Status, facts: Iterable[Fact], generation: int, now: datetime) -> Status:
    """Sets `facts` as conditions, and updates the fields that are derived from conditions."""
    merged = merge(base.conditions, facts, generation, now)
    merged = merge(merged, _not_complete(merged), generation, now)
    merged = merge(merged, reconciling(merged), generation, now)
    phase, reason = phase_of(merged)
    return base.changed(
        observed_generation=generation,
        conditions=merged,
        phase=phase,
        reason=reason,
        completion_time=(base.completion_time or now) if is_over(merged) else None,
        first_running_time=base.first_running_time or (now if phase == Phase.RUNNING else None),
    )


def differ_in_numbers_alone(before: Status, after: Status) -> bool:
    """Tells whether two statuses differ only in counts, progress, and messages about them."""
    is_event = bool(new_stragglers(before, after))  # which has numbers that must be recorded, or it would come again
    return before != after and not is_event and _without_numbers(before) == _without_numbers(after)


def progress_status(progress: Progress) -> ProgressStatus:
    """Returns a program's progress as the status shows it."""
    return ProgressStatus(
        epoch=progress.epoch,
        epochs=progress.epochs,
        step=progress.step,
        steps=progress.steps,
        loss=_rounded(progress.loss),
        accuracy=_rounded(progress.accuracy),
        validation_loss=_rounded(progress.validation_loss),
        training_accuracy=_rounded(progress.training_accuracy),
        examples_per_second=_rounded(progress.examples_per_second),
        gradient_variance=_rounded(progress.gradient_variance),
        checkpoint_step=progress.checkpoint_step,
        devices=progress.devices,
        best_epoch=progress.best_epoch,
        metric=_first_metric(progress),
    )


def _first_metric(progress: Progress) -> str | None:
    """Returns the number that the program names first, with its name. An own loop may name scores alone."""
    numbers = named_numbers(progress)
    name = progress.metric if progress.metric in numbers else next(iter(progress.scores), None)
    return f"{' '.join(name.split())}={numbers[name]:.4g}" if name in numbers else None


def _evaluation(seen: Observed) -> Progress | None:
    """Returns the evaluator's last result: of the weights, as its termination message has it, or of a checkpoint."""
    pod = seen.evaluator
    final = pod.message.progress if pod and pod.succeeded and pod.message else None
    return final or seen.evaluation


def _without_numbers(status: Status) -> Status:
    """Returns the status without counts; it keeps which replicas have succeeded, because their pods may be deleted."""
    without_messages = tuple(condition.changed(message="") for condition in status.conditions)
    replicas = {
        role: counts.changed(desired=0, ready=0, succeeded=0, failed=0) for role, counts in status.replicas.items()
    }
    return status.changed(
        conditions=without_messages, replicas=replicas, ready=None, progress=None, evaluation=None, steps=None
    )


def _not_complete(present: Iterable[Condition]) -> Iterator[Fact]:
    """Yields why a job that failed during inference is not complete."""
    failed, complete = find(present, ConditionType.FAILED), find(present, ConditionType.COMPLETE)
    if complete and complete.status == "False" and failed and failed.status == "True":
        yield conditions.not_complete(failed.reason, failed.message)


def _counts(seen: Observed, spec: Spec, *, same_attempt: bool) -> Mapping[str, ReplicaStatus]:
    replicas, finished = {}, _finished(seen) if same_attempt else frozenset()
    absent = absent_replicas(seen)
    for role, size in sizes_of(spec).items():
        pods = [pod for pod in seen.current if pod.replica and pod.replica.role == role and pod.replica.index < size]
        indexes = {replica.index for replica in finished if replica.role == role}
        replicas[role.value] = ReplicaStatus(
            desired=size,
            ready=sum(pod.ready and not pod.deleting for pod in pods),
            succeeded=len(indexes),
            failed=sum(map(seen.has_failed, pods)),
            succeeded_indexes=format_indexes(indexes),
            absent_indexes=format_indexes(replica.index for replica in absent if replica.role == role),
        )
    return replicas


def _finished(seen: Observed) -> frozenset[ReplicaId]:
    """Returns replicas that have succeeded, as recorded or as observed now."""
    return seen.finished | {pod.replica for pod in seen.current if pod.replica and pod.succeeded}


def _rounded(value: float | None) -> float | None:
    """Returns the rounded number; the largest numbers stay as they are, because JSON has no infinity."""
    rounded = None if value is None else float(f"{value:.{_SIGNIFICANT}g}")
    return value if rounded is not None and math.isinf(rounded) else rounded


def _never_ran(seen: Observed, facts: Iterable[Fact]) -> bool:
    """Whether the job was refused before it had an attempt."""
    refused = any(fact.type == ConditionType.FAILED and fact.status for fact in facts)
    return not seen.attempt and (refused or seen.job.has_failed)


def _running(seen: Observed, facts: Iterable[Fact], base: Status, now: datetime) -> Fact:
    decided = {fact.type for fact in facts if fact.status}
    if any(kind in decided or is_true(seen.job.status.conditions, kind) for kind in _OVER):
        return _training_over(seen.job.status, started=any(map(_has_started, seen.current)))
    ready, size = _awaited(seen)
    if _is_up(seen, ready, size):
        parts = (f"{size} of {size} replicas are ready", slow_sentence(base.steps))
        return conditions.running("; ".join(filter(None, parts)))
    obstacle = terminating_reason(seen.pods, now) or next(filter(None, map(pending_reason, seen.current)), None)
    if obstacle is not None:
        return conditions.not_running(*obstacle)
    slow = slow_start(seen, now)
    if slow and slow.reason:
        return conditions.not_running(slow.reason, slow.message)
    waiting = f"{ready} of {size} replicas are ready" + (f", and {slow.message}" if slow else "")
    if seen.attempt > 1:
        before = find(seen.job.status.conditions, ConditionType.RUNNING)
        resizes = before is not None and before.reason == Reason.RESIZING
        reason = Reason.RESIZING if resizes else Reason.RESTARTING
        return conditions.not_running(reason, f"attempt {seen.attempt}: {waiting}")
    return conditions.not_running(Reason.STARTING, waiting)


def _training_over(before: Status, *, started: bool) -> Fact:
    """Returns whether the training of a finished job has ended, or never started because no attempt ever ran.

    An earlier answer stays, because the pods that show it may be gone later. A replica that has started is proof.
    """
    ran = is_true(before.conditions, ConditionType.RUNNING) or is_true(before.conditions, ConditionType.TRAINED)
    running = find(before.conditions, ConditionType.RUNNING)
    reason = running.reason if running else None
    ended = reason == Reason.TRAINING_ENDED or has_run(before)
    if started or (reason != Reason.NOT_STARTED and (ran or ended)):
        return conditions.not_running(Reason.TRAINING_ENDED, "training has ended")
    return NEVER_STARTED


def _has_started(pod: Pod) -> bool:
    return pod.ending is not None or pod.running or pod.phase != "Pending"


def is_training(seen: Observed) -> bool:
    """Whether the gang of an attempt runs, by its pods."""
    return _is_up(seen, *_awaited(seen))


def _is_up(seen: Observed, ready: int, size: int) -> bool:
    return size == ready or _keeps_running(seen)


def _awaited(seen: Observed) -> tuple[int, int]:
    """Returns how many of the replicas that training waits for are ready or have succeeded, and how many there are."""
    pods = (pod for pod in seen.current if (pod.ready or pod.succeeded) and not pod.deleting)
    present = seen.finished | {pod.replica for pod in pods if pod.replica}
    return sum(map(_is_awaited, present)), sum(map(_is_awaited, seen.job.replicas()))


def _keeps_running(seen: Observed) -> bool:
    """Whether a gang that was running still is.

    It is while replicas end one by one after the training, and after the loss of a replica that the others do not need.
    """
    return seen.job.is_running and seen.gang_runs


def _runs_together_now(seen: Observed) -> bool:
    """Whether the replicas that need one another run together for the first time in this attempt.

    A spec that was changed since may name fewer than the attempt needs.
    """
    job = seen.job
    stopped = job.is_trained or job.is_over or job.is_suspended
    return not (stopped or job.edited or seen.gang_has_run) and seen.gang_runs


def _is_awaited(replica: ReplicaId) -> bool:
    """Whether training waits for it."""
    return replica.role != Role.EVALUATOR


def _profiles_of(seen: Observed) -> tuple[ProfileStatus, ...]:
    """Returns the last profiles, newest last: those that are known, and what the leader reports now.

    The leader's last report is in its termination message, because the last poll may have been before.
    """
    leader = seen.leader
    final = leader.message.progress if leader and leader.succeeded and leader.message else None
    progress = final or seen.progress
    reported = {
        each.name: ProfileStatus(name=each.name, state=each.state, path=each.path or None, error=each.error or None)
        for each in (progress.captures if progress else ())
    }
    earlier = [each for each in seen.job.status.profiles if each.name not in reported]
    if progress:  # a leader does not know what an attempt before it has begun
        earlier = [_ended(each, "the attempt") for each in earlier]
    known = (*earlier, *reported.values())[-MOST_CAPTURES:]
    return tuple(_ended(each, "the training") for each in known) if seen.job.is_over else known


def _ended(profile: ProfileStatus, ended: str) -> ProfileStatus:
    """Returns a profile that nobody will finish."""
    return profile.cut_off(ended) if profile.state == "Running" else profile
