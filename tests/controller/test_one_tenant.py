"""A user of one namespace who writes jobs that nobody can decode or hold: the jobs of others go on."""

import json
from pathlib import Path

import pytest

from bench.scale.large_jobs import deep, large
from tests.controller.cluster_jobs import Place
from tests.controller.operator_process import SOON, WORKERS, Cluster, running
from tools.background import wait_until

TOO_DEEP = "the job is nested too deeply: use at most 100 levels"
REPAIRED = [
    {"op": "remove", "path": "/spec/template/spec/zzz"},
    {"op": "replace", "path": "/spec/suspend", "value": False},
]


@pytest.fixture
def cluster(place: Place) -> Cluster:
    return Cluster(place.server, place.namespace)


def apply(cluster: Cluster, folder: Path, job: bytes) -> None:
    path = folder / "job.json"
    path.write_bytes(job)
    cluster.server.kubectl("create", "-n", cluster.namespace, "-f", str(path))


def field(cluster: Cluster, name: str, path: str) -> str:
    """A field of a job that this test could not decode as a whole."""
    return cluster.server.kubectl("get", "qtj", name, "-n", cluster.namespace, "-o", f"jsonpath={{{path}}}")


def message(cluster: Cluster, name: str) -> str:
    return field(cluster, name, '.status.conditions[?(@.type=="Failed")].message')


def test_a_job_that_cannot_be_read_is_named_and_judged_again_and_all_others_go_on(
    cluster: Cluster, tmp_path: Path
) -> None:
    namespace = cluster.namespace
    apply(cluster, tmp_path, deep("listed", 9000, namespace))
    with running(cluster.server, namespace, tmp_path) as operator:
        wait_until(lambda: message(cluster, "listed") == TOO_DEEP, SOON, "the job of the first list")
        apply(cluster, tmp_path, deep("watched", 9000, namespace))
        apply(cluster, tmp_path, large("large", 460_000, namespace))
        cluster.apply_example()
        wait_until(cluster.has("pods", *WORKERS), SOON, "the pods of the job of others")
        wait_until(lambda: message(cluster, "watched") == TOO_DEEP, SOON, "the job of the watch")
        wait_until(lambda: "131,072 bytes as JSON that are read" in message(cluster, "large"), SOON, "the large job")
        wait_until(lambda: "qtj_jobs_unreadable 3.0" in (operator.answers("/metrics") or ""), SOON, "the metric")

        patch = json.dumps(REPAIRED)
        cluster.server.kubectl("patch", "qtj", "listed", "-n", namespace, "--type=json", f"--patch={patch}")
        wait_until(lambda: field(cluster, "listed", ".status.attempt") == "1", SOON, "the job that was repaired")
        assert field(cluster, "large", ".spec.template.spec.zzz[0]") == "{}", "the job is as its user wrote it"
        assert operator.process.poll() is None
    assert operator.log.read_text().count("watched is Failed") == 1


def test_commands_show_the_job_that_cannot_be_decoded_and_all_others(
    place: Place, cluster: Cluster, tmp_path: Path
) -> None:
    apply(cluster, tmp_path, deep("deep", 9000, place.namespace))
    cluster.apply_example()

    board, status, listed = (place.qtj(*words) for words in (("top",), ("status", "deep"), ("top", "-o", "json")))
    assert {"deep", "qcnn"} <= set(board.stdout.split()), board.stderr
    assert status.returncode == 0, status.stderr
    assert {each["name"] for each in json.loads(listed.stdout)["items"]} == {"deep", "qcnn"}
