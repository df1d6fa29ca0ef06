"""What the operator remembers of jobs."""

from tests.controller.lab import KEY, Lab, running


async def test_a_pass_adds_its_job_and_a_pass_over_a_job_of_another_controller_forgets_it() -> None:
    lab = await running(Lab())
    known = list(lab.jobs)
    await lab.edits(managedBy="kueue.x-k8s.io/multikueue")
    await lab.passes()

    assert known == [KEY]
    assert list(lab.jobs) == []
