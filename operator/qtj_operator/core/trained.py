"""The end of training."""

from datetime import datetime

from qtj_operator.api.conditions import ConditionType, Fact, Reason, is_true
from qtj_operator.api.names import Role
from qtj_operator.api.spec import SuccessPolicy
from qtj_operator.api.status import WeightsStatus
from qtj_operator.core.decision import Verdict
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod
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
    leader = seen.leader if seen.attempt else None
    if leader is None or is_true(seen.job.status.conditions, ConditionType.TRAINED) or not _is_over(seen, leader):
        return None
    said = leader.message
    # The last epochs may have passed since the progress was polled, so the leader's last word on it counts.
    record: dict[str, object] = {"progress": progress_status(said.progress)} if said and said.progress else {}
    if leader.deleting and (said is None or said.weights is None):
        return None
    weights, fact = _weights(seen, leader)
    return Verdict(record={**record, **({"weights": weights} if weights else {})}, facts=(fact,))


def _weights(seen: Observed, leader: Pod) -> tuple[WeightsStatus | None, Fact]:
    """Returns the weights, if anybody names some, and what is said of them: the program knows best where they are."""
    said, named = leader.message, seen.job.named_weights
    if said is not None and said.weights is not None:
        weights = WeightsStatus(uri=said.weights.uri, sha256=said.weights.sha256)
        return weights, _fact(Reason.WEIGHTS_STORED, f"{leader.name} stored the weights as {weights.uri}")
    if named is not None:
        sentence = (
            f"{leader.name} ended with exit code 0: its weights are {named}, as spec.artifacts.weights says, and their "
            "checksum is not known"
        )
        return WeightsStatus(uri=named), _fact(Reason.WEIGHTS_STORED, sentence)
    sentence = f"{leader.name} ended with exit code 0 and named no weights in its termination message: {_HOW_TO}"
    return None, _fact(Reason.NO_WEIGHTS, sentence)


def _is_over(seen: Observed, leader: Pod) -> bool:
    """Whether everybody has succeeded whom the job's success depends on."""
    if seen.job.policy.success_policy != SuccessPolicy.ALL_WORKERS:
        return leader.succeeded
    needed = {replica for replica in seen.job.replicas() if replica.role in {Role.CHIEF, Role.WORKER}}
    return needed <= {pod.replica for pod in seen.current if pod.succeeded}


def _fact(reason: Reason, message: str) -> Fact:
    return Fact(ConditionType.TRAINED, status=True, reason=reason, message=message)
