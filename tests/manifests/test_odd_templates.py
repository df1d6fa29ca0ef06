"""A template with one odd value: the job cannot be read, with a sentence, or each of its objects can be built."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from qtj_operator.api.artifacts import Artifacts
from qtj_operator.api.job import Job
from qtj_operator.api.reading import InvalidJob
from qtj_operator.core.invalid_spec import fault
from qtj_operator.core.platform import CLUSTER
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.tensorboard import tensorboard_deployment
from tests.jobs import a_container, stored_job

ODD: tuple[Any, ...] = (
    None,
    0,
    1.5,
    "text",
    True,
    [],
    ["a"],
    [None],
    {},
    {"a": 1},
    {"a": None},
    [{}],
    [{"name": ["x"]}],
)
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"team": "a"}, "annotations": {"gke-gcsfuse/volumes": "true"}},
    "spec": {
        "hostNetwork": True,
        "dnsPolicy": "Default",
        "dnsConfig": {"nameservers": ["10.96.0.10"]},
        "serviceAccountName": "trainer",
        "imagePullSecrets": [{"name": "registry"}],
        "securityContext": {"runAsUser": 0, "runAsNonRoot": False},
        "initContainers": [a_container(name="chown", securityContext={"runAsUser": 0})],
        "volumes": [{"name": "data", "csi": {"driver": "gcsfuse.csi.storage.gke.io"}}],
        "containers": [
            a_container(
                env=[{"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": "/data/key"}],
                envFrom=[{"configMapRef": {"name": "proxy"}}],
                ports=[{"name": "grpc", "containerPort": 2222}],
                volumeMounts=[{"name": "data", "mountPath": "/data", "subPathExpr": "$(QTJ_JOB)"}],
                resources={"limits": {"memory": "4Gi"}},
                securityContext={"privileged": True, "capabilities": {"add": ["CAP_SYS_ADMIN"]}},
                terminationMessagePath="/word",
            )
        ],
    },
}


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield from paths(each, (*path, key))


def changed(value: Any, path: tuple[str | int, ...], odd: Any) -> Any:
    if not path:
        return odd
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    built = {key: changed(each, path[1:], odd) if key == path[0] else each for key, each in pairs}
    return built if isinstance(value, dict) else list(built.values())


def build(job: Job) -> None:
    replica_pod(job, job.leader, 1)
    assert job.inference is not None
    inference_job(job, job.inference, None)
    for uri in ("gs://lab-bucket/run", "file:///data/run"):
        stored = replace(job, asked=job.asked.changed(artifacts=Artifacts(uri=uri)))
        fault(stored, CLUSTER)
        assert stored.spec.tensorboard is not None
        tensorboard_deployment(stored, stored.spec.tensorboard, "tensorboard:1")


def test_no_template_is_a_defect_of_the_operator() -> None:
    built = 0
    for path in paths(TEMPLATE):
        for odd in ODD:
            template = changed(TEMPLATE, path, odd)
            try:
                job = Job.parse(stored_job(template=template, tensorboard={}, inference={}))
            except InvalidJob:
                continue
            build(job)
            built += 1
    assert built > 300
