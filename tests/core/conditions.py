"""The conditions of a job after one more look at the world."""

from qtj_operator.api.status import Condition
from tests.core.world import World, later


def failed_message(world: World) -> str:
    return next(c.message for c in world.decide().status.conditions or () if c.type == "Failed")


def running(world: World) -> Condition:
    return next(c for c in world.decide(later(minutes=1)).status.conditions or () if c.type == "Running")
