"""One pass: what is read, done and written, and in which order."""

import contextlib
from datetime import timedelta
from typing import Any

import pytest

from qtj_operator.api.job import EVALUATOR
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.controller.progress import NoProgress
from qtj_operator.controller.reconcile import Reconciler
from tests.controller.lab import KEY, TRAINED, Lab, complete, running
from tests.controller.memory import RecordingClient
from tests.controller.refused_requests import JOB_STATUS, fails_at
from tests.jobs import a_container, a_template


async def test_a_running_job_that_is_settled_costs_no_write() -> None:
    lab = await running(Lab())
    lab.client.calls.clear()

    delay = await lab.passes()

    assert delay is None
    assert lab.client.writes == []
    assert len(lab.client.calls) == 4, "the job, its inference Job, its pods and its Services are read once each"


async def test_a_complete_job_costs_no_write() -> None:
    lab = await complete(Lab())
    lab.client.calls.clear()

    assert await lab.passes() is None
    assert lab.client.writes == []


async def test_a_pass_that_wrote_the_status_is_followed_by_another_at_once() -> None:
    lab = await Lab.applied()

    assert await lab.passes() == timedelta(0)


async def test_the_first_pass_only_records_and_the_second_acts_before_it_records() -> None:
    lab = await Lab.applied(replicaSpecs={"Worker": {"replicas": 1}})

    await lab.passes()
    first, lab.client.calls = lab.client.writes, []
    await lab.passes()
    lab.kubelet.starts()
    second, lab.client.calls = lab.client.writes, []
    await lab.passes()

    assert first == [JOB_STATUS]
    assert second == ["create services qcnn-worker-0", "create pods qcnn-worker-0"]
    assert lab.client.writes[0] == JOB_STATUS
    assert lab.client.writes[1].startswith("create events ")


async def test_a_job_that_is_gone_is_left_alone_and_nobody_asks_for_its_progress() -> None:
    lab = Lab()
    lab.progress.ask(KEY, {EVALUATOR: "10.0.0.8"}, {})

    assert await lab.passes() is None
    assert lab.client.calls == ["get quantumtrainingjobs qcnn"]
    assert lab.progress.asked == {KEY: {}}


async def test_a_job_that_is_being_deleted_is_left_alone() -> None:
    lab = await Lab.applied()
    lab.cluster.edit(
        Resource.QUANTUM_TRAINING_JOBS, *KEY, metadata={**(await lab.job())["metadata"], "finalizers": ["x/y"]}
    )
    lab.cluster.store.delete(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    lab.progress.ask(KEY, {EVALUATOR: "10.0.0.8"}, {})

    assert await lab.passes() is None
    assert lab.client.writes == []
    assert lab.progress.asked == {KEY: {}}


@pytest.mark.parametrize("unreadable", [{}, {"template": None}], ids=["readable", "unreadable"])
async def test_a_job_of_another_controller_is_not_touched(unreadable: dict[str, Any]) -> None:
    lab = await Lab.applied(managedBy="kueue.x-k8s.io/multikueue", **unreadable)
    lab.progress.ask(KEY, {EVALUATOR: "10.0.0.8"}, {})
    for status in ({}, {"phase": "Running", "attempt": 3, "ofALaterVersion": True}):
        written: dict[str, Any] = {"status": status} if status else {}
        lab.cluster.edit(Resource.QUANTUM_TRAINING_JOBS, *KEY, **written)

        assert await lab.passes() is None
        assert await lab.status() == status

    assert lab.client.writes == []
    assert lab.progress.asked == {KEY: {}}


async def test_a_spec_that_can_never_run_fails_before_any_child_exists() -> None:
    lab = await Lab.applied(template=a_template(a_container(env=[{"name": "TF_CONFIG"}])))

    await lab.settles()

    assert (await lab.condition("Failed"))["reason"] == "InvalidSpec"
    assert (lab.pods, lab.services) == ((), ())


@pytest.mark.parametrize(
    "call",
    [
        "get quantumtrainingjobs qcnn",
        "list pods *",
        "list services *",
        "get jobs qcnn-inference",
        "create services qcnn-worker-0",
        "create services qcnn-worker-1",
        "create pods qcnn-worker-0",
        "create pods qcnn-worker-1",
        JOB_STATUS,
        "create jobs qcnn-inference",
    ],
)
async def test_an_error_at_any_request_delays_the_job_and_changes_nothing_else(call: str) -> None:
    lab, undisturbed = Lab(), Lab()
    await complete(undisturbed)
    await lab.applies(inference={})
    if call != "create jobs qcnn-inference":
        await fails_at(lab, call)
    await lab.settles()
    await lab.starts()
    lab.kubelet.ends("qcnn-worker-1", 0)
    lab.kubelet.ends("qcnn-worker-0", 0, TRAINED)
    if call == "create jobs qcnn-inference":
        await fails_at(lab, call)
    await lab.settles()

    await lab.kubelet.runs_inference("qcnn", 0, TRAINED)
    await lab.settles()

    assert await lab.phase() == "Complete"
    assert await lab.events() == await undisturbed.events()
    assert (lab.pods, lab.services) == (undisturbed.pods, undisturbed.services)


async def test_answers_that_get_lost_create_nothing_twice() -> None:
    class LossyClient(RecordingClient):
        """Every other creation is done, and nobody hears of it."""

        async def create(self, resource: Resource, manifest: Object) -> Object:
            created = await super().create(resource, manifest)
            if len(self.writes) % 2:
                raise ApiError(0, "Unreachable", "connection reset")
            return created

    lab = Lab()
    lossy = Reconciler(LossyClient(lab.cluster), NoProgress(), lambda: lab.now)
    await lab.applies()
    for _ in range(10):
        with contextlib.suppress(ApiError):
            await lossy.reconcile(KEY)

    assert await lab.settles() == timedelta(minutes=1), "then it looks why the pods take long"
    assert lab.pods == lab.services == ("qcnn-worker-0", "qcnn-worker-1")


async def test_a_moment_to_look_again_is_never_a_busy_loop() -> None:
    lab = await running(Lab())
    await lab.ends("qcnn-worker-1", 1)
    lab.waits(seconds=29.9)

    assert await lab.passes() == timedelta(seconds=1)


async def test_the_users_object_gets_a_status_and_nothing_else() -> None:
    lab = await Lab.applied(inference={})
    before = await lab.job()

    await lab.settles()
    after = await lab.job()

    same = {"spec", "apiVersion", "kind"}
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    assert {**after["metadata"], "resourceVersion": ""} == {**before["metadata"], "resourceVersion": ""}


async def test_the_time_from_submission_to_running_is_counted_once() -> None:
    lab = await Lab.settled()
    lab.waits(seconds=8)
    await lab.starts()
    await lab.ends("qcnn-worker-1", 137)
    await lab.starts()

    samples = lab.metrics.registry
    assert samples.get_sample_value("qtj_submit_to_running_seconds_count") == 1
    assert samples.get_sample_value("qtj_submit_to_running_seconds_sum") == 8


async def test_a_gang_that_runs_again_in_its_first_attempt_is_not_counted_again() -> None:
    lab = await running(Lab())
    lab.cluster.edit(Resource.PODS, "lab", "qcnn-worker-1", status={"phase": "Unknown"})
    await lab.settles()
    interrupted = await lab.condition("Running")
    await lab.starts()

    assert (interrupted["status"], await lab.phase(), (await lab.status())["attempt"]) == ("False", "Running", 1)
    assert lab.metrics.registry.get_sample_value("qtj_submit_to_running_seconds_count") == 1
