"""`qtj status` and `qtj top` of jobs on a real API server."""

import json
import os
import subprocess
from typing import Any

import pytest

from tests.controller.cluster_jobs import PLUGIN, RUNNING, Place, ended, rest_of
from tests.controller.go_between import Wire
from tools.api_server import KUBECONFIG, TOKEN
from tools.background import free_port

TRAINING: dict[str, Any] = {
    "phase": "Running", "ready": "1/2", "attempt": 2, "restarts": 1,
    "startTime": "2026-01-01T12:00:00Z", "attemptStartTime": "2026-01-01T12:00:00Z",
    "progress": {"epoch": 3, "epochs": 25, "loss": 0.25},
    "conditions": [
        {
            "type": "Running", "status": "True", "reason": "AllReplicasReady", "message": "1 of 2 replicas are ready",
            "lastTransitionTime": "2026-01-01T12:00:00Z",
        }
    ],
}  # fmt: skip
COMPLETE: dict[str, Any] = {
    **TRAINING, "phase": "Complete",
    "conditions": [{**TRAINING["conditions"][0], "type": "Complete", "message": "inference is done"}],
}  # fmt: skip


def test_a_job_is_shown_with_its_replicas_and_its_events(place: Place) -> None:
    uid = place.job(status=TRAINING)
    place.pod(uid, "worker-0", attempt=2, node="node-1", status=RUNNING)
    place.pod(uid, "worker-1", attempt=2, node="node-2", status=ended(137))
    place.event("QuantumTrainingJob", "qcnn", uid)

    shown = place.qtj("status", "qcnn")

    lines = shown.stdout.splitlines()
    assert (shown.returncode, shown.stderr) == (0, "")
    assert lines[:3] == ["job         qcnn", "phase       Running", "why         1 of 2 replicas are ready"]
    assert {"epoch       3/25", "loss        0.25", "attempt     2", "restarts    1"} <= set(lines)
    assert f"namespace   {place.namespace}" in lines
    assert [line.split() for line in lines if line.startswith("worker")] == [
        ["worker-0", "Running", "node-1", "-", "1", "-"],
        ["worker-1", "Failed", "node-2", "137", "1", "-"],
    ]
    assert "event       Restarting: Restarting of qcnn" in lines
    assert lines[-1] == f"next        qtj logs qcnn -n {place.namespace}"


def test_the_object_is_printed_for_programs(place: Place) -> None:
    uid = place.job(status=TRAINING)

    assert json.loads(place.qtj("status", "qcnn", "-o", "json").stdout)["metadata"]["uid"] == uid
    assert place.qtj("status", "qcnn", "-o", "name").stdout == "qcnn\n"


def test_a_pod_of_an_earlier_job_of_the_same_name_is_not_shown(place: Place) -> None:
    uid = place.job(status=TRAINING)
    place.pod("11111111-uid-of-an-earlier-job", "worker-0", status=RUNNING)
    place.pod(uid, "worker-1", attempt=2, node="node-2", status=RUNNING)

    shown = place.qtj("status", "qcnn").stdout

    assert [line.split() for line in shown.splitlines() if line.startswith("worker")] == [
        ["worker-0", "-", "-", "-", "1", "-"],
        ["worker-1", "Running", "node-2", "-", "1", "-"],
    ]


def test_a_job_is_followed_to_its_end_as_lines_where_there_is_no_terminal(place: Place) -> None:
    uid = place.job(status=TRAINING)
    following = place.start("status", "qcnn", "-w")
    assert following.stdout is not None
    first = following.stdout.readline()
    place.event("QuantumTrainingJob", "qcnn", uid, reason="WeightsStored")

    place.sets(**COMPLETE)
    rest, errors = rest_of(following)

    assert (following.returncode, errors) == (0, "")
    assert "qcnn  running" in first
    assert "qcnn  WeightsStored: WeightsStored of qcnn\n" in rest
    assert rest.splitlines()[-2].endswith("qcnn is Complete: inference is done")


def test_a_failed_job_that_is_followed_gives_its_exit_code(place: Place) -> None:
    failed = [{**TRAINING["conditions"][0], "type": "Failed", "message": "worker-1 failed"}]
    place.job(status={**TRAINING, "phase": "Failed", "conditions": failed})

    shown, once = place.qtj("status", "qcnn", "-w"), place.qtj("status", "qcnn")

    assert shown.returncode == 1
    assert shown.stdout.endswith("qcnn is Failed: worker-1 failed\n")
    assert once.returncode == 0
    assert "next        qtj logs qcnn -n" in once.stdout
    assert f"qtj retry qcnn -n {place.namespace} continues it" in once.stdout


