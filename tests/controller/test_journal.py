"""What the log says of a job."""

import logging

import pytest

from qtj_contract import Progress
from qtj_operator.controller.client import Resource
from tests.controller.lab import KEY, Lab, restarted, running


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The log lines of the test so far."""
    caplog.set_level(logging.INFO, "qtj_operator")
    return caplog


async def test_a_life_has_a_line_for_each_change_of_phase(said: pytest.LogCaptureFixture) -> None:
    lab = await running(Lab())
    lab.cluster.remove(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    await lab.passes()
    await lab.passes()

    assert said.messages == [
        "lab/qcnn is created",
        "lab/qcnn is Pending, attempt 1: 0 of 2 replicas are ready",
        "lab/qcnn is Running, attempt 1: 2 of 2 replicas are ready",
        "lab/qcnn is deleted",
    ]


async def test_progress_has_no_line(said: pytest.LogCaptureFixture) -> None:
    lab = await running(Lab())
    said.clear()
    for epoch in range(3):
        lab.progress.leader = Progress(epoch=epoch, epochs=25, step=epoch, loss=0.5, accuracy=0.5)
        await lab.settles_after(seconds=5)

    assert (await lab.status())["progress"]["epoch"] == 2
    assert said.messages == []


async def test_a_restart_has_a_line_with_its_reason_each_time(said: pytest.LogCaptureFixture) -> None:
    lab = await running(Lab())
    said.clear()
    lab.kubelet.ends("qcnn-worker-1", 137)
    await restarted(lab)
    await lab.ends("qcnn-worker-1", 137)

    first, second = [message for message in said.messages if "all replicas restart" in message]
    assert first.startswith("lab/qcnn is Restarting, attempt 2: qcnn-worker-1 ended (exit code 137")
    assert second.startswith("lab/qcnn is Restarting, attempt 3: qcnn-worker-1 ended (exit code 137")


async def test_a_lone_replica_that_starts_again_has_a_line(said: pytest.LogCaptureFixture) -> None:
    lab = Lab()
    roles = {"Chief": {}, "PS": {}, "Worker": {"replicas": 2}}
    await running(lab, strategy="ParameterServer", replicaSpecs=roles)
    said.clear()
    await lab.ends("qcnn-worker-1", 137)

    assert [message.partition(":")[0] for message in said.messages] == ["lab/qcnn qcnn-worker-1 ended (exit code 137)"]


async def test_every_line_names_its_job_for_a_log_collector(said: pytest.LogCaptureFixture) -> None:
    await running(Lab())

    assert {(record.__dict__["namespace"], record.__dict__["job"]) for record in said.records} == {KEY}


async def test_a_job_that_fails_is_a_warning_and_a_restart_is_none(said: pytest.LogCaptureFixture) -> None:
    lab = await running(Lab(), runPolicy={"backoffLimit": 1})
    lab.kubelet.ends("qcnn-worker-1", 137)
    await restarted(lab)
    await lab.ends("qcnn-worker-1", 137)

    warnings = [record.getMessage() for record in said.records if record.levelno == logging.WARNING]
    assert [line.split(",")[0] for line in warnings] == ["lab/qcnn is Failed"]
