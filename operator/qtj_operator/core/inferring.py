"""What comes after training."""

from datetime import datetime, timedelta

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.api.run_policy import CleanPodPolicy
from qtj_operator.api.spec import Inference
from qtj_operator.api.status import InferencePhase, InferenceStatus, WeightsStatus
from qtj_operator.core.change import Report, StatusChange
from qtj_operator.core.decision import Act, Action, Create, Delete, Kind, Move, Verdict, Wait, act_or_wait, earliest
from qtj_operator.core.inference_run import InferenceRun
from qtj_operator.core.invalid_spec import invalid_inference
from qtj_operator.core.observed import Observed
from qtj_operator.core.pending_reason import pending_reason, terminating_reason
from qtj_operator.core.removal import is_lost, lingering, removal
from qtj_operator.manifests.inference import inference_job, inference_run

__all__ = ["inference_stopped", "inference_to_repeat", "inferring", "wanted_run"]

_POD_EXPECTED = timedelta(seconds=30)
"""How long after its Job a pod of inference may come before the status says that there is none."""

_NO_RUN = ""
_INFERRING = conditions.not_complete(Reason.INFERRING, "inference is running")


def wanted_run(seen: Observed) -> str | None:
    """Returns the digest of the inference run that the spec asks for, or None without inference."""
    inference = seen.job.inference
    return None if inference is None else inference_run(inference, seen.job.status.weights)


def inference_stopped(seen: Observed) -> tuple[Delete, ...]:
    """Returns what stops an inference Job that still runs; nothing when it has ended."""
    found = seen.inference
    return () if found is None or found.complete or found.failed else _removed(found)


def inference_to_repeat(seen: Observed) -> InferenceStatus | None:
    """Returns what the record says of an inference that failed and is to run again: it belongs to no run yet."""
    inference = seen.job.status.inference
    return inference and inference.changed(phase=InferencePhase.PENDING, run=_NO_RUN)


def _is_repeated(seen: Observed) -> bool:
    inference = seen.job.status.inference
    return inference is not None and inference.run == _NO_RUN


def inferring(seen: Observed, now: datetime) -> Verdict:
    """After training comes inference with exactly the weights that are known, and then the job is complete."""
    if seen.job.inference is not None:
        return _infer(seen, seen.job.inference, now)
    if seen.inference is not None:
        return act_or_wait(_removed(seen.inference), None)  # nobody asks for it any more
    return Move(
        StatusChange(inference=None),
        conditions=(conditions.complete(Reason.NO_INFERENCE, "training is done, and the job has no spec.inference"),),
    )


def _infer(seen: Observed, inference: Inference, now: datetime) -> Verdict:
    run = inference_run(inference, seen.job.status.weights)
    found = seen.inference
    if found is None:
        return _begun(seen, run, inference)
    if found.run != run:
        return _running(run, *_removed(found))
    if found.done:
        return _done(found)
    if found.given_up:
        return _given_up(seen, found, inference)
    lost = [pod for pod in found.pods if is_lost(pod, now)]
    if lost:  # its Job would wait for ever for the pod to stop: it holds it by a finalizer, and runs no other before
        return _running(run, *removal(lost, now).deletions, *_removed(found))
    return _under_way(seen, found, now)


def _begun(seen: Observed, run: str, inference: Inference) -> Verdict:
    weights = seen.job.status.weights
    if seen.job.edited:
        why = "inference would take the template as it was changed after training: put back what was changed"
        return _pending(run, Reason.SPEC_CHANGED, why)
    wrong = _missing_weights(inference, weights) or invalid_inference(seen.job, seen.platform)
    return _failed(wrong, run) if wrong else _running(run, Create.of(inference_job(seen.job, inference, weights)))


def _missing_weights(inference: Inference, weights: WeightsStatus | None) -> str | None:
    if weights is not None or not inference.require_weights:
        return None
    return (
        "spec.inference.requireWeights asks for weights, and neither the program's termination message nor "
        "spec.artifacts.weights names any: set requireWeights to false, and inference runs without"
    )


