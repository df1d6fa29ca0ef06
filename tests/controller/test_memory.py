"""What the operator remembers of jobs."""

from qtj_operator.api.status import Phase
from qtj_operator.controller.memory import Jobs
from tests.controller.lab import KEY, Lab, running


def test_a_job_is_counted_by_its_last_phase_until_it_is_forgotten() -> None:
    jobs = Jobs()
    first = jobs[KEY].phase
    jobs[KEY].phase = Phase.RUNNING

    assert first == Phase.PENDING
    assert (jobs.count(Phase.PENDING), jobs.count(Phase.RUNNING)) == (0, 1)
    del jobs[KEY]
    assert jobs.count(Phase.RUNNING) == 0


async def test_a_pass_adds_its_job_and_a_pass_over_a_job_of_another_controller_forgets_it() -> None:
    lab = Lab()
    await running(lab)
    known = list(lab.jobs)
    await lab.edits(managedBy="kueue.x-k8s.io/multikueue")
    await lab.passes()

    assert known == [KEY]
    assert list(lab.jobs) == []
