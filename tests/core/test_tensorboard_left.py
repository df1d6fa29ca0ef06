"""A TensorBoard that is left, and that only the status shows."""

from dataclasses import replace

import pytest

from qtj_operator.api.status import TensorBoardStatus
from qtj_operator.core.observed_tensorboard import Board
from tests.core.tensorboards import NAME, URL, called, with_board
from tests.core.world import World, running_job


def removed_while_its_service_is_not_seen(*, service: bool, deployment: bool) -> World:
    """The field was removed and the label of the Service lost, while the operator was down."""
    world = with_board(running_job(tensorboard={}), available=True).with_status(
        tensorboard=TensorBoardStatus(url=URL, ready=True)
    )
    assert world.board is not None
    left = Board(
        deployment=world.board.deployment if deployment else None, service=world.services[NAME] if service else None
    )
    services = {name: each for name, each in world.services.items() if name != NAME}
    return replace(world.with_spec(tensorboard=None), board=left, services=services)


@pytest.mark.parametrize(
    ("service", "deployment", "actions"),
    [
        (True, True, [f"Delete Deployment {NAME}"]),
        (False, True, [f"Delete Deployment {NAME}"]),
        (True, False, [f"Delete Service {NAME}"]),
        (False, False, []),
    ],
)
def test_what_only_the_status_shows_is_deleted_and_reported_until_it_is_gone(
    *, service: bool, deployment: bool, actions: list[str]
) -> None:
    decision = removed_while_its_service_is_not_seen(service=service, deployment=deployment).decide()

    assert [called(action) for action in decision.companions] == actions
    assert (decision.status.tensorboard is not None) is bool(actions)
