"""`qtj profile` of a job on a real API server, which asks a stand-in for a kubelet to forward ports."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qtj_contract import Progress
from qtj_trainer.replica.profile_requests import ProfileRequests
from qtj_trainer.replica.telemetry import Telemetry
from tests.controller.cluster_jobs import RUNNING, Place, rest_of
from tests.controller.forwarding import forwarding
from tests.controller.kubelet import node_of
from tools.api_server import ApiServer
from tools.background import wait_until

NODE = "node-of-profiles"
WORKERS = ("worker-0", "worker-1")
TRAINING: dict[str, Any] = {"phase": "Running", "attempt": 1, "observedGeneration": 1}


def a_worker() -> tuple[int, ProfileRequests]:
    """A worker that has taken two steps of a tenth of a second: its port, and what it was asked for."""
    requests = ProfileRequests(WORKERS, lambda: 100_000, 0)
    for step in range(3):
        requests.reach(step, step / 10, "")
    telemetry = Telemetry(Progress(epoch=0, step=2))
    telemetry.profile_requests = requests
    return telemetry.serve(0), requests


@pytest.fixture
def workers(api_server: ApiServer, place: Place, tmp_path: Path) -> Iterator[tuple[ProfileRequests, ...]]:
    """The workers of the job `qcnn`, which trains."""
    served = {f"qcnn-{name}": a_worker() for name in WORKERS}
    ports = {name: port for name, (port, _) in served.items()}
    with forwarding(tmp_path, ports) as port, node_of(api_server, NODE, port):
        uid = place.job(status=TRAINING)
        for name in WORKERS:
            place.pod(uid, name, node=NODE, status=RUNNING)
        yield tuple(requests for _, requests in served.values())


def test_all_workers_are_asked_to_start_with_the_same_step(place: Place, workers: tuple[ProfileRequests, ...]) -> None:
    command = place.start("profile", "qcnn", "--duration", "2s")
    assert command.stdout is not None
    sentence = command.stdout.readline()
    name = sentence.split()[3]
    taken = [each.close() for each in workers]
    place.sets(**TRAINING, profiles=[{"name": name, "state": "Stored", "path": f"logs/qcnn/plugins/profile/{name}"}])
    output, errors = rest_of(command)

    assert re.fullmatch(f"qcnn: the profile {name} starts in about [0-9]+ s\n", sentence)
    assert {each and each.name for each in taken} == {name}
    assert taken[0] == taken[1]
    assert (command.returncode, errors) == (0, "")
    where = f"gs://lab-bucket/qcnn/logs/qcnn/plugins/profile/{name}"
    assert output.splitlines()[0] == f"the profile is in {where}"


def test_a_program_reads_the_record(place: Place, workers: tuple[ProfileRequests, ...]) -> None:
    command = place.start("profile", "qcnn", "-o", "json")
    wait_until(lambda: workers[0].waiting, 120, "the request")
    taken = workers[0].close()
    assert taken is not None
    record = {"name": taken.name, "state": "Failed", "error": "worker-0: TensorFlow's profiler: busy"}
    place.sets(**TRAINING, profiles=[record])
    output, errors = rest_of(command)

    assert (command.returncode, errors) == (1, "")
    assert json.loads(output) == record


@pytest.mark.usefixtures("workers")
def test_a_worker_without_a_pod_is_one_sentence_and_nobody_profiles(place: Place) -> None:
    place.deletes("qcnn-worker-1")

    ended = place.qtj("profile", "qcnn")

    assert (ended.returncode, ended.stdout) == (2, "")
    where = f"there is no pod qcnn-worker-1 in {place.namespace}"
    assert ended.stderr == (
        f"qtj: qcnn is not profiled: worker-1 does not answer ({where}), and a profile is of all workers: try again "
        "when it is ready\n"
    )


def test_a_job_that_has_ended_and_one_that_does_not_exist_are_one_sentence(place: Place) -> None:
    place.job(status={"phase": "Complete", "attempt": 1})

    assert place.qtj("profile", "qcnn").stderr == "qtj: qcnn is Complete: only a job that trains can be profiled\n"
    assert place.qtj("profile", "qcn").stderr.startswith(f"qtj: there is no job qcn in namespace {place.namespace}")


def test_a_port_where_nothing_listens_is_one_sentence(api_server: ApiServer, place: Place, tmp_path: Path) -> None:
    with forwarding(tmp_path, {}) as port, node_of(api_server, NODE, port):
        place.pod(place.job(status=TRAINING), "worker-0", node=NODE, status=RUNNING)
        began = time.monotonic()
        ended = place.qtj("profile", "qcnn")

    assert ended.stderr == (
        "qtj: worker-0 of qcnn cannot be asked for a profile: qcnn-worker-0 cannot be reached: error forwarding port: "
        "connect: connection refused\n"
    )
    assert time.monotonic() - began < 120
