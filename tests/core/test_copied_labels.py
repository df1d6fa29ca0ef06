"""An operator that begins to copy labels of jobs leaves alone what runs."""

from dataclasses import replace

import pytest

from qtj_operator.core.decision import Restore
from tests.core.tensorboards import with_board
from tests.core.world import World, complete_job, inferring_job, running_job


def labelled(world: World) -> World:
    """The same job and children, for an operator that copies a label from now on."""
    return replace(world, job=replace(world.job, copied_labels={"cost-center": "4711"}))


@pytest.mark.parametrize(
    "world", [running_job(), inferring_job(), complete_job(inference={})], ids=lambda each: each.job.status.phase
)
def test_what_runs_is_neither_restarted_nor_edited(world: World) -> None:
    before, after = world.decide(), labelled(world).decide()

    assert after.actions == before.actions == ()
    assert after.status == before.status


def test_a_tensorboard_that_runs_gets_the_label() -> None:
    world = with_board(running_job(tensorboard={}), available=True)

    assert world.decide().tensorboard_actions == ()
    (repair,) = labelled(world).decide().tensorboard_actions
    assert isinstance(repair, Restore)
    assert repair.fields["template"]["metadata"]["labels"]["cost-center"] == "4711"
