"""The end of training."""

from datetime import datetime

from qtj_contract import Env
from qtj_operator.api import conditions
from qtj_operator.api.conditions import Fact, Reason
from qtj_operator.api.names import Role, replica_name
from qtj_operator.api.run_policy import SuccessPolicy
from qtj_operator.api.status import ProgressStatus, WeightsStatus
from qtj_operator.core.absent import all_have_started
from qtj_operator.core.change import KEEP, Keep, StatusChange
from qtj_operator.core.decision import Move
from qtj_operator.core.observed import Observed
from qtj_operator.core.status import progress_status

__all__ = ["trained"]

_HOW_TO = (
    "write weights with a uri (gs:// or file://) and a sha256 (64 hex digits), or name them in spec.artifacts.weights, "
    "if it stored some"
)
_CUT = "and the kubelet cut its termination message before the weights"
_SHORTER = f"write at most ${Env.TERMINATION_LIMIT} bytes"


def trained(seen: Observed, _now: datetime) -> Move | None:
    """Once the leader has ended with exit code 0, training never runs again, whatever else happens."""
    result = _result(seen)
    if result is None:
        return None
    weights, change = result
    if not _is_over(seen):
        # The others still run. The leader's pod, which has the result, may be gone when they are done.
        return Move(change) if weights != seen.job.status.weights else None
    name = replica_name(seen.job.name, seen.job.leader.role, seen.job.leader.index)
    progress = seen.job.status.progress if isinstance(change.progress, Keep) else change.progress
    return Move(change, conditions=(_warned(_trained(seen, weights, name, _best(progress)), seen),))


def _result(seen: Observed) -> tuple[WeightsStatus | None, StatusChange] | None:
    """Returns the leader's result, from its pod or the record; None while it has not succeeded."""
    leader = seen.leader
    address = seen.platform.named_weights(seen.job)
    named = WeightsStatus(uri=address) if address else None
    if leader is None or not leader.succeeded:
        recorded = seen.job.status.weights or named
        return (recorded, StatusChange(weights=recorded)) if seen.job.leader in seen.finished else None
    message = leader.message
    stored = message.weights if message else None
    # The last epochs may have passed since the progress was polled, so the leader's last report counts.
    progress = progress_status(message.progress) if message and message.progress else KEEP
    # So does the address of the weights that it reports, which is more reliable than the spec's.
    weights = WeightsStatus(uri=stored.uri, sha256=stored.sha256) if stored else named
    report = message.report if message and message.report else KEEP
    metrics = dict(message.metrics) if message and message.metrics else KEEP
    return weights, StatusChange(progress=progress, metrics=metrics, weights=weights, report=report)


def _is_over(seen: Observed) -> bool:
    """Whether all replicas that the success policy names have succeeded; the leader has.

    A strategy that needs all replicas has not trained before each of them has started.
    """
    if seen.job.policy.success == SuccessPolicy.LEADER:
        return not seen.job.trains_together or all_have_started(seen)
    needed = {replica for replica in seen.job.replicas() if replica.role in {Role.CHIEF, Role.WORKER}}
    done = seen.finished | {pod.replica for pod in seen.current if pod.replica and pod.succeeded}
    return needed <= done | {seen.job.leader}


def _trained(seen: Observed, weights: WeightsStatus | None, leader: str, best: str) -> Fact:
    if weights is None:
        said = seen.leader.message if seen.leader else None
        why = f"{_CUT}: {_SHORTER}, and" if said and said.is_cut else "and named no weights in its termination message:"
        message = f"{leader} ended with exit code 0 {why} {_HOW_TO}"
        return conditions.trained(Reason.NO_WEIGHTS, message)
    if weights.sha256 is None:
        message = (
            f"{leader} ended with exit code 0: its weights are {weights.uri}, as spec.artifacts.weights says, and "
            "their checksum is not known"
        )
        return conditions.trained(Reason.WEIGHTS_STORED, message)
    return conditions.trained(Reason.WEIGHTS_STORED, f"{leader} stored the weights{best} as {weights.uri}")


def _warned(fact: Fact, seen: Observed) -> Fact:
    """Returns the fact with the leader's warning, if it stored weights and has not done all that was asked for."""
    message = seen.leader.message if seen.leader and seen.leader.succeeded else None
    if message is None or not message.warning or fact.reason != Reason.WEIGHTS_STORED:
        return fact
    return conditions.trained(Reason.TRAINED_IN_PART, f"{fact.message}, but {message.warning}")


def _best(progress: ProgressStatus | None) -> str:
    """Returns which epoch the weights are of after early stopping; nothing if they are of the last one."""
    if progress is None or not progress.best_epoch:
        return ""
    early = "stopped early after" if progress.epoch < (progress.epochs or 0) else "trained to"
    return f" of epoch {progress.best_epoch} ({early} epoch {progress.epoch})"
