"""`qtj retry`: a failed job on a cluster goes on."""

import pytest

from qtj.retry import raise_retry
from qtj.terminal.errors import InputError
from qtj_operator.controller.client import Resource
from tests.controller.lab import KEY, TRAINED, Lab, running


@pytest.fixture
async def failed() -> Lab:
    """A cluster with a job that has failed."""
    lab = Lab()
    await running(lab)
    lab.kubelet.ends("qcnn-worker-1", 1)
    await lab.settles()
    return lab


async def test_a_failed_job_goes_on_as_another_attempt(failed: Lab) -> None:
    said = await raise_retry(failed.cluster, KEY)
    await failed.settles()

    assert said.sentence == "spec.retry of qcnn is 1 now: attempt 2 starts, from the last checkpoint if there is one"
    assert ((await failed.status())["attempt"], await failed.phase()) == (2, "Restarting")


async def test_inference_that_failed_runs_again() -> None:
    lab = Lab()
    await running(lab, inference={})
    lab.kubelet.ends("qcnn-worker-1", 0)
    lab.kubelet.ends("qcnn-worker-0", 0, TRAINED)
    await lab.settles()
    await lab.kubelet.runs_inference("qcnn", 1, None)
    await lab.settles()
    before = await lab.phase()

    said = await raise_retry(lab.cluster, KEY)
    await lab.settles()

    assert (before, await lab.phase()) == ("Failed", "Inferring")
    assert said.sentence == "spec.retry of qcnn is 1 now: inference runs again"


async def test_each_retry_is_a_new_number(failed: Lab) -> None:
    failed.cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["status"].update(retry=6))

    assert "is 7 now" in (await raise_retry(failed.cluster, KEY)).sentence


async def test_a_dry_run_says_what_would_follow_and_changes_nothing(failed: Lab) -> None:
    retried = await raise_retry(failed.cluster, KEY, dry_run=True)
    await failed.settles()

    assert retried.sentence.startswith("spec.retry of qcnn would be 1 (nothing was changed: --dry-run): attempt 2")
    assert retried.job["spec"]["retry"] == 1
    assert await failed.phase() == "Failed"


async def test_what_cannot_be_retried_is_said_in_a_sentence() -> None:
    lab = Lab()
    with pytest.raises(InputError, match="there is no job qcnn in namespace lab: `kubectl get qtj -A` lists all"):
        await raise_retry(lab.cluster, KEY)
    await running(lab)
    with pytest.raises(InputError, match="qcnn is Running: only a job that has failed can be retried"):
        await raise_retry(lab.cluster, KEY)


async def test_a_job_that_never_started_needs_another_spec() -> None:
    lab = Lab()
    await lab.applies(artifacts={"uri": "file:///nowhere"})
    await lab.settles()

    with pytest.raises(InputError, match="qcnn never started: correct its spec, and it starts by itself"):
        await raise_retry(lab.cluster, KEY)
