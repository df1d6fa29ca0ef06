"""A replica that ended badly, or is being taken away.

Two workers, worker-1 preempted::

    worker-1  Running, DisruptionTarget, deleting   lost at once: its pod may be gone before anybody sees it Failed
    worker-0  Failed (75)                           lost its peer, and says so: the same disruption, not another failure
"""

from datetime import datetime

from qtj_operator.api.conditions import ConditionType, Fact, Reason, is_true
from qtj_operator.api.contract import EXIT_RETRY
from qtj_operator.api.models import Failure
from qtj_operator.core.decision import Verdict
from qtj_operator.core.observed import Observed, Pod

__all__ = ["MAX_FAILURES", "lost_replica"]

MAX_FAILURES = 10
"""Failures kept in the status: enough to see a pattern, too few to make the object grow."""


def lost_replica(seen: Observed, now: datetime) -> Verdict | None:
    """Peers cannot go on without it, so the whole gang starts anew, or the job gives up.

    A disruption (preemption, eviction, a lost node) says nothing about the program and costs nothing of its budget.
    """
    lost = [pod for pod in seen.current if pod.failed or _taken(pod)]
    if not lost or is_true(seen.job.status.conditions, ConditionType.TRAINED):
        return None
    permanent = next((pod for pod in lost if not pod.retryable), None)
    if permanent is not None:
        return _give_up(seen, lost, Reason.REPLICA_FAILED, f"{_sentence(permanent)}; this exit code is final", now)
    if _by_disruption(lost):
        return _next_attempt(seen, lost, now, disruptions=1)
    restarts = seen.job.status.restarts or 0
    if restarts >= seen.job.backoff_limit:
        why = f"{_sentence(lost[0])}; the gang was restarted {restarts} times, as often as backoffLimit allows"
        return _give_up(seen, lost, Reason.BACKOFF_LIMIT_EXCEEDED, why, now)
    return _next_attempt(seen, lost, now, restarts=1)


def _taken(pod: Pod) -> bool:
    return pod.disrupted and pod.deleting and not pod.succeeded


def _by_disruption(lost: list[Pod]) -> bool:
    innocent = (pod.disrupted or (pod.ending is not None and pod.ending.exit_code == EXIT_RETRY) for pod in lost)
    return any(pod.disrupted for pod in lost) and all(innocent)


def _next_attempt(
    seen: Observed, lost: list[Pod], now: datetime, *, restarts: int = 0, disruptions: int = 0
) -> Verdict:
    status = seen.job.status
    attempt = seen.attempt + 1
    return Verdict(
        record={
            "attempt": attempt,
            "restarts": (status.restarts or 0) + restarts,
            "disruptions": (status.disruptions or 0) + disruptions or None,
            "failures": _failures(seen, lost, now),
            "progress": None,
        },
        facts=(
            Fact(
                ConditionType.RUNNING,
                status=False,
                reason=Reason.RESTARTING,
                message=f"{_sentence(lost[0])}; all replicas start again as attempt {attempt}",
            ),
        ),
    )


def _give_up(seen: Observed, lost: list[Pod], reason: Reason, why: str, now: datetime) -> Verdict:
    return Verdict(
        record={"failures": _failures(seen, lost, now)},
        facts=(Fact(ConditionType.FAILED, status=True, reason=reason, message=why),),
    )


def _sentence(pod: Pod) -> str:
    if pod.ending is None:
        return f"{pod.name} was preempted or evicted"
    code, reason = pod.ending.exit_code, pod.ending.reason
    how = reason if code is None else f"exit code {code}" + ("" if reason == "Error" else f", {reason}")
    return f"{pod.name} ended ({how}): {pod.last_words}"


def _failures(seen: Observed, lost: list[Pod], now: datetime) -> tuple[Failure, ...]:
    new = (
        Failure(
            pod=pod.name,
            attempt=pod.attempt,
            exit_code=pod.ending.exit_code if pod.ending else None,
            reason=pod.ending.reason if pod.ending else "Disrupted",
            message=pod.last_words,
            time=now,
        )
        for pod in lost
    )
    return (*(seen.job.status.failures or ()), *new)[-MAX_FAILURES:]
