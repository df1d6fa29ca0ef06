"""What each derived pod inherits of the metadata of its template."""

from typing import Any

import pytest

from qtj_operator.api.job import Job
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.tensorboard import BUILT, deployment_spec
from tests.jobs import a_container, a_job, a_template

WRITTEN: dict[str, Any] = {
    "name": "theirs",
    "generateName": "theirs-",
    "namespace": "elsewhere",
    "labels": {"team": "a", "kueue.x-k8s.io/queue-name": "gpus"},
    "annotations": {
        "gke-gcsfuse/volumes": "true",
        "gke-gcsfuse/memory-limit": "1Gi",
        "files.example/mount": "data",
        "sidecar.istio.io/inject": "false",
        "k8s.v1.cni.cncf.io/networks": "rdma",
    },
    "finalizers": ["example.com/hold"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}],
    "deletionGracePeriodSeconds": 0,
}
FUSE = {"csi": {"driver": "gcsfuse.csi.storage.gke.io"}}
CLAIM = {"persistentVolumeClaim": {"claimName": "bucket"}}
OTHER = {"csi": {"driver": "files.example"}}


def job(volume: dict[str, Any], uri: str = "file:///data/run") -> Job:
    container = a_container(volumeMounts=[{"name": "data", "mountPath": "/data"}])
    template = {**a_template(container, volumes=[{"name": "data", **volume}]), "metadata": WRITTEN}
    return a_job(template=template, artifacts={"uri": uri}, tensorboard={}, inference={})


def of_replica(made: Job) -> dict[str, Any]:
    return dict(replica_pod(made, made.leader, 1)["metadata"])


def of_inference(made: Job) -> dict[str, Any]:
    assert made.inference is not None
    return dict(inference_job(made, made.inference, None)["spec"]["template"]["metadata"])


def of_tensorboard(made: Job) -> dict[str, Any]:
    assert made.spec.tensorboard is not None
    return dict(deployment_spec(made, made.spec.tensorboard, "tensorboard:1")["template"]["metadata"])


@pytest.mark.parametrize("derived", [of_replica, of_inference, of_tensorboard])
def test_no_pod_inherits_anything_but_labels_and_annotations(derived: Any) -> None:
    metadata = derived(job(FUSE))

    assert not {"finalizers", "generateName", "deletionGracePeriodSeconds"} & metadata.keys()
    assert metadata.get("name") != "theirs"
    assert metadata.get("namespace") != "elsewhere"
    assert [owner["kind"] for owner in metadata.get("ownerReferences", ())] in ([], ["QuantumTrainingJob"])


@pytest.mark.parametrize("derived", [of_replica, of_inference])
def test_training_and_inference_inherit_all_labels_and_annotations(derived: Any) -> None:
    metadata = derived(job(FUSE))

    assert metadata["labels"].items() >= WRITTEN["labels"].items()
    assert metadata["annotations"] == WRITTEN["annotations"]


@pytest.mark.parametrize(
    ("volume", "inherited"),
    [
        (FUSE, {"gke-gcsfuse/volumes", "gke-gcsfuse/memory-limit"}),
        (CLAIM, {"gke-gcsfuse/volumes", "gke-gcsfuse/memory-limit"}),
        (OTHER, {"gke-gcsfuse/volumes", "gke-gcsfuse/memory-limit", "files.example/mount"}),
        ({"nfs": {"server": "s", "path": "/"}}, set()),
    ],
)
def test_tensorboard_inherits_the_annotations_that_its_volumes_need(
    volume: dict[str, Any], inherited: set[str]
) -> None:
    metadata = of_tensorboard(job(volume))

    assert metadata["annotations"].keys() == {BUILT, *inherited}
    assert not metadata["labels"].keys() & WRITTEN["labels"].keys()


def test_tensorboard_of_a_bucket_mounts_nothing_and_inherits_nothing() -> None:
    assert of_tensorboard(job(FUSE, "gs://lab-bucket/run"))["annotations"].keys() == {BUILT}


def test_another_annotation_of_a_volume_is_another_pod_of_tensorboard() -> None:
    before = of_tensorboard(job(FUSE))["annotations"]
    limit = WRITTEN["annotations"]["gke-gcsfuse/memory-limit"]
    WRITTEN["annotations"]["gke-gcsfuse/memory-limit"] = "2Gi"
    after = of_tensorboard(job(FUSE))["annotations"]
    WRITTEN["annotations"]["gke-gcsfuse/memory-limit"] = limit

    assert before[BUILT] != after[BUILT]
