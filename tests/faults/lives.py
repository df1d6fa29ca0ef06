"""Random lives: users, nodes, time and the operator do anything in any order, and the invariants hold.

Hypothesis draws the steps, and prints the shortest list of them that breaks something; each is a method of `AnyLife`.
"""

import traceback
from collections.abc import Iterator
from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from qtj_operator.controller.cache import CACHED
from qtj_operator.controller.client import Resource
from tests.faults.admission import Denial
from tests.faults.client import Fault
from tests.faults.lives_drawn import works
from tests.faults.lives_nodes import NodeSteps
from tests.faults.lives_steps import there_is_a_job
from tests.faults.lives_users import UserSteps
from tests.faults.simulation import LONG
from tests.faults.watches import Trouble
from tests.faults.world import KEY

STEPS = 50


class AnyLife(UserSteps, NodeSteps):
    """A cluster in which anything may happen to one job at a time."""

    # What time does

    @rule(seconds=st.sampled_from([1, 5, 16, 31, 61, 301, 3600, 86400]), seen=st.booleans())
    def time_passes(self, seconds: int, *, seen: bool) -> None:
        """With the operator at work, or down."""
        if not seen:
            self.world.now += timedelta(seconds=seconds)
            return
        last = min(seconds, LONG.total_seconds())
        self.world.run(self.world.time_passes(seconds - last))
        lost = {pod["metadata"]["uid"] for pod in self.world.overlooked()}
        self.world.run(self.world.time_passes(last))
        self.world.controllers_work()  # Kueue and the Job controller have let go of what they held
        overlooked = self.world.overlooked() if last == LONG.total_seconds() else []
        late = [pod["metadata"]["name"] for pod in overlooked if pod["metadata"]["uid"] in lost]
        assert not late, f"{late} is neither replaced nor gone after {LONG}"

    # What the operator meets

    @rule(fault=st.sampled_from(list(Fault)), write=st.integers(0, 5), then=works)
    def a_write_fails(self, fault: Fault, write: int, *, then: str) -> None:
        """One pass, in which the write with this number meets the fault."""
        client = self.operator.client
        spoilt, calm = client.writes + write, client.spoils
        client.spoils = lambda number: fault if number == spoilt else None
        self.world.run(self.world.look(KEY))
        client.spoils = calm
        self.operator.invariants.disturbs()
        self._go_on(then)

    @rule(resource=st.sampled_from(CACHED), trouble=st.sampled_from(Trouble))
    def a_watch_has_trouble(self, resource: Resource, trouble: Trouble) -> None:
        """With what happens from now on, for a minute at most."""
        self.operator.watches.spoil(trouble, resource)

    @rule(then=works)
    def watches_recover(self, *, then: str) -> None:
        self.operator.watches.recover()
        self._go_on(then)

    @rule(then=works)
    def the_operator_restarts(self, *, then: str) -> None:
        self.operator.restart()
        self._go_on(then)

    @rule(times=st.sampled_from([0, 2]), then=works)
    def the_watch_tells(self, times: int, *, then: str) -> None:
        """Nothing of what has happened, or the same more than once."""
        self.operator.pending = [KEY] * times
        self._go_on(then)

    @there_is_a_job
    @rule(denial=st.sampled_from(Denial), seconds=st.sampled_from([0, 14, 16, 61, 200]), then=works)
    def no_pod_is_admitted(self, denial: Denial, seconds: int, *, then: str) -> None:
        """For a while: a quota is raised, a policy is for one evening, a webhook comes back."""
        self.world.gatekeeper.denial = denial
        self.world.run(self.world.time_passes(seconds))
        self.world.gatekeeper.denial = None
        self._go_on(then)

    # What holds

    def teardown(self) -> None:
        """The world becomes a good one, and the job comes to rest."""
        try:
            if not self.operator.invariants.broken:
                self.world.run(self.world.come_to_rest())
        finally:
            self.world.close()


def failures(lives: int, *, other_ones: bool, machine: type[AnyLife] = AnyLife) -> Iterator[str]:
    """Plays random lives; yields for each way in which they break something the steps that lead there.

    Args:
        lives: How many.
        other_ones: Whether they differ from run to run.
        machine: What may happen in them.
    """
    chosen = settings(
        max_examples=lives,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        derandomize=not other_ones,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(machine, settings=chosen)
    except Exception as error:  # noqa: BLE001  whatever it is, it is a divergence
        for one in error.exceptions if isinstance(error, ExceptionGroup) else (error,):
            yield "".join(traceback.format_exception_only(one))
