"""Inference, after training."""

from datetime import datetime, timedelta

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Fact, Reason
from qtj_operator.api.run_policy import CleanPodPolicy
from qtj_operator.api.spec import Inference
from qtj_operator.api.status import InferencePhase, InferenceStatus, WeightsStatus
from qtj_operator.core.change import Report, StatusChange
from qtj_operator.core.decision import Act, Action, Create, Delete, Kind, Move, Verdict, Wait, act_or_wait, earliest
from qtj_operator.core.inference_end import inference_complete, inference_done, inference_failed
from qtj_operator.core.inference_lost import RESULT_LOST, inference_lost
from qtj_operator.core.inference_run import InferenceRun
from qtj_operator.core.invalid_spec import invalid_inference
from qtj_operator.core.observed import Observed
from qtj_operator.core.pending_reason import pending_reason, terminating_reason
from qtj_operator.core.removal import is_lost, lingering, removal
from qtj_operator.core.slow_start import slow_start
from qtj_operator.manifests.inference import inference_job, inference_run

__all__ = ["inference_stopped", "inference_to_repeat", "inferring", "wanted_run"]

_POD_EXPECTED = timedelta(seconds=30)
"""How long the status waits for the pod of a new inference Job before it reports that there is none."""

_NO_RUN = ""
_INFERRING = conditions.not_complete(Reason.INFERRING, "inference is running")


def wanted_run(seen: Observed) -> str | None:
    """Returns the digest of the inference run that the spec asks for, or None without inference."""
    inference = seen.job.inference
    return None if inference is None else inference_run(inference, seen.job.status.weights)


def inference_stopped(seen: Observed) -> tuple[Delete, ...]:
    """Returns what stops an inference Job that still runs; nothing if it has ended."""
    current = seen.inference
    return () if current is None or current.complete or current.failed else _removed(current)


def inference_to_repeat(seen: Observed) -> InferenceStatus | None:
    """Returns the status of an inference that failed and is to run again: it belongs to no run yet."""
    inference = seen.job.status.inference
    return inference and inference.changed(phase=InferencePhase.PENDING, run=_NO_RUN)


def _is_repeated(seen: Observed) -> bool:
    inference = seen.job.status.inference
    return inference is not None and inference.run == _NO_RUN


def inferring(seen: Observed, now: datetime) -> Verdict:
    """After training, inference runs with exactly the recorded weights, and then the job is complete."""
    if seen.job.inference is not None:
        return _infer(seen, seen.job.inference, now)
    if seen.inference is not None:
        return act_or_wait(_removed(seen.inference), None)  # the spec no longer asks for it
    return Move(
        StatusChange(inference=None),
        conditions=(conditions.complete(Reason.NO_INFERENCE, "training is done, and the job has no spec.inference"),),
    )


def _infer(seen: Observed, inference: Inference, now: datetime) -> Verdict:
    known = _record(seen, inference_run(inference, seen.job.status.weights))
    current = seen.inference
    if current is None:
        return _known(seen, known.run) or inference_lost(seen, known) or _start(seen, known, inference)
    if current.run != known.run:
        return _replaced(known, current)
    return _ended(seen, known, current, inference) or _goes_on(seen, known, current, now)


def _ended(seen: Observed, known: InferenceStatus, current: InferenceRun, inference: Inference) -> Verdict | None:
    """Records how it ended, if it has; without the result it has to run again."""
    if current.lost_result:
        return _running(known, *_removed(current), fact=RESULT_LOST)  # it counts when it is gone
    if current.done:
        return inference_done(known, current)
    return _given_up(seen, current, inference) if current.given_up else None


def _goes_on(seen: Observed, known: InferenceStatus, current: InferenceRun, now: datetime) -> Verdict:
    lost = [pod for pod in current.pods if is_lost(pod, now)]
    if lost:  # its Job has a finalizer on the pod, and would wait for ever for it to stop before it runs another
        return _replaced(known, current, *removal(lost, now).deletions)
    return _under_way(seen, known, current, now)


def _record(seen: Observed, run: str) -> InferenceStatus:
    """Returns what is recorded of a run; of one that has not begun, that it is pending."""
    recorded = seen.job.status.inference
    return recorded if recorded and recorded.run == run else InferenceStatus(phase=InferencePhase.PENDING, run=run)


def _known(seen: Observed, run: str) -> Move | None:
    """Completes the job with the result on record: another inference was asked for, but had not begun."""
    recorded = seen.job.status.inference
    if recorded is None or recorded.run != run or recorded.phase != InferencePhase.COMPLETE:
        return None
    return Move(conditions=(inference_complete(recorded),))


