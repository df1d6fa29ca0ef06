"""`qtj retry`: a failed job on a cluster goes on."""

import pytest

from qtj.control import raise_retry
from qtj.terminal.errors import InputError
from qtj_operator.controller.client import Resource
from tests.controller.lab import KEY, Lab, running


async def failed(lab: Lab) -> None:
    await running(lab)
    await lab.ends("qcnn-worker-1", 1)


async def test_a_failed_job_goes_on_as_another_attempt() -> None:
    lab = Lab()
    await failed(lab)

    said = await raise_retry(lab.cluster, KEY)
    await lab.settles()

    assert said.sentence == "spec.retry of qcnn is 1 now: attempt 2 starts, from the last checkpoint if there is one"
    assert ((await lab.status())["attempt"], await lab.phase()) == (2, "Restarting")


async def test_inference_that_failed_runs_again() -> None:
    lab = await running(Lab(), inference={})
    await lab.trains()
    await lab.kubelet.runs_inference("qcnn", 1, None)
    await lab.settles()
    before = await lab.phase()

    said = await raise_retry(lab.cluster, KEY)
    await lab.settles()

    assert (before, await lab.phase()) == ("Failed", "Inferring")
    assert said.sentence == "spec.retry of qcnn is 1 now: inference runs again"


async def test_each_retry_is_a_new_number() -> None:
    lab = Lab()
    await failed(lab)
    lab.cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["status"].update(retry=6))

    assert "is 7 now" in (await raise_retry(lab.cluster, KEY)).sentence


async def test_a_dry_run_says_what_would_follow_and_changes_nothing() -> None:
    lab = Lab()
    await failed(lab)

    retried = await raise_retry(lab.cluster, KEY, dry_run=True)
    await lab.settles()

    assert retried.sentence.startswith("spec.retry of qcnn would be 1 (nothing was changed: --dry-run): attempt 2")
    assert retried.job["spec"]["retry"] == 1
    assert await lab.phase() == "Failed"


async def test_what_cannot_be_retried_is_said_in_a_sentence() -> None:
    lab = Lab()
    with pytest.raises(InputError, match="there is no job qcnn in namespace lab: `kubectl get qtj -A` lists all"):
        await raise_retry(lab.cluster, KEY)
    await running(lab)
    with pytest.raises(InputError, match="qcnn is Running: only a job that has failed can be retried"):
        await raise_retry(lab.cluster, KEY)


async def test_a_job_that_never_started_needs_another_spec() -> None:
    lab = await Lab.settled(artifacts={"uri": "file:///nowhere"})

    with pytest.raises(InputError, match="qcnn never started: correct its spec, and it starts by itself"):
        await raise_retry(lab.cluster, KEY)
