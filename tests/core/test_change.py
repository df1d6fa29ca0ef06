"""Changes of the status by name, and what each kind of verdict may do.

mypy reads this file, too: where it does not refuse what a comment says it refuses, it reports the comment.
"""

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

from qtj_operator.api.conditions import ConditionType
from qtj_operator.api.status import Condition, Status
from qtj_operator.core.change import Keep, Report, StatusChange, new_attempt
from qtj_operator.core.decide import stage_of
from qtj_operator.core.decision import Act, Move, Verdict, Wait, act_or_wait
from tests.core.world import (
    NOW,
    World,
    complete_job,
    inferring_job,
    later,
    new_job,
    parameter_servers,
    running_job,
    starting_job,
    trained_job,
)


def test_a_misspelt_field_of_a_change_is_refused() -> None:
    with pytest.raises(TypeError, match="atempt"):
        StatusChange(atempt=2)  # type: ignore[call-arg]  # a misspelling, on purpose
    with pytest.raises(TypeError, match="inferrence"):
        Report(inferrence=None)  # type: ignore[call-arg]  # on purpose


def test_a_value_of_another_type_is_refused_by_mypy() -> None:
    assert StatusChange(attempt="2").values() == {"attempt": "2"}  # type: ignore[arg-type]  # its absence is an error


def test_a_misspelt_field_of_any_model_is_refused_where_a_copy_gets_another_value() -> None:
    with pytest.raises(TypeError, match="Status has no field atempt"):
        Status().changed(atempt=2)


def test_what_a_change_does_not_name_stays_and_none_empties_a_field() -> None:
    before = Status(attempt=1, restarts=3, disruptions=2)

    after = StatusChange(attempt=2, disruptions=None).applied_to(before)

    assert after == Status(attempt=2, restarts=3)


def test_of_two_changes_the_second_counts() -> None:
    both = StatusChange(attempt=2, restarts=1) | StatusChange(restarts=5, disruptions=None)

    assert both == StatusChange(attempt=2, restarts=5, disruptions=None)


def test_a_new_attempt_knows_nothing_of_the_one_before() -> None:
    before = Status(attempt=1, restarts=1, attempt_start_time=NOW, peer_lost_time=NOW)

    assert new_attempt(2).applied_to(before) == Status(attempt=2, restarts=1)


@pytest.mark.parametrize("change", [StatusChange, Report])
def test_each_field_of_a_change_is_one_of_the_status_and_has_its_type(change: type[Any]) -> None:
    recorded = get_type_hints(Status)
    for name, hint in get_type_hints(change).items():
        kinds = set(get_args(hint)) - {Keep}
        assert kinds <= {recorded[name], *get_args(recorded[name])}, name


@pytest.mark.parametrize("verdict", [Act, Wait])
def test_only_a_move_changes_the_record(verdict: type[Any]) -> None:
    with pytest.raises(TypeError, match="change"):
        verdict((), change=StatusChange(attempt=2))


def test_a_move_takes_no_actions() -> None:
    with pytest.raises(TypeError, match="actions"):
        Move(StatusChange(), actions=())  # type: ignore[call-arg]  # on purpose


def test_nothing_to_do_is_a_wait() -> None:
    assert act_or_wait((), later(seconds=5)) == Wait(later(seconds=5))


def worlds() -> Iterator[World]:
    """Jobs in every part of their life, and with something wrong in each."""
    parameter_server = running_job(**parameter_servers())
    yield from (
        new_job(),
        new_job(suspend=True),
        new_job(artifacts={"uri": "file:///nowhere"}),
        new_job().recorded(),
        starting_job(attempt=2).with_pod("worker-0", attempt=1),
        starting_job().without_pod("worker-1"),
        running_job(),
        running_job(workers=3).with_pod("worker-0", exit_code=75),
        running_job().with_pod("worker-0", exit_code=137),
        running_job().with_pod("worker-0", exit_code=1),
        running_job().with_service("worker-0", ports=[]),
        running_job().with_spec(suspend=True).recorded(),
        running_job().with_pod("worker-0", exit_code=0),
        running_job(runPolicy={"activeDeadlineSeconds": 60}),
        parameter_server.with_pod("worker-1", exit_code=137),
        parameter_server.with_pod("worker-1", exit_code=137).recorded(),
        trained_job(inference={}),
        inferring_job(),
        inferring_job().with_inference(failed=True),
        inferring_job().with_inference(complete=True),
        inferring_job().with_spec(inference={"args": ["other"]}),
        complete_job(),
        complete_job().with_spec(inference={"args": ["other"]}),
        running_job().with_pod("worker-0", exit_code=1).recorded().with_spec(retry=1),
    )


def verdict_on(world: World) -> Verdict:
    return next(
        (v for policy in stage_of(world.job).policies if (v := policy(world, later(minutes=2))) is not None), Wait()
    )


def ends(conditions: tuple[Condition, ...] | None) -> dict[str, tuple[str, str]]:
    decisive = {ConditionType.TRAINED, ConditionType.FAILED, ConditionType.SUSPENDED}
    return {each.type: (each.status, each.reason) for each in conditions or () if each.type in decisive}


@pytest.mark.parametrize("world", list(worlds()))
def test_only_a_move_ends_anything_or_takes_an_end_back(world: World) -> None:
    before, after = world.job.status, world.decide(later(minutes=2)).status

    if isinstance(verdict_on(world), Move):
        assert after != before
    else:
        assert (after.attempt, after.restarts, after.weights) == (before.attempt, before.restarts, before.weights)
        assert ends(after.conditions) == ends(before.conditions)


def test_these_worlds_need_every_kind_of_verdict() -> None:
    assert {type(verdict_on(world)) for world in worlds()} == {Move, Act, Wait}
