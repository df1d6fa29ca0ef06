"""What others edit again after a repair, and what the API server refuses of TensorBoard."""

from dataclasses import replace

from qtj_operator.api.conditions import Reason
from qtj_operator.core.decision import Delete, Restore
from qtj_operator.core.obstacle import Obstacle
from tests.core.tensorboards import with_board
from tests.core.world import World, later, running_job

QUOTA = Obstacle(Reason.CHILD_REJECTED, "exceeded quota", due=later(minutes=1))


def board_edited() -> World:
    return with_board(running_job().with_spec(tensorboard={}), spec={"replicas": 3})


def observed(world: World, **fields: object) -> World:
    assert world.board is not None
    return replace(world, board=replace(world.board, **fields))  # type: ignore[arg-type]


def test_a_repair_that_is_too_early_waits_and_is_not_told() -> None:
    edited = running_job().with_service("worker-1", selector={"app": "mine"})

    decision = replace(edited, repairs_due=later(minutes=1)).decide()

    assert [type(action) for action in edited.decide().actions] == [Restore]
    assert (decision.actions, decision.events, decision.wake_at) == ((), (), later(minutes=1))


def test_nothing_wakes_for_a_repair_that_nobody_needs() -> None:
    assert replace(running_job(), repairs_due=later(minutes=1)).decide() == running_job().decide()


def test_a_repair_of_tensorboard_waits_too() -> None:
    decision = observed(board_edited(), repairs_due=later(minutes=1)).decide()

    assert [type(action) for action in board_edited().decide().tensorboard_actions] == [Restore]
    assert (decision.tensorboard_actions, decision.wake_at) == ((), later(minutes=1))


def test_a_refusal_of_a_repair_is_the_status_of_tensorboard_and_nothing_of_the_job() -> None:
    decision = observed(board_edited(), obstacle=replace(QUOTA, kind=Restore)).decide()

    assert decision.status.tensorboard is not None
    assert decision.status.tensorboard.message == "exceeded quota"
    assert [event.reason for event in decision.events] == ["TensorBoardNotReady"]
    assert (decision.tensorboard_actions, decision.wake_at) == ((), later(minutes=1))
    assert decision.status.phase == "Running"


def test_a_tensorboard_that_may_not_be_deleted_has_an_event_alone() -> None:
    unwanted = with_board(running_job().with_spec(tensorboard={})).recorded().with_spec(tensorboard=None)

    decision = observed(unwanted, obstacle=replace(QUOTA, kind=Delete)).decide()

    assert decision.status.tensorboard is None
    assert [event.message for event in decision.events] == ["exceeded quota"]
    assert (decision.tensorboard_actions, decision.wake_at) == ((), later(minutes=1))


def test_a_refusal_stops_only_what_would_be_refused_too() -> None:
    decision = observed(board_edited(), obstacle=QUOTA).decide()

    assert [type(action) for action in decision.tensorboard_actions] == [Restore]
