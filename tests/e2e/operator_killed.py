"""The operator is killed whenever the job has just entered another phase."""

import random
import time
from collections.abc import Callable

from tests.e2e.checks import Checks
from tests.e2e.install import OPERATOR
from tests.e2e.kubectl import get, kubectl
from tests.e2e.machine import kill, processes
from tests.e2e.trial import Trial
from tests.e2e.world import World

_LONGEST_DELAY = 1.5
"""Seconds after a phase has begun: from the middle of a pass to long after it."""


_EPOCHS = 180
"""Enough epochs for training to continue without an operator: a new one leads when the old Lease has expired."""


def killed_operator(checks: Checks, world: World, chance: random.Random | None) -> None:
    """Ends all operators at once in each phase, in turn as a crash does and as the loss of their pods does.

    Args:
        checks: Where the checks are counted.
        world: The test namespace.
        chance: Draws how long after the beginning of a phase; None for at once.
    """

    def wait() -> None:
        if chance:
            time.sleep(chance.uniform(0, _LONGEST_DELAY))

    trial = Trial.begin(checks, world, "unattended", epochs=_EPOCHS)
    _in(trial, "Pending", wait, crash)
    _in(trial, "Running", wait, _remove)
    trial.trains(epochs=2)
    kill(trial.process(trial.workers[1]))
    _in(trial, "Restarting", wait, crash)
    _in(trial, "Inferring", wait, _remove)
    trial.completes(restarts=1)


def _in(trial: Trial, phase: str, wait: Callable[[], None], end: Callable[[], None]) -> None:
    trial.reaches(phase)
    wait()
    end()
    trial.checks.note(f"the operator was ended when {trial.name} was {phase}")


def crash() -> None:
    """Kills all operators; their containers start again, and wait for the Lease of the dead to expire."""
    pods = get(*OPERATOR, "pods")["items"]
    kill(*processes("qtj-system", *(pod["metadata"]["name"] for pod in pods if _runs(pod))))


def _remove() -> None:
    """Removes all operators with their pods."""
    kubectl(*OPERATOR, "delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")


def _runs(pod: dict[str, dict[str, list[dict[str, dict[str, object]]]]]) -> bool:
    return any("running" in status["state"] for status in pod["status"].get("containerStatuses", ()))
