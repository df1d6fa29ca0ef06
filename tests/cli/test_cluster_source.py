"""Jobs of a cluster as `qtj status` and `qtj top` look at them, on a cluster in memory."""

import pytest

from qtj.cluster.connection import job_named
from qtj.monitor.cluster_source import ClusterSource
from qtj.monitor.snapshot import Snapshot
from qtj.terminal.errors import InputError
from qtj_contract import Progress
from qtj_operator.api.names import KIND
from qtj_operator.controller.client import ApiError, Object, Resource
from tests.controller.lab import KEY, TRAINED, Lab, complete, running
from tests.controller.memory import RecordingClient
from tests.jobs import job_object


@pytest.fixture
async def lab() -> Lab:
    """A cluster with a job that runs."""
    lab = Lab()
    await running(lab)
    return lab


def source(lab: Lab, *names: str) -> ClusterSource:
    return ClusterSource(lab.cluster, lambda: lab.now, "lab", names)


async def epoch(lab: Lab, number: int, loss: float, attempt: int = 1) -> None:
    progress = {"epoch": number, "epochs": 25, "loss": loss}
    lab.cluster.store.update(
        Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["status"].update(progress=progress, attempt=attempt)
    )


async def one(source: ClusterSource) -> Snapshot:
    (seen,) = await source.look()
    return seen


async def test_a_job_is_seen_as_its_operator_reports_it(lab: Lab) -> None:
    lab.progress.leader = Progress(epoch=3, epochs=25, loss=0.25)
    lab.waits(seconds=5)
    await lab.settles()

    seen = await one(source(lab, "qcnn"))

    assert (seen.phase, seen.why, seen.is_over) == ("Running", "2 of 2 replicas are ready", False)
    assert (seen.progress["epoch"], [each.state for each in seen.replicas]) == (3, ["Running", "Running"])
    assert seen.places == {"namespace": "lab", "artifacts": "gs://lab-bucket/qcnn"}


async def test_a_job_that_no_operator_has_read_says_so() -> None:
    lab = Lab()
    await lab.applies()

    seen = await one(source(lab, "qcnn"))

    operators = "kubectl get pods -A -l app.kubernetes.io/name=qtj-operator"
    assert seen.phase == "Pending"
    assert seen.why == f"no operator has read it yet: `{operators}` shows whether one runs"


@pytest.mark.parametrize("phase", ["Pending", "Restarting", "Inferring"])
async def test_a_phase_without_a_condition_of_its_name_is_explained_as_the_operator_explains_it(phase: str) -> None:
    lab = Lab()
    await (lab.applies(inference={}) if phase == "Pending" else running(lab, inference={}))
    if phase == "Restarting":
        lab.kubelet.ends("qcnn-worker-1", 137)
    if phase == "Inferring":
        lab.kubelet.ends("qcnn-worker-1", 0)
        lab.kubelet.ends("qcnn-worker-0", 0, TRAINED)
    await lab.settles()

    seen = await one(source(lab, "qcnn"))

    assert (seen.phase, seen.why) == (phase, (await lab.condition("Reconciling"))["message"])


async def test_the_loss_is_known_from_the_first_look_on_and_an_attempt_replaces_what_it_repeats(lab: Lab) -> None:
    watched = source(lab, "qcnn")

    losses = []
    for number, loss, attempt in ((1, 1.0, 1), (2, 0.5, 1), (3, 0.4, 1), (2, 0.45, 2)):
        await epoch(lab, number, loss, attempt)
        losses.append(list((await one(watched)).losses))

    assert losses == [[1.0], [1.0, 0.5], [1.0, 0.5, 0.4], [1.0, 0.45]]


async def test_the_time_left_is_an_estimate_at_first(lab: Lab) -> None:
    await epoch(lab, 5, 0.25)
    lab.waits(seconds=10)

    assert (await one(source(lab, "qcnn"))).left == "about 0:00:40 left"


