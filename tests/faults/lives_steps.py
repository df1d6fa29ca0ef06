"""What all steps of a random life have in common: the cluster, and who works after the step."""

from collections.abc import Callable
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine, precondition

from qtj_operator.controller.client import Resource
from tests.faults.world import World

JOBS, PODS, SERVICES = Resource.JOBS, Resource.PODS, Resource.SERVICES

there_is_a_job = precondition(lambda life: life.world.job is not None)


def there_are(resource: Resource) -> Callable[[Any], Any]:
    """The step can be taken when there are objects of this kind."""
    return precondition(lambda life: bool(life.world.every(resource)))


class Steps(RuleBasedStateMachine):
    """A cluster, and what happens in it after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.store = self.world.store
        self.operator = self.world.operator
        self.shape = ""
        self.queue: dict[str, Any] = {}

    def _go_on(self, then: str) -> None:
        if then == "everybody":
            self.world.everybody_works()
        elif then == "the operator":
            self.world.run(self.world.operator_works())
