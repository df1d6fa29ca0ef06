"""What is counted of jobs."""

import asyncio

from qtj_contract.version import installed_version
from qtj_operator.api.conditions import FAILURES
from qtj_operator.controller.client import Resource
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.runtime import Runtime
from tests.controller.lab import KEY, Lab, complete, restarted, running


def counted(lab: Lab, metric: str, **labels: str) -> float | None:
    return lab.reconciler.metrics.registry.get_sample_value(metric, labels)


async def test_jobs_are_counted_by_phase_and_those_that_are_gone_no_longer() -> None:
    lab = Lab()
    await running(lab)
    ran = counted(lab, "qtj_jobs", phase="Running")
    lab.cluster.remove(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    await lab.passes()

    assert ran == 1
    assert counted(lab, "qtj_jobs", phase="Running") == counted(lab, "qtj_jobs", phase="Pending") == 0


async def test_a_job_without_a_status_is_pending() -> None:
    lab = Lab()
    await lab.applies()
    await lab.passes()

    assert counted(lab, "qtj_jobs", phase="Pending") == 1


async def test_a_job_whose_deletion_no_watch_told_of_is_found_by_the_resync() -> None:
    lab = Lab()
    await running(lab)
    lab.cluster.remove(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    queue: WorkQueue[tuple[str, str]] = WorkQueue()
    runtime = Runtime(lab.client, lab.reconciler.reconcile, queue, None, jobs=lab.jobs, metrics=lab.reconciler.metrics)

    task = asyncio.create_task(runtime.run())
    await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert counted(lab, "qtj_jobs", phase="Running") == 0


async def test_restarts_disruptions_and_the_reason_of_a_failure_are_counted_once() -> None:
    lab = Lab()
    await running(lab, runPolicy={"backoffLimit": 1})
    lab.kubelet.ends("qcnn-worker-1", 137)
    await restarted(lab)
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-worker-1")
    await restarted(lab)
    lab.kubelet.ends("qcnn-worker-1", 137)
    await lab.settles()

    assert counted(lab, "qtj_restarts_total") == 1
    assert counted(lab, "qtj_disruptions_total") == 1
    assert counted(lab, "qtj_jobs_failed_total", reason="BackoffLimitExceeded") == 1
    assert counted(lab, "qtj_jobs_failed_total", reason="ReplicaFailed") == 0, "it is shown before it happens"


async def test_a_job_that_completes_has_not_failed() -> None:
    lab = Lab()
    await complete(lab)

    assert counted(lab, "qtj_jobs", phase="Complete") == 1
    failed = lab.reconciler.metrics.registry.collect()
    assert sum(s.value for family in failed if family.name == "qtj_jobs_failed" for s in family.samples) == 0


def test_an_operator_that_stands_by_has_no_time_of_a_resync() -> None:
    metrics = Metrics()

    assert metrics.registry.get_sample_value("qtj_last_resync_timestamp_seconds") is None
    assert metrics.registry.get_sample_value("qtj_leader") == 0

    metrics.leads()
    metrics.resynced()
    metrics.resynced()

    assert (metrics.registry.get_sample_value("qtj_last_resync_timestamp_seconds") or 0) > 0
    assert metrics.registry.get_sample_value("qtj_leader") == 1


def test_the_version_is_shown() -> None:
    assert Metrics().registry.get_sample_value("qtj_build_info", {"version": installed_version()}) == 1


def test_every_reason_of_a_failure_is_counted_from_the_start() -> None:
    counted_as_none = {
        sample.labels["reason"]
        for family in Metrics().registry.collect()
        if family.name == "qtj_jobs_failed"
        for sample in family.samples
    }
    assert counted_as_none == set(FAILURES)
