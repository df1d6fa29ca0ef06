"""Inference, after training."""

from datetime import datetime, timedelta

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Fact, Reason
from qtj_operator.api.run_policy import CleanPodPolicy
from qtj_operator.api.spec import Inference
from qtj_operator.api.status import InferencePhase, InferenceStatus, WeightsStatus
from qtj_operator.core.change import KEEP, Report, StatusChange
from qtj_operator.core.decision import Act, Action, Create, Delete, Kind, Move, Verdict, Wait, act_or_wait, earliest
from qtj_operator.core.inference_run import InferenceRun
from qtj_operator.core.invalid_spec import invalid_inference
from qtj_operator.core.observed import Observed
from qtj_operator.core.pending_reason import pending_reason, terminating_reason
from qtj_operator.core.removal import is_lost, lingering, removal
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
    run = inference_run(inference, seen.job.status.weights)
    current = seen.inference
    if current is None:
        return _known(seen, run) or _start(seen, run, inference)
    if current.run != run:
        return _running(run, *_removed(current))
    if current.done:
        return _done(current)
    if current.given_up:
        return _given_up(seen, current, inference)
    lost = [pod for pod in current.pods if is_lost(pod, now)]
    if lost:  # its Job has a finalizer on the pod, and would wait for ever for it to stop before it runs another
        return _running(run, *removal(lost, now).deletions, *_removed(current))
    return _under_way(seen, current, now)


def _known(seen: Observed, run: str) -> Move | None:
    """Completes the job with the result on record: another inference was asked for, but had not begun."""
    recorded = seen.job.status.inference
    if recorded is None or recorded.run != run or recorded.phase != InferencePhase.COMPLETE:
        return None
    return Move(conditions=(_complete(recorded),))


def _start(seen: Observed, run: str, inference: Inference) -> Verdict:
    weights = seen.job.status.weights
    if seen.job.edited:
        why = "inference would use the template, which was changed after training: undo that change"
        return _pending(run, Reason.SPEC_CHANGED, why)
    wrong = _missing_weights(inference, weights) or invalid_inference(seen.job, seen.platform)
    return _failed(wrong, run) if wrong else _running(run, Create.of(inference_job(seen.job, inference, weights)))


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
    return _failed(_how_it_failed(current, inference), current.run)


def _under_way(seen: Observed, current: InferenceRun, now: datetime) -> Act | Wait:
    """Waits for the Job.

    Pods of the training may hold the machine that inference needs. The Job tries again when its failed pod has stopped.
    """
    progress = _progress(current, now)
    keeps_pods = seen.job.policy.pods_to_clean == CleanPodPolicy.NONE
    left = lingering(current.pods if keeps_pods else (*current.pods, *seen.pods), now)
    leaving = removal((pod for pod in current.pods if pod.deleting), now)
    wake_at = earliest(progress.until, left.wake_at, leaving.wake_at)
    return act_or_wait(left.deletions, wake_at, report=progress.report, conditions=progress.conditions)


def _progress(current: InferenceRun, now: datetime) -> Wait:
    """Reports whether the pod of the Job runs, because the status of a Job does not show it."""
    obstacle = terminating_reason(current.pods, now) or next(filter(None, map(pending_reason, current.pods)), None)
    if obstacle is not None:
        return _pending(current.run, *obstacle)
    if current.suspended:
        return _pending(current.run, Reason.QUEUED, f"{current.name} waits to be admitted by its queue")
    due = current.created + _POD_EXPECTED
    if current.pods or now < due:
        report = _report(current.run, InferencePhase.RUNNING)
        return Wait(None if current.pods else due, report=report, conditions=(_INFERRING,))
    no_pod = f"{current.name} has no pod: kubectl describe job {current.name} shows why none is created"
    return _pending(current.run, Reason.CHILD_REJECTED, no_pod)


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


def _report(run: str, phase: InferencePhase) -> Report:
    return Report(inference=InferenceStatus(phase=phase, run=run))


def _running(run: str, *actions: Action) -> Act | Wait:
    return act_or_wait(actions, None, report=_report(run, InferencePhase.RUNNING), conditions=(_INFERRING,))


def _pending(run: str, reason: Reason, why: str) -> Wait:
    return Wait(report=_report(run, InferencePhase.PENDING), conditions=(conditions.not_complete(reason, why),))


def _done(current: InferenceRun) -> Move:
    message = current.result.message if current.result else None
    metrics = dict(message.metrics) if message else None
    status = InferenceStatus(phase=InferencePhase.COMPLETE, run=current.run, metrics=metrics or None)
    report = message.report if message and message.report else KEEP
    return Move(StatusChange(inference=status, report=report), conditions=(_complete(status),))


def _complete(result: InferenceStatus) -> Fact:
    metrics = sorted((result.metrics or {}).items())
    shown = ", ".join(f"{name} {value:.4g}" for name, value in metrics) or "no metrics"
    return conditions.complete(Reason.INFERENCE_DONE, f"inference is done: {shown}")


def _failed(why: str, run: str) -> Move:
    status = InferenceStatus(phase=InferencePhase.FAILED, run=run)
    return Move(StatusChange(inference=status), conditions=(conditions.failed(Reason.INFERENCE_FAILED, why),))
