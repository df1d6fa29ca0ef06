"""Conditions: how facts are laid over them, and which phase they amount to."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from qtj_operator.api.conditions import ConditionType, Fact, Reason, find, is_true, merge, phase_of
from qtj_operator.api.status import Condition, Phase, Status

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)
RUNNING, SUSPENDED, TRAINED, COMPLETE, FAILED, *_ = ConditionType


def fact(
    kind: ConditionType = RUNNING, reason: Reason = Reason.STARTING, message: str = "0 of 2", *, status: bool = False
) -> Fact:
    return Fact(kind, status=status, reason=reason, message=message)


def conditions(*facts: Fact) -> tuple[Condition, ...]:
    return merge((), facts, 1, NOON)


def test_the_transition_time_stays_while_the_status_does() -> None:
    before = conditions(fact(message="0 of 2 replicas are ready"))

    (after,) = merge(before, [fact(message="1 of 2 replicas are ready")], 2, LATER)

    assert after.last_transition_time == NOON
    assert (after.message, after.observed_generation) == ("1 of 2 replicas are ready", 2)


def test_the_transition_time_moves_when_the_status_flips() -> None:
    before = conditions(fact(status=False))

    (after,) = merge(before, [fact(status=True, reason=Reason.ALL_REPLICAS_READY)], 1, LATER)

    assert after.last_transition_time == LATER


def test_a_condition_that_no_fact_speaks_of_still_holds_for_this_generation() -> None:
    """`kubectl wait` waits for ever for a condition that speaks of an earlier generation."""
    before = conditions(fact(TRAINED, Reason.WEIGHTS_STORED, status=True))

    after = merge(before, [fact(COMPLETE, Reason.INFERRING)], 7, LATER)

    assert after[0] == before[0].model_copy(update={"observed_generation": 7})


def test_conditions_of_other_controllers_stay_as_they_are_after_ours() -> None:
    theirs = Condition(type="Scanned", status="True", reason="Clean", message="", last_transition_time=NOON)

    assert merge((theirs, *conditions(fact())), [fact(FAILED)], 7, LATER)[-1] == theirs


def test_conditions_come_in_the_order_of_a_jobs_life() -> None:
    facts = [fact(FAILED), fact(COMPLETE), fact(RUNNING), fact(TRAINED)]

    assert [condition.type for condition in conditions(*facts)] == ["Running", "Trained", "Complete", "Failed"]


def test_merging_the_same_facts_again_changes_nothing() -> None:
    facts = [fact(RUNNING, status=True), fact(TRAINED)]

    assert merge(conditions(*facts), facts, 1, LATER) == conditions(*facts)


def test_a_condition_is_found_by_its_type() -> None:
    known = conditions(fact(TRAINED, status=True))

    assert find(known, TRAINED) == known[0]
    assert find(known, FAILED) is None
    assert find((), TRAINED) is None


def test_only_a_condition_with_status_true_is_true() -> None:
    known = conditions(fact(TRAINED, status=True), fact(FAILED, status=False))

    assert is_true(known, TRAINED)
    assert not is_true(known, FAILED)
    assert not is_true((), FAILED)


@pytest.mark.parametrize(
    ("facts", "phase", "reason"),
    [
        ([], Phase.PENDING, None),
        ([fact(reason=Reason.STARTING)], Phase.PENDING, "Starting"),
        ([fact(reason=Reason.UNSCHEDULABLE)], Phase.PENDING, "Unschedulable"),
        ([fact(reason=Reason.RESTARTING)], Phase.RESTARTING, "Restarting"),
        ([fact(reason=Reason.ALL_REPLICAS_READY, status=True)], Phase.RUNNING, "AllReplicasReady"),
        (
            [fact(reason=Reason.TRAINING_ENDED), fact(TRAINED, Reason.WEIGHTS_STORED, status=True)],
            Phase.INFERRING,
            "WeightsStored",
        ),
        (
            [
                fact(TRAINED, Reason.WEIGHTS_STORED, status=True),
                fact(COMPLETE, Reason.INFERRING, status=False),
                fact(FAILED, Reason.INFERRING, status=False),
            ],
            Phase.INFERRING,
            "Inferring",
        ),
        (
            [fact(TRAINED, status=True), fact(COMPLETE, Reason.INFERENCE_DONE, status=True)],
            Phase.COMPLETE,
            "InferenceDone",
        ),
        (
            [fact(TRAINED, status=True), fact(FAILED, Reason.INFERENCE_FAILED, status=True)],
            Phase.FAILED,
            "InferenceFailed",
        ),
        ([fact(FAILED, Reason.INVALID_SPEC, status=True)], Phase.FAILED, "InvalidSpec"),
    ],
)
def test_the_phase_follows_from_the_conditions(facts: list[Fact], phase: Phase, reason: str | None) -> None:
    assert phase_of(conditions(*facts)) == (phase, reason)


def test_a_job_without_conditions_is_pending() -> None:
    assert phase_of(()) == (Phase.PENDING, None)


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_is_one_camel_case_word(reason: Reason) -> None:
    assert re.fullmatch(r"([A-Z][a-z]+)+", reason)


def test_a_status_leaves_out_what_is_empty_and_reads_null_as_empty() -> None:
    read = Status.read({"conditions": None, "failures": None, "replicas": None})

    assert (read.conditions, read.failures, read.replicas) == ((), (), {})
    assert read.to_dict() == Status().to_dict() == {}
