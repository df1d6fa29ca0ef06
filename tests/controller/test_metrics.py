"""What is counted of the operator, and jobs that are gone."""

import asyncio

import pytest

from qtj_contract.version import installed_version
from qtj_operator.controller.client import Resource
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.runtime import Runtime
from tests.controller.lab import KEY, Lab, running

_RUNNING = {"job_namespace": "lab", "phase": "Running", "reason": "AllReplicasReady"}


async def test_a_job_whose_deletion_no_watch_told_of_is_found_by_the_resync() -> None:
    lab = await running(Lab())
    lab.cluster.remove(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    queue: WorkQueue[tuple[str, str]] = WorkQueue()
    runtime = Runtime(lab.client, lab.reconciler.reconcile, queue, None, jobs=lab.jobs, metrics=lab.reconciler.metrics)

    task = asyncio.create_task(runtime.run())
    await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert lab.reconciler.metrics.registry.get_sample_value("qtj_jobs", _RUNNING) is None


def test_an_operator_that_stands_by_has_no_time_of_a_resync() -> None:
    metrics = Metrics()

    assert metrics.registry.get_sample_value("qtj_last_resync_timestamp_seconds") is None
    assert metrics.registry.get_sample_value("qtj_leader") == 0

    metrics.leads()
    metrics.resynced()
    metrics.resynced()

    assert (metrics.registry.get_sample_value("qtj_last_resync_timestamp_seconds") or 0) > 0
    assert metrics.registry.get_sample_value("qtj_leader") == 1


def test_of_several_namespaces_the_one_counts_that_was_looked_at_longest_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics, moments = Metrics(), iter((100.0, 200.0, 300.0))
    monkeypatch.setattr("qtj_operator.controller.metrics.time.time", lambda: next(moments))

    def oldest() -> float | None:
        return metrics.registry.get_sample_value("qtj_last_resync_timestamp_seconds")

    metrics.resynced("team-a")
    metrics.resynced("team-b")
    assert oldest() == 100
    metrics.resynced("team-a")
    assert oldest() == 200


def test_the_version_is_shown() -> None:
    assert Metrics().registry.get_sample_value("qtj_build_info", {"version": installed_version()}) == 1
