"""The constructor of each condition."""

import pytest

from qtj_operator.api import conditions
from qtj_operator.api.conditions import ConditionType, Fact, Reason


@pytest.mark.parametrize(
    ("fact", "kind", "reason"),
    [
        (conditions.running("m"), ConditionType.RUNNING, "AllReplicasReady"),
        (conditions.suspended("m"), ConditionType.SUSPENDED, "Suspended"),
        (conditions.trained(Reason.NO_WEIGHTS, "m"), ConditionType.TRAINED, "NoWeights"),
        (conditions.complete(Reason.NO_INFERENCE, "m"), ConditionType.COMPLETE, "NoInference"),
        (conditions.failed(Reason.INVALID_SPEC, "m"), ConditionType.FAILED, "InvalidSpec"),
        (conditions.spec_ignored(Reason.UNKNOWN_FIELD, "m"), ConditionType.SPEC_IGNORED, "UnknownField"),
    ],
)
def test_what_holds(fact: Fact, kind: ConditionType, reason: str) -> None:
    assert fact == Fact(kind, status=True, reason=reason, message="m")


@pytest.mark.parametrize(
    ("fact", "kind", "reason"),
    [
        (conditions.not_running(Reason.STARTING, "m"), ConditionType.RUNNING, "Starting"),
        (conditions.resumed("m"), ConditionType.SUSPENDED, "Resumed"),
        (conditions.not_complete(Reason.INFERRING, "m"), ConditionType.COMPLETE, "Inferring"),
        (conditions.not_failed(Reason.RETRIED, "m"), ConditionType.FAILED, "Retried"),
        (conditions.spec_applied("m"), ConditionType.SPEC_IGNORED, "SpecApplied"),
    ],
)
def test_what_does_not_hold(fact: Fact, kind: ConditionType, reason: str) -> None:
    assert fact == Fact(kind, status=False, reason=reason, message="m")
