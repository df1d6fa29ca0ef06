"""A job that Velero restores: it is created without its status, which follows by a second request."""

from datetime import timedelta
from typing import Any

import pytest

from qtj_operator.controller.client import ApiError, Object, Resource
from tests.controller.lab import KEY, Lab, complete
from tests.jobs import job_object

JOBS = Resource.QUANTUM_TRAINING_JOBS
RESTORED = {"velero.io/backup-name": "nightly", "velero.io/restore-name": "nightly-1"}


async def created(lab: Lab, labels: dict[str, str], **spec: Any) -> Object:
    job = job_object(**spec)
    meta = {**job["metadata"], "labels": labels}
    return await lab.cluster.create(JOBS, {**job, "metadata": meta})


async def backed_up() -> dict[str, Any]:
    before = Lab()
    await complete(before)
    return await before.status()


@pytest.mark.parametrize("milliseconds", [0, 20, 2000])
@pytest.mark.parametrize("spec", [{}, {"suspend": True}, {"nonsense": 1}], ids=["runs", "suspended", "unreadable"])
async def test_its_status_may_come_after_passes(milliseconds: int, spec: dict[str, Any]) -> None:
    status, lab = await backed_up(), Lab()
    job = await created(lab, RESTORED, inference={}, **spec)
    if milliseconds:
        await lab.settles()
        await lab.settles_after(milliseconds=milliseconds)

    await lab.cluster.replace_status(JOBS, {**job, "status": status})
    await lab.settles()

    assert await lab.phase() == "Complete"
    assert (lab.pods, lab.services) == ((), ())


async def test_it_says_once_what_it_waits_for_and_starts_if_no_status_comes() -> None:
    lab = Lab()
    await created(lab, RESTORED)
    assert await lab.settles() == timedelta(seconds=60)
    lab.waits(seconds=59)
    assert await lab.settles() == timedelta(seconds=1)
    assert (await lab.events(), await lab.status()) == (["Restored"], {})

    await lab.settles_after(seconds=1)
    assert lab.pods == ("qcnn-worker-0", "qcnn-worker-1")


async def test_any_other_job_starts_at_once() -> None:
    lab = Lab()
    job = await created(lab, {"velero.io/exclude-from-backup": "true"})
    await lab.settles()

    assert len(lab.pods) == 2
    with pytest.raises(ApiError):
        await lab.cluster.replace_status(JOBS, {**job, "status": {}})


async def test_a_clock_that_is_behind_does_not_make_it_wait_longer() -> None:
    lab = Lab()
    await created(lab, RESTORED)
    lab.waits(hours=-3)

    assert await lab.settles() == timedelta(seconds=60)
    assert KEY in lab.jobs
