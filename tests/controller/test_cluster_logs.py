"""`qtj logs` of jobs on a real API server, which asks a stand-in for a kubelet."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controller.cluster_jobs import PLUGIN, RUNNING, Place, ended, rest_of
from tests.controller.kubelet import Kubelet, node_of
from tools.api_server import ApiServer
from tools.background import wait_until

NODE = "node-of-logs"


@pytest.fixture
def kubelet(api_server: ApiServer, tmp_path: Path) -> Iterator[Kubelet]:
    """The kubelet of a node that the API server knows."""
    with Kubelet.started(tmp_path) as kubelet, node_of(api_server, NODE, kubelet.port):
        yield kubelet


def test_the_logs_of_all_replicas_are_shown_by_replica_with_their_names(place: Place, kubelet: Kubelet) -> None:
    uid = place.job()
    for index in range(2):
        pod = place.pod(uid, f"worker-{index}", node=NODE, status=RUNNING, sidecar=True)
        kubelet.writes(pod, f"I am {index}", "epoch 1/3")
        kubelet.ends(pod)

    shown = place.qtj("logs", "qcnn")

    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.splitlines() == [
        "qcnn-worker-0.1  I am 0", "qcnn-worker-0.1  epoch 1/3",
        "qcnn-worker-1.1  I am 1", "qcnn-worker-1.1  epoch 1/3",
    ]  # fmt: skip
    assert all("/trainer?" in each for each in kubelet.requests), "not the sidecar's"


def test_one_replica_is_chosen_by_its_name_and_has_none_before_its_lines(place: Place, kubelet: Kubelet) -> None:
    uid = place.job()
    for index in range(2):
        kubelet.writes(place.pod(uid, f"worker-{index}", node=NODE, status=RUNNING), f"I am {index}")

    assert place.qtj("logs", "qcnn", "worker-1").stdout == "I am 1\n"
    assert place.qtj("logs", "qcnn", "worker-1.2").stderr.startswith(
        "qtj: qcnn has no pod of worker-1.2, and so no log"
    )


def test_programs_read_a_line_with_its_time_and_its_replica(place: Place, kubelet: Kubelet) -> None:
    kubelet.writes(place.pod(place.job(), node=NODE, status=RUNNING), "epoch 1/3: 100 %")

    as_json, as_yaml = (place.qtj("logs", "qcnn", "-o", form).stdout for form in ("json", "yaml"))

    line = {"pod": "qcnn-worker-0", "attempt": 1, "time": "2030-01-01T12:00:00.000000000Z", "line": "epoch 1/3: 100 %"}
    assert json.loads(as_json) == line
    assert as_yaml.startswith("---\npod: qcnn-worker-0\nattempt: 1\n")


def test_logs_are_followed_across_attempts_until_the_job_has_finished(place: Place, kubelet: Kubelet) -> None:
    uid = place.job(status={"phase": "Running"})
    pod = place.pod(uid, node=NODE, status=RUNNING)
    kubelet.writes(pod, "first attempt")
    following = place.start("logs", "qcnn", "-f")
    assert following.stdout is not None
    first = following.stdout.readline()

    kubelet.writes(pod, "I fail")
    failed = following.stdout.readline()
    kubelet.deletes(pod)
    place.deletes(pod)
    place.pod(uid, attempt=2, node=NODE)
    kubelet.writes(pod, "second attempt")
    second = following.stdout.readline()
    kubelet.writes(pod, "done")
    kubelet.ends(pod)
    place.server.set_status("pod", place.namespace, pod, ended(0))
    place.sets(phase="Complete")
    rest, errors = rest_of(following)

    assert [first, failed, second] == [
        "qcnn-worker-0.1  first attempt\n", "qcnn-worker-0.1  I fail\n", "qcnn-worker-0.2  second attempt\n",
    ]  # fmt: skip
    assert (following.returncode, rest, errors) == (0, "qcnn-worker-0.2  done\n", "")


def test_a_connection_that_is_lost_repeats_and_loses_no_line(place: Place, kubelet: Kubelet) -> None:
    pod = place.pod(place.job(status={"phase": "Running"}), node=NODE, status=RUNNING)
    kubelet.writes(pod, *(f"line {number}" for number in range(6)))
    following = place.start("logs", "qcnn", "-f")
    assert following.stdout is not None
    lines = [following.stdout.readline() for _ in range(6)]

    kubelet.loses_connections()
    kubelet.writes(pod, "line 6", "line 7")
    lines += [following.stdout.readline() for _ in range(2)]
    kubelet.ends(pod)
    place.server.set_status("pod", place.namespace, pod, ended(0))
    place.sets(phase="Complete")
    rest, _ = rest_of(following)

    assert [*lines, *rest.splitlines(keepends=True)] == [f"qcnn-worker-0.1  line {number}\n" for number in range(8)]
    assert "sinceTime=2030-01-01T12%3A00%3A01Z" in kubelet.requests[-1]


def test_a_container_that_has_not_started_is_a_sentence_and_the_others_are_shown(
    place: Place, kubelet: Kubelet
) -> None:
    uid = place.job()
    place.pod(uid, "worker-0", node=NODE)
    kubelet.writes(place.pod(uid, "worker-1", node=NODE, status=RUNNING), "I run")

    shown = place.qtj("logs", "qcnn")

    assert (shown.returncode, shown.stdout) == (0, "qcnn-worker-1.1  I run\n")
    more = f"`qtj events qcnn -n {place.namespace}` shows why"
    assert shown.stderr == f"qtj: qcnn-worker-0.1 has not started, and so has no log: {more}\n"


def test_a_job_of_which_nothing_has_started_has_no_log_and_says_why_in_one_sentence(place: Place) -> None:
    why = 'image "x:1" of qcnn-worker-0 cannot be pulled (not found): correct its name or its tag'
    condition = {
        "type": "Running", "status": "False", "reason": "ImageNotPulled", "message": why,
        "lastTransitionTime": "2030-01-01T12:00:00Z",
    }  # fmt: skip
    uid = place.job(status={"phase": "Pending", "attempt": 1, "conditions": [condition]})
    for index in range(2):
        place.pod(uid, f"worker-{index}")

    shown = place.qtj("logs", "qcnn")

    assert (shown.returncode, shown.stdout) == (2, "")
    more = f"`qtj events qcnn -n {place.namespace}` shows more"
    assert shown.stderr == f"qtj: qcnn-worker-0.1 and 1 more have not started, and so have no log: {why}; {more}\n"


def test_a_node_that_does_not_answer_is_a_sentence(place: Place, kubelet: Kubelet) -> None:
    uid = place.job()
    place.pod(uid, "worker-0", node="node-that-is-gone", status=RUNNING)
    kubelet.writes(place.pod(uid, "worker-1", node=NODE, status=RUNNING), "I run")

    shown = place.qtj("logs", "qcnn")

    assert (shown.returncode, shown.stdout) == (0, "qcnn-worker-1.1  I run\n")
    why = "its node node-that-is-gone is no longer in the cluster"
    assert shown.stderr == f"qtj: the log of qcnn-worker-0.1 cannot be read: {why}\n"


def test_a_pod_that_is_gone_leaves_its_last_message(place: Place) -> None:
    failure = {
        "pod": "qcnn-worker-1", "attempt": 1, "exitCode": 1, "reason": "Error", "message": "ValueError: no data",
        "uid": "u-1", "time": "2026-01-01T12:00:00Z",
    }  # fmt: skip
    place.job(status={"phase": "Failed", "attempt": 1, "failures": [failure]})

    shown = place.qtj("logs", "qcnn")

    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.splitlines() == [
        "qtj: qcnn-worker-1.1 is gone with its log: it ended with exit code 1 (Error): ValueError: no data",
        f"qtj: qcnn has no pod of any replica, and so no log: `qtj status qcnn -n {place.namespace}` shows why",
    ]


@pytest.mark.usefixtures("kubelet")
def test_following_a_job_that_never_starts_ends_with_it(place: Place) -> None:
    place.pod(place.job(status={"phase": "Pending"}), node=NODE)
    following = place.start("logs", "qcnn", "-f")
    assert following.stderr is not None
    told = following.stderr.readline()

    place.deletes("qcnn-worker-0")
    place.sets(phase="Failed")
    rest, _ = rest_of(following)

    assert (following.returncode, rest) == (0, "")
    assert told.startswith("qtj: qcnn-worker-0.1 has not started, and so has no log: `qtj events qcnn -n ")


def test_a_reader_that_leaves_ends_it(place: Place, kubelet: Kubelet) -> None:
    pod = place.pod(place.job(status={"phase": "Running"}), node=NODE, status=RUNNING)
    kubelet.writes(pod, "first")
    reader, writer = os.pipe()
    following = subprocess.Popen(
        [*PLUGIN, "logs", "qcnn", "-f", "-n", place.namespace], env=place.environment(), stdout=writer,
        stderr=subprocess.PIPE, cwd=place.home,
    )  # fmt: skip
    os.close(writer)
    wait_until(lambda: kubelet.is_followed(pod), 60, "the log to be followed")

    os.close(reader)
    kubelet.writes(pod, "nobody reads this", "nor this")
    _, errors = following.communicate(timeout=60)

    assert (following.returncode, errors) == (0, b"")
