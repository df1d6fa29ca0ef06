"""Every manifest that a job of one shape leads to, as text.

`UPDATE_GOLDEN=1 pytest tests/manifests` writes the files again; a reviewer looks at the diff.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from qtj_operator.api.job import Job
from qtj_operator.api.status import WeightsStatus
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.queueing import native_pod_group, pod_group
from qtj_operator.manifests.service import replica_service, replicas_of_services
from qtj_operator.manifests.tensorboard import tensorboard_deployment, tensorboard_service
from tests.jobs import a_container, a_job, a_template

GOLDEN = Path(__file__).parent / "golden"
WEIGHTS = WeightsStatus(uri="gs://lab-bucket/qcnn/weights/1f3c0a.h5", sha256="1f3c0a" + "0" * 58)

OWN_TEMPLATE = a_template(
    a_container(
        name="proxy",
        image="registry.example/proxy:2",
        ports=[{"name": "metrics", "containerPort": 9090}],
    ),
    a_container(
        args=["train", "qcnn"],
        env=[{"name": "RUN", "value": "$(QTJ_JOB)"}],
        ports=[{"name": "grpc", "containerPort": 2222}],
        terminationMessagePath="/tmp/last-word",
    ),
    initContainers=[a_container(name="data", image="registry.example/data:3", securityContext={"runAsUser": 7})],
    securityContext={"fsGroup": 1000},
    tolerations=[{"key": "gpu", "operator": "Exists"}],
)
OWN_TEMPLATE["metadata"] = {"labels": {"team": "quantum"}, "annotations": {"example.com/cost-center": "42"}}


GANG = a_job(
    workers=1,
    evaluator=True,
    runPolicy={"schedulingPolicy": {"gang": True}},
    template=a_template(schedulerName="together", priorityClassName="nightly"),
)
NATIVE_GANG = a_job(
    workers=1,
    evaluator=True,
    runPolicy={"schedulingPolicy": {"gang": True}},
    template=a_template(priorityClassName="nightly"),
)


ON_A_VOLUME = a_job(
    artifacts={"uri": "file:///mnt/lab/qcnn"},
    template=a_template(
        a_container(
            env=[{"name": "TOKEN", "value": "secret"}],
            volumeMounts=[{"name": "lab", "mountPath": "/mnt/lab"}, {"name": "data", "mountPath": "/data"}],
        ),
        serviceAccountName="lab",
        securityContext={"runAsUser": 1000, "fsGroup": 1000},
        volumes=[
            {"name": "lab", "persistentVolumeClaim": {"claimName": "lab"}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        ],
        nodeSelector={"accelerator": "gpu"},
    ),
    tensorboard={
        "image": "lab/tensorboard:2",
        "port": 80,
        "resources": {"limits": {"memory": "4Gi"}},
        "serviceType": "LoadBalancer",
    },
)


WITH_PROGRAM = a_job(
    workers=1,
    program={"configMap": "iris-1a2b3c4d", "entry": "iris.py"},
    template=a_template(a_container(image="localhost/qtj-trainer:1", args=["train", "--seed=1"])),
    inference={},
)

WITH_REQUIREMENTS = a_job(
    workers=1,
    program={
        "configMap": "iris-1a2b3c4d",
        "entry": "iris.py",
        "requirements": {"file": "requirements.txt", "index": "https://pypi.example/simple"},
    },
    template=a_template(
        a_container(resources={"limits": {"memory": "1Gi"}}, securityContext={"readOnlyRootFilesystem": True})
    ),
    inference={},
)


def replicas(job: Job, *, native: bool = False) -> Iterable[Manifest]:
    yield from (replica_service(job, replica) for replica in replicas_of_services(job).values())
    yield from (replica_pod(job, replica, attempt=1, native=native) for replica in job.replicas())


def inference(job: Job) -> Iterable[Manifest]:
    assert job.inference is not None
    yield inference_job(job, job.inference, WEIGHTS)


def tensorboard(job: Job) -> Iterable[Manifest]:
    board = job.spec.tensorboard
    assert board is not None
    yield tensorboard_service(job, board)
    yield tensorboard_deployment(job, board, "registry.example/tensorboard:1")


SHAPES = {
    "two-workers": replicas(a_job(workers=2, circuit={"qubits": 8, "filters": 3, "precision": "single"})),
    "chief-and-two-workers": replicas(a_job(chief=True, workers=2, profiler={"port": 6009})),
    "one-worker": replicas(a_job(workers=1)),
    "parameter-server": replicas(
        a_job(chief=True, ps=1, workers=2, evaluator=True, strategy="ParameterServer"),
    ),
    "shared-service": replicas(a_job(workers=2, replicaService="Shared")),
    "mirrored": replicas(a_job(workers=1, strategy="Mirrored")),
    "queued": replicas(a_job(workers=1, runPolicy={"schedulingPolicy": {"queueName": "quantum"}})),
    "gang": (*replicas(GANG), pod_group(GANG)),
    "gang-of-kubernetes": (*replicas(NATIVE_GANG, native=True), native_pod_group(NATIVE_GANG, 1)),
    "own-template": replicas(a_job(replicaSpecs={"Chief": {}, "Worker": {"template": OWN_TEMPLATE}})),
    "inference": inference(a_job(circuit={"qubits": 8}, inference={"args": ["infer", "--shots=0"], "backoffLimit": 1})),
    "inference-in-the-leaders-own-template": inference(
        a_job(replicaSpecs={"Worker": {"template": OWN_TEMPLATE}}, inference={})
    ),
    "program": (*replicas(WITH_PROGRAM), *inference(WITH_PROGRAM)),
    "requirements": (*replicas(WITH_REQUIREMENTS), *inference(WITH_REQUIREMENTS)),
    "tensorboard": tensorboard(a_job(tensorboard={})),
    "tensorboard-on-a-volume": tensorboard(ON_A_VOLUME),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_cluster_sees(shape: str) -> None:
    file = GOLDEN / f"{shape}.yaml"
    built = yaml.safe_dump_all(SHAPES[shape], sort_keys=False, width=120)
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(built)

    assert built == file.read_text(), "if that is as it should be: UPDATE_GOLDEN=1 pytest tests/manifests"


def test_no_golden_file_is_left_over() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == SHAPES.keys()