def _start(seen: Observed, known: InferenceStatus, inference: Inference) -> Verdict:
    weights = seen.job.status.weights
    if seen.job.edited:
        why = "inference would use the template, which was changed after training: undo that change"
        return _pending(known, Reason.SPEC_CHANGED, why)
    wrong = _missing_weights(inference, weights) or invalid_inference(seen.job, seen.platform)
    return (
        inference_failed(wrong, known)
        if wrong
        else _running(known, Create.of(inference_job(seen.job, inference, weights)))
    )


def _missing_weights(inference: Inference, weights: WeightsStatus | None) -> str | None:
    if weights is not None or not inference.require_weights:
        return None
    return (
        "spec.inference.requireWeights asks for weights, and neither the program's termination message nor "
        "spec.artifacts.weights names any: set requireWeights to false to run inference without weights"
    )


def _given_up(seen: Observed, current: InferenceRun, inference: Inference) -> Verdict:
    if _is_repeated(seen):
        return act_or_wait(_removed(current), None, conditions=(_INFERRING,))
    return inference_failed(_how_it_failed(current, inference), _record(seen, current.run))


def _under_way(seen: Observed, known: InferenceStatus, current: InferenceRun, now: datetime) -> Act | Wait:
    """Waits for the Job.

    Pods of the training may hold the machine that inference needs. The Job tries again when its failed pod has stopped.
    """
    progress = _progress(seen, known, current, now)
    keeps_pods = seen.job.policy.pods_to_clean == CleanPodPolicy.NONE
    left = lingering(current.pods if keeps_pods else (*current.pods, *seen.pods), now)
    leaving = removal((pod for pod in current.pods if pod.deleting), now)
    wake_at = earliest(progress.until, left.wake_at, leaving.wake_at)
    return act_or_wait(left.deletions, wake_at, report=progress.report, conditions=progress.conditions)


def _progress(seen: Observed, known: InferenceStatus, current: InferenceRun, now: datetime) -> Wait:
    """Reports whether the pod of the Job runs, because the status of a Job does not show it."""
    obstacle = terminating_reason(current.pods, now) or next(filter(None, map(pending_reason, current.pods)), None)
    if obstacle is not None:
        return _pending(known, *obstacle)
    if current.suspended:
        return _pending(known, Reason.QUEUED, f"{current.name} waits to be admitted by its queue")
    slow = slow_start(seen, now)
    if slow is not None:
        return _pending(known, slow.reason or Reason.INFERRING, slow.message)
    due = current.created + _POD_EXPECTED
    if current.pods or now < due:
        report = _report(known, known.phase if current.deleting else InferencePhase.RUNNING)
        return Wait(None if current.pods else due, report=report, conditions=(_INFERRING,))
    no_pod = f"{current.name} has no pod: kubectl describe job {current.name} shows why none is created"
    return _pending(known, Reason.CHILD_REJECTED, no_pod)


def _how_it_failed(current: InferenceRun, inference: Inference) -> str:
    pod = current.result
    if current.overdue:
        allowed = f"{inference.active_deadline_seconds} s (spec.inference.activeDeadlineSeconds)"
        return f"{current.name} was stopped because it was not done after {allowed}: raise it, or reduce the work"
    if pod is None or pod.ending is None:
        return f"{current.name} failed: none of its pods could run"
    return f"{current.name} failed ({pod.ending.how}): {pod.end_message}"


def _removed(current: InferenceRun) -> tuple[Delete, ...]:
    return () if current.deleting else (Delete(Kind.JOB, current.name, current.version),)


def _report(known: InferenceStatus, phase: InferencePhase) -> Report:
    return Report(inference=InferenceStatus(phase=phase, run=known.run, restarts=known.restarts))


def _running(known: InferenceStatus, *actions: Action, fact: Fact = _INFERRING) -> Act | Wait:
    return act_or_wait(actions, None, report=_report(known, InferencePhase.RUNNING), conditions=(fact,))


def _replaced(known: InferenceStatus, current: InferenceRun, *actions: Action) -> Act | Wait:
    """Removes a Job, and another one takes its place. That no Job runs is recorded before: its end does not count."""
    report = _report(known, InferencePhase.PENDING)
    if known.phase == InferencePhase.RUNNING:
        return Wait(report=report, conditions=(_INFERRING,))
    return act_or_wait((*actions, *_removed(current)), None, report=report, conditions=(_INFERRING,))


def _pending(known: InferenceStatus, reason: Reason, why: str) -> Wait:
    facts = (conditions.not_complete(reason, why),)
    return Wait(report=_report(known, InferencePhase.PENDING), conditions=facts)
