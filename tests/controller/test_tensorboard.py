"""TensorBoard on a cluster in memory: what is read, what is written, and what a refusal leaves alone."""

from datetime import timedelta

import pytest

from qtj_operator.controller.client import ApiError, Resource
from tests.controller.lab import KEY, Lab, complete, running
from tests.controller.memory import RecordingClient
from tests.controller.tensorboards import BOARD, URL, board, refusing


def reads(client: RecordingClient) -> list[str]:
    return [call for call in client.calls if call not in client.writes]


def becomes_available(lab: Lab) -> None:
    """The Deployment controller reports that the pod is ready."""
    status = {"availableReplicas": 1, "observedGeneration": 9}
    lab.cluster.edit(Resource.DEPLOYMENTS, "lab", BOARD, status=status)


def scaled(lab: Lab) -> None:
    """Somebody scales the Deployment."""
    spec = lab.cluster.store.find(Resource.DEPLOYMENTS, "lab", BOARD)["spec"]
    lab.cluster.edit(Resource.DEPLOYMENTS, "lab", BOARD, spec={**spec, "replicas": 3})


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def test_a_job_without_it_costs_no_request_more(lab: Lab) -> None:
    await running(lab)
    lab.client.calls.clear()

    await lab.passes()

    assert not [call for call in lab.client.calls if "deployments" in call]
    assert len(reads(lab.client)) == 4  # the job, its inference, its pods, its Services


async def test_it_runs_beside_the_job_and_the_status_says_where(lab: Lab) -> None:
    await running(lab, tensorboard={})
    starting = await board(lab)
    becomes_available(lab)
    await lab.settles()

    assert lab.cluster.names(Resource.DEPLOYMENTS) == (BOARD,)
    assert starting == {"url": URL, "ready": False}
    assert await board(lab) == {"url": URL, "ready": True}


async def test_a_ready_one_costs_one_read_and_no_write(lab: Lab) -> None:
    await running(lab, tensorboard={})
    becomes_available(lab)
    await lab.settles()
    lab.client.calls.clear()

    await lab.passes()

    assert [call for call in lab.client.calls if call != "list pods *"][-1] == f"get deployments {BOARD}"
    assert lab.client.writes == []


async def test_it_outlives_the_training(lab: Lab) -> None:
    await running(lab, tensorboard={})
    await lab.trains()
    lab.cluster.remove(Resource.DEPLOYMENTS, "lab", BOARD)
    await lab.settles()

    assert await lab.phase() == "Complete"
    assert lab.cluster.names(Resource.DEPLOYMENTS) == (BOARD,), "also when somebody has deleted it"


async def test_it_is_added_to_a_job_that_is_done(lab: Lab) -> None:
    await complete(lab)
    await lab.edits(tensorboard={})
    await lab.settles()

    assert lab.cluster.names(Resource.DEPLOYMENTS) == (BOARD,)
    assert await lab.phase() == "Complete"


async def test_it_goes_with_the_field(lab: Lab) -> None:
    await running(lab, tensorboard={})
    await lab.edits(tensorboard=None)
    for _ in range(3):
        await lab.settles()

    assert lab.cluster.names(Resource.DEPLOYMENTS) == ()
    assert BOARD not in lab.services
    assert await board(lab) is None


async def test_one_that_cannot_be_deleted_is_reported_and_asked_for_less_and_less_often(lab: Lab) -> None:
    await running(lab, tensorboard={})
    refusing(lab, f"delete deployments {BOARD}")
    await lab.edits(tensorboard=None)
    lab.client.calls.clear()
    for _ in range(60):
        await lab.settles()
        lab.waits(seconds=1)

    assert await lab.phase() == "Running"
    assert "TensorBoardNotReady" in await lab.events()
    assert lab.client.calls.count(f"delete deployments {BOARD}") < 6


async def test_a_new_operator_finds_one_that_is_no_longer_asked_for(lab: Lab) -> None:
    await running(lab, tensorboard={})
    await lab.edits(tensorboard=None)
    status = {name: value for name, value in (await lab.status()).items() if name != "tensorboard"}
    lab.cluster.edit(Resource.QUANTUM_TRAINING_JOBS, *KEY, status=status)
    for _ in range(3):
        await lab.settles()

    assert lab.cluster.names(Resource.DEPLOYMENTS) == ()


async def test_one_whose_service_lost_its_label_while_the_operator_was_down_goes_with_the_field(lab: Lab) -> None:
    await running(lab, tensorboard={})
    meta = lab.cluster.store.find(Resource.SERVICES, "lab", BOARD)["metadata"]
    lab.cluster.edit(Resource.SERVICES, "lab", BOARD, metadata={**meta, "labels": {}})
    await lab.edits(tensorboard=None)
    for _ in range(4):
        await lab.settles()

    assert lab.cluster.names(Resource.DEPLOYMENTS) == ()
    assert BOARD not in lab.cluster.names(Resource.SERVICES)
    assert await board(lab) is None


