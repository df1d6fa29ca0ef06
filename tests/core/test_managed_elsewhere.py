"""Jobs that another controller manages."""

import pytest

from tests.core.world import World, complete_job, later, new_job, running_job

ELSEWHERE = "kueue.x-k8s.io/multikueue"


@pytest.mark.parametrize(
    "world",
    [
        new_job(managedBy=ELSEWHERE),
        new_job(managedBy=ELSEWHERE, suspend=True),
        new_job(managedBy=ELSEWHERE, artifacts={"uri": "file:///nowhere"}),
        running_job().with_spec(managedBy=ELSEWHERE).with_pods(exit_code=1),
        running_job().with_spec(managedBy=ELSEWHERE, runPolicy={"activeDeadlineSeconds": 1}),
        complete_job().with_spec(managedBy=ELSEWHERE, runPolicy={"ttlSecondsAfterFinished": 0}),
    ],
)
def test_a_job_that_another_controller_looks_after_is_left_alone(world: World) -> None:
    decision = world.decide(later(days=1))

    assert decision.status == world.job.status
    assert (decision.actions, decision.events, decision.wake_at) == ((), (), None)


def test_a_job_that_names_this_operator_is_looked_after() -> None:
    assert new_job(managedBy="quantumtraining.dev/qtj-operator").decide().status.attempt == 1
