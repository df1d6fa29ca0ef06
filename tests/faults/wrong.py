"""What is wrong with a change of a job or with a run of inference."""

from collections.abc import Iterator

from qtj_operator.api.conditions import DERIVED, ConditionType, Reason, find, is_true, phase_of
from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_INFERENCE, Role
from qtj_operator.api.sizes import changes, sizes_of
from qtj_operator.api.status import InferencePhase
from qtj_operator.controller.client import Object
from qtj_operator.core.failures import MAX_FAILURES
from qtj_operator.manifests.inference import inference_run

ENDS = (ConditionType.COMPLETE, ConditionType.FAILED)
STOPPED = (ConditionType.SUSPENDED, *ENDS)


def wanted_run(job: Job) -> str | None:
    """Returns the digest of the inference run that the job asks for, or None without inference."""
    return None if job.inference is None else inference_run(job.inference, job.status.weights)


def wrong_conditions(old: Job, new: Job) -> Iterator[str]:
    before, after = old.status, new.status
    true = {condition.type for condition in after.conditions or () if condition.status == "True"}
    if ConditionType.RECONCILING in true and true & {ConditionType.STALLED, *STOPPED}:
        yield f"a job that is settled is not reconciled: {true}"
    true -= DERIVED
    if (after.phase, after.reason) != phase_of(after.conditions):
        yield f"{after.phase}, {after.reason} does not follow from the conditions"
    if ConditionType.RUNNING in true and len(true - {ConditionType.SPEC_IGNORED}) > 1:  # a warning beside what it does
        yield f"a job that runs does nothing else: {true}"
    if ConditionType.FAILED in true and true & {ConditionType.SUSPENDED, ConditionType.COMPLETE}:
        yield f"a job that has failed does nothing else: {true}"
    if is_true(before.conditions, ConditionType.TRAINED):
        if ConditionType.TRAINED not in true:
            yield "training was undone"
        if (before.weights, before.attempt) != (after.weights, after.attempt):
            yield "the weights or the attempt changed after training"


def wrong_end(old: Job, new: Job) -> Iterator[str]:
    before, after = old.status, new.status
    ended = [kind for kind in ENDS if is_true(before.conditions, kind)]
    ends = [kind for kind in ENDS if is_true(after.conditions, kind)]
    if (after.completion_time is not None) != bool(ends):
        yield "there is a completion time if and only if there is an end"
    if ended and ends and (ended, before.completion_time) != (ends, after.completion_time):
        yield f"{ended} became {ends}"
    if ended and not ends:
        another = wanted_run(new) not in {None, before.inference.run if before.inference else None}
        none = new.inference is None and ended == [ConditionType.FAILED]
        if not is_true(before.conditions, ConditionType.TRAINED) or not (another or none):
            yield f"{ended} was taken back, and the wanted inference is not another one"
    failed = find(after.conditions, ConditionType.FAILED)
    if failed and failed.status == "True" and not ended and failed.reason == Reason.DEADLINE_EXCEEDED:
        limit, start = new.policy.active_deadline_seconds, before.start_time
        if limit is None or start is None or (failed.last_transition_time - start).total_seconds() < limit:
            yield "the deadline has not passed"


def wrong_counts(old: Job, new: Job) -> Iterator[str]:
    before, after = old.status, new.status
    restarted = (after.restarts or 0) - (before.restarts or 0)
    disrupted = (after.disruptions or 0) - (before.disruptions or 0)
    resumed, respecified = is_resumed(old, new), before.spec_digest not in {None, after.spec_digest}
    if respecified and (before.first_running_time or before.failures):
        yield "another spec than that which has run"
    if restarted < 0 or disrupted < 0:
        yield "restarts or disruptions were taken back"
    if (after.restarts or 0) > max(new.backoff_limit, before.restarts or 0):
        yield f"{after.restarts} restarts, and backoffLimit is {new.backoff_limit}"
    if len(after.failures or ()) > MAX_FAILURES:
        yield "too many failures are kept"
    if after.attempt != before.attempt:
        if after.attempt != (before.attempt or 0) + 1:
            yield f"attempt {before.attempt} was followed by {after.attempt}"
        reasons = restarted + disrupted + resumed + respecified
        if before.attempt and (reasons > 1 or (reasons == 0 and not is_resized(old, new))):
            yield "an attempt has one reason"
    elif (restarted or disrupted) and not any(new.stands_alone(replica.role) for replica in new.replicas()):
        yield "a restart was counted without an attempt"


def wrong_sizes(old: Job, new: Job) -> Iterator[str]:
    """Yields a change of the numbers of replicas in the middle of an attempt, or without anybody who asks for it."""
    if not is_resized(old, new):
        return
    if old.status.attempt == new.status.attempt:
        yield "the numbers of replicas have changed in the middle of an attempt"
    elastic, workers = new.policy.elastic, sizes_of(new.spec)[Role.WORKER]
    if (
        elastic
        and not elastic.min_replicas <= workers <= elastic.most(new.workers_asked)
        and new.workers_asked != workers
    ):
        yield f"{workers} workers are not what elastic allows"
    if new.resizes:
        yield f"nobody asks for this number of replicas: {new.resizes}"


def is_resized(old: Job, new: Job) -> bool:
    """Tells whether the record names another number of replicas."""
    return bool(old.status.attempt and changes(sizes_of(old.spec), sizes_of(new.spec)))


def wrong_result(old: Job, new: Job) -> Iterator[str]:
    """Yields what of a leader that has finished was taken back."""
    if not old.leader_finished:
        return
    if not old.finished <= new.finished:
        yield f"{old.finished - new.finished} had finished, and are to run again"
    if old.status.weights is not None and new.status.weights != old.status.weights:
        yield "the weights of a leader that has finished were dropped"


def is_resumed(old: Job, new: Job) -> bool:
    suspended = ConditionType.SUSPENDED
    return is_true(old.status.conditions, suspended) and not is_true(new.status.conditions, suspended)


def wrong_expiry(job: Job) -> Iterator[str]:
    if not any(is_true(job.status.conditions, kind) for kind in ENDS):
        yield "the job was deleted before its end"
    if job.policy.ttl_seconds_after_finished is None:
        yield "the job was deleted, which nobody asked for"


def wrong_inference(created: Object, job: Job) -> Iterator[str]:
    run, done = created["metadata"]["labels"][LABEL_INFERENCE], job.status.inference
    if not is_true(job.status.conditions, ConditionType.TRAINED):
        yield "inference began before training had ended"
    if run != wanted_run(job):
        yield "inference began that nobody asks for"
    if done and done.run == run and done.phase == InferencePhase.COMPLETE:
        yield "inference ran again although its result is known"


def wrong_stop(inference: Object, job: Job) -> Iterator[str]:
    wanted = inference["metadata"]["labels"].get(LABEL_INFERENCE) == wanted_run(job)
    if _has_succeeded(inference):
        return  # its result was lost with its pod, and so it runs again
    if wanted and not any(is_true(job.status.conditions, kind) for kind in STOPPED):
        yield "inference was stopped although it is wanted"


def _has_succeeded(inference: Object) -> bool:
    found = (inference.get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Complete", "True") for each in found)