async def test_a_job_that_has_finished_is_over() -> None:
    lab = Lab()
    await complete(lab)

    seen = await one(source(lab, "qcnn"))

    assert (seen.is_over, seen.left, seen.phase) == (True, "", "Complete")


async def test_its_events_are_in_the_order_of_their_times_and_not_of_their_names() -> None:
    """An API server lists events by name, and the end of a name is a digest."""
    lab = Lab()
    await running(lab)
    uid = (await lab.job())["metadata"]["uid"]

    async def listed(_namespace: str, _name: str) -> list[Object]:
        return [event("Third", 9, uid), event("First", 1, uid), event("Earlier", 0, "another"), event("Second", 5, uid)]

    seen = await one(ClusterSource(lab.cluster, lambda: lab.now, "lab", ["qcnn"], listed))

    assert [each["reason"] for each in seen.events] == ["First", "Second", "Third"]


def event(reason: str, second: int, uid: str) -> Object:
    about = {"kind": KIND, "name": "qcnn", "uid": uid}
    return {"reason": reason, "involvedObject": about, "lastTimestamp": f"2026-01-01T00:00:0{second}Z"}


@pytest.mark.parametrize(
    ("spec", "command"),
    [
        ({}, "qtj logs qcnn -n lab"),
        (
            {"suspend": True},
            """kubectl patch qtj qcnn -n lab --type=merge -p '{"spec": {"suspend": false}}' continues it""",
        ),
    ],
    ids=["active", "suspended"],
)
async def test_the_next_command_follows_from_the_phase(lab: Lab, spec: dict[str, bool], command: str) -> None:
    lab.cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["spec"].update(spec))
    await lab.settles()

    assert (await one(source(lab, "qcnn"))).follows == command


async def test_what_to_do_next_with_a_pod_that_has_not_started_is_to_read_its_events() -> None:
    lab = Lab()
    await lab.applies()
    await lab.settles()

    assert (await one(source(lab, "qcnn"))).follows == "qtj events qcnn -n lab"
    lab.kubelet.starts("qcnn-worker-1")
    assert (await one(source(lab, "qcnn"))).follows == "qtj logs qcnn -n lab"


async def test_a_job_that_failed_before_it_started_has_events_and_no_log() -> None:
    lab = Lab()
    await lab.applies(runPolicy={"pendingDeadlineSeconds": 60})
    await lab.settles()
    lab.waits(minutes=2)
    await lab.settles()

    assert (await one(source(lab, "qcnn"))).follows == "qtj events qcnn -n lab; qtj retry qcnn -n lab continues it"


async def test_what_to_do_next_with_a_complete_job_is_to_read_its_report() -> None:
    lab = Lab()
    await complete(lab)

    assert (await one(source(lab, "qcnn"))).follows == "qtj report qcnn -n lab"


async def test_a_look_at_a_namespace_is_two_requests_however_many_jobs_there_are(lab: Lab) -> None:
    for number in range(5):
        await lab.cluster.create(Resource.QUANTUM_TRAINING_JOBS, job_object(name=f"job-{number}"))
    client = RecordingClient(lab.cluster)

    snapshots = await ClusterSource(client, lambda: lab.now, "lab").look()

    assert len(snapshots) == 6
    assert client.calls == ["list quantumtrainingjobs *", "list pods *"]


async def test_a_cluster_that_does_not_know_the_kind_is_a_sentence() -> None:
    lab = Lab()
    missing = ApiError(404, "NotFound", "the server could not find the requested resource")
    client = RecordingClient(lab.cluster, lambda call: missing if call.startswith("list quantum") else None)

    with pytest.raises(InputError, match="the cluster has no QuantumTrainingJobs: install them with kubectl apply"):
        await job_named(client, KEY)


@pytest.mark.parametrize("name", ["../pods", "qcnn/status", "", "Qcnn", "qcnn?x"])
async def test_what_is_no_name_is_never_asked_for(name: str) -> None:
    client = RecordingClient(Lab().cluster)

    with pytest.raises(InputError, match="there is no job "):
        await job_named(client, ("lab", name))

    assert not [call for call in client.calls if call.startswith("get")]
