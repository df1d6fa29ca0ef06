"""What comes after training."""

from dataclasses import replace
from datetime import datetime, timedelta

from qtj_operator.api.conditions import ConditionType, Fact, Reason, is_true
from qtj_operator.api.run_policy import CleanPodPolicy
from qtj_operator.api.spec import Inference
from qtj_operator.api.status import InferencePhase, InferenceStatus, WeightsStatus
from qtj_operator.build.inference import inference_job, inference_run
from qtj_operator.core.decision import Action, Create, Delete, Kind, Verdict, earliest
from qtj_operator.core.invalid_spec import invalid_inference
from qtj_operator.core.observed import InferenceRun, Observed
from qtj_operator.core.pending_reason import pending_reason, terminating_reason
from qtj_operator.core.removal import is_lost, lingering, removal

__all__ = ["inference_stopped", "inference_to_repeat", "inferring", "wanted_run"]

_POD_EXPECTED = timedelta(seconds=30)
"""How long after its Job a pod of inference may come before that is worth a word."""


_NO_RUN = ""


def wanted_run(seen: Observed) -> str | None:
    """Returns the digest of the inference run that the spec asks for, or None without inference."""
    inference = seen.job.inference
    return None if inference is None else inference_run(inference, seen.job.status.weights)


def inference_stopped(seen: Observed) -> tuple[Action, ...]:
    """Returns what stops an inference Job that still runs; nothing when it has ended."""
    found = seen.inference
    return () if found is None or found.complete or found.failed else _removed(found)


def inference_to_repeat(seen: Observed) -> InferenceStatus | None:
    """Returns what the record says of an inference that failed and is to run again: it belongs to no run yet."""
    inference = seen.job.status.inference
    return inference and inference.model_copy(update={"phase": InferencePhase.PENDING, "run": _NO_RUN})


def _is_repeated(seen: Observed) -> bool:
    inference = seen.job.status.inference
    return inference is not None and inference.run == _NO_RUN


def inferring(seen: Observed, now: datetime) -> Verdict | None:
    """After training comes inference with exactly the weights that are known, and then the job is complete."""
    status = seen.job.status
    if not is_true(status.conditions, ConditionType.TRAINED):
        return None
    if seen.job.inference is None and seen.inference is not None:
        return Verdict(actions=_removed(seen.inference))  # nobody asks for it any more
    if seen.job.inference is None:
        return _complete(Reason.NO_INFERENCE, "training is done and spec.inference asks for nothing more")
    return _infer(seen, seen.job.inference, status.weights, now)


def _infer(seen: Observed, inference: Inference, weights: WeightsStatus | None, now: datetime) -> Verdict:
    run = inference_run(inference, weights)
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
        return _running(run, *removal(lost, now).actions, *_removed(found))
    verdict = _under_way(found, now)
    # What trained may hold the machine that inference waits for; the Job tries again when its failed pod has stopped.
    kept = seen.job.policy.clean_pod_policy == CleanPodPolicy.NONE
    left = lingering(found.pods if kept else (*found.pods, *seen.pods), now)
    leaving = removal((pod for pod in found.pods if pod.deleting), now)
    return replace(verdict, actions=left.actions, wake_at=earliest(verdict.wake_at, left.wake_at, leaving.wake_at))


def _begun(seen: Observed, run: str, inference: Inference) -> Verdict:
    weights = seen.job.status.weights
    if seen.job.edited:
        why = "inference would take the template as it was changed after training: put back what was changed"
        return _pending(run, Reason.SPEC_CHANGED, why)
    wrong = _missing_weights(inference, weights) or invalid_inference(seen.job)
    return _failed(wrong, run) if wrong else _running(run, Create(inference_job(seen.job, inference, weights)))


def _missing_weights(inference: Inference, weights: WeightsStatus | None) -> str | None:
    if weights is not None or not inference.require_weights:
        return None
    return (
        "spec.inference.requireWeights asks for weights, and neither the program's termination message nor "
        "spec.artifacts.weights names any: set requireWeights to false, and inference runs without"
    )


def _given_up(seen: Observed, found: InferenceRun, inference: Inference) -> Verdict:
    if _is_repeated(seen):
        return Verdict(actions=_removed(found), facts=_running(found.run).facts)
    return _failed(_how_it_failed(found, inference), found.run)


def _under_way(found: InferenceRun, now: datetime) -> Verdict:
    """The Job exists; whether its pod runs is another question, which a Job's status does not answer."""
    obstacle = terminating_reason(found.pods, now) or next(filter(None, map(pending_reason, found.pods)), None)
    if obstacle is not None:
        return _pending(found.run, *obstacle)
    if found.suspended:
        return _pending(found.run, Reason.QUEUED, f"{found.name} waits to be admitted by its queue")
    due = found.created + _POD_EXPECTED
    if found.pods or now < due:
        return replace(_running(found.run), wake_at=None if found.pods else due)
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


def _removed(found: InferenceRun) -> tuple[Action, ...]:
    return () if found.deleting else (Delete(Kind.JOB, found.name, found.version),)


def _running(run: str, *actions: Action) -> Verdict:
    return Verdict(
        actions=actions,
        record={"inference": InferenceStatus(phase=InferencePhase.RUNNING, run=run)},
        facts=(Fact(ConditionType.COMPLETE, status=False, reason=Reason.INFERRING, message="inference is running"),),
    )


def _pending(run: str, reason: Reason, why: str) -> Verdict:
    return Verdict(
        record={"inference": InferenceStatus(phase=InferencePhase.PENDING, run=run)},
        facts=(Fact(ConditionType.COMPLETE, status=False, reason=reason, message=why),),
    )


def _done(found: InferenceRun) -> Verdict:
    said = found.result.message if found.result else None
    metrics = dict(said.metrics) if said else {}
    shown = ", ".join(f"{name} {value:.4g}" for name, value in sorted(metrics.items())) or "no metrics"
    status = InferenceStatus(phase=InferencePhase.COMPLETE, run=found.run, metrics=metrics or None)
    return _complete(Reason.INFERENCE_DONE, f"inference is done: {shown}", status)


def _complete(reason: Reason, message: str, inference: InferenceStatus | None = None) -> Verdict:
    return Verdict(
        record={"inference": inference},
        facts=(Fact(ConditionType.COMPLETE, status=True, reason=reason, message=message),),
    )


def _failed(why: str, run: str) -> Verdict:
    return Verdict(
        record={"inference": InferenceStatus(phase=InferencePhase.FAILED, run=run)},
        facts=(Fact(ConditionType.FAILED, status=True, reason=Reason.INFERENCE_FAILED, message=why),),
    )