def test_each_change_is_a_document_for_programs(place: Place) -> None:
    place.job(status=TRAINING)
    following = place.start("status", "qcnn", "-w", "-o", "json")
    assert following.stdout is not None
    line = following.stdout.readline()

    place.sets(**COMPLETE)
    rest, _ = rest_of(following)

    decoder = json.JSONDecoder()
    first, end = decoder.raw_decode(line + rest)
    last, _ = decoder.raw_decode((line + rest)[end:].lstrip())
    assert [each["status"]["phase"] for each in (first, last)] == ["Running", "Complete"]


def test_a_job_that_is_deleted_while_it_is_followed_is_a_sentence(place: Place) -> None:
    place.job(status=TRAINING)
    following = place.start("status", "qcnn", "-w")
    assert following.stdout is not None
    following.stdout.readline()

    place.server.kubectl("delete", "qtj", "qcnn", "-n", place.namespace)
    _, errors = rest_of(following)

    assert following.returncode == 2
    assert errors.startswith(f"qtj: there is no job qcnn in namespace {place.namespace}")


def test_top_shows_all_jobs_of_a_namespace_active_ones_first(place: Place) -> None:
    place.job("old", status=COMPLETE)
    uid = place.job(status=TRAINING)
    place.pod(uid, "worker-0", attempt=2, node="node-1", status=RUNNING)

    shown = place.qtj("top")

    jobs, replicas = shown.stdout.split("\n\n")
    assert [line.split()[:6] for line in jobs.splitlines()[1:]] == [
        ["qcnn", "Running", "-", "1/2", "3/25", "0.25"],
        ["old", "Complete", "-", "1/2", "3/25", "0.25"],
    ]
    assert [line.split() for line in replicas.splitlines()[1:]] == [
        ["qcnn", "worker-0", "Running", "node-1", "-", "1", "-"],
        ["qcnn", "worker-1", "-", "-", "-", "1", "-"],
    ]


def test_top_of_all_namespaces_names_them_and_programs_read_a_list(place: Place) -> None:
    place.job(status=TRAINING)

    listed = json.loads(place.qtj("top", "-A", "-o", "json", here=True).stdout)["items"]

    (mine,) = [each for each in listed if each["namespace"] == place.namespace]
    assert mine["name"] == f"{place.namespace}/qcnn"
    assert (mine["phase"], mine["progress"]["epoch"], mine["restarts"]) == ("Running", 3, 1)
    assert [each["name"] for each in mine["replicas"]] == ["worker-0", "worker-1"]


def test_a_namespace_without_jobs_is_a_sentence(place: Place) -> None:
    assert place.qtj("top").stdout == f"no job is in namespace {place.namespace}: kubectl apply -f FILE creates one\n"


@pytest.mark.parametrize("command", ["status", "logs", "events", "top"])
def test_a_job_that_is_not_there_is_a_sentence_with_the_name_that_was_meant(place: Place, command: str) -> None:
    place.job(status=TRAINING)

    wrong, path = place.qtj(command, "qcn"), place.qtj(command, "qcnn/1")

    missing = f"in namespace {place.namespace}: write qcnn: `kubectl get qtj -A` lists all\n"
    assert (wrong.returncode, wrong.stderr) == (2, f"qtj: there is no job qcn {missing}")
    assert (path.returncode, path.stderr) == (2, f"qtj: there is no job qcnn/1 {missing}")


def test_kubectl_finds_the_plugin_by_its_name(place: Place) -> None:
    place.job(status=TRAINING)
    plugin = place.home / "kubectl-qtj"
    plugin.write_text(f"#!{PLUGIN[0]}\n{PLUGIN[2]}\n")
    plugin.chmod(0o755)
    path = os.pathsep.join([str(place.home), os.environ["PATH"]])

    asked = subprocess.run(
        [place.server.programs.kubectl, "qtj", "status", "qcnn", "-n", place.namespace],
        env=place.environment(PATH=path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    helped = subprocess.run(
        [place.server.programs.kubectl, "qtj", "status", "--help"],
        env=place.environment(PATH=path), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.startswith("job         qcnn\nphase       Running\n")
    assert "Usage: kubectl qtj status" in helped.stdout


def test_an_outage_while_a_job_is_followed_is_a_line_and_no_end(place: Place) -> None:
    place.job(status=TRAINING)
    wire = Wire(int(place.server.url.rpartition(":")[2]), free_port())
    wire.mend()
    config = place.home / "config"
    config.write_text(KUBECONFIG.format(url=f"https://127.0.0.1:{wire.near}", token=TOKEN))
    following = place.start("status", "qcnn", "-w", env=place.environment(KUBECONFIG=str(config)))
    assert following.stdout is not None
    following.stdout.readline()

    wire.cut()
    outage = following.stdout.readline()
    place.sets(**COMPLETE)
    wire.mend()
    rest, errors = rest_of(following)
    wire.cut()

    assert "the API server cannot be reached: " in outage
    assert outage.endswith("; it is asked again every 2 s\n")
    assert (following.returncode, errors) == (0, "")
    assert "qcnn is Complete: inference is done" in rest