def _given_up(seen: Observed, found: InferenceRun, inference: Inference) -> Verdict:
    if _is_repeated(seen):
        return act_or_wait(_removed(found), None, conditions=(_INFERRING,))
    return _failed(_how_it_failed(found, inference), found.run)


def _under_way(seen: Observed, found: InferenceRun, now: datetime) -> Act | Wait:
    """Waits for the Job.

    What trained may hold the machine that inference waits for; the Job tries again when its failed pod has stopped.
    """
    progress = _progress(found, now)
    kept = seen.job.policy.pods_to_clean == CleanPodPolicy.NONE
    left = lingering(found.pods if kept else (*found.pods, *seen.pods), now)
    leaving = removal((pod for pod in found.pods if pod.deleting), now)
    wake_at = earliest(progress.until, left.wake_at, leaving.wake_at)
    return act_or_wait(left.deletions, wake_at, report=progress.report, conditions=progress.conditions)


def _progress(found: InferenceRun, now: datetime) -> Wait:
    """The Job exists; whether its pod runs is another question, which a Job's status does not answer."""
    obstacle = terminating_reason(found.pods, now) or next(filter(None, map(pending_reason, found.pods)), None)
    if obstacle is not None:
        return _pending(found.run, *obstacle)
    if found.suspended:
        return _pending(found.run, Reason.QUEUED, f"{found.name} waits to be admitted by its queue")
    due = found.created + _POD_EXPECTED
    if found.pods or now < due:
        report = _report(found.run, InferencePhase.RUNNING)
        return Wait(None if found.pods else due, report=report, conditions=(_INFERRING,))
    no_pod = f"{found.name} has no pod: kubectl describe job {found.name} says why none is created"
    return _pending(found.run, Reason.CHILD_REJECTED, no_pod)


def _how_it_failed(found: InferenceRun, inference: Inference) -> str:
    pod = found.result
    if found.overdue:
        allowed = f"{inference.active_deadline_seconds} s, as spec.inference.activeDeadlineSeconds demands"
        return (
            f"{found.name} was stopped because it was not done after {allowed}: raise it, or give inference less to do"
        )
    if pod is None or pod.ending is None:
        return f"{found.name} failed: no pod of it could run"
    return f"{found.name} failed ({pod.ending.how}): {pod.last_words}"


def _removed(found: InferenceRun) -> tuple[Delete, ...]:
    return () if found.deleting else (Delete(Kind.JOB, found.name, found.version),)


def _report(run: str, phase: InferencePhase) -> Report:
    return Report(inference=InferenceStatus(phase=phase, run=run))


def _running(run: str, *actions: Action) -> Act | Wait:
    return act_or_wait(actions, None, report=_report(run, InferencePhase.RUNNING), conditions=(_INFERRING,))


def _pending(run: str, reason: Reason, why: str) -> Wait:
    return Wait(report=_report(run, InferencePhase.PENDING), conditions=(conditions.not_complete(reason, why),))


def _done(found: InferenceRun) -> Move:
    message = found.result.message if found.result else None
    metrics = dict(message.metrics) if message else {}
    shown = ", ".join(f"{name} {value:.4g}" for name, value in sorted(metrics.items())) or "no metrics"
    status = InferenceStatus(phase=InferencePhase.COMPLETE, run=found.run, metrics=metrics or None)
    done = conditions.complete(Reason.INFERENCE_DONE, f"inference is done: {shown}")
    return Move(StatusChange(inference=status), conditions=(done,))


def _failed(why: str, run: str) -> Move:
    status = InferenceStatus(phase=InferencePhase.FAILED, run=run)
    return Move(StatusChange(inference=status), conditions=(conditions.failed(Reason.INFERENCE_FAILED, why),))