@pytest.mark.parametrize("call", [f"create deployments {BOARD}", f"create services {BOARD}"])
async def test_a_refusal_does_not_affect_the_training(lab: Lab, call: str) -> None:
    refusing(lab, call)
    await running(lab, tensorboard={})

    found = await board(lab)
    assert await lab.phase() == "Running"
    assert found is not None
    assert "was refused by the API server: deployments.apps is forbidden" in found["message"]
    assert (await lab.events()).count("TensorBoardNotReady") == 1


async def test_a_template_that_the_api_server_refuses_does_not_fail_the_job(lab: Lab) -> None:
    invalid = ApiError(422, "Invalid", "Deployment is invalid: memory request exceeds its limit")
    refusing(lab, f"create deployments {BOARD}", error=invalid)
    await running(lab, tensorboard={})

    assert await lab.phase() == "Running"


async def test_what_was_refused_is_tried_again_after_a_pause(lab: Lab) -> None:
    refusing(lab, f"create deployments {BOARD}")
    await running(lab, tensorboard={})
    lab.client.calls.clear()

    await lab.passes()
    early = list(lab.client.writes)
    lab.client.refuse = lambda _: None
    await lab.settles_after(seconds=61)
    await lab.settles()

    assert early == []
    assert lab.cluster.names(Resource.DEPLOYMENTS) == (BOARD,)
    assert await board(lab) == {"url": URL, "ready": False}


async def test_a_name_that_is_taken_is_reported(lab: Lab) -> None:
    theirs = {"metadata": {"name": BOARD, "namespace": "lab"}, "spec": {}}
    await lab.cluster.create(Resource.DEPLOYMENTS, theirs)
    await running(lab, tensorboard={})

    found = await board(lab)
    assert found is not None
    assert found["message"].startswith(f"Deployment {BOARD} exists and does not belong to this job")
    assert await lab.phase() == "Running"


async def test_an_edit_is_undone(lab: Lab) -> None:
    await running(lab, tensorboard={})
    spec = lab.cluster.store.find(Resource.DEPLOYMENTS, "lab", BOARD)["spec"]
    lab.cluster.edit(Resource.DEPLOYMENTS, "lab", BOARD, spec={**spec, "replicas": 3})
    await lab.settles()

    assert lab.cluster.store.find(Resource.DEPLOYMENTS, "lab", BOARD)["spec"] == spec


async def test_a_webhook_that_edits_it_for_ever_is_answered_less_and_less_often(lab: Lab) -> None:
    await running(lab, tensorboard={})
    lab.client.calls.clear()
    for _ in range(60):
        spec = lab.cluster.store.find(Resource.DEPLOYMENTS, "lab", BOARD)["spec"]
        lab.cluster.edit(Resource.DEPLOYMENTS, "lab", BOARD, spec={**spec, "replicas": 3})
        await lab.settles()
        lab.waits(seconds=1)

    assert lab.client.writes.count(f"patch deployments {BOARD}") < 6


async def test_a_repair_that_has_to_wait_is_made_later(lab: Lab) -> None:
    await running(lab, tensorboard={})
    scaled(lab)
    await lab.settles()
    scaled(lab)

    assert await lab.settles() == timedelta(seconds=5)


async def test_a_deleted_job_leaves_no_pause_to_the_next_one_of_its_name(lab: Lab) -> None:
    await running(lab, tensorboard={})
    scaled(lab)
    await lab.settles()
    lab.cluster.remove(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    await lab.passes()
    lab.kubelet.reaps()

    await running(lab, tensorboard={})
    scaled(lab)
    await lab.settles()

    assert lab.cluster.store.find(Resource.DEPLOYMENTS, "lab", BOARD)["spec"]["replicas"] == 1


async def test_a_status_of_an_earlier_generation_does_not_make_it_ready(lab: Lab) -> None:
    await running(lab, tensorboard={})
    status = {"availableReplicas": 1, "observedGeneration": 0}
    lab.cluster.edit(Resource.DEPLOYMENTS, "lab", BOARD, status=status)
    await lab.settles()

    assert await board(lab) == {"url": URL, "ready": False}


async def test_suspension_stops_its_pod_and_resuming_starts_it(lab: Lab) -> None:
    await running(lab, tensorboard={})
    await lab.edits(suspend=True)
    await lab.settles()
    suspended = lab.cluster.store.find(Resource.DEPLOYMENTS, "lab", BOARD)["spec"]["replicas"]
    lab.waits(seconds=10)
    await lab.edits(suspend=False)
    await lab.settles()

    assert suspended == 0
    assert lab.cluster.store.find(Resource.DEPLOYMENTS, "lab", BOARD)["spec"]["replicas"] == 1


async def test_what_the_user_asks_for_waits_for_no_pause_of_a_repair(lab: Lab) -> None:
    await running(lab, tensorboard={})
    replicas = []
    for suspend in (True, False, True):
        await lab.edits(suspend=suspend)
        await lab.settles()
        replicas.append(lab.cluster.store.find(Resource.DEPLOYMENTS, "lab", BOARD)["spec"]["replicas"])

    assert replicas == [0, 1, 0]
