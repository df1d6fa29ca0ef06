"""The end of training."""

from datetime import datetime
from typing import TypedDict

from qtj_operator.api.conditions import ConditionType, Fact, Reason, is_true
from qtj_operator.api.names import Role, replica_name
from qtj_operator.api.run_policy import SuccessPolicy
from qtj_operator.api.status import ProgressStatus, WeightsStatus
from qtj_operator.core.decision import Verdict
from qtj_operator.core.observed import Observed
from qtj_operator.core.status import progress_status

__all__ = ["trained"]

_HOW_TO = (
    "write weights with a uri (gs:// or file://) and a sha256 (64 hex digits), or name them in spec.artifacts.weights, "
    "if it stored some"
)


def trained(seen: Observed, _now: datetime) -> Verdict | None:
    """The leader ended with exit code 0: whatever else happens, training is not run again.

    One that is being taken away has only trained if it names its weights: some programs end with 0 when told to stop.
    """
    if not seen.attempt or is_true(seen.job.status.conditions, ConditionType.TRAINED):
        return None
    record = _result(seen)
    if record is None:
        return None
    weights = record.get("weights")
    if not _is_over(seen):
        # The others are still at work. The leader's pod, which knows the result, may be gone when they are done.
        return Verdict(record=record) if weights != seen.job.status.weights else None
    name = replica_name(seen.job.name, seen.job.leader.role, seen.job.leader.index)
    return Verdict(record=record, facts=(_told(weights, name),))


class _Result(TypedDict, total=False):
    progress: ProgressStatus
    weights: WeightsStatus | None


def _result(seen: Observed) -> _Result | None:
    """Returns what the leader has achieved, from its pod or the record; None while it has not ended well."""
    leader = seen.leader
    named = WeightsStatus(uri=seen.job.named_weights) if seen.job.named_weights else None
    if leader is None or not leader.succeeded:
        return {"weights": seen.job.status.weights or named} if seen.job.leader in seen.finished else None
    said = leader.message
    stored = said.weights if said else None
    if leader.deleting and stored is None and seen.job.leader not in seen.finished:
        return None
    # The last epochs may have passed since the progress was polled, so the leader's last word on it counts.
    result: _Result = {"progress": progress_status(said.progress)} if said and said.progress else {}
    # So does its word on the weights, for it knows better than the spec where they are.
    return {**result, "weights": WeightsStatus(uri=stored.uri, sha256=stored.sha256) if stored else named}


def _is_over(seen: Observed) -> bool:
    """Whether everybody has succeeded whom the job's success depends on; its leader has."""
    if seen.job.policy.success_policy != SuccessPolicy.ALL_WORKERS:
        return True
    needed = {replica for replica in seen.job.replicas() if replica.role in {Role.CHIEF, Role.WORKER}}
    done = seen.finished | {pod.replica for pod in seen.current if pod.replica and pod.succeeded}
    return needed <= done | {seen.job.leader}


def _told(weights: WeightsStatus | None, leader: str) -> Fact:
    if weights is None:
        sentence = f"{leader} ended with exit code 0 and named no weights in its termination message: {_HOW_TO}"
        return _fact(Reason.NO_WEIGHTS, sentence)
    if weights.sha256 is None:
        sentence = (
            f"{leader} ended with exit code 0: its weights are {weights.uri}, as spec.artifacts.weights says, and "
            "their checksum is not known"
        )
        return _fact(Reason.WEIGHTS_STORED, sentence)
    return _fact(Reason.WEIGHTS_STORED, f"{leader} stored the weights as {weights.uri}")


def _fact(reason: Reason, message: str) -> Fact:
    return Fact(ConditionType.TRAINED, status=True, reason=reason, message=message)
