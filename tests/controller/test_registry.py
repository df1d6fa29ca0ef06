"""Which jobs the operator knows."""

from qtj_operator.api.status import Phase
from qtj_operator.controller.registry import JobRegistry
from tests.controller.lab import KEY, Lab, running


def test_a_job_is_counted_by_its_last_phase_until_it_is_removed() -> None:
    jobs = JobRegistry()
    jobs.add(KEY, None)
    first = jobs.count(Phase.PENDING)
    jobs.add(KEY, "Running")

    assert first == jobs.count(Phase.RUNNING) == 1
    assert jobs.count(Phase.PENDING) == 0
    assert jobs.remove(KEY)
    assert not jobs.remove(KEY), "it is not known any more"
    assert list(jobs) == []


async def test_a_pass_adds_its_job_and_a_pass_over_a_job_of_another_controller_removes_it() -> None:
    lab = Lab()
    await running(lab)
    known = list(lab.jobs)
    await lab.edits(managedBy="kueue.x-k8s.io/multikueue")
    await lab.passes()

    assert known == [KEY]
    assert list(lab.jobs) == []
