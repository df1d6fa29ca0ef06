"""Reading a job's children: all that it controls, and nothing that merely looks like it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from qtj_contract import Progress, TerminationMessage
from qtj_operator.api.job import EVALUATOR, Job
from qtj_operator.api.status import WeightsStatus
from qtj_operator.controller.client import Resource
from qtj_operator.controller.observe import observe
from qtj_operator.controller.progress import NoProgress
from qtj_operator.core.observed import Observed
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.service import replica_service
from tests.controller.memory import Cluster, Kubelet, RecordingClient, Replicas
from tests.jobs import a_container, a_job, a_template

JOB = a_job(workers=2, inference={})
NOW = datetime(2026, 7, 29, 8, 0, tzinfo=UTC)
MEASURED = TerminationMessage(metrics={"mse": 0.2})


def first_attempt(job: Job) -> Job:
    return replace(job, status=job.status.model_copy(update={"attempt": 1}))


def inference() -> Manifest:
    assert JOB.inference is not None
    return inference_job(JOB, JOB.inference, WeightsStatus(uri="gs://lab-bucket/w", sha256="ab"))


def owned_by(uid: str, manifest: Manifest) -> Manifest:
    (owner,) = manifest["metadata"]["ownerReferences"]
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [{**owner, "uid": uid}]}}


async def gang(job: Job = JOB) -> Cluster:
    cluster = Cluster()
    for replica in job.replicas():
        await cluster.create(Resource.SERVICES, replica_service(job, replica))
        await cluster.create(Resource.PODS, replica_pod(job, replica, attempt=1))
    return cluster


async def seen(cluster: Cluster) -> Observed:
    return await observe(cluster, NoProgress(), first_attempt(JOB), NOW)


async def test_every_child_is_seen() -> None:
    cluster = await gang()
    await cluster.create(Resource.JOBS, inference())

    world = await seen(cluster)

    assert [pod.name for pod in world.current] == ["qcnn-worker-0", "qcnn-worker-1"]
    assert sorted(world.services) == ["qcnn-worker-0", "qcnn-worker-1"]
    assert world.inference is not None


async def test_a_pod_with_our_label_and_another_owner_is_not_ours() -> None:
    cluster = await gang()
    look_alike = owned_by("somebody", replica_pod(JOB, JOB.leader, attempt=7))
    look_alike["metadata"]["name"] = "look-alike"
    await cluster.create(Resource.PODS, look_alike)

    assert "look-alike" not in {pod.name for pod in (await seen(cluster)).pods}


async def test_a_service_with_our_label_and_no_owner_is_not_ours() -> None:
    cluster = await gang()
    labels = {"quantumtraining.dev/job": "qcnn"}
    await cluster.create(
        Resource.SERVICES, {"metadata": {"name": "mine", "namespace": "lab", "labels": labels}, "spec": {}}
    )

    assert "mine" not in (await seen(cluster)).services


async def test_an_inference_job_of_somebody_else_is_not_ours() -> None:
    cluster = await gang()
    await cluster.create(Resource.JOBS, owned_by("somebody", inference()))

    assert (await seen(cluster)).inference is None


async def test_children_of_a_job_in_another_namespace_are_not_ours() -> None:
    cluster = await gang()
    elsewhere = replica_service(JOB, JOB.leader)
    elsewhere["metadata"] = {**elsewhere["metadata"], "namespace": "other", "name": "elsewhere"}
    await cluster.create(Resource.SERVICES, elsewhere)

    assert "elsewhere" not in (await seen(cluster)).services


async def test_a_pod_of_the_inference_job_is_its_result_and_no_replica() -> None:
    cluster = await gang()
    await cluster.create(Resource.JOBS, inference())
    await Kubelet(cluster).runs_inference("qcnn", 0, MEASURED)

    world = await seen(cluster)

    assert [pod.name for pod in world.pods] == ["qcnn-worker-0", "qcnn-worker-1"]
    assert world.inference is not None
    assert world.inference.complete
    assert world.inference.result is not None
    assert world.inference.result.message == MEASURED


async def test_a_pod_of_an_inference_job_that_was_replaced_is_not_the_result() -> None:
    cluster = await gang()
    await cluster.create(Resource.JOBS, inference())
    await Kubelet(cluster).runs_inference("qcnn", 0, MEASURED)
    cluster.remove(Resource.JOBS, "lab", "qcnn-inference")
    await cluster.create(Resource.JOBS, inference())

    world = await seen(cluster)

    assert world.inference is not None
    assert world.inference.pods == ()


async def test_an_inference_job_that_ends_while_we_read_is_not_seen_complete_without_its_result() -> None:
    class EndsBetween(RecordingClient):
        """Inference ends right after the first read."""

        ended = False

        async def _end(self) -> None:
            if not self.ended:
                self.ended = True
                await Kubelet(self.inner).runs_inference("qcnn", 0, MEASURED)

        async def get(self, *slot: Any) -> Any:
            found = await super().get(*slot)
            await self._end()
            return found

        async def list(self, *query: Any, **how: Any) -> Any:
            found = await super().list(*query, **how)
            await self._end()
            return found

    cluster = await gang()
    await cluster.create(Resource.JOBS, inference())

    world = await observe(EndsBetween(cluster), NoProgress(), JOB, NOW)

    assert world.inference is not None
    assert not world.inference.complete or world.inference.result is not None


async def test_the_progress_is_that_of_the_leader_that_runs() -> None:
    cluster = await gang()
    Kubelet(cluster).starts()
    progress = Replicas()
    progress.leader = Progress(epoch=1, epochs=2, step=3)

    world = await observe(cluster, progress, first_attempt(JOB), NOW)

    assert world.progress == progress.leader
    assert world.asked == {JOB.leader: "10.0.0.7"}


async def test_a_leader_that_is_not_ready_is_not_asked() -> None:
    cluster = await gang()
    cluster.edit(Resource.PODS, "lab", "qcnn-worker-0", status={"phase": "Running", "podIP": "10.0.0.7"})

    assert (await seen(cluster)).asked == {}


async def test_the_evaluator_is_asked_beside_the_leader() -> None:
    job = a_job(workers=2, evaluator=True)
    cluster = await gang(job)
    Kubelet(cluster).starts()
    progress = Replicas()
    progress.evaluator = Progress(epoch=1, step=7, validation_loss=0.25)

    world = await observe(cluster, progress, first_attempt(job), NOW)

    assert (world.progress, world.evaluation) == (None, progress.evaluator)
    assert world.asked == {job.leader: "10.0.0.7", EVALUATOR: "10.0.0.7"}


async def test_a_job_without_an_evaluator_asks_none() -> None:
    cluster = await gang()
    Kubelet(cluster).starts()

    assert EVALUATOR not in (await seen(cluster)).asked


async def test_a_leader_that_is_on_its_way_out_is_not_asked() -> None:
    cluster = await gang()
    Kubelet(cluster).starts()
    cluster.store.delete(Resource.PODS, "lab", "qcnn-worker-0")

    assert (await seen(cluster)).asked == {}


def behind_a_proxy(pod: dict[str, Any]) -> None:
    """A service mesh puts its proxy first; the program has ended, the proxy runs on."""
    pod["spec"]["containers"].insert(0, {"name": "linkerd-proxy", "image": "proxy"})
    ended = {"exitCode": 0, "reason": "Completed"}
    statuses = [
        {"name": "linkerd-proxy", "state": {"running": {}}},
        {"name": "main", "state": {"terminated": ended}},
    ]
    pod["status"] = {"phase": "Running", "containerStatuses": statuses}


async def test_a_proxy_that_a_mesh_puts_first_does_not_speak_for_the_program() -> None:
    job = a_job(workers=2, template=a_template(a_container(name="main")))
    cluster = await gang(job)
    cluster.store.update(Resource.PODS, "lab", "qcnn-worker-0", behind_a_proxy)

    world = await observe(cluster, NoProgress(), first_attempt(job), NOW)

    assert world.leader is not None
    assert (world.leader.succeeded, world.leader.lingers) == (True, True)


async def test_nor_does_it_for_inference() -> None:
    job = a_job(workers=2, inference={}, template=a_template(a_container(name="main")))
    assert job.inference is not None
    cluster = await gang(job)
    await cluster.create(Resource.JOBS, inference_job(job, job.inference, None))
    created = await cluster.get(Resource.JOBS, "lab", "qcnn-inference")
    assert created is not None
    owner = {"uid": created["metadata"]["uid"], "controller": True}
    template = created["spec"]["template"]
    meta = {**template["metadata"], "name": "qcnn-inference-x", "namespace": "lab", "ownerReferences": [owner]}
    await cluster.create(Resource.PODS, {"metadata": meta, "spec": template["spec"]})
    cluster.store.update(Resource.PODS, "lab", "qcnn-inference-x", behind_a_proxy)

    world = await observe(cluster, NoProgress(), first_attempt(job), NOW)

    assert world.inference is not None
    assert world.inference.done
