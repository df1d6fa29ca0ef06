"""The end of training."""

from datetime import datetime

from qtj_operator.api.conditions import ConditionType, Fact, Reason, is_true
from qtj_operator.api.models import WeightsStatus
from qtj_operator.core.decision import Verdict
from qtj_operator.core.observed import Observed

__all__ = ["trained"]


def trained(seen: Observed, _now: datetime) -> Verdict | None:
    """The leader ended with exit code 0: whatever else happens, training is not run again."""
    leader = seen.leader
    if leader is None or not leader.succeeded or is_true(seen.job.status.conditions, ConditionType.TRAINED):
        return None
    said = leader.message
    if said is None or said.weights is None:
        sentence = f"{leader.name} ended with exit code 0 and named no weights in its termination message"
        return Verdict(facts=(Fact(ConditionType.TRAINED, status=True, reason=Reason.NO_WEIGHTS, message=sentence),))
    weights = WeightsStatus(uri=said.weights.uri, sha256=said.weights.sha256)
    return Verdict(
        record={"weights": weights},
        facts=(
            Fact(
                ConditionType.TRAINED,
                status=True,
                reason=Reason.WEIGHTS_STORED,
                message=f"{leader.name} stored the weights as {weights.uri}",
            ),
        ),
    )
