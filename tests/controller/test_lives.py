"""Whole lives of jobs, pass by pass, in a cluster in memory."""

from datetime import timedelta

from qtj_contract import Progress, TerminationMessage
from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.controller.client import Resource
from tests.controller.lab import KEY, MEASURED, TRAINED, WEIGHTS, Lab, complete, running


async def test_a_job_from_the_yaml_to_the_inference_result() -> None:
    lab = Lab()
    phases = []

    await lab.applies(inference={})
    await lab.settles()
    phases.append(await lab.phase())
    await lab.starts()
    phases.append(await lab.phase())
    await lab.ends("qcnn-worker-0", 0, TRAINED)
    phases.append(await lab.phase())
    await lab.kubelet.runs_inference("qcnn", 0, MEASURED)
    await lab.settles()

    status = await lab.status()
    assert [*phases, status["phase"]] == ["Pending", "Running", "Inferring", "Complete"]
    assert status["weights"] == {"uri": WEIGHTS.uri, "sha256": WEIGHTS.sha256}
    assert status["inference"]["metrics"] == {"mse": 0.21, "signAccuracy": 0.94}
    assert (status["progress"]["epoch"], status["progress"]["loss"]) == (25, 0.2)
    assert await lab.events() == ["AllReplicasReady", "WeightsStored", "Inferring", "InferenceDone"]


async def test_a_preempted_gang_trains_again_under_the_same_names() -> None:
    lab = await running(Lab())
    lab.kubelet.ends("qcnn-worker-1", 137)

    await lab.settles()
    while_leaving = await lab.status()
    await lab.reaps()
    await lab.starts()

    status = await lab.status()
    assert (while_leaving["phase"], while_leaving["restarts"]) == ("Restarting", 1)
    assert (status["phase"], status["attempt"]) == ("Running", 2)
    assert lab.pods == lab.services == ("qcnn-worker-0", "qcnn-worker-1")


async def test_a_gang_that_keeps_failing_gives_up_and_frees_its_machines() -> None:
    lab = await running(Lab(), runPolicy={"backoffLimit": 1})
    for _ in range(2):
        await lab.ends("qcnn-worker-1", 137)
        await lab.reaps()
        if await lab.phase() == "Restarting":
            await lab.starts()

    wake = await lab.settles()
    assert await lab.phase() == "Failed"
    assert wake == timedelta(seconds=30)

    await lab.settles_after(seconds=30)
    lab.kubelet.reaps()

    assert lab.pods == ("qcnn-worker-1",), "the one that failed is kept for its log"


async def test_another_inference_runs_with_the_same_weights() -> None:
    lab = await complete(Lab())

    await lab.edits(inference={"args": ["infer", "--shots=100"]})
    await lab.settles()
    inferring = await lab.phase()
    await lab.kubelet.runs_inference("qcnn", 0, TerminationMessage(metrics={"mse": 0.3}))
    await lab.settles()

    status = await lab.status()
    assert inferring == "Inferring"
    assert (status["phase"], status["attempt"], status["observedGeneration"]) == ("Complete", 1, 2)
    assert status["inference"]["metrics"] == {"mse": 0.3}


async def test_deleting_the_job_takes_everything_with_it_with_the_operator_down() -> None:
    lab = await complete(Lab())

    lab.cluster.remove(Resource.QUANTUM_TRAINING_JOBS, "lab", "qcnn")

    assert (lab.pods, lab.services, lab.cluster.names(Resource.JOBS)) == ((), (), ())


async def test_progress_shows_while_the_leader_runs_and_nobody_asks_afterwards() -> None:
    lab = await running(Lab())
    lab.waits(seconds=2)
    lab.progress.leader = Progress(epoch=3, epochs=25, step=120, loss=0.5)
    await lab.settles()
    shown = (await lab.status())["progress"]["epoch"]
    asked = lab.progress.asked[KEY]

    await lab.ends("qcnn-worker-0", 0, TRAINED)

    assert shown == 3
    assert asked == {ReplicaId(Role.WORKER, 0): "10.0.0.7"}
    assert lab.progress.asked[KEY] == {}


async def test_a_service_that_somebody_deletes_or_edits_comes_back() -> None:
    lab = await running(Lab())
    lab.cluster.remove(Resource.SERVICES, "lab", "qcnn-worker-0")
    edited = await lab.cluster.get(Resource.SERVICES, "lab", "qcnn-worker-1")
    assert edited is not None
    lab.cluster.edit(Resource.SERVICES, "lab", "qcnn-worker-1", spec={**edited["spec"], "ports": []})

    await lab.settles()
    await lab.settles()

    assert lab.services == ("qcnn-worker-0", "qcnn-worker-1")
    for name in lab.services:
        service = await lab.cluster.get(Resource.SERVICES, "lab", name)
        assert service is not None
        assert len(service["spec"]["ports"]) == 3


async def test_a_hundred_workers_cost_two_writes_each_and_a_few_more() -> None:
    lab = await running(Lab(), replicaSpecs={"Worker": {"replicas": 100}})

    writes = lab.client.writes

    assert len([call for call in writes if call.startswith(("create pods", "create services"))]) == 200
    assert len([call for call in writes if call.startswith("replace_status")]) <= 4
