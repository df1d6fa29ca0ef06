"""From a pod to a process: TF_CONFIG differs in addresses alone, and variables are those of Kubernetes."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from qtj.local.addresses import Addresses, PortLease
from qtj.local.container import program_of
from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.manifests.pod import replica_pod
from tests.jobs import a_job

SERVICES = {("lab", f"qcnn-worker-{index}") for index in (0, 1)}


@pytest.fixture
def addresses() -> Iterator[Addresses]:
    lease = PortLease()
    yield Addresses(lease, lambda namespace, name: (namespace, name) in SERVICES)
    lease.close()


def pod_with(*env: dict[str, Any], **container: Any) -> dict[str, Any]:
    main = {"name": "trainer", "image": "mine:1", "command": ["python"], "env": list(env), **container}
    meta = {"name": "qcnn-worker-0", "namespace": "lab", "labels": {"team": "blue"}}
    return {"metadata": meta, "spec": {"containers": [main]}}


def environment(*env: dict[str, Any], **container: Any) -> dict[str, str]:
    return dict(program_of(pod_with(*env, **container), configs={}, replaced={}).environment)


def test_tf_config_differs_from_the_clusters_in_addresses_alone(addresses: Addresses) -> None:
    pod = replica_pod(a_job(workers=2), ReplicaId(Role.WORKER, 1), attempt=1)
    pod["spec"]["containers"][0]["command"] = ["python"]
    on_a_cluster = json.loads(
        {each["name"]: each["value"] for each in pod["spec"]["containers"][0]["env"]}["TF_CONFIG"]
    )

    program = program_of(pod, configs={}, replaced={}, rewrite=lambda text: addresses.rewrite(text, "lab"))
    here = json.loads(program.environment["TF_CONFIG"])

    assert here["task"] == on_a_cluster["task"]
    assert here["cluster"]["worker"] == [
        f"127.0.0.1:{addresses.port('lab', f'qcnn-worker-{index}', 2222)}" for index in (0, 1)
    ]


@pytest.mark.parametrize("host", ["qcnn-worker-1", "qcnn-worker-1.lab", "qcnn-worker-1.lab.svc.cluster.local"])
def test_every_name_of_a_service_is_known(addresses: Addresses, host: str) -> None:
    port = addresses.port("lab", "qcnn-worker-1", 2222)

    assert addresses.rewrite(f"grpc://{host}:2222/x", "lab") == f"grpc://127.0.0.1:{port}/x"


@pytest.mark.parametrize(
    "text",
    [
        "gs://bucket/x",
        "example.com:443",
        "qcnn-worker-1.other.svc:2222",
        "my.qcnn-worker-1:2222",
        "qcnn-worker-1-x.qcnn-worker-1.other.svc:2222",
        "12:30:15",
    ],
)
def test_what_names_no_service_stays(addresses: Addresses, text: str) -> None:
    assert addresses.rewrite(text, "lab") == text


def test_arguments_refer_to_variables() -> None:
    pod = pod_with({"name": "A", "value": "1"}, args=["--a=$(A)"])

    assert program_of(pod, configs={}, replaced={}).command[1:] == ("--a=1",)


def test_the_trainers_image_stands_for_this_pythons_trainer() -> None:
    pod = pod_with(image="registry.example:5000/team/qtj-trainer:1@sha256:00", command=None, args=["infer"])

    command = program_of(pod, configs={}, replaced={}).command

    assert command == (sys.executable, "-m", "qtj_trainer", "infer")


def test_variables_of_the_contract_do_not_leak_in_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QTJ_JOB_UID", "another")
    monkeypatch.setenv("QTJ_DEVICES", "4")
    monkeypatch.setenv("QTJ_FOO", "1")
    monkeypatch.setenv("TF_CONFIG", "{}")
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", "true")

    found = environment({"name": "QTJ_IMAGE", "value": "mine:1"})

    assert {name for name in found if name.startswith("QTJ_") or name == "TF_CONFIG"} == {"QTJ_IMAGE"}
    assert found["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"


def test_a_tracking_server_may_be_asked_for_in_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QTJ_TRACKING", "mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")

    found = environment()

    assert (found["QTJ_TRACKING"], found["MLFLOW_TRACKING_URI"]) == ("mlflow", "http://127.0.0.1:5000")


@pytest.mark.parametrize(("limit", "threads"), [("2", "2"), ("1500m", "2"), ("100m", "1"), ("nonsense", None)])
def test_a_cpu_limit_bounds_the_threads(monkeypatch: pytest.MonkeyPatch, limit: str, threads: str | None) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    assert environment(resources={"limits": {"cpu": limit}}).get("OMP_NUM_THREADS") == threads
