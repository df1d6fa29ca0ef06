"""Inference, after training. One whose result was lost runs again, a few times.

The result is in the termination message of its pod. The pod may be gone before that was read, for example while no
operator runs, or the whole Job. The operator may not read the artifacts, where the program may have stored its result.
"""

from datetime import datetime, timedelta

from qtj_contract import Env, TerminationMessage
from qtj_contract.digits import in_digits
from qtj_contract.inference_result import result_uri
from qtj_operator.api import conditions
from qtj_operator.api.conditions import Fact, Reason
from qtj_operator.api.names import inference_name
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
from qtj_operator.core.slow_start import slow_start
from qtj_operator.manifests.inference import inference_job, inference_run

__all__ = ["inference_failed", "inference_stopped", "inference_to_repeat", "inferring", "wanted_run"]

_MOST_RESTARTS = 5

_RESULT_LOST = conditions.not_complete(
    Reason.INFERRING, "inference has ended, and its pod is gone before its result was read: it runs again"
)


def _inference_lost(seen: Observed, known: InferenceStatus) -> Move | None:
    """Counts that a Job which ran is gone; after some times, the job fails.

    A Job that the operator removes itself is not on record as running, unless its result was lost.
    """
    if known.phase != InferencePhase.RUNNING:
        return None
    name, count = inference_name(seen.job.name), (known.restarts or 0) + 1
    if count > _MOST_RESTARTS:
        return inference_failed(_always_gone(seen, name, count), known)
    again = InferenceStatus(phase=InferencePhase.PENDING, run=known.run, restarts=count)
    why = f"{name} or its pod was gone before its result was read, and runs again ({count} of {_MOST_RESTARTS} times)"
    return Move(StatusChange(inference=again), conditions=(conditions.not_complete(Reason.INFERRING, why),))


def _always_gone(seen: Observed, name: str, count: int) -> str:
    weights = seen.job.status.weights
    stored = f", or look at {result_uri(weights.uri)}, where the trainer stores its result" if weights else ""
    return (
        f"{name} or its pod was gone {count} times before its result was read: find out who deletes them, "
        f"then qtj retry {seen.job.name}{stored}"
    )


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
        return _known(seen, known.run) or _inference_lost(seen, known) or _start(seen, known, inference)
    if current.run != known.run:
        return _replaced(known, current)
    return _ended(seen, known, current, inference) or _goes_on(seen, known, current, now)


def _ended(seen: Observed, known: InferenceStatus, current: InferenceRun, inference: Inference) -> Verdict | None:
    """Records how it ended, if it has; without the result it has to run again."""
    if current.lost_result:
        return _running(known, *_removed(current), fact=_RESULT_LOST)  # it counts when it is gone
    if current.done:
        return _inference_done(known, current)
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
    return Move(conditions=(_inference_complete(recorded),))


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


_NO_METRICS = "its program reported no metrics: they are in its log, or use Program.report to have them here"
_CUT = "its termination message was cut"


def _inference_done(known: InferenceStatus, current: InferenceRun) -> Move:
    """Completes the job with what the program reported."""
    message = (current.result.message if current.result else None) or TerminationMessage()
    status = InferenceStatus(
        phase=InferencePhase.COMPLETE,
        run=known.run,
        metrics=dict(message.metrics) or None,
        result=message.result,
        restarts=known.restarts,
    )
    change = StatusChange(inference=status, report=message.report or KEEP)
    return Move(change, conditions=(_inference_complete(status, is_cut=message.is_cut),))


def _inference_complete(result: InferenceStatus, *, is_cut: bool = False) -> Fact:
    """Returns that the job is complete, with its metrics, or why there are none."""
    metrics = sorted((result.metrics or {}).items())
    shown = ", ".join(f"{name} {in_digits(value)}" for name, value in metrics)
    if is_cut:
        shown = f"{_CUT}, and {_where(result)}"
    return conditions.complete(Reason.INFERENCE_DONE, f"inference is done: {shown or _NO_METRICS}")


def _where(result: InferenceStatus) -> str:
    """Returns where metrics are that a message has lost, or how to keep them."""
    if result.result:
        return f"all metrics are in {result.result}"
    return f"its metrics are lost: write at most ${Env.TERMINATION_LIMIT} bytes"


def inference_failed(why: str, known: InferenceStatus) -> Move:
    """Fails the job."""
    status = InferenceStatus(phase=InferencePhase.FAILED, run=known.run, restarts=known.restarts)
    return Move(StatusChange(inference=status), conditions=(conditions.failed(Reason.INFERENCE_FAILED, why),))
