"""What is counted of jobs, by namespace."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry

from qtj_operator.api.conditions import FAILURES
from qtj_operator.controller.client import Resource
from qtj_operator.controller.job_memory import JobMemory, Jobs
from qtj_operator.controller.job_metrics import OTHERS, JobMetrics
from tests.controller.lab import KEY, Lab, complete, restarted, running
from tests.core.world import running_job

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def series(lab: Lab, metric: str) -> dict[tuple[str, ...], float]:
    """The samples of a metric of the job's namespace, by their other labels; those that are 0 are left out."""
    samples = (sample for family in lab.metrics.registry.collect() for sample in family.samples)
    return {
        tuple(value for name, value in sorted(sample.labels.items()) if name != "job_namespace"): sample.value
        for sample in samples
        if sample.name == metric and sample.labels["job_namespace"] == "lab" and sample.value
    }


async def test_a_job_without_a_status_waits_since_it_was_created() -> None:
    lab = await Lab.applied()
    lab.waits(seconds=90)
    await lab.passes()

    assert series(lab, "qtj_jobs") == {("Pending", ""): 1}
    assert series(lab, "qtj_job_waiting_seconds") == {("",): 90}


async def test_a_job_that_runs_waits_no_more_and_is_gone_when_it_is_deleted() -> None:
    lab = await running(Lab())
    ran, waits = series(lab, "qtj_jobs"), series(lab, "qtj_job_waiting_seconds")
    lab.cluster.remove(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    await lab.passes()

    assert (ran, waits) == ({("Running", "AllReplicasReady"): 1}, {})
    assert series(lab, "qtj_jobs") == {}


async def test_the_longest_wait_is_told_with_its_reason() -> None:
    lab = await Lab.settled()
    await lab.settles_after(minutes=20)

    assert series(lab, "qtj_job_waiting_seconds") == {((await lab.status())["reason"],): 1200}


async def test_a_job_that_starts_again_waits_since_it_no_longer_runs() -> None:
    lab = await running(Lab())
    lab.waits(hours=2)
    await lab.ends("qcnn-worker-1", 137)
    lab.waits(seconds=40)
    await lab.passes()

    assert list(series(lab, "qtj_job_waiting_seconds").values()) == [40]


async def test_restarts_disruptions_and_the_reason_of_a_failure_are_counted_once() -> None:
    lab = await running(Lab(), runPolicy={"backoffLimit": 1})
    lab.kubelet.ends("qcnn-worker-1", 137)
    await restarted(lab)
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-worker-1")
    await restarted(lab)
    await lab.ends("qcnn-worker-1", 137)

    assert series(lab, "qtj_restarts_total") == {(): 1}
    assert series(lab, "qtj_disruptions_total") == {(): 1}
    failed = {("BackoffLimitExceeded",): 1}
    assert series(lab, "qtj_jobs_failed_total") == failed, "ReplicaFailed is shown before it happens"


async def test_a_job_that_completes_has_not_failed_and_uses_no_node() -> None:
    lab = await complete(Lab())

    assert [labels[0] for labels in series(lab, "qtj_jobs")] == ["Complete"]
    assert series(lab, "qtj_jobs_failed_total") == {}
    assert series(lab, "qtj_replicas") == {}


async def test_pods_count_from_when_they_have_a_node_until_they_end() -> None:
    lab = await Lab.settled(inference={})
    before = series(lab, "qtj_replicas")
    await lab.starts()
    both = series(lab, "qtj_replicas")
    await lab.ends("qcnn-worker-1", 0)

    assert (before, both) == ({}, {("Worker",): 2})
    assert series(lab, "qtj_replicas") == {("Worker",): 1}


def test_a_probe_is_no_replica() -> None:
    placed = replace(running_job(workers=1).pods[0], node="node-a")
    world, memory = running_job(workers=1), JobMemory()
    memory.saw(replace(world, pods=(placed, replace(placed, name="qcnn-worker-1", probe=True))))

    assert memory.on_nodes == {"Worker": 1}


def test_every_reason_of_a_failure_is_counted_from_the_first_sight_of_a_namespace() -> None:
    registry, jobs = CollectorRegistry(), Jobs()
    JobMetrics(registry, jobs, lambda: NOW)
    jobs["team", "first"].reason = "Waits"

    list(registry.collect())
    reasons = {reason for reason in FAILURES if _failed(registry, "team", reason) == 0}
    assert reasons == set(FAILURES)


def test_two_hundred_namespaces_have_series_of_their_own_and_the_rest_has_one() -> None:
    registry, jobs = CollectorRegistry(), Jobs()
    JobMetrics(registry, jobs, lambda: NOW)
    for number in range(203):
        jobs[f"team-{number}", "job"].since = NOW - timedelta(seconds=number)

    def value(namespace: str) -> float | None:
        labels = {"job_namespace": namespace, "phase": "Pending", "reason": ""}
        return registry.get_sample_value("qtj_jobs", labels)

    assert (value("team-0"), value("team-199"), value("team-200"), value(OTHERS)) == (1, 1, None, 3)
    waited = registry.get_sample_value("qtj_job_waiting_seconds", {"job_namespace": OTHERS, "reason": ""})
    assert waited == 202


def _failed(registry: CollectorRegistry, namespace: str, reason: str) -> float | None:
    labels = {"job_namespace": namespace, "reason": reason}
    return registry.get_sample_value("qtj_jobs_failed_total", labels)


def test_replicas_that_are_slow_now_are_counted() -> None:
    found = [{"replica": "worker-1"}, {"replica": "worker-2", "until": "2030-01-01T12:00:00Z"}]
    memory = JobMemory()

    def slow(phase: str) -> int:
        meta = {"creationTimestamp": "2030-01-01T12:00:00Z"}
        memory.shows({"metadata": meta, "status": {"phase": phase, "steps": {"stragglers": found}}})
        return memory.stragglers

    assert (slow("Running"), slow("Restarting")) == (1, 0)
