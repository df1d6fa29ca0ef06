"""The pod that finds out whether there is a place for one more replica."""

from typing import Any

from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.controller.parse import parse_pod
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.probe import probe_pod
from tests.jobs import a_container, a_job, a_template

REQUESTS = {"limits": {"cpu": "2", "nvidia.com/gpu": "1"}}
HOOK = {"postStart": {"exec": {"command": ["notify"]}}}
WORKER = ReplicaId(Role.WORKER, 2)


def job() -> Any:
    program = a_container(command=["python", "train.py"], args=["--lr=1"], lifecycle=HOOK, resources=REQUESTS)
    first = {"name": "fetch", "image": "registry.example/fetch:1", "command": ["fetch"], "resources": REQUESTS}
    spec: dict[str, Any] = {"initContainers": [first], "nodeSelector": {"pool": "spot"}, "priorityClassName": "low"}
    return a_job(workers=2, template=a_template(program, **spec))


def test_it_fits_where_the_replica_would() -> None:
    probe, replica = probe_pod(job(), WORKER, 3)["spec"], replica_pod(job(), WORKER, 3)["spec"]

    apart = {"containers", "initContainers", "terminationGracePeriodSeconds"}
    assert {k: v for k, v in probe.items() if k not in apart} == {k: v for k, v in replica.items() if k not in apart}
    assert [each["resources"] for each in (*probe["containers"], *probe["initContainers"])] == [REQUESTS, REQUESTS]


def test_it_runs_nothing_of_the_user() -> None:
    spec = probe_pod(job(), WORKER, 3)["spec"]

    for container in (*spec["containers"], *spec["initContainers"]):
        assert container["command"] == ["true"]
        assert container.keys().isdisjoint({"args", "env", "lifecycle", "ports"})


def test_it_is_known_by_its_label() -> None:
    built = probe_pod(job(), WORKER, 3)

    pod = parse_pod({**built, "metadata": {**built["metadata"], "uid": "u", "resourceVersion": "1"}, "status": {}})

    assert (pod.name, pod.replica, pod.attempt, pod.probe) == ("qcnn-worker-2", WORKER, 3, True)
